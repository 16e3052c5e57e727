//! Lets a test abort the process in the middle of a write, as a power cut would: nothing is cleaned
//! up. Builds without debug assertions contain no such check.

/// The number of the write step at which the process aborts, counted from 1.
#[cfg(debug_assertions)]
const ABORT_STEP_VARIABLE: &str = "WEAVER_ABORT_AT_WRITE";

/// Marks one step of writing to disk.
#[cfg(debug_assertions)]
pub(crate) fn step() {
    use std::sync::atomic::{AtomicU64, Ordering};

    static STEPS: AtomicU64 = AtomicU64::new(0);
    let step = STEPS.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    if std::env::var(ABORT_STEP_VARIABLE).is_ok_and(|last| last == step.to_string()) {
        std::process::abort();
    }
}

/// Marks one step of writing to disk.
#[cfg(not(debug_assertions))]
pub(crate) fn step() {}
