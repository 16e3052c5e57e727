//! Ends the process in the middle of a write, where a test says so: as a power cut does, nothing is
//! cleaned up. Builds without debug assertions do not look.

/// The number of the step at which the process ends, from 1.
#[cfg(debug_assertions)]
const VARIABLE: &str = "WEAVER_ABORT_AT_WRITE";

/// One step of what is written to disk.
#[cfg(debug_assertions)]
pub(crate) fn step() {
    use std::sync::atomic::{AtomicU64, Ordering};

    static STEPS: AtomicU64 = AtomicU64::new(0);
    let step = STEPS.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    if std::env::var(VARIABLE).is_ok_and(|last| last == step.to_string()) {
        std::process::abort();
    }
}

/// One step of what is written to disk.
#[cfg(not(debug_assertions))]
pub(crate) fn step() {}
