//! Beliefs: information that an agent relies on, with its confidence, its origin and whether it was
//! verified.

use std::fmt;

use weaver_types::{IdError, Integrity};

use super::belief_ids::{BeliefClass, BeliefId};
use super::call_context::FinishedCall;

/// A confidence in thousandths, 0 to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u16);

impl Confidence {
    /// No confidence at all.
    pub const NONE: Self = Self(0);
    /// One half: the default floor of the reference implementation.
    pub const HALF: Self = Self(500);
    /// Certainty.
    pub const FULL: Self = Self(1_000);

    /// From thousandths; `None` above 1,000.
    #[must_use]
    pub fn from_thousandths(value: u16) -> Option<Self> {
        (value <= 1_000).then_some(Self(value))
    }

    /// The thousandths.
    #[must_use]
    pub fn as_thousandths(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// Where a belief came from, from reliable to doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BeliefOrigin {
    /// Stated by a person.
    User,
    /// From a tool whose output the operator declared trusted.
    TrustedTool,
    /// Inferred from other beliefs.
    Inference,
    /// From a text that somebody else may have written.
    ExternalDocument,
}

weaver_types::words! { BeliefOrigin: "The word used in documents and events.";
    User = "user", TrustedTool = "trusted_tool", Inference = "inference",
    ExternalDocument = "external_document",
}

/// One belief.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Belief {
    /// The id.
    pub id: BeliefId,
    /// The class in which its outcome is counted.
    pub class: BeliefClass,
    /// How sure the agent is.
    pub confidence: Confidence,
    /// Whether it was confirmed independently.
    pub verified: bool,
    /// Where it came from.
    pub origin: BeliefOrigin,
}

impl Belief {
    /// The belief from a finished call: one per capability. It is certain and verified if the
    /// output is trusted; otherwise it is half certain, unverified and from an external document.
    ///
    /// # Errors
    /// [`IdError`] if the capability's id is not a valid name.
    pub fn from_call(finished_call: &FinishedCall<'_>) -> Result<Self, IdError> {
        let (confidence, origin) = match finished_call.label.integrity {
            Integrity::Trusted => (Confidence::FULL, BeliefOrigin::TrustedTool),
            Integrity::Untrusted => (Confidence::HALF, BeliefOrigin::ExternalDocument),
        };
        Ok(Self {
            id: BeliefId::parse(format!("tool:{}", finished_call.capability))?,
            class: BeliefClass::parse(finished_call.capability)?,
            confidence,
            verified: finished_call.label.integrity == Integrity::Trusted,
            origin,
        })
    }

    /// A belief of which only the id is known: the worst value in every field.
    ///
    /// # Errors
    /// [`IdError`] cannot occur for the fixed class name, but is passed on.
    pub(super) fn unknown(id: BeliefId) -> Result<Self, IdError> {
        Ok(Self {
            id,
            class: BeliefClass::parse("unknown")?,
            confidence: Confidence::NONE,
            verified: false,
            origin: BeliefOrigin::ExternalDocument,
        })
    }

    /// Whether it is weak: below `floor`, or unverified.
    #[must_use]
    pub fn is_weak(&self, floor: Confidence) -> bool {
        self.confidence < floor || !self.verified
    }

    /// The worse of both values in each field, with the id and class of `self`.
    #[must_use]
    pub fn worst_of(mut self, other: &Self) -> Self {
        self.confidence = self.confidence.min(other.confidence);
        self.verified &= other.verified;
        self.origin = self.origin.max(other.origin);
        self
    }
}
