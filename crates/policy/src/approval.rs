//! Approvals: who released which held call, proved by signatures, and nothing else releases it.
//!
//! A held call opens an [`ApprovalRequest`], which binds everything that somebody must see before
//! saying yes. A person answers with a [`Resolution`] over the digest of the whole request. What
//! the answer is worth stands in the keys document, never in the answer. An [`ApprovalState`]
//! gathers votes; only when enough distinct people with the authority agreed does it give a
//! [`Release`], and a decision takes nothing else. A [`Standing`] approval is signed in advance.
//!
//! Everything here is a function of its arguments: no file, no clock, no ledger.

mod discharge;
mod file;
mod nonce;
mod operator;
mod person;
mod rejection;
mod release;
mod render;
mod request;
mod resolution;
mod standing;
mod state;
mod verify;

pub(crate) use discharge::discharge;
pub use file::{MAX_SIGNED_FILE, SignedFile, SignedResolution, SignedStanding, SignedWord};
pub use nonce::{Nonce, NonceError};
pub use operator::{OPERATOR_WORD_LIFE, OperatorWord, Word, verify_operator_word};
pub use rejection::Rejection;
pub use release::Release;
pub use request::{ApprovalRequest, HeldCheck, Observed};
pub use resolution::{Resolution, ResolutionVerdict};
pub use standing::{Standing, StandingBounds, StandingUse, verify_standing};
pub use state::{ApprovalState, End, Phase, Vote};
pub use verify::{MAX_SKEW, Moment, verify_resolution};

/// The version of every signed form of this module.
pub const APPROVAL_VERSION: u64 = 1;
