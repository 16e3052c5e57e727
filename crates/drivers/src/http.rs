//! HTTP API operations as drivers of the kernel.
//!
//! An [`Operation`] fixes method, host and the places that arguments fill; no argument selects
//! anything else. A value in a path becomes one segment, a value in a query one parameter, a value
//! in a header one line; anything more is refused. [`Access`] limits where requests and redirects
//! may go. Hosts are compared in one normal form, names are resolved here, and the connection goes
//! to the resolved address that was checked (so DNS rebinding has no second lookup to attack).
//! Addresses that are not public are refused unless listed. Responses must not be compressed, so
//! none can expand beyond its limit.

mod access;
mod address_range;
mod body;
mod certificate_authority;
pub(crate) mod client;
mod client_error;
mod error;
mod etag;
mod host;
mod http_driver;
pub(crate) mod media;
mod operation;
mod request;
pub(crate) mod restricted_client;
mod secret;
pub(crate) mod streamed_response;
mod tls_fault;
mod url_template;

pub use access::Access;
pub use address_range::AddressRange;
pub(crate) use address_range::{is_metadata_service, is_public};
pub(crate) use body::{BodyError, read_body};
pub use certificate_authority::CertificateAuthority;
pub use client::{HostLookup, system_host_lookup};
pub use error::OperationError;
pub(crate) use error::Refusal;
pub use etag::EtagObserver;
pub(crate) use host::ip_literal;
pub use host::{HostRule, is_loopback};
pub use http_driver::HttpDriver;
pub use operation::{Body, Method, Operation, SecretHeader};
pub use secret::{
    CommandSecret, EnvSecret, FileSecret, MIN_SECRET_BYTES, ProjectedSecret, Secret, SecretError,
    SecretProvider,
};
pub use tls_fault::TlsFault;
