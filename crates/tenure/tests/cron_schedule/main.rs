//! When jobs are due: what expressions mean, and what happens to them when clocks are changed.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod daylight;
mod expressions;
mod model;
mod properties;
