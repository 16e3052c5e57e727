//! The device authorization grant (RFC 8628): a person enters a code on another device.

use std::time::Duration;

use reqwest::Url;
use tokio::time::{Instant, sleep};
use zeroize::Zeroizing;

use super::agent::{AuthorizationAgent, DevicePrompt};
use super::authorization::AuthorizationRequest;
use super::error::{OAuthError, refused_error};
use super::grant::{IssuedTokens, TokenEndpoint};
use super::metadata::text_field;

/// The poll interval if the server names none.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The shortest and longest poll interval that a server may name.
const POLL_INTERVAL_BOUNDS: (Duration, Duration) =
    (Duration::from_secs(1), Duration::from_secs(60));

const DEVICE_CODE: &str = "a code for another device";
const DEVICE_CODE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The longest time that a person may take.
const MAX_LOGIN_TIME: Duration = Duration::from_secs(15 * 60);

/// Shows the person a code, and polls for the token until the person has entered it.
pub(super) async fn run(
    endpoint: &TokenEndpoint<'_>,
    request: &AuthorizationRequest<'_>,
    agent: &dyn AuthorizationAgent,
) -> Result<IssuedTokens, OAuthError> {
    let url = request.server.device_authorization_endpoint.as_deref();
    let url =
        url.ok_or(OAuthError::Unfinished("the authorization server offers no device flow"))?;
    let scopes: Vec<&str> = request.scopes.iter().map(String::as_str).collect();
    let scopes = scopes.join(" ");
    let form = [("scope", scopes.as_str())];
    let form = if scopes.is_empty() { &[][..] } else { &form };
    // A confidential client authenticates here too (RFC 8628 §3.1).
    let answer = endpoint.post(DEVICE_CODE, url, form, None).await?;
    let value = answer.value;
    if answer.status != 200 {
        return Err(refused_error(value.get("error").and_then(serde_json::Value::as_str)));
    }
    let wrong = |reason| OAuthError::Document { what: DEVICE_CODE, reason };
    let code = text_field(&value, "device_code").map(Zeroizing::new);
    let code = code.ok_or_else(|| wrong("it has no `device_code`"))?;
    let prompt = DevicePrompt {
        verification_uri: text_field(&value, "verification_uri")
            .filter(|uri| uri.starts_with("https://") || uri.starts_with("http://"))
            .ok_or_else(|| wrong("it has no `verification_uri`"))?,
        user_code: text_field(&value, "user_code").ok_or_else(|| wrong("it has no `user_code`"))?,
    };
    let page = Url::parse(&prompt.verification_uri)
        .map_err(|_| wrong("its `verification_uri` is no address"))?;
    request.check_page(&page)?;
    let seconds = |key: &str| value.get(key).and_then(serde_json::Value::as_u64);
    let lifetime =
        seconds("expires_in").map_or(MAX_LOGIN_TIME, Duration::from_secs).min(MAX_LOGIN_TIME);
    let (shortest, longest) = POLL_INTERVAL_BOUNDS;
    let interval = seconds("interval").map_or(DEFAULT_POLL_INTERVAL, Duration::from_secs);
    let mut interval = interval.clamp(shortest, longest);
    agent.show_code(&prompt);
    let end = Instant::now() + lifetime;
    while Instant::now() < end {
        sleep(interval).await;
        let form = [("grant_type", DEVICE_CODE_GRANT), ("device_code", code.as_str())];
        match endpoint.request_tokens(&form).await {
            Err(OAuthError::Refused { code: "authorization_pending" }) => {}
            // RFC 8628 §3.5: five seconds more for this and all later polls.
            Err(OAuthError::Refused { code: "slow_down" }) => interval += DEFAULT_POLL_INTERVAL,
            // RFC 8628 §3.5: on connection failures the client polls less often.
            Err(OAuthError::Unavailable { .. }) => {
                interval = interval.saturating_mul(2).min(longest)
            }
            other => return other,
        }
    }
    Err(OAuthError::Unfinished("the code was not typed in in time"))
}
