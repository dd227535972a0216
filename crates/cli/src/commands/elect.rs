//! `tenure elect`: a candidate without a command; one JSON line per event, per message and per broadcast.

use std::io;

use tenure::{Broadcast, Candidacy, ChannelName, Delivery, EventKind};
use tokio::sync::mpsc;

use super::beginning::{Beginning, NotedStart, WhatNow};
use crate::args::{ElectArgs, Global};
use crate::exit::{CommandError, Exit};
use crate::message::{BroadcastLine, DeliveryLine};
use crate::metrics;
use crate::options::{CandidacyOptions, open_for};
use crate::output::{EventLines, is_read, json_line};
use crate::signals::Signals;

pub(super) async fn execute(global: &Global, args: &ElectArgs) -> Result<Exit, CommandError> {
    let candidacy = CandidacyOptions::new(&args.candidate)?;
    for channel in args.channel.iter().chain(&args.broadcasts) {
        ChannelName::new(channel).map_err(tenure::Error::from)?;
    }
    let mut signals = Signals::listen()?;
    let _served = metrics::serve(&args.metrics)?;
    let client = open_for(global, &args.name)?;
    let election = candidacy.describe(&client, &args.name)?.start()?;
    let mut events = election.events();
    let mut deliveries = deliveries(&election, &args.channel)?;
    let mut broadcasts = broadcasts(&election, &args.broadcasts)?;
    let mut lines = EventLines::new(&args.name, election.candidate(), args.renewals);
    let mut end = Ok(Exit::Success);
    let what_now = if args.candidate.fail_fast { WhatNow::FailsFast } else { WhatNow::GoesOn };
    let mut beginning = Beginning::new(global, what_now);
    loop {
        let written = tokio::select! {
            event = beginning.next(&mut events) => {
                let Some(event) = event else { return end };
                if let (NotedStart::Unusable(why), true) = (beginning.note(&event), beginning.gives_up()) {
                    end = end.and(Err(CommandError::new(Exit::StoreUnavailable, format!("{}: {why}", args.name))));
                    election.request_stop();
                }
                let told = lines.lines(&event);
                let written = told.iter().try_for_each(|line| json_line(&mut io::stdout(), line));
                if event.kind == EventKind::Stopped {
                    return is_read(written).and(end);
                }
                written
            }
            Some(delivery) = deliveries.recv() => {
                // Only what has been written counts as handled.
                let written = json_line(&mut io::stdout(), &DeliveryLine::new(&election, &delivery));
                match &written {
                    Ok(()) => delivery.done(),
                    Err(error) => delivery.failed(format!("cannot write to standard output: {error}")),
                }
                written
            }
            Some(heard) = broadcasts.recv() => {
                let line = match &heard {
                    BroadcastUpdate::Listening(channel) => BroadcastLine::listening(&election, channel),
                    BroadcastUpdate::Broadcast(broadcast) => BroadcastLine::new(&election, broadcast),
                };
                json_line(&mut io::stdout(), &line)
            }
            signal = signals.end() => {
                end = end.map(|_| Exit::Signalled(signal));
                election.request_stop();
                Ok(())
            }
        };
        match is_read(written) {
            Ok(true) => continue,
            // Nobody reads: there is nobody to lead for.
            Ok(false) => {}
            Err(failure) => end = Err(failure),
        }
        election.request_stop();
    }
}

/// What happens on channels of broadcasts.
enum BroadcastUpdate {
    Listening(ChannelName),
    Broadcast(Broadcast),
}

/// The broadcasts on all channels, one at a time.
fn broadcasts(election: &Candidacy, channels: &[String]) -> Result<mpsc::Receiver<BroadcastUpdate>, CommandError> {
    let (sender, receiver) = mpsc::channel(1);
    for name in channels {
        let mut reader = election.broadcasts(name)?;
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
fn deliveries(election: &Candidacy, channels: &[String]) -> Result<mpsc::Receiver<Delivery>, CommandError> {
    let (sender, receiver) = mpsc::channel(1);
    for name in channels {
        let mut channel = election.channel(name)?;
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
