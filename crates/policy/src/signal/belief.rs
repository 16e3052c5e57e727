//! Beliefs: the information that an agent relies on, with its confidence, its origin and whether it
//! was verified.

use std::fmt;

use weaver_types::{IdError, Integrity};

use super::call_context::FinishedCall;
use super::name::{BeliefClass, BeliefId};

/// A confidence in thousandths, 0 to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u16);

impl Confidence {
    /// No confidence at all.
    pub const NONE: Self = Self(0);
    /// The floor of the reference: one half.
    pub const HALF: Self = Self(500);
    /// Certainty.
    pub const FULL: Self = Self(1_000);

    /// So many thousandths; `None` above 1,000.
    #[must_use]
    pub fn thousandths(value: u16) -> Option<Self> {
        (value <= 1_000).then_some(Self(value))
    }

    /// The thousandths.
    #[must_use]
    pub fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// Where a belief came from, from sound to doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BeliefOrigin {
    /// A person said it.
    User,
    /// A tool whose output the operator declared trusted.
    TrustedTool,
    /// It was inferred from other beliefs.
    Inference,
    /// Text that somebody else may have written.
    ExternalDocument,
}

impl BeliefOrigin {
    /// The word used in documents and events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::TrustedTool => "trusted_tool",
            Self::Inference => "inference",
            Self::ExternalDocument => "external_document",
        }
    }
}

/// One belief.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Belief {
    /// Its name.
    pub id: BeliefId,
    /// The class under which outcomes are compared with it.
    pub class: BeliefClass,
    /// How sure the agent is.
    pub confidence: Confidence,
    /// Whether something else bore it out.
    pub verified: bool,
    /// Where it came from.
    pub origin: BeliefOrigin,
}

impl Belief {
    /// What a finished call gives: one belief for each capability, certain and verified where the
    /// output is trusted, otherwise half certain, unverified and an external document.
    ///
    /// # Errors
    /// [`IdError`], when the capability's id makes no name.
    pub fn of_call(seen: &FinishedCall<'_>) -> Result<Self, IdError> {
        let (confidence, origin) = match seen.label.integrity {
            Integrity::Trusted => (Confidence::FULL, BeliefOrigin::TrustedTool),
            Integrity::Untrusted => (Confidence::HALF, BeliefOrigin::ExternalDocument),
        };
        Ok(Self {
            id: BeliefId::parse(format!("tool:{}", seen.capability))?,
            class: BeliefClass::parse(seen.capability)?,
            confidence,
            verified: seen.label.integrity == Integrity::Trusted,
            origin,
        })
    }

    /// A belief of which nothing is known but its name: the worst in every field.
    ///
    /// # Errors
    /// [`IdError`] never happens for the fixed class name; it is passed on all the same.
    pub(super) fn unknown(id: BeliefId) -> Result<Self, IdError> {
        Ok(Self {
            id,
            class: BeliefClass::parse("unknown")?,
            confidence: Confidence::NONE,
            verified: false,
            origin: BeliefOrigin::ExternalDocument,
        })
    }

    /// Whether it is weak: below `floor`, or not verified.
    #[must_use]
    pub fn is_weak(&self, floor: Confidence) -> bool {
        self.confidence < floor || !self.verified
    }

    /// The worse of both in each component; id and class are those of `self`.
    #[must_use]
    pub fn worse(mut self, other: &Self) -> Self {
        self.confidence = self.confidence.min(other.confidence);
        self.verified &= other.verified;
        self.origin = self.origin.max(other.origin);
        self
    }
}
