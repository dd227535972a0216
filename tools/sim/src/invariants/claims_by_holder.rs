//! A tick is granted only under the newest term: to a leader that was followed by another it would be lost.

use tenure_core::Term;
use tenure_core::jobs::Claimed;

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::store::{JobReply, JobRequest};
use crate::world::View;

#[derive(Default)]
pub(crate) struct ClaimsByHolder {
    /// Under which somebody was elected.
    newest: Option<Term>,
}

impl Invariant for ClaimsByHolder {
    fn name(&self) -> &'static str {
        "claims-by-holder"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, _: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Elected { term, .. } => self.newest = self.newest.max(Some(term)),
            Occurrence::Served(served) => {
                if let (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) = (served.request, served.reply)
                    && let Some(newest) = self.newest.filter(|newest| claim.term < *newest)
                {
                    let (tick, job, term) = (claim.tick, &claim.job, claim.term);
                    return Err(format!("{tick} of {job} is granted under term {term} after term {newest} began"));
                }
            }
            _ => (),
        }
        Ok(())
    }
}
