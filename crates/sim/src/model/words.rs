//! Saying what happened.

use tenure_core::{CampaignReply, Output, RenewReply, Reply, Verb};

/// What people call a candidate.
pub(super) fn name(index: usize) -> char {
    (b'a'..).nth(index).map_or('?', char::from)
}

/// What the store says.
pub(super) fn told(reply: &Reply) -> String {
    match reply {
        Reply::Campaign(Ok(CampaignReply::Granted { term })) => format!("granted, term {term}"),
        Reply::Campaign(Ok(CampaignReply::Held(held))) => match &held.leader {
            Some(leader) => format!("held by {} under term {}", leader.candidate, leader.term),
            None => "reserved for another".to_owned(),
        },
        Reply::Renew(Ok(RenewReply::Renewed { .. })) => "renewed".to_owned(),
        Reply::Renew(Ok(RenewReply::NotHolder { .. })) => "not the holder".to_owned(),
        Reply::Resign(Ok(())) => "released".to_owned(),
        Reply::Campaign(Err(failure)) | Reply::Renew(Err(failure)) | Reply::Resign(Err(failure)) => {
            format!("no answer ({failure:?})")
        }
    }
}

/// What an elector wants.
pub(super) fn wanted(output: &Output) -> String {
    match output {
        Output::Send(request) => match &request.verb {
            Verb::Campaign { .. } => format!("campaign sent (#{})", request.id.0),
            Verb::Renew { term, .. } => format!("renewal of term {term} sent (#{})", request.id.0),
            Verb::Resign { term: Some(term), .. } => format!("resignation of term {term} sent (#{})", request.id.0),
            Verb::Resign { term: None, .. } => format!("resignation sent (#{})", request.id.0),
        },
        Output::Elected { term, trust } => format!("elected, term {term}, trusted until {:?}", trust.until),
        Output::Trusted { term, trust } => format!("renewed, term {term}, trusted until {:?}", trust.until),
        Output::Lost { term, reason, kill_at } => {
            format!("lost term {term} ({}), work is killed at {kill_at:?}", reason.as_str())
        }
        Output::KillWork { term } => format!("kills the work of term {term}"),
        other => format!("{other:?}"),
    }
}
