//! `tenure history`: past changes of leadership.

use tenure::store::Feature;

use super::gaps;
use crate::args::{Global, HistoryArgs};
use crate::exit::{CommandError, Exit};
use crate::options::{open_to_look_for, store_shown};
use crate::output::{TransitionLine, json_line, print, table};

pub(super) async fn execute(global: &Global, args: &HistoryArgs) -> Result<Exit, CommandError> {
    let client = open_to_look_for(global, &args.name)?;
    let history = client.election(&args.name)?.history(args.limit.get()).await?;
    gaps::tell(&client, &[Feature::History]);
    let lines: Vec<TransitionLine> = history.iter().map(TransitionLine::from).collect();
    if args.json {
        print(|out| json_line(out, &lines))?;
    } else if lines.is_empty() {
        let (name, namespace, store) = (&args.name, &global.namespace, store_shown(global));
        let is_unknown = gaps::lacks(&client, Feature::History);
        let what = if is_unknown { "the store keeps no history of" } else { "there has never been a leader of" };
        print(|out| writeln!(out, "{what} {name} in namespace {namespace} of {store}"))?;
    } else {
        let row = |line: TransitionLine| {
            vec![line.at, line.event.to_owned(), line.term.to_string(), line.candidate, line.reason]
        };
        let rows: Vec<Vec<String>> = lines.into_iter().map(row).collect();
        print(|out| table(out, &["AT", "EVENT", "TERM", "CANDIDATE", "REASON"], &rows))?;
    }
    Ok(Exit::Success)
}
