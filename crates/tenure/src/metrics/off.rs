//! Empty stand-ins for use without the feature `metrics`.

use std::sync::Arc;

use tenure_core::{ElectionName, Input, Instant, LossReason, Request};

use super::CandidacyPurpose;
use crate::event::ElectionError;
use crate::shared::Shared;

#[derive(Debug, Clone, Copy)]
pub(crate) struct NoClass;

#[derive(Debug, Clone, Copy)]
pub(crate) struct NoClassifier;

impl NoClassifier {
    pub(crate) fn by_name() -> Self {
        Self
    }

    pub(crate) fn class_of(self, _name: &ElectionName, _purpose: CandidacyPurpose) -> NoClass {
        NoClass
    }
}

#[derive(Debug)]
pub(crate) struct NoRecorder;

impl NoRecorder {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let NoClass = shared.class;
        Self
    }

    pub(crate) fn asked(&mut self, _now: Instant, _request: &Request) {}

    pub(crate) fn heard(&mut self, _now: Instant, _input: &Input) {}

    pub(crate) fn elected(&mut self, _now: Instant) {}

    pub(crate) fn renewed(&self) {}

    pub(crate) fn lost(&self, _reason: LossReason) {}

    pub(crate) fn error(&self, _error: &ElectionError) {}

    #[cfg(feature = "cron")]
    pub(crate) fn has_jobs(&self, _jobs: impl Iterator<Item = tenure_core::JobName>) {}

    #[cfg(feature = "cron")]
    pub(crate) fn job(&self, _unix_ms: u64, _job: &tenure_core::JobName, _news: &crate::cron::JobEvent) {}
}

pub(crate) fn settle() {}
