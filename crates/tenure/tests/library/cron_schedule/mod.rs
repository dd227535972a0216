//! When jobs are due: what expressions mean, and what happens to them when clocks are changed.

mod daylight;
mod expressions;
mod model;
mod properties;
