//! OAuth 2.1 on both sides of the gateway.
//!
//! Towards its clients over HTTP, the gateway is a resource server: it admits clients that present
//! an access token of an issuer that the signed policy trusts. Towards the servers behind it, the
//! gateway is an OAuth client; it stores its logins there.
//!
//! A client's token is verified here (signature or introspection, issuer, audience, time). The
//! policy says which principal it makes of its bearer. The token is never forwarded to any server.

mod access_token;
mod error;
mod introspection;
mod issuer;
mod jwt;
mod key_set;
mod logins;
mod resource_server;

pub use logins::{LoginEntry, LoginFolder, SealedLogin};

pub(crate) use resource_server::{ResourceServer, VerifiedToken, WELL_KNOWN, scopes};
