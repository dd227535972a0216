//! What `--help` shows behind the options of each command.

pub(super) const RUN: &str = "\
Examples:
  tenure run nightly -- ./nightly-report.sh
  tenure run queue --preset fast --restart always -- ./consume --queue mail
  tenure run queue --metrics 127.0.0.1:9095 -- ./consume
  tenure --store sqlite:/var/lib/app/tenure.db run migrate --no-wait -- ./migrate
  tenure --store postgres://app@db.example/shop run queue --fail-fast -- ./consume

The command gets TENURE_ELECTION, TENURE_CANDIDATE and TENURE_TERM. Variables that may carry store
credentials are removed from its environment: TENURE_STORE; with PostgreSQL also PGPASSWORD,
PGPASSFILE, PGSSLCERT and PGSSLKEY; with `--store env:` also MUTEX_REDIS_PASSWORD and
REDIS_PASSWORD. --keep-env NAME keeps one of them.

When leadership ends, the command and all its descendants get SIGTERM, then SIGKILL, before another
candidate can lead. They get SIGKILL at once if the lease is already gone, as after a suspend or
when the store has lost it. On SIGTERM or SIGINT, tenure stops the command, resigns and exits.
SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH are forwarded to the command; while no command runs,
SIGHUP and SIGQUIT end tenure. A SIGHUP that was ignored at startup, as under nohup, stays ignored.";

pub(super) const STATUS: &str = "\
Examples:
  tenure status
  tenure status nightly --json
  tenure status nightly --leads \"$HOSTNAME\" --json >/dev/null && ./only-on-the-leader
  tenure status --watch";

pub(super) const LOCK: &str = "\
Examples:
  tenure lock migrate -- ./migrate
  tenure lock backup --wait 10m -- ./backup.sh
  tenure lock backup --no-wait --quiet -- ./backup.sh || echo skipped

Waits for the lock, runs the command, releases the lock and exits with the command's code. Waiting
processes get the lock in order of arrival, except with postgres+advisory. If the lock is lost while
the command runs (the store was unreachable for too long, or `tenure resign` asked for the lock),
the command and all its descendants get SIGTERM, then SIGKILL, before another process gets the lock;
tenure exits with 76 and does not start the command again.

A lock is an election with the same name: status, history, watch and resign work on it. Do not use
one name for both lock and run. Environment and signals are as with run; TENURE_TERM is the fencing
token.";

pub(super) const FORGET: &str = "\
The history, the jobs and the dead letters are removed as well. Refuses with exit code 1 while
there is a leader, a candidate that stands by, or a message that waits for the next leader. Terms
never decrease: if the name is used again, its terms continue above the forgotten ones.

A candidate that has just lost its leadership pauses for a second before it stands by again, and is
invisible meanwhile. If the election is forgotten in that second, the candidate's next campaign
creates it anew, with a higher term.

A damaged record is removed if it is given by name, even if it cannot be read, unless its readable
part shows a leader or a candidate that stands by; terms continue above the highest readable one.

Examples:
  tenure forget tenant-4711
  tenure forget --abandoned-for 720h";

pub(super) const ELECT: &str = "\
Each line has event (elected, lost, observed, error, recovered, stopped; renewed with --renewals),
election, candidate, pid, term, reason, at and boot_ns. elected, renewed and lost also have
trusted_until_boot_ns. tenure-history checks such lines.

A failing store is retried indefinitely. The first error is printed at once; the same error again
after 1s, then after twice as long each time, with attempts (the number of failures) and lasting_ms.
When the store answers again, recovered has both fields as well.

With --channel, lines with the event message also have channel, id, sender, payload, attempts and
sent_at. A message may be printed again under a later term if its acknowledgement did not reach the
store; its id stays the same.

With --broadcasts, a line with the event listening marks the time from which broadcasts on a channel
are received; lines with the event broadcast have channel, id, sender and payload.

Examples:
  tenure elect nightly --metadata zone=eu-1
  tenure elect nightly --channel refresh | jq 'select(.event == \"message\").payload'
  tenure elect nightly --broadcasts reload | jq 'select(.event == \"broadcast\").payload'
  tenure elect nightly --ttl 3s --renew 500ms --grace 300ms | jq -r .event";

pub(super) const MIGRATE: &str = "\
Examples:
  tenure --store postgres://admin@db.example/shop migrate --role app
  tenure --store postgres://admin@db.example/shop migrate --role app --print | psql -d shop
  tenure --store postgres://admin@db.example/shop?schema=elections migrate --compat
  tenure --store postgres://admin@db.example/shop migrate --role app --raise-terms-above 4711
  tenure --store redis://cache.example migrate --raise-terms-above 4711 --election nightly

Can be repeated, and run by several processes at once. Needs the right to create a schema. The roles
need no other right on the database: they call functions and touch no table.";

pub(super) const SEND: &str = "\
Returns when the store has the message, and prints its id. A message waits until a leader handles
it. If the election has never had a candidate, a warning on standard error says so: the name may be
mistyped. `tenure messages` lists the elections with waiting messages.

Examples:
  tenure send nightly refresh '{\"day\":\"monday\"}'
  ./describe-work | tenure send nightly refresh - --sender office";

pub(super) const BROADCAST: &str = "\
Returns when the store has accepted the broadcast, and prints its id. Broadcasts are not kept:
candidates that are not listening at that moment never get them. Use `tenure send` for messages that
must not be lost.

Examples:
  tenure broadcast nightly reload '[\"prices\"]'
  tenure elect nightly --broadcasts reload";

pub(super) const MESSAGES: &str = "\
Examples:
  tenure messages
  tenure messages nightly
  tenure messages nightly --dead-letters --json
  tenure messages nightly --requeue 0123456789abcdef0123456789abcdef
  tenure messages nightly --requeue-all";
