//! Counts the bytes that patterns and scanners scan, so that tests can check that the work is
//! linear.

#[cfg(any(test, feature = "work-meter"))]
thread_local! {
    static BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Adds to the count.
pub(crate) fn add_bytes(bytes: usize) {
    #[cfg(any(test, feature = "work-meter"))]
    BYTES.with(|all| all.set(all.get() + bytes));
    #[cfg(not(any(test, feature = "work-meter")))]
    let _ = bytes;
}

/// The bytes counted on this thread while `run` runs.
#[cfg(any(test, feature = "work-meter"))]
pub(crate) fn measure(run: impl FnOnce()) -> usize {
    let before = BYTES.with(std::cell::Cell::get);
    run();
    BYTES.with(std::cell::Cell::get) - before
}
