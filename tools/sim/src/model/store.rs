//! The store, as the model looks at it.

use tenure_core::record::{Effects, Moment, ProcessToken, Record};
use tenure_core::{CampaignReply, Change, Instant, Reply, Request, Verb};

use super::state::{Grant, Origin};
use super::world::World;
use crate::mistake::Mistake;
use crate::store::Desk;

/// What became of a request.
pub(super) struct Served {
    pub(super) reply: Reply,
    /// A new term, if one was granted.
    pub(super) grant: Option<Grant>,
    pub(super) wake: Vec<ProcessToken>,
}

/// Who asks, and when on the store's clock.
pub(super) struct Asked {
    pub(super) node: usize,
    pub(super) process: ProcessToken,
    pub(super) now: Instant,
}

/// One atomic step of the store. It cannot see processes die: leases end by being released or by running out.
pub(super) fn serve(world: &World, record: &mut Record, asked: &Asked, request: &Request) -> Served {
    let kept = record.reservation.as_ref().and_then(|reservation| reservation.nonce);
    let candidate = &world.candidates[asked.node];
    let mut desk = Desk {
        record,
        at: Moment { now: asked.now, unix_ms: 0, process: asked.process, is_gone: &|_| false },
        key: &world.key,
        candidate,
        ttl: candidate.timing.ttl(),
        terms_above: None,
        mistake: match world.options.mistake {
            Some(Mistake::Store(mistake)) => Some(mistake),
            _ => None,
        },
    };
    let (reply, effects) = desk.serve(&request.verb);
    let was_kept = matches!(request.verb, Verb::Campaign { nonce } if kept == Some(nonce));
    let grant = granted(world, asked.node, request, &reply, &effects, was_kept);
    Served { reply, grant, wake: effects.wake.iter().map(|wake| wake.process).collect() }
}

fn granted(
    world: &World,
    node: usize,
    request: &Request,
    reply: &Reply,
    effects: &Effects,
    was_kept: bool,
) -> Option<Grant> {
    let Reply::Campaign(Ok(CampaignReply::Granted { term })) = *reply else { return None };
    effects.transitions.iter().find(|transition| transition.change == Change::Elected)?;
    let mine = &world.candidates[node].id;
    let mut ended = effects.transitions.iter().filter(|transition| transition.change == Change::Lost);
    let origin = if ended.any(|transition| transition.candidate != *mine) {
        Origin::Expired
    } else if was_kept {
        Origin::Reserved
    } else {
        Origin::Free
    };
    Some(Grant { term, request: request.id, origin })
}
