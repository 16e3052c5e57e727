//! What must be found for a value to be vouched for.
//!
//! A value is read as what its argument is for, and as what it is written as: an identifier is
//! found only where something was used as an identifier, an amount only where money was spoken of.

use std::borrow::Cow;

use serde_json::Value;
use weaver_text::split;
use weaver_text::values::{self, Class, GRAM, Token};

use super::{Role, role};
use crate::argument::{ValueOrigin, worse};

/// Fewest words of a text that is vouched for by having been said, though it is no name.
const TOLD: usize = 3;
/// Words of a name that say nothing of what is named.
const EMPTY: [&str; 8] = ["id", "ids", "name", "number", "key", "code", "new", "no"];

/// Groups of tokens: of each group one must be found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Wanted {
    groups: Vec<Vec<Token>>,
}

impl Wanted {
    /// One group.
    fn any(tokens: Vec<Token>) -> Self {
        Self { groups: vec![tokens] }
    }

    /// The worst origin among the groups; `None` where one is found nowhere, or there is none.
    pub(crate) fn met_by(
        &self,
        vouched: &dyn Fn(&Token) -> Option<ValueOrigin>,
    ) -> Option<ValueOrigin> {
        let found = self.groups.iter().map(|group| group.iter().filter_map(vouched).min());
        found.reduce(worse).flatten()
    }

    /// What kind of thing the value is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        self.groups.iter().flatten().next().map_or("value", |token| token.class.name())
    }
}

/// The name that says what the value at this place is for: the last that is no index.
pub(crate) fn name_of(at: &str) -> String {
    let names = at.split('/').skip(1);
    let name = names.filter(|name| name.parse::<usize>().is_err() && *name != "*").last();
    name.unwrap_or_default().replace("~1", "/").replace("~0", "~")
}

/// The same for a place by its parts, unescaped.
pub(crate) fn named<'p>(at: &'p [Cow<'_, str>]) -> &'p str {
    let names = at.iter().rev().find(|name| name.parse::<usize>().is_err());
    names.map(AsRef::as_ref).unwrap_or_default()
}

/// What must be found for a value of an argument of this name.
pub(crate) fn of(name: &str, value: &Value) -> Wanted {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Wanted::default();
        }
    };
    let role = role(name);
    match role {
        Role::Secret => Wanted::any(
            values::secret(&text).map(|key| Token::new(Class::Secret, key)).into_iter().collect(),
        ),
        Role::Amount => amount(&text),
        Role::Text => said(&text),
        Role::Moment => moment(&text),
        _ if text.contains('@') && !text.starts_with('@') => addresses(&text),
        _ => Wanted::any(plain(role, name, &text)),
    }
}

/// What must be found for a text that is all the call says.
pub(crate) fn content(name: &str, value: &Value) -> Wanted {
    match (value, role(name)) {
        (Value::String(text), Role::Moment) => moment(text),
        (Value::String(text), _) if values::day(text).is_some() => moment(text),
        (Value::String(text), _) => said(text),
        (Value::Number(number), _) => counted(&number.to_string()),
        _ => Wanted::default(),
    }
}

fn amount(text: &str) -> Wanted {
    Wanted::any(
        values::number(text).map(|key| Token::new(Class::Amount, key)).into_iter().collect(),
    )
}

fn counted(text: &str) -> Wanted {
    Wanted::any(
        values::number(text).map(|key| Token::new(Class::Number, key)).into_iter().collect(),
    )
}

/// Words in their order: in the user's, or all that a field of an answer held.
fn said(text: &str) -> Wanted {
    let words = values::words(text);
    if words.is_empty() {
        return Wanted::default();
    }
    let whole = words.join(" ");
    let grams = values::grams(&words).into_iter();
    let groups = grams
        .map(|gram| vec![Token::new(Class::Phrase, gram), Token::new(Class::Name, whole.clone())]);
    Wanted { groups: groups.collect() }
}

/// The day of a moment; a time alone as it was said.
fn moment(text: &str) -> Wanted {
    match values::day(text) {
        Some(day) => {
            Wanted::any(day.keys().into_iter().map(|key| Token::new(Class::Day, key)).collect())
        }
        None => said(text),
    }
}

/// One address, or a list of them, each perhaps behind a name.
fn addresses(text: &str) -> Wanted {
    let mut groups = Vec::new();
    for part in text.split([',', ';']).filter(|part| !part.trim().is_empty()) {
        let part = part.trim();
        // A name before the address goes nowhere; a second address there would.
        let inner = part.strip_suffix('>').and_then(|part| part.split_once('<'));
        let address = match inner {
            Some((name, address)) if !name.contains(['@', '<', '>']) => address,
            _ => part,
        };
        groups.push(
            values::email(address).map(|key| Token::new(Class::Email, key)).into_iter().collect(),
        );
    }
    Wanted { groups }
}

/// What one of these must be found for a value that is no address, amount, secret or text.
fn plain(role: Role, name: &str, text: &str) -> Vec<Token> {
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
        let said = words.len() >= TOLD && words.len() <= GRAM && role == Role::Other;
        add(Class::Phrase, Some(whole.clone()).filter(|_| said));
    }
    add(Class::Identifier, values::identifier(text));
    for cue in split::identifier(name).iter().filter(|cue| !EMPTY.contains(&cue.as_str())) {
        add(Class::Cued, Some(values::cued(cue, &whole)));
    }
    out
}
