//! What has to be found in the user's words, or in trusted results, for a value to be vouched for.
//!
//! A value is read as what its argument is for and as what it is written as: an identifier is found
//! only where something was used as an identifier, an amount only where money was spoken of. This is
//! the *endorsement* of information-flow control (Sabelfeld and Sands, *Declassification: Dimensions
//! and Principles*) in its whitelist form: untrusted input may have chosen any value, so a value
//! counts only if a trusted source said the same one.

use std::borrow::Cow;

use serde_json::Value;
use weaver_text::split;
use weaver_text::values::{self, Class, GRAM, Token};

use super::{ValueOrigin, weaker};
use crate::critical::{Role, role};

/// The fewest words of a text that is vouched for because it was said, though it is no name.
const MIN_PHRASE_WORDS: usize = 3;
/// Words of an argument's name that do not say what is named.
const GENERIC: [&str; 8] = ["id", "ids", "name", "number", "key", "code", "new", "no"];

/// The name that says what the value at a JSON pointer is for: the last segment that is no index.
pub(crate) fn name_at(pointer: &str) -> String {
    let names = pointer.split('/').skip(1);
    let name = names.filter(|name| name.parse::<usize>().is_err() && *name != "*").last();
    name.unwrap_or_default().replace("~1", "/").replace("~0", "~")
}

/// The same for a path of unescaped segments.
pub(crate) fn argument_name<'p>(path: &'p [Cow<'_, str>]) -> &'p str {
    let names = path.iter().rev().find(|name| name.parse::<usize>().is_err());
    names.map(AsRef::as_ref).unwrap_or_default()
}

/// Tokens of which a trusted source must have said some: at least one of each group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RequiredTokens {
    groups: Vec<Vec<Token>>,
}

impl RequiredTokens {
    /// One group: any of these tokens is enough. An empty group is never found.
    fn any_of(tokens: impl IntoIterator<Item = Token>) -> Self {
        Self { groups: vec![tokens.into_iter().collect()] }
    }

    /// What must be found for the value of an argument with this name.
    pub(crate) fn of_argument(name: &str, value: &Value) -> Self {
        let text = match value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Self::default();
            }
        };
        match role(name) {
            Role::Secret => {
                Self::any_of(values::secret(&text).map(|key| Token::new(Class::Secret, key)))
            }
            Role::Amount => {
                Self::any_of(values::number(&text).map(|key| Token::new(Class::Amount, key)))
            }
            Role::Text => Self::of_phrase(&text),
            Role::Moment => Self::of_moment(&text),
            _ if text.contains('@') && !text.starts_with('@') => Self::of_addresses(&text),
            role => Self::any_of(tokens_by_role(role, name, &text)),
        }
    }

    /// What must be found for a value of a call in which no argument names a receiver, so that the
    /// content alone decides what the call does.
    pub(crate) fn of_content(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::of_moment(text),
            Value::Number(number) => {
                let key = values::number(&number.to_string());
                Self::any_of(key.map(|key| Token::new(Class::Number, key)))
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Self::default(),
        }
    }

    /// Words in their order: all n-grams of the text in the user's words, or the whole text as one
    /// field of a trusted answer.
    fn of_phrase(text: &str) -> Self {
        let words = values::words(text);
        if words.is_empty() {
            return Self::default();
        }
        let whole = words.join(" ");
        let group =
            |gram| vec![Token::new(Class::Phrase, gram), Token::new(Class::Name, whole.clone())];
        Self { groups: values::grams(&words).into_iter().map(group).collect() }
    }

    /// The day of a moment; anything else, also a time of day alone, counts as it was said.
    fn of_moment(text: &str) -> Self {
        match values::day(text) {
            Some(day) => {
                Self::any_of(day.keys().into_iter().map(|key| Token::new(Class::Day, key)))
            }
            None => Self::of_phrase(text),
        }
    }

    /// One address, or a list of them, each perhaps with a display name.
    fn of_addresses(text: &str) -> Self {
        let parts = text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty());
        let group = |part: &str| {
            // Nothing is sent to a display name; a second address inside it would be a receiver.
            let inner = part.strip_suffix('>').and_then(|part| part.split_once('<'));
            let address = match inner {
                Some((name, address)) if !name.contains(['@', '<', '>']) => address,
                _ => part,
            };
            values::email(address).map(|key| Token::new(Class::Email, key)).into_iter().collect()
        };
        Self { groups: parts.map(group).collect() }
    }

    /// The weakest origin among the groups; `None` where a group is found nowhere, or there is no
    /// group.
    pub(crate) fn vouched_by(
        &self,
        vouched: &dyn Fn(&Token) -> Option<ValueOrigin>,
    ) -> Option<ValueOrigin> {
        let origins = self.groups.iter().map(|group| group.iter().filter_map(vouched).min());
        origins.reduce(weaker).flatten()
    }

    /// What kind of thing the value is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        self.groups.iter().flatten().next().map_or("value", |token| token.class.name())
    }
}

/// The tokens of which one must be found for a value that is no address, amount, secret or text.
fn tokens_by_role(role: Role, name: &str, text: &str) -> Vec<Token> {
    if let Some(url) = values::url(text).filter(|_| role != Role::Path || text.contains("://")) {
        let file = [values::path(text).map(|key| Token::new(Class::Path, key))];
        let also = file.into_iter().flatten().filter(|_| role == Role::Identifier);
        return std::iter::once(url).chain(also).collect();
    }
    let mut out = Vec::new();
    let mut add = |class, key: Option<String>| out.extend(key.map(|key| Token::new(class, key)));
    if matches!(role, Role::Recipient | Role::Account | Role::Email) {
        add(Class::Account, values::account(text));
    }
    if matches!(role, Role::Path | Role::Identifier) {
        add(Class::Path, values::path(text).filter(|_| text.contains(['/', '\\', '.'])));
    }
    if matches!(role, Role::Other | Role::Switch) {
        add(Class::Number, values::number(text));
        add(Class::Account, values::account(text));
    }
    let words = values::words(text);
    let whole = words.join(" ");
    let number =
        text.chars().any(|c| c.is_ascii_digit()) && text.chars().all(|c| !c.is_alphabetic());
    if !words.is_empty() && !number {
        add(Class::Name, Some(whole.clone()));
        let said = words.len() >= MIN_PHRASE_WORDS && words.len() <= GRAM && role == Role::Other;
        add(Class::Phrase, Some(whole.clone()).filter(|_| said));
    }
    add(Class::Identifier, values::identifier(text));
    for cue in split::identifier(name).iter().filter(|cue| !GENERIC.contains(&cue.as_str())) {
        add(Class::Cued, Some(values::cued_name(cue, &whole)));
    }
    out
}

#[cfg(test)]
mod tests;
