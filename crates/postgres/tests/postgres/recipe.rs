//! A participant that behaves as the clients of the leader-election recipe do: three calls, over a plain connection.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error};

use crate::support::{OwnDatabase, client};

/// How a client writes its calls.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CallStyle {
    /// As the one in Python does.
    Positional,
    /// As the one in TypeScript does, through an HTTP gateway.
    Named,
}

pub(crate) const STYLES: [CallStyle; 2] = [CallStyle::Positional, CallStyle::Named];

/// One participant in the election `e`.
pub(crate) struct LeaseForeigner {
    client: Client,
    style: CallStyle,
    id: String,
    service: String,
    timeout_s: i32,
}

impl LeaseForeigner {
    pub(crate) async fn new(place: &OwnDatabase, style: CallStyle, id: &str, timeout_s: i32) -> Self {
        let client = client(&place.url()).await;
        Self { client, style, id: id.to_owned(), service: "e".to_owned(), timeout_s }
    }

    /// The same in another election.
    pub(crate) fn in_service(self, service: &str) -> Self {
        Self { service: service.to_owned(), ..self }
    }

    pub(crate) async fn tries(&self) -> bool {
        self.try_become_leader().await.unwrap()
    }

    pub(crate) async fn try_become_leader(&self) -> Result<bool, Error> {
        let sql = match self.style {
            CallStyle::Positional => "SELECT try_become_leader($1, $2, $3)",
            CallStyle::Named => {
                "SELECT try_become_leader(p_service_name => $1, p_candidate_id => $2, p_timeout_seconds => $3)"
            }
        };
        self.ask(sql, &[&self.service, &self.id, &self.timeout_s]).await
    }

    pub(crate) async fn beats(&self) -> bool {
        let sql = match self.style {
            CallStyle::Positional => "SELECT leader_heartbeat($1, $2)",
            CallStyle::Named => "SELECT leader_heartbeat(p_service_name => $1, p_leader_id => $2)",
        };
        self.ask(sql, &[&self.service, &self.id]).await.unwrap()
    }

    pub(crate) async fn steps_down(&self) -> bool {
        let sql = match self.style {
            CallStyle::Positional => "SELECT step_down($1, $2)",
            CallStyle::Named => "SELECT step_down(p_service_name => $1, p_leader_id => $2)",
        };
        self.ask(sql, &[&self.service, &self.id]).await.unwrap()
    }

    /// What the table of old shows: leader and term.
    pub(crate) async fn reads(&self) -> Option<(String, i32)> {
        let rows = self.client.query("SELECT * FROM leader_election WHERE service_name = $1", &[&self.service]).await;
        rows.unwrap().first().map(|row| (row.get("leader_id"), row.get("term")))
    }

    async fn ask(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<bool, Error> {
        self.client.query_one(sql, parameters).await.map(|row| row.get(0))
    }
}
