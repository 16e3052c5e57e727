//! Whoever leads a person to an authorization server and back.

use reqwest::Url;
use weaver_types::BoxFuture;

use super::error::OAuthError;

/// Leads a person to an authorization server and back. A gateway that serves has none: it uses the
/// tokens that there are, and refreshes them.
pub trait AuthorizationAgent: Send + Sync {
    /// Where the authorization server sends the person back to.
    fn redirect_uri(&self) -> String;

    /// Opens the address for the person, and waits for where the person was sent back to.
    fn authorize(&self, address: Url) -> BoxFuture<'_, Result<Url, OAuthError>>;

    /// Shows the person a code that is typed in elsewhere (RFC 8628).
    fn show_code(&self, prompt: &DevicePrompt);
}

/// What a person types in on another device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePrompt {
    /// Where.
    pub verification_uri: String,
    /// What.
    pub user_code: String,
}
