//! Passwords are in no error and in no log, not even at the level where everything is told, nor in the driver's own.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tenure::store::StoreErrorKind::Denied;
use tenure::store::postgres::PostgresConfig;
use tenure::with_causes;
use tenure_testkit::postgres::PostgresServer;

use crate::support::{file, refused, visit_with};

const CANARY: &str = "canary-51c9";

/// Everything that this program logs.
#[derive(Clone, Default)]
struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    /// Begins to write, once in a program.
    fn begin() -> Self {
        let journal = Self::default();
        log::set_boxed_logger(Box::new(journal.clone())).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
        let writer = journal.clone();
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::TRACE);
        subscriber.with_writer(move || writer.clone()).init();
        journal
    }

    fn add(&self, text: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(text);
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl log::Log for CapturedLog {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.add(format!("{} {}\n", record.target(), record.args()).as_bytes());
    }

    fn flush(&self) {}
}

impl io::Write for CapturedLog {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.add(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn nobody_is_told_a_password() {
    let (server, directory) = (PostgresServer::start(), tempfile::tempdir().unwrap());
    server.create_role("known", CANARY);
    server.sql("GRANT CREATE ON DATABASE postgres TO known");
    // Not before: the kit says the password in the statement that makes the role.
    let journal = CapturedLog::begin();
    let passfile = file(&directory, "passwords", 0o600, format!("*:*:*:*:{CANARY}\n"));
    let readable = file(&directory, "readable", 0o644, format!("*:*:*:*:{CANARY}\n"));
    let place = format!("127.0.0.1:{}/postgres", server.port());
    for (user, is_known) in [("known", true), ("tenure", false)] {
        for url in [
            format!("postgres://{user}:{CANARY}@{place}"),
            format!("postgres://{user}@{place}?password={CANARY}"),
            format!("postgres://{user}@{place}?passfile={}", passfile.display()),
        ] {
            let config = PostgresConfig::from_url(&url.parse().unwrap()).unwrap();
            assert!(!format!("{config:?}").contains(CANARY), "{config:?}");
            if is_known {
                visit_with(&config).await.unwrap();
            } else {
                let error = refused(&url, Denied, &["password authentication failed"]).await;
                let told = format!("{error} {error:?} {}", with_causes(&error));
                assert!(!told.contains(CANARY), "{told}");
            }
        }
    }
    // What is warned of is the file, and not what is in it.
    let unused = format!("postgres://tenure@{place}?passfile={}", readable.display());
    assert!(PostgresConfig::from_url(&unused.parse().unwrap()).is_ok());

    let text = journal.text();
    assert!(text.contains("other users can read it"), "our own words are missing");
    assert!(text.contains("tokio_postgres"), "the words of the driver are missing");
    let with_canary: Vec<&str> = text.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(with_canary.is_empty(), "{with_canary:?}");
}
