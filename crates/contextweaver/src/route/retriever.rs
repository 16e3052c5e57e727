//! The port through which a host supplies similarities of its own.

use weaver_types::CapabilityId;

/// A retriever of the host's own, for example with vectors of a model. What it says of items that
/// may not be seen is never asked.
pub trait Retriever {
    /// How near each of these items is to the query, from -65,536 to 65,536, in their order.
    /// Missing values count as 0.
    fn near(&self, query: &str, items: &[&CapabilityId]) -> Vec<i64>;
}
