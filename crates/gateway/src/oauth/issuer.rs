//! The runtime state of one trusted issuer.

use super::introspection::{IntrospectionCache, IntrospectionEndpoint};
use super::key_set::KeySet;

/// The keys and cached answers of one trusted issuer. They are dropped when the policy changes what
/// it says about the issuer.
#[derive(Default)]
pub(super) struct IssuerState {
    pub(super) keys: KeySet,
    pub(super) introspections: IntrospectionCache,
    pub(super) introspection_endpoint: IntrospectionEndpoint,
}
