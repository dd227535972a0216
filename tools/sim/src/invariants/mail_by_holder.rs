//! Messages are given, and the word of a leader counts, only under the newest term: another leader may handle them already.

use tenure_core::Term;
use tenure_core::messages::{AckReply, Received};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::store::MailReply;
use crate::world::View;

#[derive(Default)]
pub(crate) struct MailByHolder {
    /// Under which somebody was elected.
    newest: Option<Term>,
}

impl Invariant for MailByHolder {
    fn name(&self) -> &'static str {
        "mail-by-holder"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, _: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Elected { term, .. } => self.newest = self.newest.max(Some(term)),
            Occurrence::Mailed(served) => {
                let is_granted = matches!(
                    served.reply,
                    MailReply::Received(Received::Messages(_)) | MailReply::Acked(AckReply::Accepted { .. })
                );
                let asked = served.request.asker().filter(|_| is_granted).map(|(_, term)| term);
                if let (Some(term), Some(newest)) = (asked, self.newest)
                    && term < newest
                {
                    return Err(format!("the mailbox serves term {term} after term {newest} began"));
                }
            }
            _ => (),
        }
        Ok(())
    }
}
