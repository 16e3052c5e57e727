//! Computes which tokens a trusted source must contain to vouch for a value.
//!
//! A value is interpreted by the role of its argument and by its own form: an identifier is vouched
//! for only by an identifier, an amount only by an amount of money. This is *endorsement* in the
//! sense of information-flow control (Sabelfeld and Sands, *Declassification: Dimensions and
//! Principles*), in the form of an allowlist: untrusted input may have chosen any value, so a value
//! is endorsed only if a trusted source contains the same one.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::split;
use weaver_text::values::{self, GRAM, ValueClass, ValueToken};
use weaver_types::JsonPointer;

use super::{ValueOrigin, weaker_origin};
use crate::critical::{ArgumentRole, PathStep, argument_role};

/// The minimum number of words for a text that is not a name to be vouched for as a phrase.
const MIN_PHRASE_WORDS: usize = 3;
/// The most words of a text that a field of a trusted result vouches for as a whole.
const MAX_FIELD_WORDS: usize = 2 * GRAM;
/// Words in argument names that do not indicate what is named.
const GENERIC_NAME_WORDS: [&str; 8] = ["id", "ids", "name", "number", "key", "code", "new", "no"];

/// The name of the argument at a JSON pointer: the last segment that is not an index.
pub(crate) fn argument_name_at(pointer: &str) -> String {
    let names = pointer.split('/').skip(1);
    let name = names.filter(|name| name.parse::<usize>().is_err() && *name != "*").last();
    JsonPointer::unescape_step(name.unwrap_or_default())
}

/// The name of the argument at a path: its last step that is not an index.
pub(crate) fn argument_name<'p>(path: &'p [PathStep<'_>]) -> &'p str {
    path.iter().rev().find(|step| !step.is_index).map(AsRef::as_ref).unwrap_or_default()
}

/// The tokens that vouch for a value: a trusted source must contain at least one token of each
/// group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RequiredTokens {
    groups: Vec<Vec<ValueToken>>,
}

impl RequiredTokens {
    /// One group, of which any token suffices. An empty group is never satisfied.
    fn any_of(tokens: impl IntoIterator<Item = ValueToken>) -> Self {
        Self { groups: vec![tokens.into_iter().collect()] }
    }

    /// The tokens required for the value of an argument with this name.
    pub(crate) fn for_argument(name: &str, value: &Value) -> Self {
        let text = match value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Self::default();
            }
        };
        if !values::is_displayed(&text) {
            return Self::any_of([]);
        }
        match argument_role(name) {
            ArgumentRole::Secret => Self::any_of(
                values::secret(&text).map(|key| ValueToken::new(ValueClass::Secret, key)),
            ),
            ArgumentRole::Amount => Self::any_of(
                values::number(&text).map(|key| ValueToken::new(ValueClass::Amount, key)),
            ),
            ArgumentRole::Quantity => Self::any_of(
                values::number(&text).map(|key| ValueToken::new(ValueClass::Count, key)),
            ),
            ArgumentRole::Text => Self::for_phrase(&text),
            ArgumentRole::Time => Self::for_time(&text),
            _ if text.contains('@') && !text.starts_with('@') => Self::for_addresses(&text),
            role if reads_as_day(role, &text) => Self::for_time(&text),
            role => Self::any_of(tokens_by_role(role, name, raw_text(value).unwrap_or(&text))),
        }
    }

    /// The tokens required for the value of an argument that names the object of its tool, whatever
    /// else its name sounds like.
    pub(crate) fn for_object(name: &str, value: &Value) -> Self {
        let number = value.is_number().then(|| value.to_string());
        let Some(text) = raw_text(value).or(number.as_deref()) else { return Self::default() };
        if !values::is_displayed(text) {
            return Self::any_of([]);
        }
        if text.contains('@') && !text.starts_with('@') {
            return Self::for_addresses(text);
        }
        let mut tokens = tokens_by_role(ArgumentRole::Identifier, name, text);
        let words = values::words(text);
        if (MIN_PHRASE_WORDS..=GRAM).contains(&words.len()) {
            tokens.push(ValueToken::new(ValueClass::Phrase, words.join(" ")));
        }
        Self::any_of(tokens)
    }

    /// The tokens of which one vouches for a choice that the schema lists: its words, in the forms
    /// that a person uses (`closed` for `close`).
    pub(crate) fn for_choice(text: &str) -> Self {
        if !values::is_displayed(text) {
            return Self::any_of([]);
        }
        let base = split::identifier(text).join(" ");
        let stem = base.strip_suffix("ed").or_else(|| base.strip_suffix('d')).unwrap_or(&base);
        let forms = ["", "s", "d", "ed", "es", "ing"].map(|end| format!("{base}{end}"));
        let mut forms: Vec<String> = forms.into();
        if base.len() > 3 {
            forms.extend([stem.to_owned(), format!("{stem}e")]);
        }
        forms.retain(|form| !form.is_empty());
        Self::any_of(forms.into_iter().map(|form| ValueToken::new(ValueClass::Phrase, form)))
    }

    /// The tokens of which one vouches for a name beside a word of the tool: `the garage` for
    /// `unlock_door` where the user said "unlock the garage".
    pub(crate) fn for_tool_object<'w>(text: &str, words: impl Iterator<Item = &'w str>) -> Self {
        let whole = values::words(text).join(" ");
        if whole.is_empty() || values::has_signs(text) || !values::is_displayed(text) {
            return Self::any_of([]);
        }
        let named = |word| ValueToken::new(ValueClass::Cued, values::cued_name(word, &whole));
        Self::any_of(words.map(named))
    }

    /// The tokens that say that a text is a sentence, a line or a quotation as a whole.
    pub(crate) fn for_whole_quotation(text: &str) -> Self {
        let edges = values::edge_tokens(&values::words(text));
        Self { groups: edges.into_iter().map(|edge| vec![edge]).collect() }
    }

    /// Whether some group is vouched for only by words that the user merely quoted or denied.
    pub(crate) fn is_merely_mentioned(
        &self,
        vouched: &dyn Fn(&ValueToken) -> Option<ValueOrigin>,
    ) -> bool {
        self.groups.iter().any(|group| {
            let of = |token: &ValueToken| vouched(token).map(|origin| (origin, token.class));
            let best = group.iter().filter_map(of).min();
            // Results have no phrases, so these are from a text of the user.
            best.is_some_and(|best| best == (ValueOrigin::Trusted, ValueClass::Phrase))
        })
    }

    /// The tokens required for a value of a call in which no argument names a receiver, so the
    /// content alone decides what the call does.
    pub(crate) fn for_content(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::for_time(text),
            Value::Number(number) => {
                let key = values::number(&number.to_string());
                Self::any_of(key.map(|key| ValueToken::new(ValueClass::Number, key)))
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Self::default(),
        }
    }

    /// Requires the words in their order: all n-grams of the text in the user's words, or the whole
    /// text as one field of a trusted result.
    fn for_phrase(text: &str) -> Self {
        if !values::is_displayed(text) {
            return Self::any_of([]);
        }
        let words = values::words(text);
        if words.is_empty() {
            return Self::default();
        }
        let whole = (words.len() <= MAX_FIELD_WORDS).then(|| words.join(" "));
        let group = |gram| {
            let whole = whole.iter().map(|whole| ValueToken::new(ValueClass::Name, whole.clone()));
            std::iter::once(ValueToken::new(ValueClass::Phrase, gram)).chain(whole).collect()
        };
        Self { groups: values::grams(&words).into_iter().map(group).collect() }
    }

    /// Requires the day of a date. Anything else, including a time of day alone, is treated as a
    /// phrase.
    fn for_time(text: &str) -> Self {
        match values::day(text) {
            Some(day) => Self::any_of(
                day.keys().into_iter().map(|key| ValueToken::new(ValueClass::Day, key)),
            ),
            None => Self::for_phrase(text),
        }
    }

    /// Requires every address of a list, each with an optional display name.
    fn for_addresses(text: &str) -> Self {
        let parts = text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty());
        let group = |part: &str| {
            // A display name receives nothing, but a second address inside it would.
            let inner = part.strip_suffix('>').and_then(|part| part.split_once('<'));
            let address = match inner {
                Some((name, address)) if !name.contains(['@', '<', '>']) => address,
                _ => part,
            };
            values::email(address)
                .map(|key| ValueToken::new(ValueClass::Email, key))
                .into_iter()
                .collect()
        };
        Self { groups: parts.map(group).collect() }
    }

    /// The weakest origin over all groups; `None` if a group is not found, or if there are no
    /// groups.
    pub(crate) fn weakest_origin(
        &self,
        vouched: &dyn Fn(&ValueToken) -> Option<ValueOrigin>,
    ) -> Option<ValueOrigin> {
        let origins = self.groups.iter().map(|group| group.iter().filter_map(vouched).min());
        origins.reduce(weaker_origin).flatten()
    }

    /// The readings of a single value other than a day; nothing for a text of several parts.
    pub(crate) fn into_readings(self) -> BTreeSet<ValueToken> {
        let group = if self.groups.len() == 1 { self.groups } else { Vec::new() };
        let readings = group.into_iter().flatten();
        readings.filter(|token| token.class != ValueClass::Day).collect()
    }

    /// What kind of value it is, for people.
    pub(crate) fn kind(&self) -> &'static str {
        self.groups.iter().flatten().next().map_or("value", |token| token.class.name())
    }
}

/// Whether a value is compared as a day: under any name that could be that of a moment, also as the
/// end of a period (`to`), which sounds like a receiver. What names something has no time of day.
fn reads_as_day(role: ArgumentRole, text: &str) -> bool {
    match role {
        ArgumentRole::Email | ArgumentRole::Account => false,
        ArgumentRole::Recipient
        | ArgumentRole::Identifier
        | ArgumentRole::Path
        | ArgumentRole::Network => values::is_plain_day(text),
        _ => values::day(text).is_some(),
    }
}

fn raw_text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

/// The alternative tokens for a value that is not an address, amount, secret or text.
fn tokens_by_role(role: ArgumentRole, name: &str, raw: &str) -> Vec<ValueToken> {
    let text = raw.trim_matches(' ');
    let home = role == ArgumentRole::Path && text.starts_with(['~', '.']);
    let number = values::number(text).is_some() || values::account(text).is_some();
    if values::has_signs(text) && !home && !number {
        // The name without the signs is another one.
        let mut out = vec![ValueToken::new(ValueClass::Name, text.to_lowercase())];
        out.extend(
            values::identifier(text)
                .filter(|key| key == text)
                .map(|key| ValueToken::new(ValueClass::Identifier, key)),
        );
        return out;
    }
    if let Some(url) =
        values::url(text).filter(|_| role != ArgumentRole::Path || text.contains("://"))
    {
        let file = [values::path(text).map(|key| ValueToken::new(ValueClass::Path, key))];
        let also = file.into_iter().flatten().filter(|_| role == ArgumentRole::Identifier);
        return std::iter::once(url).chain(also).collect();
    }
    let mut out = Vec::new();
    let mut add =
        |class, key: Option<String>| out.extend(key.map(|key| ValueToken::new(class, key)));
    if matches!(role, ArgumentRole::Recipient | ArgumentRole::Account | ArgumentRole::Email) {
        add(ValueClass::Account, values::account(text));
    }
    if matches!(role, ArgumentRole::Path | ArgumentRole::Identifier) {
        add(ValueClass::Path, values::path(text).filter(|_| text.contains(['/', '\\', '.'])));
    }
    if matches!(role, ArgumentRole::Other | ArgumentRole::Setting) {
        add(ValueClass::Number, values::number(text));
        add(ValueClass::Account, values::account(text));
    }
    let words = values::words(text);
    let whole = words.join(" ");
    let number =
        text.chars().any(|c| c.is_ascii_digit()) && text.chars().all(|c| !c.is_alphabetic());
    if !words.is_empty() && !number {
        add(ValueClass::Name, Some(whole.clone()));
        let counts_as_phrase =
            words.len() >= MIN_PHRASE_WORDS && words.len() <= GRAM && role == ArgumentRole::Other;
        add(ValueClass::Phrase, Some(whole.clone()).filter(|_| counts_as_phrase));
    }
    add(ValueClass::Identifier, values::identifier(text));
    for cue in
        split::identifier(name).iter().filter(|cue| !GENERIC_NAME_WORDS.contains(&cue.as_str()))
    {
        add(ValueClass::Cued, Some(values::cued_name(cue, &whole)));
        // `the user lena` names the `username`.
        let short = cue.strip_suffix("name").filter(|short| !short.is_empty());
        add(ValueClass::Cued, short.map(|short| values::cued_name(short, &whole)));
    }
    out
}

#[cfg(test)]
mod tests;
