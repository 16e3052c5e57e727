//! Counts the steps of scans and decoding, so that tests can verify that the work is linear.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Records that `n` bytes were read. Does nothing outside of tests.
#[cfg_attr(not(test), inline(always))]
pub(crate) fn add_steps(n: usize) {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + n));
    #[cfg(not(test))]
    let _ = n;
}

/// The steps of this thread since the last call; resets the count.
#[cfg(test)]
pub(crate) fn steps() -> usize {
    STEPS.with(std::cell::Cell::take)
}
