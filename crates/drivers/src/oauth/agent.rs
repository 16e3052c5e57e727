//! Brings a person to an authorization server and back.

use reqwest::Url;
use weaver_types::BoxFuture;

use super::error::OAuthError;

/// Brings a person to an authorization server and back. A serving gateway has no agent: it only
/// uses and refreshes existing tokens.
pub trait AuthorizationAgent: Send + Sync {
    /// The address to which the authorization server redirects the person.
    fn redirect_uri(&self) -> String;

    /// Opens the address for the person, and waits for the redirect.
    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<Url, OAuthError>>;

    /// Shows the person a code to enter on another device (RFC 8628).
    fn show_code(&self, prompt: &DevicePrompt);
}

/// What a person enters on another device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePrompt {
    /// The address to open.
    pub verification_uri: String,
    /// The code to enter.
    pub user_code: String,
}
