//! Checks the claims of an access token (RFC 9068 §2.2, RFC 7662 §2.2).

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};
use weaver_policy::{TokenIdentity, TrustedIssuer};
use weaver_types::Timestamp;

use super::error::TokenError;

/// The longest subject or client id, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// The most groups, scopes or audiences of one token.
const MAX_LIST_ITEMS: usize = 1_000;
/// The latest time that a token may name: the end of the year 9999.
const MAX_UNIX_SECONDS: f64 = 253_402_300_799.0;

/// Claims and scopes that only a token of a user has.
const USER_CLAIMS: [&str; 4] = ["username", "preferred_username", "email", "act"];
const USER_SCOPES: [&str; 2] = ["openid", "offline_access"];

/// What the claims of a token are checked against.
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a TrustedIssuer,
    /// The resource identifier of this gateway, which the audience must contain.
    pub(super) resource: &'a str,
    pub(super) leeway: Duration,
    pub(super) now: Timestamp,
}

/// A token whose claims were accepted.
#[derive(Debug, Clone)]
pub(crate) struct VerifiedToken {
    /// The token's statements about its bearer.
    pub(crate) identity: TokenIdentity,
    /// The client that the token was issued to, if it says.
    pub(crate) client_id: Option<String>,
    /// When the token expires, if it says.
    pub(crate) expires: Option<Timestamp>,
}

/// Where the claims of a token come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimSource {
    /// From the token itself, which must say whom it speaks for and when it expires (RFC 9068).
    Token,
    /// From its issuer, which is asked again and again. It may leave out both (RFC 7662).
    Introspection,
}

impl ExpectedClaims<'_> {
    /// Checks the claims of a token whose issuer is already established.
    pub(super) fn check(
        &self,
        claims: &Map<String, Value>,
        source: ClaimSource,
    ) -> Result<VerifiedToken, TokenError> {
        if !self.has_audience(claims.get("aud")) {
            return Err(TokenError::OtherAudience);
        }
        let expires = match claims.get("exp") {
            Some(exp) => {
                let end = parse_numeric_date(exp);
                let end = end.ok_or(TokenError::Malformed("its end is not a time"))?;
                Some(end.after(self.leeway))
            }
            None if source == ClaimSource::Introspection => None,
            None => return Err(TokenError::Invalid("it has no end")),
        };
        if expires.is_some_and(|expires| self.now >= expires) {
            return Err(TokenError::Expired);
        }
        for name in ["nbf", "iat"] {
            let Some(value) = claims.get(name) else { continue };
            let from = parse_numeric_date(value)
                .ok_or(TokenError::Malformed("its beginning is not a time"))?;
            if from > self.now.after(self.leeway) {
                return Err(TokenError::Invalid("it does not count yet"));
            }
        }
        // RFC 7800: a token with `cnf` is bound to a key. To accept it from a bearer who does not
        // prove possession of that key would defeat the binding.
        if claims.contains_key("cnf") {
            return Err(TokenError::Invalid("it is bound to a key, which is not asked for here"));
        }
        let client_id = name_claim(claims, "client_id").or_else(|| name_claim(claims, "azp"));
        let scopes = match claims.get("scope").or_else(|| claims.get("scp")) {
            Some(Value::String(text)) => {
                text.split(' ').filter(|scope| !scope.is_empty()).take(MAX_LIST_ITEMS).collect()
            }
            Some(value) => string_set(value),
            None => BTreeSet::new(),
        };
        let subject = match claims.get("sub") {
            Some(_) => name_claim(claims, "sub"),
            None if source == ClaimSource::Introspection => machine_client(claims, &scopes),
            None => None,
        };
        let subject = subject.ok_or(TokenError::Invalid("it has no subject"))?;
        let groups = claims.get(&self.issuer.groups_claim).map(string_set).unwrap_or_default();
        let owned = |set: BTreeSet<&str>| set.into_iter().map(str::to_owned).collect();
        let identity = TokenIdentity {
            issuer: self.issuer.issuer.clone(),
            subject,
            groups: owned(groups),
            scopes: owned(scopes),
        };
        Ok(VerifiedToken { identity, client_id, expires })
    }

    fn has_audience(&self, audience: Option<&Value>) -> bool {
        let this_resource = canonical_resource(self.resource);
        let is_this_resource = |one: &str| canonical_resource(one) == this_resource;
        match audience {
            Some(Value::String(one)) => is_this_resource(one),
            Some(Value::Array(all)) => {
                all.iter().take(MAX_LIST_ITEMS).filter_map(Value::as_str).any(is_this_resource)
            }
            _ => false,
        }
    }
}

/// The subject of a token that speaks for no user: the client itself, which is what a JWT of the same
/// client names as its subject (RFC 9068 §2.2). Without a subject, a token of a user would have the
/// rights of the client through which the user came, so any sign of a user refuses it.
fn machine_client(claims: &Map<String, Value>, scopes: &BTreeSet<&str>) -> Option<String> {
    let of_user = USER_CLAIMS.iter().any(|claim| claims.contains_key(*claim))
        || USER_SCOPES.iter().any(|scope| scopes.contains(scope));
    name_claim(claims, "client_id").filter(|_| !of_user)
}

/// The canonical form of a resource identifier: scheme and host in lower case, no trailing slash.
pub(super) fn canonical_resource(resource: &str) -> String {
    let resource = resource.strip_suffix('/').unwrap_or(resource);
    let Some((scheme, rest)) = resource.split_once("://") else { return resource.to_owned() };
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at_checked(at).unwrap_or((rest, "")),
        None => (rest, ""),
    };
    format!("{}://{}{path}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase())
}

/// Parses a `NumericDate` (RFC 7519 §2): seconds since 1970, perhaps with a fraction.
fn parse_numeric_date(value: &Value) -> Option<Timestamp> {
    let seconds = value.as_f64().filter(|seconds| (0.0..=MAX_UNIX_SECONDS).contains(seconds))?;
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    Some(Timestamp::from_micros(0).after(since))
}

fn name_claim(claims: &Map<String, Value>, key: &str) -> Option<String> {
    let text = claims.get(key)?.as_str()?;
    (!text.is_empty() && text.len() <= MAX_NAME_BYTES).then(|| text.to_owned())
}

fn string_set(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::String(one) => BTreeSet::from([one.as_str()]),
        Value::Array(all) => all.iter().take(MAX_LIST_ITEMS).filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn check(change: Value) -> Result<VerifiedToken, TokenError> {
        let mut claims = json!({"aud": "https://gate.example/mcp", "sub": "ana", "exp": NOW + 10});
        for (key, value) in change.as_object().unwrap() {
            claims[key] = value.clone();
        }
        let claims: Map<_, _> =
            claims.as_object().unwrap().clone().into_iter().filter(|(_, v)| !v.is_null()).collect();
        let issuer = TrustedIssuer::new("https://login.example");
        let expected = ExpectedClaims {
            issuer: &issuer,
            resource: "https://gate.example/mcp",
            leeway: Duration::from_secs(60),
            now: Timestamp::from_micros(NOW * 1_000_000),
        };
        expected.check(&claims, ClaimSource::Token)
    }

    #[test]
    fn a_token_counts_for_one_server_and_one_time() {
        for fine in [
            json!({}),
            json!({"aud": ["x", "https://GATE.example/mcp/"]}),
            json!({"exp": NOW - 59}),
            json!({"exp": f64::from(2_000_000_000_u32) + 0.5}),
            json!({"nbf": NOW + 60, "iat": NOW + 60}),
        ] {
            assert!(check(fine.clone()).is_ok(), "{fine}");
        }
        for broken in [
            json!({"aud": null}),
            json!({"aud": []}),
            json!({"aud": "https://gate.example"}),
            json!({"aud": "https://gate.example/mcp2"}),
            json!({"aud": "https://other.example/mcp"}),
            json!({"aud": {"https://gate.example/mcp": 1}}),
            json!({"exp": null}),
            json!({"exp": NOW - 60}),
            json!({"exp": "never"}),
            json!({"exp": -1}),
            json!({"exp": 1e300}),
            json!({"nbf": NOW + 61}),
            json!({"iat": NOW + 61}),
            json!({"sub": null}),
            json!({"sub": ""}),
            json!({"sub": "x".repeat(257)}),
            json!({"cnf": {"jkt": "x"}}),
        ] {
            assert!(check(broken.clone()).is_err(), "{broken}");
        }
    }

    #[test]
    fn only_an_issuer_that_is_asked_may_leave_out_the_end_of_a_token() {
        let claims = json!({"aud": "https://gate.example/mcp", "sub": "ana"});
        let expected = ExpectedClaims {
            issuer: &TrustedIssuer::new("https://login.example"),
            resource: "https://gate.example/mcp",
            leeway: Duration::ZERO,
            now: Timestamp::from_micros(NOW * 1_000_000),
        };
        let check = |source| expected.check(claims.as_object().unwrap(), source);
        assert!(check(ClaimSource::Token).is_err());
        assert_eq!(check(ClaimSource::Introspection).unwrap().expires, None);
    }

    /// What an issuer says of a machine client's token (RFC 7662 makes `sub` optional).
    #[test]
    fn an_introspected_token_without_a_subject_speaks_for_its_client_alone() {
        let expected = ExpectedClaims {
            issuer: &TrustedIssuer::new("https://login.example"),
            resource: "https://gate.example/mcp",
            leeway: Duration::ZERO,
            now: Timestamp::from_micros(NOW * 1_000_000),
        };
        let check = |change: Value, source| {
            let mut claims = json!({"aud": "https://gate.example/mcp", "client_id": "ci",
                "scope": "tools:read", "exp": NOW + 10});
            for (key, value) in change.as_object().unwrap() {
                claims[key] = value.clone();
            }
            expected.check(claims.as_object().unwrap(), source)
        };
        let token = check(json!({}), ClaimSource::Introspection).unwrap();
        assert_eq!(
            (token.identity.subject.as_str(), token.client_id.as_deref()),
            ("ci", Some("ci"))
        );
        let named = check(json!({"sub": "ana"}), ClaimSource::Introspection).unwrap();
        assert_eq!(named.identity.subject, "ana");
        assert!(check(json!({}), ClaimSource::Token).is_err(), "a JWT names its subject");
        for of_user in [
            json!({"sub": null}),
            json!({"sub": ""}),
            json!({"username": "ana"}),
            json!({"preferred_username": "ana"}),
            json!({"scope": "openid tools:read"}),
            json!({"scope": "offline_access"}),
            json!({"client_id": ""}),
        ] {
            assert!(check(of_user.clone(), ClaimSource::Introspection).is_err(), "{of_user}");
        }
    }

    #[test]
    fn groups_and_scopes_come_in_both_forms() {
        let token = check(json!({"scope": "a  b", "groups": ["x", 1, "y"], "azp": "cli"})).unwrap();
        assert_eq!(token.identity.scopes, ["a", "b"].map(str::to_owned).into());
        assert_eq!(token.identity.groups, ["x", "y"].map(str::to_owned).into());
        assert_eq!(token.client_id.as_deref(), Some("cli"));
        let token = check(json!({"scp": ["a", "b c"], "groups": "x"})).unwrap();
        assert_eq!(token.identity.scopes, ["a", "b c"].map(str::to_owned).into());
        assert_eq!(token.identity.groups, ["x"].map(str::to_owned).into());
        let token = check(json!({"groups": {"admin": true}})).unwrap();
        assert!(token.identity.groups.is_empty() && token.identity.scopes.is_empty());
    }
}
