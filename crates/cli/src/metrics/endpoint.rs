//! The thread that serves metrics. It has its own runtime, so that no client can delay an election.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tenure::metrics::{self, ALL};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use super::address::ListenAddress;
use super::connection_limit::ConnectionLimit;
use crate::exit::{CommandError, Exit};

/// Serves metrics until it is dropped.
#[derive(Debug)]
pub struct MetricsEndpoint {
    address: SocketAddr,
    /// Taken at the end.
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

/// Without a look in between, what histograms were given would pile up until somebody reads them.
const TIDIED_EVERY: Duration = Duration::from_secs(5);

/// The text format, as all versions of Prometheus read it.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

impl MetricsEndpoint {
    /// Listens, and starts to collect metrics.
    ///
    /// # Errors
    /// When the address cannot be listened on, or no thread can be started.
    pub fn start(address: &ListenAddress) -> Result<Self, CommandError> {
        let listener = TcpListener::bind(address.0).map_err(|error| refused(address, &error))?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        let exporter = install().map_err(|error| {
            CommandError::new(Exit::Internal, format!("cannot collect metrics: {error}; leave out --metrics"))
        })?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("tenure-metrics".to_owned())
            .spawn(move || run(&runtime, listener, &exporter, stopped))?;
        Ok(Self { address: bound, running: Some((stop, thread)) })
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsEndpoint {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // It waits for no client, so it ends at once. If it panicked, that was told.
            let _ = thread.join();
        }
    }
}

fn refused(address: &ListenAddress, error: &io::Error) -> CommandError {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => "the port is already in use; choose another one, or 0 for a free one",
        io::ErrorKind::AddrNotAvailable => "no interface of this machine has that address; choose one of its own",
        io::ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose a higher one",
        _ => "choose another address",
    };
    CommandError::new(Exit::Usage, format!("cannot serve metrics at {address}: {error}; {advice}"))
}

fn install() -> Result<PrometheusHandle, BuildError> {
    let mut builder = PrometheusBuilder::new();
    for metric in ALL.iter().filter(|metric| !metric.buckets.is_empty()) {
        builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), metric.buckets)?;
    }
    let exporter = builder.install_recorder()?;
    metrics::describe();
    Ok(exporter)
}

fn run(runtime: &Runtime, listener: TcpListener, exporter: &PrometheusHandle, stopped: oneshot::Receiver<()>) {
    let serve = async {
        let limit = ConnectionLimit::new(tokio::net::TcpListener::from_std(listener)?);
        tokio::select! {
            served = axum::serve(limit, router(exporter.clone())) => served,
            () = tidy(exporter) => Ok(()),
            _ = stopped => Ok(()),
        }
    };
    if let Err(error) = runtime.block_on(serve) {
        tracing::error!(%error, "the metrics server has stopped");
    }
}

async fn tidy(exporter: &PrometheusHandle) {
    loop {
        tokio::time::sleep(TIDIED_EVERY).await;
        exporter.run_upkeep();
    }
}

fn router(exporter: PrometheusHandle) -> Router {
    let page = move || async move {
        // What the clock says now, not what was true when something last happened.
        metrics::refresh();
        answer(StatusCode::OK, TEXT_FORMAT, exporter.render())
    };
    let text = |status, text: &str| std::future::ready(answer(status, "text/plain; charset=utf-8", text.to_owned()));
    let hint = move || text(StatusCode::OK, "tenure: metrics are at /metrics\n");
    let nothing = move || text(StatusCode::NOT_FOUND, "not found; metrics are at /metrics\n");
    Router::new()
        .route("/metrics", get(page))
        .route("/", get(hint))
        .method_not_allowed_fallback(nothing)
        .fallback(nothing)
}

/// One answer per connection: who keeps one open for the next scrape would keep others out.
fn answer(status: StatusCode, kind: &'static str, body: String) -> impl IntoResponse {
    (status, [(CONTENT_TYPE, kind), (CONNECTION, "close")], body)
}
