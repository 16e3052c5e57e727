//! Operations of HTTP APIs as drivers of the kernel.
//!
//! An [`Operation`] fixes method, host and the places that the arguments of a call fill; nothing in
//! the arguments selects another. A value in a path becomes one segment, a value in a query one
//! value, a value in a header one line: what would be more is refused. [`Access`] says where
//! requests and their redirects may go: hosts are compared in one normal form, names are looked up
//! here, and a connection is made to the looked-up address and to no other. Addresses that are not
//! public are refused unless they are named. Nothing is compressed, so nothing unfolds.

mod access;
mod authority;
pub(crate) mod client;
mod client_error;
mod driver;
mod error;
mod etag;
mod host;
mod media;
mod network;
mod operation;
pub(crate) mod pieces;
mod request;
mod secret;
mod template;
pub(crate) mod web;

pub use access::Access;
pub use authority::Authority;
pub use client::{Lookup, system_lookup};
pub use driver::HttpDriver;
pub use error::OperationError;
pub(crate) use error::Refusal;
pub use etag::EtagObserver;
pub use host::{HostRule, is_loopback};
pub use network::Network;
pub(crate) use network::{is_metadata_service, is_public};
pub use operation::{Body, Method, Operation, SecretHeader};
pub use secret::{
    CommandSecret, EnvSecret, FileSecret, MIN_SECRET, ProjectedSecret, Secret, SecretError,
    SecretProvider,
};
