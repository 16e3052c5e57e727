//! Why a search proves nothing where it found nothing.

use weaver_types::IdError;

/// What was left out of a search, or stopped it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SearchGap {
    /// Patterns whose combinations were not all covered.
    #[error("the patterns of {subject} have more combinations than were tried")]
    Patterns {
        /// What the patterns are about.
        subject: &'static str,
    },
    /// Windows of time whose combinations were not all covered.
    #[error("the windows of time have more combinations than were tried")]
    Times,
    /// A condition on the origin of values.
    #[error("where values of arguments come from is not searched")]
    Provenance,
    /// No arguments were found for the outcomes of the conditions, which proves nothing.
    #[error("no arguments were found under which its conditions come out so")]
    Arguments,
    /// A name that the search made is no id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The bound on steps was reached.
    #[error("the search was given up after too many steps")]
    Steps,
    /// The abstraction promised a verdict that the decision does not give. A bug, said as such.
    #[error("the search and the decision disagree")]
    Disagreement,
}
