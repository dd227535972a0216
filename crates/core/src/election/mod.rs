//! One candidate in one election: the [`Elector`](crate::Elector), its inputs, outputs and states, and the timing by which it
//! trusts a grant.

pub(crate) mod candidate;
pub(crate) mod context;
pub(crate) mod elector;
pub(crate) mod input;
pub(crate) mod mutant;
pub(crate) mod output;
mod state;
pub(crate) mod timer;
pub(crate) mod timing;

#[cfg(test)]
mod tests;
