//! What is known of one trusted issuer while the gateway runs.

use super::introspection::{EndpointCell, Introspections};
use super::key_set::KeySet;

/// What is known of one trusted issuer. It is dropped when the policy says something else of it.
#[derive(Default)]
pub(super) struct IssuerState {
    pub(super) keys: KeySet,
    pub(super) introspections: Introspections,
    pub(super) introspection_endpoint: EndpointCell,
}
