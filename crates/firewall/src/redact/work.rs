//! How many bytes patterns and scanners are run over: counted in tests, to hold it linear.

#[cfg(any(test, feature = "work-meter"))]
thread_local! {
    static BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Adds to the count of bytes.
pub(crate) fn add(bytes: usize) {
    #[cfg(any(test, feature = "work-meter"))]
    BYTES.with(|all| all.set(all.get() + bytes));
    #[cfg(not(any(test, feature = "work-meter")))]
    let _ = bytes;
}

/// The bytes that were counted while this ran, in this thread.
#[cfg(any(test, feature = "work-meter"))]
pub(crate) fn of(run: impl FnOnce()) -> usize {
    let before = BYTES.with(std::cell::Cell::get);
    run();
    BYTES.with(std::cell::Cell::get) - before
}
