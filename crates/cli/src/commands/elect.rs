//! `tenure elect`: a candidate without a command; one JSON line per event.

use std::io;

use tenure::EventKind;

use crate::args::{ElectArgs, Global};
use crate::exit::{Exit, Failure};
use crate::options::{Candidacy, open_for};
use crate::output::{EventLines, json_line};
use crate::signals::Signals;

pub(super) async fn execute(global: &Global, args: &ElectArgs) -> Result<Exit, Failure> {
    let candidacy = Candidacy::new(&args.candidate)?;
    let mut signals = Signals::listen()?;
    let tenure = open_for(global, &args.name)?;
    let election = candidacy.describe(&tenure, &args.name)?.start()?;
    let mut events = election.events();
    let mut lines = EventLines::new(&args.name, election.candidate(), args.renewals);
    let mut exit = Exit::Success;
    loop {
        tokio::select! {
            event = events.next() => {
                let Some(event) = event else { return Ok(exit) };
                let printed = lines.line(&event).map_or(Ok(()), |line| json_line(&mut io::stdout(), &line));
                if event.kind == EventKind::Stopped {
                    return Ok(exit);
                }
                if printed.is_err() {
                    // Nobody reads: there is nobody to lead for.
                    election.request_stop();
                }
            }
            signal = signals.end() => {
                exit = Exit::Signalled(signal);
                election.request_stop();
            }
        }
    }
}
