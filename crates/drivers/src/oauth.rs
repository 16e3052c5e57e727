//! OAuth 2.1 as the Model Context Protocol uses it: how a client finds the authorization server of an
//! MCP server, registers there, gets a token and keeps it fresh; and the fetching of metadata and
//! keys that a resource server needs too.
//!
//! What a server says of its own authorization is a claim of somebody who is not trusted yet. So
//! every document is bounded and fetched without redirects, an issuer counts only where its metadata
//! repeats it, PKCE is required, and a token is bound to the server that it was asked for; to a key
//! of its own, too, where the server or the operator wants that (DPoP).

mod agent;
mod authorization;
mod challenge;
mod client;
mod client_assertion;
mod device;
mod discovered_server;
mod dpop;
mod error;
mod grant;
mod login;
mod metadata;
mod own_login;
mod pkce;
mod registration;
mod request;
mod settings;
mod signing_key;
mod store;
mod web;

pub use reqwest::Url;

pub use agent::{AuthorizationAgent, DevicePrompt};
pub use challenge::Challenge;
pub use client::OAuthClient;
pub use dpop::TokenBinding;
pub use error::OAuthError;
pub use login::Login;
pub use metadata::{AuthorizationServer, ProtectedResource};
pub use registration::{ClientAuthentication, ClientIdentity};
pub use settings::{AssertionSource, GrantType, OAuthSettings, TokenExchange};
pub use store::{LoginGuard, LoginStore, MemoryLogins};
pub use web::{AllowedAddresses, Document, OAuthHttpClient};
