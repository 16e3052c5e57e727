//! The eras of the protocol: sessions that `initialize` opens, and requests that stand alone.

/// In which era a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}
