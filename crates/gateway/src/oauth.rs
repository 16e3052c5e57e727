//! OAuth 2.1 on both sides of the gateway.
//!
//! To its clients over HTTP it is a resource server: access tokens of issuers that the signed policy
//! trusts let a client in. To the servers behind it, it is a client with logins of its own, which are
//! kept here.
//!
//! A token of a client is checked here (signature or introspection, issuer, audience, time); who it makes of its
//! bearer stands in the policy. It goes no further: no server ever sees it.

mod access_token;
mod error;
mod introspection;
mod issuer;
mod jwt;
mod key_set;
mod logins;
mod resource_server;

pub use logins::{LoginEntry, Logins, SealedLogin};

pub(crate) use error::TokenError;
pub(crate) use resource_server::{ResourceServer, VerifiedToken, WELL_KNOWN, scopes};
