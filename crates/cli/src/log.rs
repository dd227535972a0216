//! The log on standard error: warnings and errors that are the same again and again are not written each time.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use tenure::Clock;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Format, Writer, format};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::repeats::{RepeatedCause, Repeats, Telling};

/// Formats events as usual, but leaves out those that were just written.
#[derive(Debug, Default)]
pub struct Sparing {
    usual: Format,
    repeats: Mutex<Repeats>,
}

impl<S, N> FormatEvent<S, N> for Sparing
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        // Of the other levels somebody wants to see all.
        if *event.metadata().level() > Level::WARN {
            return self.usual.format_event(ctx, writer, event);
        }
        let mut text = String::new();
        format().without_time().format_event(ctx, Writer::new(&mut text), event)?;
        let now = Clock::boottime().now();
        // A panic elsewhere cannot have left it half changed.
        let telling =
            self.repeats.lock().unwrap_or_else(PoisonError::into_inner).failed(now, RepeatedCause::Other, &text);
        match telling {
            Telling::First => self.usual.format_event(ctx, writer, event),
            Telling::Still(spell) => {
                let mut line = String::new();
                self.usual.format_event(ctx, Writer::new(&mut line), event)?;
                writeln!(writer, "{} (again: {spell})", line.trim_end())
            }
            Telling::Not => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Arc;

    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(text)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Written {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn a_warning_that_comes_again_and_again_is_written_once() {
        let written = Written::default();
        let subscriber = tracing_subscriber::fmt().event_format(Sparing::default()).with_writer(written.clone());
        tracing::subscriber::with_default(subscriber.finish(), || {
            for number in 0..100 {
                tracing::warn!(election = "nightly", "another transaction holds a lock");
                tracing::warn!(number, "only a number in it is another one");
                tracing::warn!(name = format!("n{number}"), "each of these is another one");
                tracing::info!("somebody wants to see all of these");
            }
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let count = |words: &str| text.lines().filter(|line| line.contains(words)).count();
        // The machine may take seconds for this.
        assert!((1..5).contains(&count("another transaction holds a lock")), "{text}");
        assert!((1..5).contains(&count("only a number")), "{text}");
        assert_eq!((count("each of these"), count("somebody wants")), (100, 100), "{text}");
    }
}
