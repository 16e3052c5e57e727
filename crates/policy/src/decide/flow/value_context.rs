//! Checks of single values that look at the tool, its schema and the rest of the call.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::values::{ValueClass, ValueToken};
use weaver_types::SinkKind;

use super::provenance_check::{ProvenanceCheck, ProvenanceGap, json_pointer};
use crate::critical::{self, ArgumentRole, PathStep, schema_allows};
use crate::provenance::{RequiredTokens, ValueOrigin, argument_name};

/// The fewest digits of a number that is the name of something where it follows the tool's verb.
const MIN_NUMBER_DIGITS: usize = 3;
/// Words with which a user asks for the whole amount.
const WHOLE_WORDS: [&str; 5] = ["full", "fully", "whole", "entire", "completely"];
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
        if items.is_empty() {
            return self.check_empty(&Value::Array(Vec::new()), at);
        }
        let mut seen = BTreeSet::new();
        match items.iter().position(|item| !seen.insert(item.to_string())) {
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
        let declared = spec.input_schema.as_ref().and_then(|schema| schema.get("properties"));
        let amounts: Vec<&String> = declared
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(serde_json::Map::keys)
            .filter(|name| critical::argument_role(name) == ArgumentRole::Amount)
            .collect();
        let given = |name: &&String| arguments.get(name.as_str()).is_some_and(|one| !one.is_null());
        let any = ValueToken::new(ValueClass::Amount, "*");
        let said = |word: &&str| {
            let word = ValueToken::new(ValueClass::Phrase, *word);
            self.origins.vouched(&word) == Some(ValueOrigin::User)
        };
        if WHOLE_WORDS.iter().any(said) {
            return Ok(());
        }
        match amounts.first() {
            Some(name)
                if !amounts.iter().any(given)
                    && self.origins.vouched(&any) == Some(ValueOrigin::User) =>
            {
                Err(self.unvouched_gap(&format!("/{name}"), "missing amount"))
            }
            _ => Ok(()),
        }
    }
}
