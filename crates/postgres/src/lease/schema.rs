//! The schema: the tables and functions of elections in a database.

use std::fmt;
use std::time::Duration;

use tenure_store::{StoreError, StoreErrorKind};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::SqlState;

use super::super::config::PostgresConfig;
use super::super::error::PostgresStoreError;
use super::super::identifier::Identifier;

/// The schema version that this version of the library needs.
pub(super) const VERSION: i32 = 8;

const PREPARATION: &str = include_str!("sql/prepare.sql");
const PROTECTION: &str = include_str!("sql/protect.sql");
const GRANT: &str = include_str!("sql/grant.sql");
const COMPAT: &str = include_str!("sql/compat.sql");
/// What makes each version of the one before, as far as putting functions in the place of others does not. Schemas of every
/// version are about, so a step is never changed; another one is added.
const STEPS: [(i32, &str); 8] = [
    (1, include_str!("sql/tables.sql")),
    (2, include_str!("sql/version_2.sql")),
    (3, include_str!("sql/version_3.sql")),
    (4, include_str!("sql/version_4.sql")),
    (5, include_str!("sql/version_5.sql")),
    (6, include_str!("sql/version_6.sql")),
    (7, include_str!("sql/version_7.sql")),
    (VERSION, include_str!("sql/version_8.sql")),
];
/// In order of their dependencies.
const FUNCTIONS: &[&str] = &[
    include_str!("sql/common.sql"),
    include_str!("sql/campaign.sql"),
    include_str!("sql/renew.sql"),
    include_str!("sql/resign.sql"),
    include_str!("sql/look.sql"),
    include_str!("sql/mailbox.sql"),
    include_str!("sql/ledger.sql"),
    include_str!("sql/fence.sql"),
    include_str!("sql/forget.sql"),
    include_str!("sql/raise_terms.sql"),
];

/// Creates the schema of a database, or upgrades it. It may be run repeatedly and concurrently.
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

    /// Grants a role the right to hold elections, and nothing else: it may call the functions of the schema, and touch
    /// no table.
    ///
    /// # Errors
    /// When no role can have this name.
    pub fn role(mut self, name: &str) -> Result<Self, StoreError> {
        self.roles.push(identifier("role", name)?);
        Ok(self)
    }

    /// Adds `try_become_leader`, `leader_heartbeat` and `step_down` to another schema (usually `public`), with the
    /// signatures of the `leader-election` recipe for TypeScript and Python, so that its unmodified clients take part
    /// in the same elections. An existing table `leader_election` is adopted with its rows, and kept under the name
    /// `leader_election_before_tenure`.
    ///
    /// # Errors
    /// When no schema can have this name.
    pub fn compat(self, schema: &str) -> Result<Self, StoreError> {
        Ok(Self { compat: Some(identifier("schema", schema)?), ..self })
    }

    /// The SQL of the migration, to be run by other means.
    #[must_use]
    pub fn script(&self) -> String {
        let schema = self.config.schema_identifier();
        let mut text = PREPARATION.to_owned();
        for (version, step) in STEPS {
            text += &[BEGIN_STEP, step, END_STEP].concat().replace("{step}", &version.to_string());
        }
        text += &FUNCTIONS.concat();
        let mut grants = GRANT.to_owned();
        let mut blanks = vec![
            ("{schema}", schema.to_string()),
            ("{schema_literal}", literal(&schema.to_string())),
            ("{version}", VERSION.to_string()),
        ];
        if let Some(compat) = &self.compat {
            text += COMPAT;
            grants += GRANT_COMPAT;
            blanks.extend([
                ("{compat}", compat.to_string()),
                ("{compat_table_literal}", literal(&format!("{compat}.leader_election"))),
                ("{compat_backup_literal}", literal(&format!("{compat}.leader_election_before_tenure"))),
                ("{compat_functions_literal}", literal(&fill(COMPAT_FUNCTIONS, &[("{compat}", compat.to_string())]))),
                ("{compat_functions}", fill(COMPAT_FUNCTIONS, &[("{compat}", compat.to_string())])),
            ]);
        }
        text += PROTECTION;
        let quote = dollar_quote(&blanks);
        let mut script = fill(&text.replace("$tenure$", &quote).replace("$$", &quote), &blanks);
        for role in &self.roles {
            let mut blanks = blanks.clone();
            blanks.extend([("{role}", role.to_string()), ("{role_literal}", literal(&role.to_string()))]);
            let quote = dollar_quote(&blanks);
            script += &fill(&grants.replace("$tenure$", &quote), &blanks);
        }
        script + "COMMIT;\n"
    }

    /// Runs the migration.
    ///
    /// # Errors
    /// When the server cannot be reached, or does not let this user make a schema.
    pub async fn run(&self) -> Result<MigrationOutcome, StoreError> {
        let endpoint = self.config.endpoint();
        let migrate = async {
            let connected = tokio::time::timeout(CONNECT_WITHIN, endpoint.connect()).await;
            let (session, _) = connected.unwrap_or_else(|_| Err(silence()))?;
            // It may wait for others who use the tables.
            let told = session.run(&self.script()).await?;
            Ok(MigrationOutcome::from_version(version_before(&told)))
        };
        migrate.await.map_err(|fault: PostgresStoreError| advised(fault).about(endpoint.place()))
    }
}

/// What a migration did to the tables. Functions are replaced, and rights granted, each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MigrationOutcome {
    /// There were none, and they were created.
    Created {
        /// The version of the schema.
        version: i32,
    },
    /// They were of an earlier version.
    Upgraded {
        /// That version.
        from: i32,
        /// The version of the schema now.
        to: i32,
    },
    /// They were up to date.
    Unchanged {
        /// The version of the schema.
        version: i32,
    },
}

impl fmt::Display for MigrationOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created { version } => write!(f, "created the schema, version {version}"),
            Self::Upgraded { from, to } => write!(f, "upgraded the schema from version {from} to {to}"),
            Self::Unchanged { version } => write!(f, "the schema was up to date: version {version}"),
        }
    }
}

impl MigrationOutcome {
    fn from_version(before: i32) -> Self {
        match before {
            0 => Self::Created { version: VERSION },
            VERSION => Self::Unchanged { version: VERSION },
            from => Self::Upgraded { from, to: VERSION },
        }
    }
}

/// The version that the script found and reported in one row of its answer.
fn version_before(told: &[SimpleQueryMessage]) -> i32 {
    let found = told.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get("version_before").ok().flatten(),
        _ => None,
    });
    found.and_then(|version| version.parse().ok()).unwrap_or(VERSION)
}

fn silence() -> PostgresStoreError {
    let message = format!("the server did not answer within {CONNECT_WITHIN:?}");
    PostgresStoreError::Unusable(StoreErrorKind::TimedOut, message)
}

const CONNECT_WITHIN: Duration = Duration::from_secs(10);

fn identifier(what: &str, name: &str) -> Result<Identifier, StoreError> {
    Identifier::new(name)
        .map_err(|why| StoreError::not_sent(StoreErrorKind::Configuration, format!("the {what} {name:?}: {why}")))
}

/// Adds advice, if the user or the schema is at fault. Nothing was changed then.
fn advised(fault: PostgresStoreError) -> PostgresStoreError {
    let told = match &fault {
        PostgresStoreError::Refused(error) => error.as_db_error(),
        _ => None,
    };
    let Some(told) = told else { return fault };
    let (kind, advice) = match told.code() {
        &SqlState::INSUFFICIENT_PRIVILEGE => (
            StoreErrorKind::Denied,
            "run `tenure migrate` as the owner of the database, or of the schema if it exists; or run the output of \
             `tenure migrate --print` as a role with the rights to do so",
        ),
        code if code.code() == FOREIGN => (
            StoreErrorKind::Denied,
            "its owner can run code with the rights of other roles here. Run `tenure migrate` as that user; or check its \
             content, and drop it or hand it over with ALTER … OWNER TO",
        ),
        &SqlState::UNDEFINED_OBJECT => (StoreErrorKind::Missing, "create it first"),
        code if code.code() == NEWER => (StoreErrorKind::Schema, "upgrade this program"),
        _ => return fault,
    };
    PostgresStoreError::Unusable(kind, format!("{} ({}); {advice}", told.message(), told.code().code()))
}

/// Fills in all names in one pass: a name may look like the placeholder of another.
fn fill(template: &str, blanks: &[(&str, String)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let (before, after) = rest.split_at(start);
        let blank = blanks.iter().find(|(name, _)| after.starts_with(name));
        let (text, length) = blank.map_or(("{", 1), |(name, text)| (text.as_str(), name.len()));
        filled = filled + before + text;
        rest = &after[length..];
    }
    filled + rest
}

/// The quote around function bodies: a text that no name in them contains.
fn dollar_quote(blanks: &[(&str, String)]) -> String {
    let mut quote = "$tenure$".to_owned();
    while blanks.iter().any(|(_, name)| name.contains(quote.trim_end_matches('$'))) {
        quote.insert(1, '_');
    }
    quote
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

const BEGIN_STEP: &str = r"DO $tenure$ BEGIN
    IF (SELECT version FROM {schema}.version) < {step} THEN
";

const END_STEP: &str = r"
        UPDATE {schema}.version SET version = {step};
    END IF;
END $tenure$;
";

const GRANT_COMPAT: &str = r"GRANT USAGE ON SCHEMA {compat} TO {role};
GRANT EXECUTE ON FUNCTION {compat_functions} TO {role};
GRANT SELECT ON {compat}.leader_election TO {role};
";

const COMPAT_FUNCTIONS: &str = "{compat}.try_become_leader(varchar, varchar, integer), \
    {compat}.leader_heartbeat(varchar, varchar), {compat}.step_down(varchar, varchar)";

/// Raised when the schema is not ours to change.
const NEWER: &str = "TE002";
/// Raised when something in it, or under a name that is needed, belongs to another role.
const FOREIGN: &str = "TE003";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_a_blank_or_a_quote_is_only_a_name() {
        let blanks = [("{a}", "{b}".to_owned()), ("{b}", "$tenure$ $_tenure".to_owned())];
        assert_eq!(fill("{a} {} {b} {c", &blanks), "{b} {} $tenure$ $_tenure {c");
        assert_eq!(dollar_quote(&blanks), "$__tenure$");
        assert_eq!(dollar_quote(&blanks[..1]), "$tenure$");
    }
}
