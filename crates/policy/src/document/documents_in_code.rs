//! Documents that are compiled into a program and need no signature.

use super::{DocumentSource, contracts, policy, read_unsigned};
use crate::contract::Contracts;
use crate::error::LoadError;
use crate::policy::Policy;
use weaver_types::signature::DocumentKind;

/// The built-in baseline.
const BASELINE: &str = include_str!("../../assets/baseline.toml");

impl Policy {
    /// The built-in baseline policy: everybody may read, `writer` or `admin` may write, and `admin`
    /// may destroy; the last two need a justification.
    ///
    /// # Errors
    /// [`LoadError`]; the text is part of this build and is tested to have none.
    pub fn baseline() -> Result<Self, LoadError> {
        Ok(Self { builtin: true, ..Self::from_code(BASELINE)? })
    }

    /// The text of the baseline policy, as a starting point for a policy of your own.
    #[must_use]
    pub fn baseline_text() -> &'static str {
        BASELINE
    }

    /// Parses a policy that the host's code contains, in the document language. The text is
    /// `'static` because it must be part of the program. A policy from a file must be signed, and
    /// is read by [`PolicySet::load`](crate::PolicySet::load).
    ///
    /// # Errors
    /// [`LoadError`] with everything that is wrong in the text.
    pub fn from_code(text: &'static str) -> Result<Self, LoadError> {
        read_unsigned(&DocumentSource::unsigned("code", text), DocumentKind::Policy, policy::read)
    }
}

impl Contracts {
    /// Parses contracts that the host's code contains, in the document language. The text is
    /// `'static` for the same reason as in [`Policy::from_code`](crate::Policy::from_code).
    ///
    /// # Errors
    /// [`LoadError`] with everything that is wrong in the text.
    pub fn from_code(text: &'static str) -> Result<Self, LoadError> {
        read_unsigned(
            &DocumentSource::unsigned("code", text),
            DocumentKind::Contracts,
            contracts::read,
        )
    }
}
