//! Checks of single values that look at the tool, its schema and the rest of the call.

use std::collections::HashSet;

use serde_json::Value;
use weaver_text::values::{self, ValueClass, ValueToken};
use weaver_types::SinkKind;

use super::provenance_check::{ProvenanceCheck, is_void, json_pointer};
use super::provenance_gap::ProvenanceGap;
use crate::critical::{self, ArgumentRole, PathStep, schema_allows};
use crate::provenance::{RequiredTokens, ValueOrigin, argument_name};

/// The fewest digits of a number that is the name of something where it follows the tool's verb.
const MIN_NUMBER_DIGITS: usize = 3;
/// Phrases with which a user asks for the whole amount: by themselves, or before a word of the second
/// list.
const WHOLE_PHRASES: [&str; 4] = ["fully", "completely", "in full", "vollständig"];
const WHOLE_WORDS: [&str; 5] = ["full", "whole", "entire", "complete", "ganze"];
const WHOLE_NOUNS: [&str; 11] = [
    "amount", "refund", "order", "payment", "price", "sum", "balance", "invoice", "bill", "total",
    "betrag",
];
/// How deeply amounts are looked for.
const MAX_DEPTH: usize = 8;
/// Verbs before the name of a person.
const PEOPLE_VERBS: [&str; 10] =
    ["tell", "ask", "invite", "notify", "remind", "inform", "message", "thank", "assign", "give"];

impl ProvenanceCheck<'_> {
    pub(super) fn origin_by(&self, required: &RequiredTokens) -> Option<ValueOrigin> {
        required.weakest_origin(&|token| self.origins.vouched(token))
    }

    /// Whether the value is a quantity of one, which is what a request without a number asks for.
    pub(super) fn is_lone_item(&self, value: &Value, name: &str) -> bool {
        critical::argument_role(name) == ArgumentRole::Quantity && value.as_f64() == Some(1.0)
    }

    /// Whether the tool and its schema say what the user's words for the value are: a choice that
    /// the schema lists, or a name beside a word of the tool's name.
    pub(super) fn is_vouched_by_context(
        &self,
        value: &Value,
        at: &[PathStep<'_>],
        name: &str,
    ) -> bool {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return false,
        };
        let schema = self.query.capability.spec().input_schema.as_ref();
        let is_choice = schema.is_some_and(|schema| schema_allows(schema, at, value).is_choice);
        if is_choice && self.is_sufficient(self.origin_by(&RequiredTokens::for_choice(&text))) {
            return true;
        }
        let names_something = matches!(
            critical::argument_role(name),
            ArgumentRole::Identifier | ArgumentRole::Other | ArgumentRole::Recipient
        ) || self.tool.names_object(name, self.query.capability.sink());
        if !names_something || text.contains('@') {
            return false;
        }
        // A short number after the verb is rather a count: `delete 5`.
        let short = text.len() < MIN_NUMBER_DIGITS && text.bytes().all(|b| b.is_ascii_digit());
        let words = self.tool.all().filter(|word| !(short && self.tool.is_verb(word)));
        let people = critical::argument_role(name) == ArgumentRole::Recipient;
        let words = words.chain(if people { PEOPLE_VERBS.as_slice() } else { &[] }.iter().copied());
        self.is_sufficient(self.origin_by(&RequiredTokens::for_tool_object(&text, words)))
    }

    /// At a strict sink, nothing vouches for an empty value, which often stands for everything.
    pub(super) fn check_empty(
        &self,
        value: &Value,
        at: &[PathStep<'_>],
    ) -> Result<(), ProvenanceGap> {
        let schema = self.query.capability.spec().input_schema.as_ref();
        let is_default =
            || schema.is_some_and(|schema| schema_allows(schema, at, value).is_default);
        if self.user_words_only && self.is_critical(at, argument_name(at)) && !is_default() {
            return Err(self.unvouched_gap(&json_pointer(at), "empty value"));
        }
        Ok(())
    }

    /// At a strict sink, a list that is empty or that repeats an item is vouched for by nothing: it
    /// says everything, or a quantity.
    pub(super) fn check_list(
        &self,
        items: &[Value],
        at: &[PathStep<'_>],
    ) -> Result<(), ProvenanceGap> {
        if !self.user_words_only {
            return Ok(());
        }
        if items.iter().all(is_void) {
            return self.check_empty(&Value::Array(Vec::new()), at);
        }
        let mut seen = RepeatedItems::default();
        match items.iter().position(|item| seen.has_seen(argument_name(at), item)) {
            Some(index) => {
                let pointer = format!("{}/{index}", json_pointer(at));
                Err(self.unvouched_gap(&pointer, "repeated value"))
            }
            None => Ok(()),
        }
    }

    /// At a payment, leaving out the amount often means the whole one, so the call must have it if
    /// the user named any. The same payment again needs new words of the user.
    pub(super) fn check_payment(&self, arguments: &Value) -> Result<(), ProvenanceGap> {
        let spec = self.query.capability.spec();
        if self.query.capability.sink() != SinkKind::Payment {
            return Ok(());
        }
        if self.origins.is_repeated_payment(self.query.capability, arguments) {
            return Err(self.unvouched_gap("", "repeated payment"));
        }
        let Some(name) = spec.input_schema.as_ref().and_then(|schema| declared_amount(schema, 0))
        else {
            return Ok(());
        };
        let says = |class, key: &str| {
            self.origins.vouched(&ValueToken::new(class, key)) == Some(ValueOrigin::User)
        };
        let whole = || {
            let pairs = WHOLE_WORDS
                .iter()
                .flat_map(|word| WHOLE_NOUNS.iter().map(move |noun| format!("{word} {noun}")));
            let mut all = WHOLE_PHRASES.iter().map(|phrase| (*phrase).to_owned()).chain(pairs);
            all.any(|phrase| says(ValueClass::Phrase, &phrase))
        };
        if has_amount(arguments, 0) || !says(ValueClass::Amount, "*") || whole() {
            return Ok(());
        }
        Err(self.unvouched_gap(&format!("/{name}"), "missing amount"))
    }
}

/// Whether an argument of a payment with this name has an amount.
fn is_amount(name: &str) -> bool {
    critical::argument_role(name) == ArgumentRole::Amount || name == "value"
}

/// The name of an amount that a schema declares, at any depth.
fn declared_amount(schema: &Value, depth: usize) -> Option<&str> {
    if depth > MAX_DEPTH {
        return None;
    }
    match schema {
        Value::Array(items) => items.iter().find_map(|one| declared_amount(one, depth + 1)),
        Value::Object(members) => {
            let names = members.get("properties").and_then(Value::as_object);
            let mut names = names.into_iter().flat_map(serde_json::Map::keys);
            let found = names.find(|name| is_amount(name)).map(String::as_str);
            found.or_else(|| members.values().find_map(|one| declared_amount(one, depth + 1)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Whether the arguments have an amount.
fn has_amount(value: &Value, depth: usize) -> bool {
    match value {
        _ if depth > MAX_DEPTH => false,
        Value::Array(items) => items.iter().any(|item| has_amount(item, depth + 1)),
        Value::Object(members) => members.iter().any(|(name, member)| {
            is_amount(name) && !is_void(member) || has_amount(member, depth + 1)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The items of a list so far, to find one that is there twice however it is written.
#[derive(Default)]
struct RepeatedItems {
    tokens: HashSet<ValueToken>,
    others: HashSet<String>,
}

impl RepeatedItems {
    /// Whether an item was there before.
    fn has_seen(&mut self, name: &str, item: &Value) -> bool {
        let mut bare = String::new();
        append_bare(item, &mut bare);
        // Single values are often named by what only letters and digits do not tell apart.
        if item.is_object() || item.is_array() {
            return !self.others.insert(bare);
        }
        let mut seen = !self.others.insert(item.to_string());
        for token in RequiredTokens::for_argument(name, item).into_readings() {
            seen |= !self.tokens.insert(token);
        }
        seen
    }
}

/// Appends the values of an item in a form that does not depend on how they are written.
fn append_bare(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| append_bare(item, out)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let mut below = String::new();
            append_bare(member, &mut below);
            if !below.is_empty() {
                out.push_str(name);
                out.push_str(&below);
            }
        }),
        Value::Null => {}
        Value::String(text) => values::bare_values(text).iter().for_each(|one| {
            out.push('\t');
            out.push_str(one);
        }),
        Value::Bool(_) | Value::Number(_) => {
            out.push('\t');
            out.extend(values::bare_values(&value.to_string()));
        }
    }
}
