//! The port by which a host supplies its own semantic similarities.

use weaver_types::CapabilityId;

/// A retriever of the host, for example with the embeddings of a model. It is never asked about items
/// that are not visible.
pub trait Retriever {
    /// The similarity of the query and each of these items, in order, from -65,536 to 65,536. Missing
    /// values count as 0.
    fn similarities(&self, query: &str, items: &[&CapabilityId]) -> Vec<i64>;
}
