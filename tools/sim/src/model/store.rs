//! The store, as the model looks at it.

use tenure_core::store_rules::record::{Effects, Moment, ProcessToken, Record};
use tenure_core::{CampaignReply, Change, Instant, Reply, Request, Verb};

use super::state::{ModelGrant, Origin};
use super::world::ModelWorld;
use crate::mistake::Mistake;
use crate::store::LeaseStep;

/// What became of a request.
pub(super) struct ServedRequest {
    pub(super) reply: Reply,
    /// A new term, if one was granted.
    pub(super) grant: Option<ModelGrant>,
    pub(super) wake: Vec<ProcessToken>,
}

/// Who asks, and when on the store's clock.
pub(super) struct ModelCaller {
    pub(super) node: usize,
    pub(super) process: ProcessToken,
    pub(super) now: Instant,
}

/// One atomic step of the store. It cannot see processes die: leases end by being released or by running out.
pub(super) fn serve(world: &ModelWorld, record: &mut Record, asked: &ModelCaller, request: &Request) -> ServedRequest {
    let kept = record.reservation.as_ref().and_then(|reservation| reservation.nonce);
    let candidate = &world.candidates[asked.node];
    let mut step = LeaseStep {
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
    let (reply, effects) = step.serve(&request.verb);
    let was_kept = matches!(request.verb, Verb::Campaign { nonce } if kept == Some(nonce));
    let grant = granted(world, asked.node, request, &reply, &effects, was_kept);
    ServedRequest { reply, grant, wake: effects.wake.iter().map(|wake| wake.process).collect() }
}

fn granted(
    world: &ModelWorld,
    node: usize,
    request: &Request,
    reply: &Reply,
    effects: &Effects,
    was_kept: bool,
) -> Option<ModelGrant> {
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
    Some(ModelGrant { term, request: request.id, origin })
}
