//! Empty stand-ins for use without the feature `metrics`.

use std::sync::Arc;

use tenure_core::{ElectionName, Input, Instant, LossReason, Request};

use super::CandidacyPurpose;
use crate::event::EventKind;
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

    pub(crate) fn reported(&self, _event: &EventKind) {}
}

#[cfg(feature = "cron")]
pub(crate) fn has_jobs(_class: &NoClass, _jobs: &[tenure_core::JobName]) {}

pub(crate) fn settle() {}
