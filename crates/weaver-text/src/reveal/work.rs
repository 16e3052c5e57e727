//! A count of the steps of a reading, so that tests can tell linear work from quadratic work.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Notes that `n` bytes were looked at. Does nothing outside the tests.
#[cfg_attr(not(test), inline(always))]
pub(super) fn looked_at(n: usize) {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + n));
    #[cfg(not(test))]
    let _ = n;
}

/// The steps of this thread since the last call.
#[cfg(test)]
pub(super) fn steps() -> usize {
    STEPS.with(std::cell::Cell::take)
}
