//! Saying what happened, for people.

use tenure_core::{CampaignReply, Input, Instant, Output, RenewReply, Reply, Request, Verb};

/// What people call the candidate with this index.
pub(crate) fn name(index: usize) -> char {
    (b'a'..).nth(index).map_or('?', char::from)
}

/// What an elector is told.
pub(crate) fn heard(input: &Input) -> String {
    match input {
        Input::Reply { request, reply } => format!("hears {} (#{})", told(reply), request.0),
        Input::Start => "begins to stand".to_owned(),
        Input::Hint => "gets a hint".to_owned(),
        Input::Resign { successor: Some(successor), .. } => format!("is asked to resign in favour of {successor}"),
        Input::Resign { successor: None, .. } => "is asked to resign".to_owned(),
        Input::WorkEnded { term } => format!("sees its work of term {term} end"),
        Input::Health { healthy: true } => "is well".to_owned(),
        Input::Health { healthy: false } => "is ill".to_owned(),
        Input::Stop => "is told to leave".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What the store says.
pub(crate) fn told(reply: &Reply) -> String {
    match reply {
        Reply::Campaign(Ok(CampaignReply::Granted { term })) => format!("granted, term {term}"),
        Reply::Campaign(Ok(CampaignReply::Held(held))) => {
            let by = match &held.leader {
                Some(leader) => format!("held by {} under term {}", leader.candidate, leader.term),
                None => "reserved for another".to_owned(),
            };
            format!("{by}, {:?} left, {} before it", held.remaining, held.rank)
        }
        Reply::Renew(Ok(RenewReply::Renewed { handover: None })) => "renewed".to_owned(),
        Reply::Renew(Ok(RenewReply::Renewed { handover: Some(_) })) => "renewed, hand over please".to_owned(),
        Reply::Renew(Ok(RenewReply::NotHolder { current: Some(term) })) => format!("not the holder, at term {term}"),
        Reply::Renew(Ok(RenewReply::NotHolder { current: None })) => "not the holder".to_owned(),
        Reply::Resign(Ok(())) => "released".to_owned(),
        Reply::Campaign(Err(failure)) | Reply::Renew(Err(failure)) | Reply::Resign(Err(failure)) => {
            format!("no answer ({failure:?})")
        }
    }
}

/// What an elector asks the store.
pub(crate) fn asked(request: &Request) -> String {
    let what = match &request.verb {
        Verb::Campaign { .. } => "campaigns".to_owned(),
        Verb::Renew { term, .. } => format!("renews term {term}"),
        Verb::Resign { term: Some(term), reason, .. } => format!("releases term {term}, {}", reason.as_str()),
        Verb::Resign { term: None, reason, .. } => format!("releases what it may hold, {}", reason.as_str()),
    };
    format!("{what} (#{})", request.id.0)
}

/// What an elector wants, at this instant of its own clock.
pub(crate) fn wanted(output: &Output, now: Instant) -> String {
    let left = |until: Instant| until.saturating_since(now);
    match output {
        Output::Send(request) => asked(request),
        Output::Elected { term, trust } => format!("is ELECTED, term {term}, trusted for {:?}", left(trust.until)),
        Output::Trusted { term, trust } => format!("is trusted under term {term} for {:?}", left(trust.until)),
        Output::Lost { term, reason, kill_at } => {
            format!("has LOST term {term}, {}; its work is killed in {:?}", reason.as_str(), left(*kill_at))
        }
        Output::KillWork { term } => format!("kills its work of term {term}"),
        Output::Observed { leader: Some(leader) } => format!("sees {} lead, term {}", leader.candidate, leader.term),
        Output::Observed { leader: None } => "sees nobody lead".to_owned(),
        Output::Report(problem) => format!("reports: {problem}"),
        Output::Stopped => "has left".to_owned(),
        other => format!("{other:?}"),
    }
}
