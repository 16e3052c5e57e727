//! Requests to the token endpoint (RFC 6749 §4.1.3, §6; RFC 8628 §3.4), and what it answers.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use zeroize::Zeroizing;

use super::challenge::scopes;
use super::error::{OAuthError, refused};
use super::metadata::text;
use super::registration::{ClientAuthentication, ClientIdentity};
use super::settings::OAuthSettings;
use super::web::OAuthHttpClient;

const WHAT: &str = "a token";
/// The longest token, in bytes.
const MAX_TOKEN: usize = 16 * 1024;
/// The longest life that a token is believed to have.
const MAX_LIFE: u64 = 366 * 24 * 60 * 60;

/// What the token endpoint gave.
pub(super) struct Grant {
    pub(super) access_token: Zeroizing<String>,
    pub(super) refresh_token: Option<Zeroizing<String>>,
    pub(super) life: Option<Duration>,
    /// The scopes that were granted, where they are not those that were asked for.
    pub(super) scopes: Option<BTreeSet<String>>,
}

/// Who asks, and where.
pub(super) struct TokenEndpoint<'a> {
    pub(super) web: &'a OAuthHttpClient,
    pub(super) settings: &'a OAuthSettings,
    pub(super) client: &'a ClientIdentity,
    pub(super) url: &'a str,
    /// The server that the token is for: named in every request (RFC 8707).
    pub(super) resource: &'a str,
}

impl TokenEndpoint<'_> {
    /// Asks with these parameters beside those that every request has.
    pub(super) async fn ask(&self, own: &[(&str, &str)]) -> Result<Grant, OAuthError> {
        let secret = self.client.secret(self.settings).await?;
        let mut form: Vec<(&str, &str)> = own.to_vec();
        form.push(("resource", self.resource));
        let mut basic = None;
        match (self.client.authentication, &secret) {
            (ClientAuthentication::ClientSecretBasic, Some(secret)) => {
                basic = Some((self.client.client_id.as_str(), secret));
            }
            (ClientAuthentication::ClientSecretPost, Some(secret)) => {
                form.push(("client_id", &self.client.client_id));
                form.push(("client_secret", secret.expose()));
            }
            _ => form.push(("client_id", &self.client.client_id)),
        }
        let answer = self.web.post_form(WHAT, self.url, &form, basic).await?;
        match answer.status {
            200 => read(&answer.value),
            400..500 => Err(refused(answer.value.get("error").and_then(Value::as_str))),
            status => {
                let reason = format!("the token endpoint answered with status {status}");
                Err(OAuthError::Unavailable { what: WHAT, reason })
            }
        }
    }
}

fn read(value: &Value) -> Result<Grant, OAuthError> {
    let wrong = |reason| OAuthError::Document { what: WHAT, reason };
    let token = |key: &str| -> Result<Option<Zeroizing<String>>, OAuthError> {
        let Some(text) = value.get(key).and_then(Value::as_str) else { return Ok(None) };
        let legal = !text.is_empty()
            && text.len() <= MAX_TOKEN
            && text.bytes().all(|b| b.is_ascii_graphic());
        legal.then(|| Some(Zeroizing::new(text.to_owned()))).ok_or_else(|| wrong("it is no token"))
    };
    let kind = text(value, "token_type").unwrap_or_default();
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(wrong("it is of another type than `Bearer`"));
    }
    let access_token =
        token("access_token")?.ok_or_else(|| wrong("there is none in the answer"))?;
    let life = value.get("expires_in").and_then(|life| {
        life.as_u64().or_else(|| life.as_str().and_then(|text| text.parse().ok()))
    });
    Ok(Grant {
        access_token,
        refresh_token: token("refresh_token")?,
        life: life.map(|life| Duration::from_secs(life.min(MAX_LIFE))),
        scopes: text(value, "scope").map(|text| scopes(&text)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_bearer_token_that_fits_a_header_counts() {
        let fine = json!({"access_token": "a.b", "token_type": "bearer", "expires_in": "60"});
        assert_eq!(read(&fine).unwrap().life, Some(Duration::from_secs(60)));
        for broken in [
            json!({"access_token": "a", "token_type": "DPoP"}),
            json!({"access_token": "a"}),
            json!({"access_token": "", "token_type": "Bearer"}),
            json!({"access_token": "a\r\nx: y", "token_type": "Bearer"}),
            json!({"access_token": "x".repeat(20_000), "token_type": "Bearer"}),
            json!({"access_token": "a", "token_type": "Bearer", "refresh_token": "a b"}),
            json!([]),
        ] {
            assert!(read(&broken).is_err(), "{broken}");
        }
    }
}
