//! `tenure messages`: the messages that wait for the leader, the dead letters, and requeuing these.

use serde::Serialize;
use tenure::{Client, MessageCount, MessageId, MessageState};

use super::gaps;
use crate::args::{Global, MessagesArgs};
use crate::exit::{CommandError, Exit};
use crate::message::{MessageLine, on_one_line};
use crate::options::{open_to_look, open_to_look_for, store_shown};
use crate::output::{json_line, print, table};
use crate::stderr_writer::say;

/// How many dead letters were requeued, as `tenure messages --requeue --json` prints it.
#[derive(Debug, Serialize)]
struct RequeuedLine<'a> {
    election: &'a str,
    requeued: u64,
}

/// How many messages an election has, as `tenure messages --json` prints it without a name.
#[derive(Debug, Serialize)]
struct CountLine<'a> {
    election: &'a str,
    waiting: u64,
    /// The JSON name is older than the word, and programs read it.
    #[serde(rename = "aside")]
    dead_letters: u64,
}

impl<'a> From<&'a MessageCount> for CountLine<'a> {
    fn from(count: &'a MessageCount) -> Self {
        Self { election: count.election.as_str(), waiting: count.waiting, dead_letters: count.dead_letters }
    }
}

pub(super) async fn execute(global: &Global, args: &MessagesArgs) -> Result<Exit, CommandError> {
    let ids: Vec<MessageId> = args
        .requeue
        .iter()
        .map(|text| text.parse().map_err(|error| CommandError::new(Exit::Usage, format!("{text:?}: {error}"))))
        .collect::<Result<_, _>>()?;
    let Some(name) = &args.name else { return count(global, args).await };
    let client = open_to_look_for(global, name)?;
    gaps::tell_of_messages(&client);
    if args.requeue_all || !ids.is_empty() {
        return requeue(&client, name, args.json, (!args.requeue_all).then_some(&ids)).await;
    }
    let state = if args.dead_letters { MessageState::DeadLetter } else { MessageState::Pending };
    let messages = client.election(name)?.messages(state, args.limit.get()).await?;
    let lines: Vec<MessageLine> = messages.iter().map(MessageLine::from).collect();
    if args.json {
        print(|out| json_line(out, &lines))?;
    } else if lines.is_empty() {
        let what = if args.dead_letters { "dead letters" } else { "messages waiting" };
        let (namespace, store) = (&global.namespace, store_shown(global));
        print(|out| writeln!(out, "no {what} in {name} in namespace {namespace} of {store}"))?;
    } else {
        let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
        print(|out| table(out, &["ID", "CHANNEL", "SENDER", "SENT", "ATTEMPTS", "PAYLOAD", "LAST ERROR"], &rows))?;
    }
    Ok(Exit::Success)
}

/// How many messages there are, and in which elections.
async fn count(global: &Global, args: &MessagesArgs) -> Result<Exit, CommandError> {
    let client = open_to_look(global)?;
    gaps::tell_of_messages(&client);
    let (mut counts, mut exit) = (Vec::new(), Exit::Success);
    for count in client.store().message_counts(None).await? {
        match count {
            Ok(count) => counts.push(count),
            Err(damage) => {
                say(&damage.to_string());
                exit = Exit::Failure;
            }
        }
    }
    let shown = &counts[..counts.len().min(args.limit.get())];
    if args.json {
        let lines: Vec<CountLine<'_>> = shown.iter().map(CountLine::from).collect();
        print(|out| json_line(out, &lines))?;
    } else if shown.is_empty() {
        let (namespace, store) = (&global.namespace, store_shown(global));
        print(|out| writeln!(out, "no messages waiting and no dead letters in namespace {namespace} of {store}"))?;
    } else {
        let row = |count: &MessageCount| {
            vec![count.election.to_string(), count.waiting.to_string(), count.dead_letters.to_string()]
        };
        let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
        print(|out| table(out, &["ELECTION", "WAITING", "DEAD LETTERS"], &rows))?;
    }
    Ok(exit)
}

async fn requeue(client: &Client, name: &str, json: bool, ids: Option<&Vec<MessageId>>) -> Result<Exit, CommandError> {
    let requeued = client.election(name)?.requeue(ids.map(Vec::as_slice)).await?;
    if json {
        print(|out| json_line(out, &RequeuedLine { election: name, requeued }))?;
    } else {
        print(|out| writeln!(out, "{requeued} message(s) requeued"))?;
    }
    if requeued == 0 && ids.is_some() {
        let message = format!(
            "none of these messages is a dead letter; `tenure messages {name} --dead-letters` lists those that are"
        );
        return Err(CommandError::new(Exit::Failure, message));
    }
    Ok(Exit::Success)
}

fn row(line: &MessageLine) -> Vec<String> {
    let dash = || "-".to_owned();
    vec![
        line.id.clone(),
        line.channel.clone(),
        line.sender.clone(),
        line.sent_at.clone(),
        line.attempts.to_string(),
        on_one_line(line.payload.get()),
        line.last_error.as_deref().map_or_else(dash, on_one_line),
    ]
}
