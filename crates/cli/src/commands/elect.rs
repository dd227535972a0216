//! `tenure elect`: a candidate without a command; one JSON line per event, per message and per broadcast.

use tenure::{Broadcast, Candidacy, ChannelName, Delivery, Event, EventKind};
use tokio::sync::mpsc;

use super::beginning::{Beginning, NotedStart, WhatNow};
use crate::args::{ElectArgs, Global};
use crate::exit::{CommandError, Exit};
use crate::message::{BroadcastLine, DeliveryLine};
use crate::metrics;
use crate::options::{CandidacyOptions, open_for};
use crate::output::{EventLines, json_line};
use crate::signals::Signals;
use crate::stdout_writer::{Printed, StdoutWriter};

pub(super) async fn execute(global: &Global, args: &ElectArgs) -> Result<Exit, CommandError> {
    let options = CandidacyOptions::new(&args.candidate)?;
    for channel in args.channel.iter().chain(&args.broadcasts) {
        ChannelName::new(channel).map_err(tenure::Error::from)?;
    }
    let mut signals = Signals::listen()?;
    let output = StdoutWriter::start()?;
    let _served = metrics::serve(&args.metrics)?;
    let client = open_for(global, &args.name)?;
    let candidacy = options.describe(&client, &args.name)?.start()?;
    let participant = PrintingCandidate { args, output: &output, candidacy: &candidacy };
    let what_now = if args.candidate.fail_fast { WhatNow::FailsFast } else { WhatNow::GoesOn };
    let printing = participant.print_all(Beginning::new(global, what_now));
    tokio::pin!(printing);
    let signal = tokio::select! {
        ended = &mut printing => return ended.map(|()| Exit::Success),
        signal = signals.end() => signal,
    };
    participant.leave();
    printing.await.map(|()| Exit::Signalled(signal))
}

/// A candidacy that is printed.
struct PrintingCandidate<'a> {
    args: &'a ElectArgs,
    output: &'a StdoutWriter,
    candidacy: &'a Candidacy,
}

impl PrintingCandidate<'_> {
    /// Leaves the election, whether or not the rest is read.
    fn leave(&self) {
        self.candidacy.request_stop();
        self.output.leave();
    }

    /// Prints all that happens, until the candidacy has ended.
    async fn print_all(&self, mut beginning: Beginning) -> Result<(), CommandError> {
        let Self { args, output, candidacy } = self;
        let mut events = candidacy.events();
        let mut deliveries = deliveries(candidacy, &args.channel)?;
        let mut broadcasts = broadcasts(candidacy, &args.broadcasts)?;
        let mut lines = EventLines::new(&args.name, candidacy.candidate(), args.renewals);
        let mut end = Ok(());
        loop {
            let printed = tokio::select! {
                event = beginning.next(&mut events) => {
                    let Some(event) = event else { return end };
                    if let (NotedStart::Unusable(why), true) = (beginning.note(&event), beginning.gives_up()) {
                        end = end.and(Err(CommandError::new(Exit::StoreUnavailable, format!("{}: {why}", args.name))));
                        self.leave();
                    }
                    let printed = self.print_event(&mut lines, &event).await;
                    if event.kind == EventKind::Stopped {
                        return end.and(printed.map(drop));
                    }
                    printed
                }
                Some(delivery) = deliveries.recv() => self.print_delivery(delivery).await,
                Some(heard) = broadcasts.recv() => {
                    let line = match &heard {
                        BroadcastUpdate::Listening(channel) => BroadcastLine::listening(candidacy, channel),
                        BroadcastUpdate::Broadcast(broadcast) => BroadcastLine::new(candidacy, broadcast),
                    };
                    output.print_json(&line).await
                }
            };
            match printed {
                Ok(Printed::Written) => continue,
                // Nobody reads: there is nobody to lead for.
                Ok(Printed::ReaderGone) if !output.is_leaving() => {
                    let message =
                        format!("{}: standard output has no reader any more, so the candidacy ends", args.name);
                    end = end.and(Err(CommandError::new(Exit::OutputFailed, message)));
                }
                Ok(Printed::ReaderGone | Printed::Abandoned) => {}
                Err(failure) => end = end.and(Err(failure)),
            }
            self.leave();
        }
    }

    async fn print_event(&self, lines: &mut EventLines, event: &Event) -> Result<Printed, CommandError> {
        let mut text = Vec::new();
        for line in lines.lines(event) {
            json_line(&mut text, &line)?;
        }
        self.output.print(text).await
    }

    /// Only a message that has been written counts as handled.
    async fn print_delivery(&self, delivery: Delivery) -> Result<Printed, CommandError> {
        let printed = self.output.print_json(&DeliveryLine::new(self.candidacy, &delivery)).await;
        match &printed {
            Ok(Printed::Written) => delivery.ack(),
            Ok(Printed::ReaderGone) => delivery.nack("nobody reads standard output any more"),
            // It was interrupted, as its leadership is over.
            Ok(Printed::Abandoned) => drop(delivery),
            Err(failure) => delivery.nack(&failure.message),
        }
        printed
    }
}

/// What happens on channels of broadcasts.
enum BroadcastUpdate {
    Listening(ChannelName),
    Broadcast(Broadcast),
}

/// The broadcasts on all channels, one at a time.
fn broadcasts(candidacy: &Candidacy, channels: &[String]) -> Result<mpsc::Receiver<BroadcastUpdate>, CommandError> {
    let (sender, receiver) = mpsc::channel(1);
    for name in channels {
        let mut reader = candidacy.broadcasts(name)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            reader.listening().await;
            let mut next = Some(BroadcastUpdate::Listening(reader.channel().clone()));
            while let Some(heard) = next {
                if sender.send(heard).await.is_err() {
                    return;
                }
                next = reader.next().await.map(BroadcastUpdate::Broadcast);
            }
        });
    }
    Ok(receiver)
}

/// The messages of all channels, one at a time.
fn deliveries(candidacy: &Candidacy, channels: &[String]) -> Result<mpsc::Receiver<Delivery>, CommandError> {
    let (sender, receiver) = mpsc::channel(1);
    for name in channels {
        let mut channel = candidacy.channel(name)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while let Some(delivery) = channel.next().await {
                if sender.send(delivery).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(receiver)
}
