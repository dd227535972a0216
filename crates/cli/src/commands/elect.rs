//! `tenure elect`: a candidate without a command; one JSON line per event, per message and per broadcast.

use std::io;

use tenure::{Broadcast, ChannelName, Delivery, Election, EventKind};
use tokio::sync::mpsc;

use crate::args::{ElectArgs, Global};
use crate::exit::{Exit, Failure};
use crate::message::{BroadcastLine, DeliveryLine};
use crate::metrics;
use crate::options::{Candidacy, open_for};
use crate::output::{EventLines, json_line};
use crate::signals::Signals;

pub(super) async fn execute(global: &Global, args: &ElectArgs) -> Result<Exit, Failure> {
    let candidacy = Candidacy::new(&args.candidate)?;
    for channel in args.channel.iter().chain(&args.broadcasts) {
        ChannelName::new(channel).map_err(tenure::Error::from)?;
    }
    let mut signals = Signals::listen()?;
    let _served = metrics::serve(&args.metrics)?;
    let tenure = open_for(global, &args.name)?;
    let election = candidacy.describe(&tenure, &args.name)?.start()?;
    let mut events = election.events();
    let mut deliveries = deliveries(&election, &args.channel)?;
    let mut broadcasts = broadcasts(&election, &args.broadcasts)?;
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
            Some(delivery) = deliveries.recv() => {
                // Only what has been written counts as handled.
                match json_line(&mut io::stdout(), &DeliveryLine::new(&election, &delivery)) {
                    Ok(()) => delivery.done(),
                    Err(error) => {
                        delivery.failed(format!("cannot write to standard output: {error}"));
                        election.request_stop();
                    }
                }
            }
            Some(heard) = broadcasts.recv() => {
                let line = match &heard {
                    Overheard::Listening(channel) => BroadcastLine::listening(&election, channel),
                    Overheard::Broadcast(broadcast) => BroadcastLine::new(&election, broadcast),
                };
                if json_line(&mut io::stdout(), &line).is_err() {
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

/// What happens on channels of broadcasts.
enum Overheard {
    Listening(ChannelName),
    Broadcast(Broadcast),
}

/// The broadcasts on all channels, one at a time.
fn broadcasts(election: &Election, channels: &[String]) -> Result<mpsc::Receiver<Overheard>, Failure> {
    let (sender, receiver) = mpsc::channel(1);
    for name in channels {
        let mut reader = election.broadcasts(name)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            reader.listening().await;
            let mut next = Some(Overheard::Listening(reader.channel().clone()));
            while let Some(heard) = next {
                if sender.send(heard).await.is_err() {
                    return;
                }
                next = reader.next().await.map(Overheard::Broadcast);
            }
        });
    }
    Ok(receiver)
}

/// The messages of all channels, one at a time.
fn deliveries(election: &Election, channels: &[String]) -> Result<mpsc::Receiver<Delivery>, Failure> {
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
