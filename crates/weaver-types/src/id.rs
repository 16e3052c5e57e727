//! Identifiers: newtypes that only parsing can create.
//!
//! An identifier is compared byte for byte and never normalised. It is cheap to clone.

mod tenant_text;

use std::borrow::Borrow;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::Timestamp;
use crate::random::{Random, RandomError};
use tenant_text::TenantText;

/// Why a text is not an identifier of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {kind}: {rule}")]
pub struct IdError {
    /// The kind of identifier, for example `capability id`.
    pub kind: &'static str,
    /// The rule in words.
    pub rule: &'static str,
    /// The offending text, escaped and cut to 80 characters.
    pub text: String,
}

impl IdError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "id.malformed"
    }

    fn new(kind: &'static str, rule: &'static str, text: &str) -> Self {
        Self { kind, rule, text: text.escape_debug().take(80).collect() }
    }
}

/// True for characters that no identifier may hold: control characters, white space, and format
/// characters that a reader cannot see.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn is_visible_text(text: &str, max: usize) -> bool {
    // No early exit, so that several bytes are examined at once.
    let plain = || text.bytes().fold(true, |plain, b| plain & matches!(b, b'!'..=b'~'));
    !text.is_empty() && text.len() <= max && (plain() || !text.chars().any(is_hidden))
}

fn is_slug(text: &str, max: usize) -> bool {
    !text.is_empty()
        && text.len() <= max
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty), $kind:literal, $rule:literal, $check:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name($inner);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl $name {
            /// Parses an identifier.
            ///
            /// # Errors
            /// [`IdError`] when the text violates the rule of this kind.
            pub fn parse(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                if Self::is_valid(text) { Ok(Self(text.into())) } else { Err(IdError::new($kind, $rule, text)) }
            }

            /// Whether the text is a valid identifier of this kind.
            #[must_use]
            pub fn is_valid(text: &str) -> bool {
                let check: fn(&str) -> bool = $check;
                check(text)
            }

            /// The text as it was parsed.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.as_str().to_owned()
            }
        }

        impl From<&$name> for Arc<str> {
            fn from(id: &$name) -> Self {
                id.0.clone().into()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}

ids! {
    /// Whose data it is. Every stored key carries one; the default is `local`.
    Tenant(TenantText), "tenant", "1 to 64 of a-z, 0-9, `_`, `-`", |t| is_slug(t, 64);
    /// Names one log for ever; it is the origin of its checkpoints.
    LogId(Arc<str>), "log id", "1 to 128 visible characters without blanks", |t| is_visible_text(t, 128);
    /// Names a capability. From an upstream: `<upstream>.<tool>`.
    CapabilityId(Arc<str>), "capability id", "1 to 512 bytes of visible characters without blanks", |t| is_visible_text(t, 512);
    /// Names a principal: a person, a service, or a process owner.
    PrincipalId(Arc<str>), "principal id", "1 to 256 bytes of visible characters without blanks", |t| is_visible_text(t, 256);
    /// Names an agent, the program that acts for a principal.
    AgentId(Arc<str>), "agent id", "1 to 256 bytes of visible characters without blanks", |t| is_visible_text(t, 256);
    /// Names a run.
    RunId(Arc<str>), "run id", "1 to 128 bytes of visible characters without blanks", |t| is_visible_text(t, 128);
    /// Names one call: one decision and at most one execution.
    CallId(Arc<str>), "call id", "1 to 128 bytes of visible characters without blanks", |t| is_visible_text(t, 128);
    /// Names a token.
    TokenId(Arc<str>), "token id", "1 to 128 bytes of visible characters without blanks", |t| is_visible_text(t, 128);
    /// Names a handle. It is no bearer credential: the record behind it decides.
    HandleId(Arc<str>), "handle id", "1 to 128 bytes of visible characters without blanks", |t| is_visible_text(t, 128);
    /// Names a request for an approval.
    ApprovalRequestId(Arc<str>), "request id", "1 to 128 bytes of visible characters without blanks", |t| is_visible_text(t, 128);
    /// Names a standing approval.
    StandingApprovalId(Arc<str>), "standing approval id", "1 to 128 bytes of visible characters without blanks", |t| is_visible_text(t, 128);
    /// Names a signing key inside a keys document or a key ring.
    KeyId(Arc<str>), "key id", "1 to 128 bytes of visible characters without blanks", |t| is_visible_text(t, 128);
    /// Names an upstream server in the gateway's configuration.
    UpstreamName(Arc<str>), "upstream name", "1 to 32 of a-z, 0-9, `_`, `-`", |t| is_slug(t, 32);
}

impl Default for Tenant {
    fn default() -> Self {
        Self(TenantText::Local)
    }
}

/// `prefix` followed by `bytes` random bytes in lower-case hexadecimal.
///
/// # Errors
/// [`RandomError`], when the source of randomness fails.
pub fn random_text(prefix: &str, bytes: usize, random: &dyn Random) -> Result<String, RandomError> {
    let mut buffer = vec![0_u8; bytes];
    random.fill(&mut buffer)?;
    let mut text = String::with_capacity(prefix.len() + 2 * bytes);
    text.push_str(prefix);
    push_hex(&mut text, &buffer);
    Ok(text)
}

/// Lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    push_hex(&mut out, bytes);
    out
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    for bytes in bytes.chunks(16) {
        let mut digits = [0; 32];
        write_hex(bytes, &mut digits);
        let digits = digits.get(..2 * bytes.len()).unwrap_or_default();
        out.push_str(str::from_utf8(digits).unwrap_or_default());
    }
}

/// Writes the hexadecimal digits of bytes into a slice of twice their length.
pub(crate) fn write_hex(bytes: &[u8], place: &mut [u8]) {
    for (pair, byte) in place.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = hex_pair(*byte);
    }
}

/// The two lower-case hexadecimal digits of a byte. Computed without a table, so that the compiler
/// vectorises it.
pub(crate) fn hex_pair(byte: u8) -> [u8; 2] {
    let digit = |nibble: u8| nibble + b'0' + if nibble > 9 { b'a' - b'0' - 10 } else { 0 };
    [digit(byte >> 4), digit(byte & 15)]
}

macro_rules! random_ids {
    ($($name:ident $prefix:literal $bytes:literal;)*) => {$(
        impl $name {
            /// A fresh random identifier of this kind.
            ///
            /// # Errors
            /// [`RandomError`], when the source of randomness fails.
            pub fn random(random: &dyn Random) -> Result<Self, RandomError> {
                let mut bytes = [0; $bytes];
                random.fill(&mut bytes)?;
                let mut text = [0; $prefix.len() + 2 * $bytes];
                if let Some((prefix, digits)) = text.split_first_chunk_mut() {
                    *prefix = *$prefix;
                    write_hex(&bytes, digits);
                }
                Ok(Self(Arc::from(str::from_utf8(&text).unwrap_or_default())))
            }
        }
    )*};
}

random_ids! {
    LogId b"log_" 16;
    RunId b"run_" 8;
    CallId b"call_" 16;
    TokenId b"tok_" 16;
    ApprovalRequestId b"apr_" 16;
    StandingApprovalId b"std_" 16;
}

impl HandleId {
    /// A fresh identifier, laid out as a UUID of version 7 (RFC 9562): 48 bits of milliseconds since
    /// 1970, then 80 random bits. Handles of the same time are neighbours in a store that orders its
    /// records by key, so a commit of several writes few pages.
    ///
    /// # Errors
    /// [`RandomError`], when the source of randomness fails.
    pub fn random_at(now: Timestamp, random: &dyn Random) -> Result<Self, RandomError> {
        let mut suffix = [0; 10];
        random.fill(&mut suffix)?;
        let millis = now.micros().div_euclid(1_000).clamp(0, (1 << 48) - 1);
        let mut text = String::with_capacity("hdl_".len() + 32);
        // Writing to a string cannot fail.
        let _ = write!(text, "hdl_{millis:012x}");
        push_hex(&mut text, &suffix);
        Ok(Self(Arc::from(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_in_the_order_of_their_time() {
        let at = |millis: i64| {
            let now = Timestamp::from_micros(millis * 1_000 + 7);
            HandleId::random_at(now, &crate::OsRandom).unwrap().as_str().to_owned()
        };
        let times = [-5, 0, 9, 10, 255, 256, 1_795_993_762_923, 1_795_993_762_924];
        let ids: Vec<_> = times.into_iter().map(at).collect();
        assert!(ids.windows(2).skip(1).all(|pair| pair[0] < pair[1]), "{ids:?}");
        assert!(ids.iter().all(|id| id.len() == 36 && HandleId::parse(id.clone()).is_ok()));
        assert_ne!(at(9), at(9));
    }

    #[test]
    fn hidden_characters_never_enter_an_identifier() {
        for text in
            ["", "a b", "a\u{200b}b", "a\u{202e}b", "a\nb", "tag\u{e0041}", &"x".repeat(600)]
        {
            assert!(CapabilityId::parse(text).is_err(), "{text:?}");
        }
        let formats = ('\u{1bca0}'..='\u{1bca3}').chain('\u{1d173}'..='\u{1d17a}');
        for hidden in formats {
            assert!(PrincipalId::parse(format!("a{hidden}b")).is_err(), "{hidden:?}");
        }
        for shown in ['\u{1bc9f}', '\u{1d172}', '\u{1d17b}'] {
            assert!(PrincipalId::parse(format!("a{shown}b")).is_ok(), "{shown:?}");
        }
        assert_eq!(CapabilityId::parse("fs.getUser").unwrap().as_str(), "fs.getUser");
    }

    #[test]
    fn upstream_names_are_slugs() {
        assert!(UpstreamName::parse("file_system-1").is_ok());
        for text in ["", "A", "a.b", "a b", &"x".repeat(33)] {
            assert!(UpstreamName::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn errors_show_the_text_escaped() {
        let error = PrincipalId::parse("a\u{202e}b").unwrap_err();
        assert!(!error.to_string().contains('\u{202e}'));
        assert_eq!(error.code(), "id.malformed");
    }
}
