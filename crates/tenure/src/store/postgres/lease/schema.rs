//! The schema: what a database needs so that elections can be held in it.

use super::super::config::PostgresConfig;
use super::super::error::Fault;
use super::super::identifier::Identifier;
use crate::store::{StoreError, StoreErrorKind};

/// What the schema has to be for this version of the library.
pub(super) const VERSION: i32 = 1;

const COMPAT: &str = include_str!("sql/compat.sql");
const TABLES: &str = include_str!("sql/tables.sql");
/// In the order in which they need each other.
const FUNCTIONS: &[&str] = &[
    include_str!("sql/common.sql"),
    include_str!("sql/campaign.sql"),
    include_str!("sql/renew.sql"),
    include_str!("sql/resign.sql"),
    include_str!("sql/look.sql"),
    include_str!("sql/mailbox.sql"),
    include_str!("sql/fence.sql"),
];

/// Makes the schema of a database, or brings it up to date. It may be run again and by many at once.
///
/// ```no_run
/// use tenure::store::postgres::{Migration, PostgresConfig};
///
/// # async fn example() -> Result<(), tenure::StoreError> {
/// let config = PostgresConfig::from_url(&"postgres://admin@127.0.0.1/shop".parse()?)?;
/// Migration::new(&config).role("app")?.run().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Migration {
    config: PostgresConfig,
    roles: Vec<Identifier>,
    compat: Option<Identifier>,
}

impl Migration {
    /// The schema that this configuration names.
    #[must_use]
    pub fn new(config: &PostgresConfig) -> Self {
        Self { config: config.clone(), roles: Vec::new(), compat: None }
    }

    /// Lets a role hold elections, and do nothing else: it may call the functions of the schema, and touch no table.
    ///
    /// # Errors
    /// When no role can have this name.
    pub fn role(mut self, name: &str) -> Result<Self, StoreError> {
        self.roles.push(identifier("role", name)?);
        Ok(self)
    }

    /// Adds `try_become_leader`, `leader_heartbeat` and `step_down` to another schema (usually `public`), with the
    /// signatures of the `leader-election` recipe for TypeScript and Python, so that its unmodified clients stand in the
    /// same elections. A table `leader_election` that is there is taken over with its rows, and kept under the name
    /// `leader_election_before_tenure`.
    ///
    /// # Errors
    /// When no schema can have this name.
    pub fn compat(self, schema: &str) -> Result<Self, StoreError> {
        Ok(Self { compat: Some(identifier("schema", schema)?), ..self })
    }

    /// The SQL, for those who run it themselves.
    #[must_use]
    pub fn script(&self) -> String {
        let schema = self.config.schema_identifier();
        let mut text = [PREPARATION, BEGIN_ONCE, TABLES, END_ONCE].concat() + &FUNCTIONS.concat() + PROTECTION;
        let mut grants = GRANT.to_owned();
        if let Some(compat) = &self.compat {
            text += &in_compat(COMPAT, compat);
            grants += &in_compat(GRANT_COMPAT, compat);
        }
        let grants: String = self.roles.iter().map(|role| grants.replace("{role}", &role.to_string())).collect();
        (text + &grants + "COMMIT;\n")
            .replace("{schema}", &schema.to_string())
            .replace("{schema_literal}", &literal(&schema.to_string()))
            .replace("{version}", &VERSION.to_string())
    }

    /// Runs it.
    ///
    /// # Errors
    /// When the server cannot be reached, or does not let this user make a schema.
    pub async fn run(&self) -> Result<(), StoreError> {
        let endpoint = self.config.endpoint();
        let migrate = async {
            let (session, _) = endpoint.connect().await?;
            session.run(&self.script()).await.map(drop)
        };
        migrate.await.map_err(|fault: Fault| fault.about(endpoint.place()))
    }
}

fn identifier(what: &str, name: &str) -> Result<Identifier, StoreError> {
    Identifier::new(name)
        .map_err(|why| StoreError::not_sent(StoreErrorKind::Configuration, format!("the {what} {name:?}: {why}")))
}

fn in_compat(text: &str, compat: &Identifier) -> String {
    text.replace("{compat}", &compat.to_string())
        .replace("{compat_table_literal}", &literal(&format!("{compat}.leader_election")))
        .replace("{compat_backup_literal}", &literal(&format!("{compat}.leader_election_before_tenure")))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whoever comes second waits, and finds everything done. The number is nobody else's: it is that of this schema's name.
const PREPARATION: &str = r"BEGIN;
SET LOCAL client_min_messages = warning;
SET LOCAL lock_timeout = '30s';
SET LOCAL statement_timeout = '60s';
SELECT pg_advisory_xact_lock(hashtextextended('tenure migrate ' || {schema_literal}, 0));
DO $tenure$ BEGIN
    IF to_regnamespace({schema_literal}) IS NULL THEN
        CREATE SCHEMA {schema};
    END IF;
END $tenure$;
CREATE TABLE IF NOT EXISTS {schema}.version (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    version integer NOT NULL
);
INSERT INTO {schema}.version VALUES (true, 0) ON CONFLICT DO NOTHING;
";

const BEGIN_ONCE: &str = r"DO $tenure$ BEGIN
    IF (SELECT version FROM {schema}.version) > {version} THEN
        RAISE EXCEPTION 'this schema was made by a newer version of tenure; use that one';
    END IF;
    IF (SELECT version FROM {schema}.version) < 1 THEN
";

const END_ONCE: &str = r"
        UPDATE {schema}.version SET version = 1;
    END IF;
END $tenure$;
";

/// The functions run with the rights of their owner, so not everybody may call them.
const PROTECTION: &str = r"
REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC;
";

const GRANT: &str = r"GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {role};
";

const GRANT_COMPAT: &str = r"GRANT USAGE ON SCHEMA {compat} TO {role};
GRANT EXECUTE ON FUNCTION {compat}.try_become_leader(varchar, varchar, integer),
    {compat}.leader_heartbeat(varchar, varchar), {compat}.step_down(varchar, varchar) TO {role};
";
