//! The verbs of the store, as executed by the database thread.

use tenure_store::{
    Campaign, CampaignReply, CandidateId, ElectionKey, ElectionName, Namespace, Observation, Renew, RenewReply,
    Replies, Resign, StoreError, Transition,
};

use super::database::Durability;
use super::db_thread::DbThread;
use super::error::SqliteStoreError;
use super::history;
use super::transaction::Transaction;

/// The number of remembered grant rows; more than one process can sensibly hold.
const ROWS_KEPT: usize = 100_000;

impl DbThread {
    /// What can be answered without a new term does not wait for the disk. Whether one may be needed is looked up
    /// first; if it turns out so only later, it is given in a second transaction.
    pub(super) fn campaign(&mut self, batch: &[Campaign]) -> Replies<CampaignReply> {
        let mut replies: Vec<Option<Result<CampaignReply, StoreError>>> = batch.iter().map(|_| None).collect();
        let is_any_free = self.on_file(|db_thread, database| {
            db_thread.read(database, |transaction| {
                batch.iter().try_fold(false, |is_any, request| Ok(is_any || transaction.is_free_for(request)?))
            })
        });
        // When it cannot be read, it cannot be written either, and the attempt to will tell why.
        let hurried = !is_any_free.unwrap_or(false);
        let durabilities = [Durability::Crash, Durability::PowerLoss];
        for durability in durabilities.into_iter().skip(usize::from(!hurried)) {
            let open: Vec<usize> = (0..batch.len()).filter(|index| replies[*index].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let may_grant = durability == Durability::PowerLoss;
            let answers = self.on_file(|db_thread, database| {
                db_thread.write_as_candidate(database, durability, |transaction| {
                    open.iter()
                        .map(|index| transaction.campaign(&batch[*index], may_grant))
                        .collect::<Result<Vec<_>, _>>()
                })
            });
            match answers {
                Ok(answers) => {
                    for (index, answer) in open.into_iter().zip(answers) {
                        replies[index] = answer.map_err(|fault| fault.about(self.path())).transpose();
                    }
                }
                Err(error) => open.into_iter().for_each(|index| replies[index] = Some(Err(error.clone()))),
            }
        }
        // The transaction that may grant answers whatever is left.
        replies.into_iter().flatten().collect()
    }

    pub(super) fn renew(&mut self, batch: &[Renew]) -> Replies<RenewReply> {
        let answers = self.on_file(|db_thread, database| {
            let mut rows = database.rows().borrow_mut();
            if rows.len() > ROWS_KEPT {
                // Grants that ended without a resignation are among them. The next renewal finds the others again.
                rows.clear();
            }
            db_thread.write(database, |transaction| {
                let mut renewal = transaction.renewal()?;
                let renew = |request: &Renew| {
                    if let Some(row) = rows.get(&request.nonce)
                        && transaction.renew_row(&mut renewal, *row, request)?
                    {
                        return Ok(Ok(RenewReply::Renewed { handover: None }));
                    }
                    let answer = transaction.renew(request)?;
                    Ok(answer.map(|(reply, row)| {
                        // A row that is wrong because this is rolled back does no harm: the nonce does not match.
                        match (&reply, row) {
                            (RenewReply::Renewed { .. }, Some(row)) => rows.insert(request.nonce, row),
                            (RenewReply::Renewed { .. } | RenewReply::NotHolder { .. }, _) => {
                                rows.remove(&request.nonce)
                            }
                        };
                        reply
                    }))
                };
                batch.iter().map(renew).collect::<Result<Vec<_>, SqliteStoreError>>()
            })
        });
        self.replies(batch, answers)
    }

    pub(super) fn resign(&mut self, batch: &[Resign]) -> Replies<()> {
        let answers = self.on_file(|db_thread, database| {
            for request in batch {
                database.rows().borrow_mut().remove(&request.nonce);
            }
            db_thread.write(database, |transaction| batch.iter().map(|request| transaction.resign(request)).collect())
        });
        self.replies(batch, answers)
    }

    pub(super) fn observe(&mut self, batch: &[ElectionKey]) -> Replies<Observation> {
        let look = |transaction: &Transaction<'_>| batch.iter().map(|key| transaction.observe(key)).collect();
        let answers = self.on_file(|db_thread, database| db_thread.read(database, look));
        self.replies(batch, answers)
    }

    pub(super) fn request_handover(
        &mut self,
        key: &ElectionKey,
        successor: Option<&CandidateId>,
    ) -> Result<bool, StoreError> {
        let ask = |transaction: &mut Transaction<'_>| transaction.request_handover(key, successor)?;
        self.on_file(|db_thread, database| db_thread.write(database, ask))
    }

    pub(super) fn elections(&mut self, namespace: &Namespace) -> Result<Vec<ElectionName>, StoreError> {
        self.on_file(|_, database| {
            database.read(|connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT name FROM election WHERE namespace = ?1 AND last_term IS NOT NULL ORDER BY name",
                )?;
                let names = statement.query_map([namespace.as_str()], |row| row.get::<_, String>(0))?;
                // What is no name cannot be asked for by it, and hides no other.
                let names = names.filter_map(|name| name.map(|name| ElectionName::new(name).ok()).transpose());
                Ok(names.collect::<Result<_, _>>()?)
            })
        })
    }

    pub(super) fn history(&mut self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
        self.on_file(|_, database| database.read(|connection| history::latest(connection, key, limit)))
    }

    /// An error of the transaction is an error of the whole batch.
    pub(super) fn replies<R, T>(
        &self,
        batch: &[R],
        answers: Result<Vec<Result<T, SqliteStoreError>>, StoreError>,
    ) -> Replies<T> {
        match answers {
            Ok(answers) => answers.into_iter().map(|answer| answer.map_err(|fault| fault.about(self.path()))).collect(),
            Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}
