//! Documents that are part of a program: its own text, without a signature.

use super::{Source, contracts, policy, read_unsigned};
use crate::contract::Contracts;
use crate::error::LoadError;
use crate::policy::Policy;
use weaver_types::signature::Kind;

/// The built-in baseline.
const BASELINE: &str = include_str!("../../assets/baseline.toml");

impl Policy {
    /// The built-in baseline: reads for everybody, writes for `writer` or `admin`, destruction
    /// for `admin`, the last two with a justification.
    ///
    /// # Errors
    /// [`LoadError`]; the text is part of this build and is tested to have none.
    pub fn baseline() -> Result<Self, LoadError> {
        Ok(Self { builtin: true, ..Self::from_code(BASELINE)? })
    }

    /// The text of the baseline, to print, to read and to start from.
    #[must_use]
    pub fn baseline_text() -> &'static str {
        BASELINE
    }

    /// A policy written in the host's code, in the language of documents. The text is `'static`
    /// because it is meant to be part of the program; what comes from a file is signed and read
    /// by [`PolicySet::load`](crate::PolicySet::load).
    ///
    /// # Errors
    /// [`LoadError`] with everything that is wrong in the text.
    pub fn from_code(text: &'static str) -> Result<Self, LoadError> {
        read_unsigned(&Source::unsigned("code", text), Kind::Policy, policy::read)
    }
}

impl Contracts {
    /// Contracts written in the host's code, in the language of documents. The text is `'static`
    /// for the same reason as in [`Policy::from_code`](crate::Policy::from_code).
    ///
    /// # Errors
    /// [`LoadError`] with everything that is wrong in the text.
    pub fn from_code(text: &'static str) -> Result<Self, LoadError> {
        read_unsigned(&Source::unsigned("code", text), Kind::Contracts, contracts::read)
    }
}
