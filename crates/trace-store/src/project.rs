//! Projections: what follows from the events, computed each time.

mod stats;

pub use stats::{Holds, Stats};
