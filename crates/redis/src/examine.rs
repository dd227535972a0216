//! Checks of the servers for `tenure doctor`, and for the log at the first connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Cmd, Value, cmd};
use tenure_store::clock::unix_ms;
use tenure_store::{ElectionKey, ElectionName, Finding, Namespace, Severity};

use super::call::{Call, CallCommand};
use super::deployment::Deployment;
use super::error::RedisStoreError;
use super::facts::RedisFacts;
use super::index::List;
use super::lease::RedisInner;
use super::sentinel::Opinion;

/// Clocks that differ by more than this are worth a word. Nothing is decided by it: leases only need a clock that does not
/// jump, and terms one that does not go back.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(5);
/// The number of elections up to which each is examined.
const MAX_ELECTIONS: usize = 10_000;
/// The oldest version on which all scripts were tested.
const OLDEST: u32 = 6;

/// Connects, reads, writes, and examines the configuration of the servers.
pub(super) async fn examine(inner: &RedisInner) -> Vec<Finding> {
    let mut findings = look(inner).await;
    findings.push(Finding::good("keys", format!("the lease of an election is the key {}", inner.keys().example())));
    findings.extend(lists(inner).await);
    findings.extend(expiry(inner).await);
    findings.push(writable(inner).await);
    findings
}

/// Logs findings that need attention, for operators who never run `tenure doctor`.
pub(super) async fn warn(inner: Arc<RedisInner>) {
    for finding in look(&inner).await {
        if finding.severity != Severity::Good {
            log!(warn, store = inner.place(), check = finding.check, "{}", finding.detail);
        }
    }
}

/// The checks that leave no trace.
async fn look(inner: &RedisInner) -> Vec<Finding> {
    let before = Instant::now();
    let answers = inner.deployment().survey(&RedisFacts::questions()).await;
    let took = before.elapsed();
    let mut findings = Vec::new();
    for (server, answers) in answers {
        match answers.and_then(RedisFacts::of) {
            Ok(facts) => {
                let detail =
                    format!("{server} answers in {:.1} ms: {}", took.as_secs_f64() * 1_000.0, facts.describe());
                findings.push(Finding::good("reach", detail));
                findings.extend(about(&facts, inner.wait().map_or(0, |wait| wait.replicas)));
            }
            Err(fault) => findings.push(Finding::bad("reach", fault.about(&server).to_string())),
        }
    }
    findings.extend(sentinels(inner).await);
    findings
}

fn about(facts: &RedisFacts, replicas_wanted: u32) -> Vec<Finding> {
    vec![
        version(facts),
        role(facts),
        eviction(facts),
        persistence(facts),
        replicas(facts, replicas_wanted),
        clock(facts),
    ]
}

fn version(facts: &RedisFacts) -> Finding {
    match facts.major_version() {
        Some(major) if major >= OLDEST => Finding::good("version", facts.describe()),
        Some(_) => Finding::warning(
            "version",
            format!("{} is older than the versions tenure is tested with", facts.describe()),
        ),
        None => Finding::warning("version", "the server does not report its version"),
    }
}

fn role(facts: &RedisFacts) -> Finding {
    match facts.get("role") {
        _ if facts.get("redis_mode") == Some("sentinel") => Finding::bad(
            "role",
            "it is a sentinel, which cannot hold elections; use redis+sentinel://HOST:26379/NAME, where NAME is its \
             name for the primary",
        ),
        Some("master") => Finding::good("role", "it is a primary"),
        Some(_) => Finding::bad("role", "it is a replica, which cannot grant leases; use the address of its primary"),
        None => untold("role", "INFO"),
    }
}

fn eviction(facts: &RedisFacts) -> Finding {
    let (limit, policy) = (facts.number("maxmemory"), facts.get("maxmemory_policy"));
    match (limit, policy) {
        (Some(0), _) => Finding::good("eviction", "no memory limit, so nothing is evicted"),
        (_, Some("noeviction")) => Finding::good("eviction", "nothing is evicted when memory is full"),
        (_, Some(policy)) if policy.starts_with("volatile") => Finding::warning(
            "eviction",
            format!(
                "maxmemory-policy is {policy}: when memory is full, keys with an expiry are evicted, among them \
                 leases, and two leaders are possible. Set it to noeviction"
            ),
        ),
        (_, Some(policy)) => Finding::warning(
            "eviction",
            format!(
                "maxmemory-policy is {policy}: when memory is full, leases and terms are evicted, and two leaders are \
                 possible. Set it to noeviction"
            ),
        ),
        (_, None) => untold("eviction", "INFO"),
    }
}

fn persistence(facts: &RedisFacts) -> Finding {
    match (facts.number("aof_enabled"), facts.setting("appendfsync")) {
        (Some(0), _) => Finding::warning(
            "persistence",
            "appendonly is off: a restart loses the leases of the last minutes, or all of them, and two leaders are \
             possible until the old one renews. Set appendonly yes and appendfsync always",
        ),
        (Some(_), Some("always")) => Finding::good("persistence", "every write is on disk before it is answered"),
        (Some(_), Some(policy)) => Finding::warning(
            "persistence",
            format!(
                "appendfsync is {policy}: a power failure may lose the leases of the last second, and two leaders are \
                 possible until the old one renews. Set it to always"
            ),
        ),
        (Some(_), None) => untold("persistence", "CONFIG GET"),
        (None, _) => untold("persistence", "INFO"),
    }
}

fn replicas(facts: &RedisFacts, wanted: u32) -> Finding {
    let connected = facts.number("connected_slaves").unwrap_or(0);
    if connected < u64::from(wanted) {
        return Finding::bad(
            "replicas",
            format!(
                "{connected} replica(s) connected, but wait_replicas={wanted} asks for more: no lease can be granted"
            ),
        );
    }
    match (connected, facts.setting("min-replicas-to-write")) {
        (0, _) => Finding::good("replicas", "none, so no failover can lose a lease"),
        (_, Some("0")) => Finding::warning(
            "replicas",
            format!(
                "{connected} replica(s) follow asynchronously: a failover can lose a lease, and an old primary keeps \
                 granting leases until it learns of it. Set min-replicas-to-write 1 and min-replicas-max-lag 2, and \
                 use wait_replicas=1"
            ),
        ),
        (_, Some(least)) => Finding::good(
            "replicas",
            format!("{connected} replica(s), and writes are refused when fewer than {least} follow"),
        ),
        (_, None) => untold("replicas", "CONFIG GET"),
    }
}

fn clock(facts: &RedisFacts) -> Finding {
    let Some(theirs) = facts.unix_ms() else { return untold("clock", "TIME") };
    let difference = Duration::from_millis(theirs.abs_diff(unix_ms()));
    let detail = format!("the clocks of the server and this machine differ by {:.1} s", difference.as_secs_f64());
    if difference < CLOCK_DIFFERENCE {
        Finding::good("clock", detail)
    } else {
        Finding::warning("clock", format!("{detail}; leases use the server's clock, so let NTP keep it from jumping"))
    }
}

fn untold(check: &'static str, command: &str) -> Finding {
    Finding::warning(check, format!("unknown: the server denies the use of {command}"))
}

/// Writes a key that is never read and expires by itself.
async fn writable(inner: &RedisInner) -> Finding {
    let key = inner.keys().examination();
    let mut command: Cmd = cmd("SET");
    command.arg(&key).arg("").arg("PX").arg(1_000);
    let calls = [Call { route: key, order: CallCommand::Plain(command) }];
    let answer = inner.deployment().run(&calls, None).await.pop();
    let result = match answer {
        Some(Ok(answer)) => match answer.value {
            Value::ServerError(error) => Err(RedisStoreError::server(&error)),
            _ => Ok(()),
        },
        Some(Err(fault)) => Err(fault),
        None => Ok(()),
    };
    match result {
        Ok(()) => Finding::good("writable", "it takes writes"),
        Err(fault) => Finding::bad("writable", fault.about(inner.place()).to_string()),
    }
}

/// Checks that the keys of the lists hold nothing else. Where other systems take part, there is only this namespace.
async fn lists(inner: &RedisInner) -> Vec<Finding> {
    let mut findings = Vec::new();
    for list in [List::Elections, List::Mailboxes] {
        if let Err(fault) = inner.read_list(list, &Namespace::default()).await
            && fault.is_wrong_type()
        {
            findings.push(Finding::bad("lists", fault.about(inner.place()).to_string()));
        }
    }
    findings
}

/// A lease without an expiry blocks its election for ever. Where other systems take part, there is only this namespace.
async fn expiry(inner: &RedisInner) -> Option<Finding> {
    let namespace = Namespace::default();
    let names = inner.elections(&namespace).await.ok()?;
    let key = |name: &ElectionName| ElectionKey { namespace: namespace.clone(), name: name.clone() };
    let elections: Vec<ElectionKey> = names.iter().take(MAX_ELECTIONS).map(key).collect();
    let endless = inner.endless(&elections).await;
    Some(if endless.is_empty() {
        Finding::good("expiry", format!("all leases of {} election(s) have an expiry", elections.len()))
    } else {
        let keys = endless.join(", ");
        Finding::bad(
            "expiry",
            format!(
                "these leases have no expiry, so no other candidate can ever lead: {keys}. If their holders are gone, \
                 remove them with DEL"
            ),
        )
    })
}

async fn sentinels(inner: &RedisInner) -> Option<Finding> {
    let Deployment::Sentinel { sentinels, .. } = inner.deployment() else { return None };
    let primary = match inner.deployment().survey(&[]).await.into_iter().next() {
        Some((server, Ok(_))) => server,
        Some((_, Err(fault))) => return Some(Finding::bad("sentinels", fault.about(inner.place()).to_string())),
        None => return None,
    };
    Some(match sentinels.opinion_of_all(&primary).await {
        (Opinion::Confirmed, namesakes) if namesakes > 0 => Finding::warning(
            "sentinels",
            format!(
                "more than half of them name {primary} as the primary, but {namesakes} of those in the address are the \
                 same sentinels under another name, and do not count; give each sentinel once"
            ),
        ),
        (Opinion::Confirmed, _) => {
            Finding::good("sentinels", format!("more than half of them name {primary} as the primary"))
        }
        (Opinion::Elsewhere | Opinion::Unclear, _) => Finding::bad(
            "sentinels",
            format!("fewer than half of those in the address name {primary} as the primary: no lease can be granted"),
        ),
    })
}
