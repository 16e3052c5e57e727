//! The device authorization grant (RFC 8628): a person types a code in on another device.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use zeroize::Zeroizing;

use super::agent::{AuthorizationAgent, DevicePrompt};
use super::authorization::AuthorizationRequest;
use super::error::{OAuthError, refused};
use super::grant::{Grant, TokenEndpoint};
use super::metadata::text;

/// The pause between two questions, where the server names none.
const POLL: Duration = Duration::from_secs(5);
/// The pause between two questions that a server may name at least, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

const WHAT: &str = "a code for another device";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The longest that a person is waited for.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Shows the person a code, and asks for the token until the person has typed it in.
pub(super) async fn run(
    endpoint: &TokenEndpoint<'_>,
    request: &AuthorizationRequest<'_>,
    agent: &dyn AuthorizationAgent,
) -> Result<Grant, OAuthError> {
    let url = request.server.device_authorization_endpoint.as_deref();
    let url =
        url.ok_or(OAuthError::Unfinished("the authorization server offers no device flow"))?;
    let scopes: Vec<&str> = request.scopes.iter().map(String::as_str).collect();
    let scopes = scopes.join(" ");
    let form = [("scope", scopes.as_str())];
    let form = if scopes.is_empty() { &[][..] } else { &form };
    // A client that has a secret or a key proves itself here too (RFC 8628 §3.1).
    let answer = endpoint.post(WHAT, url, form, None).await?;
    let value = answer.value;
    if answer.status != 200 {
        return Err(refused(value.get("error").and_then(serde_json::Value::as_str)));
    }
    let wrong = |reason| OAuthError::Document { what: WHAT, reason };
    let code = text(&value, "device_code").map(Zeroizing::new);
    let code = code.ok_or_else(|| wrong("it has no `device_code`"))?;
    let prompt = DevicePrompt {
        verification_uri: text(&value, "verification_uri")
            .filter(|uri| uri.starts_with("https://") || uri.starts_with("http://"))
            .ok_or_else(|| wrong("it has no `verification_uri`"))?,
        user_code: text(&value, "user_code").ok_or_else(|| wrong("it has no `user_code`"))?,
    };
    let seconds = |key: &str| value.get(key).and_then(serde_json::Value::as_u64);
    let life = seconds("expires_in").map_or(PATIENCE, Duration::from_secs).min(PATIENCE);
    let (shortest, longest) = PAUSES;
    let pause = seconds("interval").map_or(POLL, Duration::from_secs);
    let mut pause = pause.clamp(shortest, longest);
    agent.show_code(&prompt);
    let end = Instant::now() + life;
    while Instant::now() < end {
        sleep(pause).await;
        let form = [("grant_type", GRANT), ("device_code", code.as_str())];
        match endpoint.ask(&form).await {
            Err(OAuthError::Refused { code: "authorization_pending" }) => {}
            // RFC 8628 §3.5: five seconds more, for this and all later questions.
            Err(OAuthError::Refused { code: "slow_down" }) => pause += POLL,
            // Nobody answers for the moment: it is asked less often (RFC 8628 §3.5).
            Err(OAuthError::Unavailable { .. }) => pause = pause.saturating_mul(2).min(longest),
            other => return other,
        }
    }
    Err(OAuthError::Unfinished("the code was not typed in in time"))
}
