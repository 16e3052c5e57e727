//! The eras of the protocol: sessions opened with `initialize` (legacy), and self-contained
//! requests (modern).

/// The protocol era of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}
