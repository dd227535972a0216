//! What `--help` shows behind the options of each command.

pub(super) const RUN: &str = "\
Examples:
  tenure run nightly -- ./nightly-report.sh
  tenure run queue --preset fast --restart always -- ./consume --queue mail
  tenure run queue --metrics 127.0.0.1:9095 -- ./consume
  tenure --store sqlite:/var/lib/app/tenure.db run migrate --no-wait -- ./migrate
  tenure --store postgres://app@db.example/shop run queue --fail-fast -- ./consume

The command gets TENURE_ELECTION, TENURE_CANDIDATE and TENURE_TERM, and not what tenure may log in to its store with:
TENURE_STORE; with PostgreSQL also PGPASSWORD, PGPASSFILE, PGSSLCERT and PGSSLKEY; with the Redis of the environment also
MUTEX_REDIS_PASSWORD. --keep-env NAME lets it have one of these. When leadership ends it and all its descendants get
SIGTERM, then SIGKILL, before anybody else may lead; SIGKILL at once if the lease is gone already, as after a suspend or when
the store has lost it. SIGTERM or SIGINT to tenure stops the command, resigns and exits; SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and
SIGWINCH are passed on to the command. Without one to pass them on to, SIGHUP and SIGQUIT end tenure. A SIGHUP that is ignored
at the start, as under nohup, stays ignored.";

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

It waits for the lock, runs the command, releases the lock and exits with the command's code. Those who wait are served
in order of arrival, except with postgres+advisory. When the lock is lost meanwhile (the store could not be reached for
too long, or somebody asked for it with `tenure resign`), the command and all its descendants get SIGTERM, then SIGKILL,
before anybody else has the lock; tenure exits with 76, and does not start the command again.

A lock is the election of its name: status, history, watch and resign work on it. Do not use one name for both lock and
run. Environment and signals are as with run; TENURE_TERM is the fencing token.";

pub(super) const FORGET: &str = "\
Its history, its jobs and the messages that were set aside go with it. It is refused with exit code 1 while somebody leads,
stands by, or messages wait for the next leader. Terms do not fall by it: if the name is ever led again, its terms go on
above those that were forgotten.

A candidate that has just lost its leadership pauses for a second before it stands in line again, and is seen by nobody
meanwhile. If the election is forgotten then, its next campaign begins it anew, under a higher term.

A record that is damaged is removed by its name, even if it cannot be read, unless somebody leads or stands by as far as it
can; its terms go on above the highest that it still tells.

Examples:
  tenure forget tenant-4711
  tenure forget --abandoned-for 720h";

pub(super) const ELECT: &str = "\
Each line has event (elected, lost, observed, error, recovered, stopped; renewed with --renewals), election, candidate, pid,
term, reason, at and boot_ns. elected, renewed and lost also have trusted_until_boot_ns. tenure-history judges such lines.
A store that fails is asked again and again. The first error is printed at once; the same one again only after 1s, then after
twice as long each time, with attempts (how many failed) and lasting_ms. When the store answers again, recovered has both, too.
With --channel, a line with the event message has channel, id, sender, payload, attempts and sent_at as well. A message
that was printed may come again under a later term if its settlement did not reach the store; its id tells.
With --broadcasts, a line with the event listening says that broadcasts on a channel are heard from now on, and a line with
the event broadcast has channel, id, sender and payload.

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

It may be run again, by many at once, and by whoever may create a schema. The roles need no other right on the database:
they call functions, and touch no table.";

pub(super) const SEND: &str = "\
It returns when the store has the message, and prints its id. A message waits until somebody leads and handles it. If nobody has
ever stood in that election, a warning on standard error says so: the name may be mistyped. `tenure messages` lists where messages
wait.

Examples:
  tenure send nightly refresh '{\"day\":\"monday\"}'
  ./describe-work | tenure send nightly refresh - --sender office";

pub(super) const BROADCAST: &str = "\
It returns when the store has taken it, and prints its id. Nothing is kept: who does not listen at that moment never hears
of it. What must not be lost is sent to the leader with `tenure send`.

Examples:
  tenure broadcast nightly reload '[\"prices\"]'
  tenure elect nightly --broadcasts reload";

pub(super) const MESSAGES: &str = "\
Examples:
  tenure messages
  tenure messages nightly
  tenure messages nightly --aside --json
  tenure messages nightly --requeue 0123456789abcdef0123456789abcdef
  tenure messages nightly --requeue-all";
