//! The synthetic workloads of the benches: the same on every machine and in every run.

#[cfg(feature = "stack")]
pub mod kernel;
#[cfg(any(feature = "stack", feature = "compile", feature = "routing"))]
pub mod measure;
pub mod records;
#[cfg(feature = "routing")]
pub mod routing;
pub mod rules;
pub mod scenario;

/// The error of a workload that cannot be built.
pub type Failure = Box<dyn std::error::Error>;

/// How a program ends; a failure is printed.
pub fn exit_code(outcome: Result<(), Failure>) -> std::process::ExitCode {
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// A small generator of pseudo-random numbers (xorshift), so that no run differs from another.
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    /// A stream that depends on `seed` alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(0x9E37_79B9_7F4A_7C15 ^ seed)
    }

    /// The next number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from((self.0 >> 11) % bound).unwrap_or(0)
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
