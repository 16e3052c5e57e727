//! Reasons why a search that found nothing is not a proof.

use weaver_types::IdError;

/// Why a search is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SearchGap {
    /// Not all combinations of patterns were covered.
    #[error("the patterns of {subject} have more combinations than were tried")]
    Patterns {
        /// What the patterns are about.
        subject: &'static str,
    },
    /// Not all combinations of time windows were covered.
    #[error("the windows of time have more combinations than were tried")]
    Times,
    /// A condition depends on the origin of values.
    #[error("where values of arguments come from is not searched")]
    Provenance,
    /// No arguments were found that give the conditions their truth values.
    #[error("no arguments were found under which its conditions come out so")]
    Arguments,
    /// A generated name is not a valid id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The bound on steps was reached.
    #[error("the search was given up after too many steps")]
    Steps,
    /// The abstraction predicted a verdict that the decision did not give. This is a bug.
    #[error("the search and the decision disagree")]
    Disagreement,
}
