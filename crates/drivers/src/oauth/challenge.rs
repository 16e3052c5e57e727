//! The challenge of a protected resource (RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1).

use std::collections::BTreeSet;

use super::dpop::{TokenBinding, USE_NONCE_ERROR};

/// The longest header value that is parsed.
const MAX_HEADER_BYTES: usize = 8 * 1024;
/// The most scopes of one challenge.
const MAX_SCOPES: usize = 200;
/// The most header values that are parsed.
const MAX_HEADERS: usize = 16;

/// What `WWW-Authenticate` says about tokens, for `Bearer` or `DPoP`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Challenge {
    /// Where the metadata of the resource is.
    pub resource_metadata: Option<String>,
    /// The scopes that the resource demands.
    pub scopes: BTreeSet<String>,
    /// The error code.
    pub error: Option<String>,
    /// Whether the resource accepts tokens bound to a key.
    pub token_binding: TokenBinding,
}

impl Challenge {
    /// Parses the header values; `None` if none is a challenge for tokens.
    pub fn from_headers<'h>(values: impl Iterator<Item = &'h str>) -> Option<Self> {
        let values = values.filter(|value| value.len() <= MAX_HEADER_BYTES).take(MAX_HEADERS);
        let values: Vec<&str> = values.collect();
        let for_scheme =
            |scheme: &str| values.iter().find_map(|value| Self::parse_scheme(value, scheme));
        match (for_scheme("bearer"), for_scheme("dpop")) {
            (bearer, None) => bearer,
            (None, Some(bound)) => Some(Self { token_binding: TokenBinding::Required, ..bound }),
            (Some(bearer), Some(bound)) => Some(Self {
                resource_metadata: bound.resource_metadata.or(bearer.resource_metadata),
                scopes: &bound.scopes | &bearer.scopes,
                error: bound.error.or(bearer.error),
                token_binding: TokenBinding::Offered,
            }),
        }
    }

    /// True if the key proof must contain the nonce of this response (RFC 9449 §9).
    #[must_use]
    pub fn wants_nonce(&self) -> bool {
        self.error.as_deref() == Some(USE_NONCE_ERROR)
    }

    /// True if more scopes are required.
    #[must_use]
    pub fn wants_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn parse_scheme(header: &str, scheme: &str) -> Option<Self> {
        let rest = after_scheme(header, scheme)?;
        let mut challenge = Self::default();
        for (name, value) in parameters(rest) {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => challenge.scopes = parse_scopes(&value),
                "error" => challenge.error = Some(value),
                _ => {}
            }
        }
        Some(challenge)
    }
}

/// Parses scopes separated by spaces, as headers, forms and tokens write them.
pub(super) fn parse_scopes(text: &str) -> BTreeSet<String> {
    let legal = |scope: &&str| {
        scope.len() <= 256 && scope.bytes().all(|b| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
    };
    text.split(' ')
        .filter(|scope| !scope.is_empty())
        .filter(legal)
        .map(str::to_owned)
        .take(MAX_SCOPES)
        .collect()
}

/// What stands between schemes and parameters (RFC 9110 §5.6.1).
const SEPARATORS: [char; 3] = [' ', '\t', ','];

/// The parameters after a scheme, wherever it occurs in the header.
fn after_scheme<'h>(header: &'h str, scheme: &str) -> Option<&'h str> {
    let mut rest = header.trim_start_matches(SEPARATORS);
    loop {
        // A scheme without parameters ends at the comma before the next one: `Negotiate, Bearer`.
        let end = rest.find(SEPARATORS).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end)?;
        if word.eq_ignore_ascii_case(scheme) {
            return Some(after);
        }
        // The next scheme begins after a comma outside of quotes and has no `=` in its first word.
        rest = next_scheme(after)?;
    }
}

fn next_scheme(text: &str) -> Option<&str> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                let rest = text.get(at.saturating_add(1)..)?.trim_start_matches(SEPARATORS);
                let word = rest.split(SEPARATORS).next().unwrap_or_default();
                if !word.contains('=') && !word.is_empty() {
                    return Some(rest);
                }
            }
            _ => {}
        }
    }
    None
}

/// Parses `name=value` and `name="value"` pairs until something else follows.
fn parameters(mut text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    while out.len() < 32 {
        text = text.trim_start_matches(SEPARATORS);
        let Some((name, after)) = text.split_once('=') else { break };
        let token = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if name.is_empty() || !name.bytes().all(token) {
            break;
        }
        let (value, rest) = match after.strip_prefix('"') {
            Some(quoted) => match unquote(quoted) {
                Some(discovered) => discovered,
                None => break,
            },
            None => {
                let end = after.find([',', ' ']).unwrap_or(after.len());
                let (value, rest) = after.split_at_checked(end).unwrap_or((after, ""));
                (value.to_owned(), rest)
            }
        };
        out.push((name.to_owned(), value));
        text = rest;
    }
    out
}

/// The content of a quoted string, and the text after it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Some((value, text.get(at.saturating_add(1)..).unwrap_or_default())),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_headers(header: &str) -> Option<Challenge> {
        Challenge::from_headers([header].into_iter())
    }

    #[test]
    fn a_scheme_without_parameters_hides_no_other_one() {
        for header in [
            r#"Negotiate, Bearer scope="a""#,
            "Negotiate,Bearer\tscope=a",
            r#", Bearer scope="a""#,
            r#"Basic realm="x\", Bearer scope=\"evil\"", Bearer scope="a""#,
        ] {
            let challenge = from_headers(header).unwrap_or_else(|| panic!("{header}"));
            assert_eq!(challenge.scopes, ["a".to_owned()].into(), "{header}");
        }
        assert_eq!(from_headers(r#"Basic realm="x\", Bearer error=\"y""#), None);
    }

    #[test]
    fn a_challenge_is_read_among_other_schemes() {
        let plain = from_headers(
            r#"Bearer resource_metadata="https://a.example/.well-known/x", scope="a b:c", error=insufficient_scope"#,
        )
        .unwrap();
        assert_eq!(plain.resource_metadata.as_deref(), Some("https://a.example/.well-known/x"));
        assert_eq!(plain.scopes, ["a", "b:c"].map(str::to_owned).into());
        assert!(plain.wants_scopes());
        let second =
            from_headers(r#"Basic realm="a, Bearer b", bearer error="x\"y", Digest q=1"#).unwrap();
        assert_eq!(second.error.as_deref(), Some("x\"y"));
        assert_eq!(from_headers("Bearer").unwrap(), Challenge::default());
        assert_eq!(from_headers(r#"Basic realm="Bearer""#), None);
        assert_eq!(from_headers(&format!("Bearer scope=\"{}\"", "x".repeat(9_000))), None);
    }

    #[test]
    fn a_challenge_says_whether_tokens_are_bound_to_a_key() {
        let bound =
            from_headers(r#"DPoP algs="ES256", error="use_dpop_nonce", scope="a""#).unwrap();
        assert_eq!(bound.token_binding, TokenBinding::Required);
        assert!(bound.wants_nonce() && bound.scopes.contains("a"));
        assert_eq!(from_headers("Bearer scope=a").unwrap().token_binding, TokenBinding::Unbound);
        let both = [r#"Bearer resource_metadata="https://a.example/x""#, r#"DPoP algs="ES256""#];
        for both in [both.to_vec(), vec![&both.join(", ")]] {
            let both = Challenge::from_headers(both.into_iter()).unwrap();
            assert_eq!(both.token_binding, TokenBinding::Offered);
            assert_eq!(both.resource_metadata.as_deref(), Some("https://a.example/x"));
        }
    }

    #[test]
    fn what_no_scope_can_be_is_left_out() {
        assert_eq!(parse_scopes("a  b \"c d\\ é"), ["a", "b"].map(str::to_owned).into());
        assert_eq!(parse_scopes(&"x ".repeat(1_000)).len(), 1);
    }

    #[test]
    fn broken_challenges_end_where_they_break() {
        for header in ["Bearer =", "Bearer scope=\"a", "Bearer ,,,", "Bearer scope", "Bearer é=1"]
        {
            assert_eq!(from_headers(header).unwrap(), Challenge::default(), "{header}");
        }
    }
}
