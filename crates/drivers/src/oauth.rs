//! OAuth 2.1 as the Model Context Protocol uses it: a client finds the authorization server of an
//! MCP server, registers there, gets tokens and refreshes them. A resource server uses the same
//! code to fetch metadata and keys.
//!
//! What a server says about its authorization comes from a party that is not trusted yet. So every
//! document is bounded and fetched without redirects, an issuer counts only if its own metadata
//! repeats it, PKCE is required, and a token is bound to the server it was requested for. If the
//! server or the operator asks for it, the token is also bound to a key of its own (DPoP).

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
mod oauth_http_client;
mod pkce;
mod registration;
mod request;
mod settings;
mod signing_key;
mod store;
mod unattended_login;

pub use reqwest::Url;

pub use agent::{AuthorizationAgent, DevicePrompt};
pub use challenge::Challenge;
pub use client::OAuthClient;
pub use dpop::TokenBinding;
pub use error::OAuthError;
pub use login::Login;
pub use metadata::{AuthorizationServer, ProtectedResource};
pub use oauth_http_client::{AllowedAddresses, JsonResponse, OAuthHttpClient};
pub use registration::{ClientAuthentication, ClientIdentity};
pub use settings::{AssertionSource, GrantType, OAuthSettings, TokenExchange};
pub use store::{InMemoryLoginStore, LoginGuard, LoginStore};
