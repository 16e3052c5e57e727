//! The clients that an instance of a server may address.

use weaver_types::PrincipalId;

use super::instance_key::InstanceKey;

/// The clients that an instance of a server may address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Audience {
    /// All clients: they share the instance, or nobody works with it.
    Everyone,
    /// The clients of the principal whose login the instance uses, before one of them works with it.
    Principal(PrincipalId),
    /// The clients that it serves.
    Clients(InstanceKey),
}
