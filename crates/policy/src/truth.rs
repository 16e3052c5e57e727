//! Three-valued truth: true, false, or not known yet.

/// A truth value of Kleene's strong three-valued logic. The order `No < Unknown < Yes` makes *and*
/// the minimum (`min`) and *or* the maximum (`max`); *not* is the operator `!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// It does not hold.
    No,
    /// It is not known yet.
    Unknown,
    /// It holds.
    Yes,
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl std::ops::Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Unknown => Self::Unknown,
            Self::Yes => Self::No,
        }
    }
}
