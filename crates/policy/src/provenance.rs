//! Provenance: where the values of a call's arguments came from, and what has to be found for one of
//! them to count as known.

mod evidence;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_text::values::Token;
use weaver_types::Pointer;

pub(crate) use evidence::{RequiredTokens, argument_name, name_at};

/// Where a value was found. What was found in untrusted output, or nowhere, has no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueOrigin {
    /// In the user's own words.
    User,
    /// In the output of a trusted source.
    Trusted,
}

/// A value in a text that harms its owner wherever it goes: a secret, a card, a number of identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedValue {
    /// Its kind: `card`.
    pub kind: String,
    /// What it is read as, any of which may be found in the user's words.
    pub tokens: Vec<Token>,
}

/// Knows where the values of one call's arguments came from.
pub trait ValueOrigins: std::fmt::Debug + Send + Sync {
    /// Who vouches for such a token; `None` where nobody does. A token found in both is the
    /// user's.
    fn vouched(&self, _token: &Token) -> Option<ValueOrigin> {
        None
    }

    /// The values in a text that only the user sends on, whoever the receiver is.
    fn carried(&self, _text: &str) -> Vec<CarriedValue> {
        Vec::new()
    }

    /// The origin of the value at this place; `None` for one that nobody vouches for, of which a
    /// part is vouched for by nobody, and for an empty one. A value found in both is the user's.
    fn origin(&self, at: &Pointer, value: &Value) -> Option<ValueOrigin> {
        let name = name_at(at.as_str());
        match value {
            Value::Array(items) => {
                items.iter().map(|item| self.origin(at, item)).reduce(weaker).flatten()
            }
            Value::Object(members) => members
                .iter()
                .map(|(name, member)| {
                    let below = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                    Pointer::parse(&below).ok().and_then(|below| self.origin(&below, member))
                })
                .reduce(weaker)
                .flatten(),
            leaf => {
                RequiredTokens::of_argument(&name, leaf).vouched_by(&|token| self.vouched(token))
            }
        }
    }
}

/// The origin of two values together: the weaker of both, and none where one has none.
fn weaker(one: Option<ValueOrigin>, other: Option<ValueOrigin>) -> Option<ValueOrigin> {
    one.zip(other).map(|(one, other)| one.max(other))
}
