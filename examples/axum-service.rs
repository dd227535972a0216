//! A service that every instance answers for, beside work that only the leader does. SIGTERM and Ctrl-C end it gracefully:
//! `cargo run --bin axum-service -- sqlite:demo.db 127.0.0.1:8080`, and another one on another port.

use std::{env, error::Error, sync::Arc, time::Duration};

use axum::{Router, routing::get};
use tenure::{Client, Leadership};
use tokio::net::TcpListener;
use tokio::signal::{ctrl_c, unix::SignalKind, unix::signal};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [_, store, address] =
        <[String; 3]>::try_from(env::args().collect::<Vec<_>>()).map_err(|_| "usage: axum-service STORE ADDRESS")?;
    let candidacy = Arc::new(Client::open(&store)?.election("service")?.candidate().start()?);
    let asked = candidacy.clone();
    let routes = Router::new().route("/leader", get(async move || asked.is_leader().to_string()));
    let listener = TcpListener::bind(&address).await?;
    println!("listening on {}", listener.local_addr()?);
    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = async move { tokio::select!(_ = terminate.recv() => {}, _ = ctrl_c() => {}) };
    let serving = async {
        let served = axum::serve(listener, routes).with_graceful_shutdown(shutdown).await;
        candidacy.stop().await; // ends the work, then releases the lease
        served
    };
    let (served, _stopped) = tokio::join!(serving, candidacy.run_while_leader(work));
    Ok(served?)
}

async fn work(leadership: Leadership) {
    while !leadership.is_cancelled() {
        println!("working under term {}", leadership.term());
        // Waits because there is something to do once a second.
        tokio::select!(() = tokio::time::sleep(Duration::from_secs(1)) => {}, () = leadership.cancelled() => {});
    }
    println!("stopped working under term {}", leadership.term());
}
