//! The fences of the pages in SQL, on SQLite and on PostgreSQL, typed into their own programs.

use std::fs::{self, File};

use tenure_testkit::running::{FinishedProcess, RunningProcess};

use crate::stage::Stage;

/// A program that runs statements, and the number of rows that the last one of them has changed.
#[derive(Debug, Clone, Copy)]
enum SqlProgram {
    Sqlite,
    Postgres,
}

/// The parameters of the statements.
struct Writer {
    term: u32,
    body: &'static str,
}

const OLD: Writer = Writer { term: 7, body: "of the old leader" };
const NEW: Writer = Writer { term: 8, body: "of the new leader" };

impl SqlProgram {
    const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    fn run(self, stage: &Stage, writer: &Writer, sql: &str) -> FinishedProcess {
        let Writer { term, body } = writer;
        let (input, command) = match self {
            Self::Sqlite => {
                let set = format!(
                    ".parameter set :term {term}\n.parameter set :body \"'{body}'\"\n.parameter set :election \"'report'\"\n"
                );
                (format!("{set}{sql}"), "sqlite3 -bail app.db".to_owned())
            }
            Self::Postgres => {
                let set = format!("-v term={term} -v body=\"'{body}'\" -v election=\"'report'\"");
                let url = stage.database().url();
                (sql.to_owned(), format!("psql --no-psqlrc --set ON_ERROR_STOP=1 -At {set} '{url}'"))
            }
        };
        fs::write(stage.path("input.sql"), input).unwrap();
        let mut shell = stage.bash();
        let shell = shell.args(["-c", &command]).stdin(File::open(stage.path("input.sql")).unwrap());
        let finished = RunningProcess::start(shell).finish();
        assert_eq!(finished.code, Some(0), "{self:?}: {sql}: {finished:?}");
        finished
    }

    /// How many rows the last statement changes.
    fn changed(self, stage: &Stage, writer: &Writer, sql: &str) -> u32 {
        let sql = match self {
            Self::Sqlite => format!("{sql}\nSELECT changes();\n"),
            Self::Postgres => sql.to_owned(),
        };
        let printed = self.run(stage, writer, &sql).stdout;
        let last = printed.rsplit(['\n', ' ']).next().unwrap();
        last.parse().unwrap_or_else(|_| panic!("{self:?}: {sql}: {printed}"))
    }

    fn value(self, stage: &Stage, sql: &str) -> String {
        self.run(stage, &NEW, sql).stdout
    }
}

/// `UPDATE report …`: a row that knows the highest term.
pub(crate) fn one_row([statement]: [String; 1]) {
    SqlProgram::ALL.into_iter().for_each(|database| {
        let stage = Stage::new();
        let table = "CREATE TABLE report (id INTEGER PRIMARY KEY, body TEXT NOT NULL, term BIGINT NOT NULL DEFAULT 0);";
        database.run(&stage, &NEW, table);
        late_write(database, &stage, &statement);
    });
}

pub(crate) fn tables([idea, one_row, many]: [String; 3]) {
    for database in SqlProgram::ALL {
        let stage = Stage::new();
        // Nobody has written the row yet.
        assert_eq!(database.changed(&stage, &NEW, &one_row), 0, "{database:?}");
        assert!(one_row.ends_with(&format!("\n{idea}")), "the idea is not the statement");
        late_write(database, &stage, &idea);
        one_transaction(database, &stage, &many);
    }
}

/// A leader writes, the next one writes, and the first one's last write comes too late.
fn late_write(database: SqlProgram, stage: &Stage, statement: &str) {
    database.run(stage, &NEW, "INSERT INTO report (id, body) VALUES (1, 'nothing');");
    for (writer, changed) in [(&OLD, 1), (&NEW, 1), (&OLD, 0), (&NEW, 1)] {
        assert_eq!(database.changed(stage, writer, statement), changed, "{database:?}: term {}", writer.term);
    }
    assert_eq!(database.value(stage, "SELECT body FROM report;"), NEW.body);
}

/// Where its comment says to count, a stale leader counts none.
fn one_transaction(database: SqlProgram, stage: &Stage, many: &str) {
    let accounts = "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL); \
                    INSERT INTO account VALUES (1, 100), (2, 100);";
    database.run(stage, &OLD, accounts);
    let (table, transaction) = many.split_once("\n\n").unwrap();
    let (fence, work) =
        transaction.split_once("-- No row changed: ROLLBACK and stop. One row changed: go on.\n").unwrap();
    database.run(stage, &OLD, table);
    for writer in [&OLD, &NEW, &NEW] {
        assert_eq!(database.changed(stage, writer, fence), 1, "{database:?}");
        database.run(stage, writer, &format!("{fence}{work}"));
    }
    assert_eq!(database.changed(stage, &OLD, fence), 0, "{database:?}");
    assert_eq!(database.value(stage, "SELECT balance FROM account ORDER BY id;"), "70\n130");
    assert_eq!(database.value(stage, "SELECT term FROM fence WHERE election = 'report';"), NEW.term.to_string());
}
