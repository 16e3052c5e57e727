//! Provenance of argument values: where they came from, and what a trusted source must contain to
//! vouch for one.

mod required_tokens;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_text::values::ValueToken;
use weaver_types::{Capability, JsonPointer, MaskedValue};

pub(crate) use required_tokens::{RequiredTokens, argument_name, argument_name_at};

/// The trusted origin of a value. A value that was found only in untrusted output, or nowhere, has
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueOrigin {
    /// In the user's own words.
    User,
    /// In the output of a trusted source, or in text that the user only quoted or denied.
    Trusted,
}

/// A value in a text that is harmful to disclose to anybody: a secret, a card number, an identity
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitiveValue {
    /// Its kind: `card`.
    pub kind: String,
    /// Its possible readings; one of them must occur in the user's words.
    pub tokens: Vec<ValueToken>,
}

/// Looks up the origins of the values in one call's arguments.
pub trait ValueOrigins: std::fmt::Debug + Send + Sync {
    /// The origin that vouches for a token; `None` if there is none. A token with both origins
    /// counts as the user's.
    fn vouched(&self, _token: &ValueToken) -> Option<ValueOrigin> {
        None
    }

    /// Whether any words of the user are known in the run. Where a host passes none on, no reason
    /// should send anybody to look for them.
    fn knows_user_words(&self) -> bool {
        true
    }

    /// The values in a text that only the user may pass on, whoever the receiver is.
    fn carried(&self, _text: &str) -> Vec<SensitiveValue> {
        Vec::new()
    }

    /// Whether the run made this payment already since the user last said something.
    fn is_repeated_payment(&self, _capability: &Capability, _arguments: &Value) -> bool {
        false
    }

    /// The possible readings of the value behind a mask in the arguments; `None` if the value is not
    /// known any more.
    fn masked_tokens(&self, _masked: &MaskedValue) -> Option<Vec<ValueToken>> {
        None
    }

    /// The origin of the value at this pointer; `None` if nothing vouches for it or for a part of
    /// it, or if it is empty. A value with both origins counts as the user's.
    fn origin(&self, at: &JsonPointer, value: &Value) -> Option<ValueOrigin> {
        let name = argument_name_at(at.as_str());
        match value {
            Value::Array(items) => {
                items.iter().map(|item| self.origin(at, item)).reduce(weaker_origin).flatten()
            }
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| {
                    let below = format!("{at}/{}", JsonPointer::escape_step(name));
                    JsonPointer::parse(&below).ok().and_then(|below| self.origin(&below, member))
                })
                .reduce(weaker_origin)
                .flatten(),
            leaf => RequiredTokens::for_argument(&name, leaf)
                .weakest_origin(&|token| self.vouched(token)),
        }
    }
}

/// The origin of two values together: the weaker one, or none if either has none.
fn weaker_origin(one: Option<ValueOrigin>, other: Option<ValueOrigin>) -> Option<ValueOrigin> {
    one.zip(other).map(|(one, other)| one.max(other))
}
