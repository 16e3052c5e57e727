//! The answer of a router.

use weaver_types::CapabilityId;

use super::trace::RouteTrace;

/// One ranked item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The capability.
    pub id: CapabilityId,
    /// How well it fits, in units of 1/65,536. Comparable within one ranking only.
    pub score: u64,
    /// Whether a near copy of it stands higher: same namespace, same words, other version.
    pub copy: bool,
}

impl Hit {
    /// The score as a number for people.
    #[must_use]
    pub fn points(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
        let score = self.score as f64;
        score / 65_536.0
    }
}

/// The shortlist for one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RouteAnswer {
    /// The items, best first.
    pub hits: Vec<Hit>,
    /// How likely it is that the first item is one that was asked for, in thousandths.
    pub confidence: u32,
    /// Whether the second item is as good as the first.
    pub ambiguous: bool,
    /// What to ask where that is so.
    pub question: Option<String>,
    /// Whether nothing fits. The hits are the best there is all the same.
    pub abstained: bool,
    /// How it came to be, where that was asked for.
    pub trace: Option<RouteTrace>,
}
