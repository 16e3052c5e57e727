//! The answer of a router.

use weaver_types::CapabilityId;

use super::trace::RouteTrace;

/// One ranked item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The capability.
    pub id: CapabilityId,
    /// The score, in units of 1/65,536. Comparable only within one ranking.
    pub score: u64,
    /// Whether a near duplicate is ranked higher: same namespace and words, other version.
    pub is_near_duplicate: bool,
}

impl Hit {
    /// The score as a decimal number.
    #[must_use]
    pub fn points(&self) -> f64 {
        self.score as f64 / 65_536.0
    }
}

/// The shortlist for one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RouteAnswer {
    /// The items, best first.
    pub hits: Vec<Hit>,
    /// The estimated probability that the first item is a right one, in thousandths.
    pub confidence: u32,
    /// Whether the second item is about as good as the first.
    pub ambiguous: bool,
    /// The clarifying question to ask in that case.
    pub question: Option<String>,
    /// Whether probably no item fits. The hits are then still the best ones.
    pub abstained: bool,
    /// How the ranking was computed, if a trace was requested.
    pub trace: Option<RouteTrace>,
}
