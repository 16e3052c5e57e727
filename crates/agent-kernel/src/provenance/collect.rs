//! The tokens of what a user said, of what a call was told, and of what a frame shows.

use std::collections::HashSet;

use serde_json::Value;
use weaver_firewall::{Firewall, MaskTable};
use weaver_policy::CarriedValue;
use weaver_text::normalise;
use weaver_text::values::{self, Class, Token};
use weaver_types::{Frame, ValueFamily};

/// The shortest part of a value that is looked for in arguments, in bytes.
const PART: usize = 2;

/// Kinds of personal data by which somebody pays or is known to offices.
const HARMFUL: [&str; 4] = ["card", "ssn", "passport", "national_id"];

/// What a text of the user names.
pub(crate) fn said(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    values::said(text, &mut out);
    out
}

/// What the arguments of a call name, as a result could repeat it.
pub(crate) fn written(arguments: &Value) -> Vec<Token> {
    let mut out = Vec::new();
    walk(None, arguments, &mut out);
    out
}

/// What a frame names, with the values in place of their masks: the model cannot read them, and may
/// send them back where they came from.
pub(crate) fn answered(frame: &Frame, masks: &MaskTable) -> Vec<Token> {
    let mut answer = Answer { masks, out: Vec::new() };
    for fact in &frame.facts {
        answer.text(None, fact);
    }
    for row in &frame.table {
        for (label, value) in row {
            answer.value(Some(label), value);
        }
    }
    for block in &frame.content {
        answer.block(block);
    }
    for whole in frame.structured.iter().chain(&frame.raw) {
        answer.value(None, whole);
    }
    answer.out
}

/// A frame that is looked through.
struct Answer<'a> {
    masks: &'a MaskTable,
    out: Vec<Token>,
}

impl Answer<'_> {
    fn text(&mut self, label: Option<&str>, text: &str) {
        values::told(label, &self.masks.restore(text), &mut self.out);
    }

    /// A block of content: what is JSON in it has labels.
    fn block(&mut self, block: &Value) {
        let text = block.get("text").and_then(Value::as_str).map(str::trim);
        let Some(text) = text else { return self.value(None, block) };
        let opens = text.starts_with(['{', '[']);
        match serde_json::from_str::<Value>(text).ok().filter(|_| opens) {
            Some(value) => self.value(None, &value),
            None => self.text(None, text),
        }
    }

    fn value(&mut self, label: Option<&str>, value: &Value) {
        match value {
            Value::String(text) => self.text(label, text),
            Value::Array(items) => items.iter().for_each(|item| self.value(label, item)),
            Value::Object(members) => {
                members.iter().for_each(|(label, member)| self.value(Some(label), member));
            }
            other => walk(label, other, &mut self.out),
        }
    }
}

fn walk(label: Option<&str>, value: &Value, out: &mut Vec<Token>) {
    match value {
        Value::String(text) => values::told(label, text, out),
        Value::Number(number) => values::told(label, &number.to_string(), out),
        Value::Array(items) => items.iter().for_each(|item| walk(label, item, out)),
        Value::Object(members) => {
            members.iter().for_each(|(label, member)| walk(Some(label), member, out));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// The values in a text that harm their owner wherever they go.
pub(crate) fn carried(firewall: &Firewall, text: &str) -> Vec<CarriedValue> {
    let spans = firewall.spans(text).into_iter();
    let harmful = spans.filter(|span| {
        ValueFamily::of(&span.kind) == ValueFamily::Secret || HARMFUL.contains(&span.kind.as_ref())
    });
    harmful.map(|span| value(&span.kind, text.get(span.range).unwrap_or_default())).collect()
}

fn value(kind: &str, text: &str) -> CarriedValue {
    let mut tokens = Vec::new();
    let mut add = |class, key: Option<String>| {
        tokens.extend(key.map(|key| Token::new(class, key)));
    };
    add(Class::Account, values::account(text));
    add(Class::Identifier, values::identifier(text));
    add(Class::Secret, values::secret(text));
    CarriedValue { kind: kind.to_owned(), tokens }
}

/// Takes out what a result may only repeat: every token whose parts all stand in the arguments.
pub(crate) fn echoes(tokens: Vec<Token>, arguments: &Value) -> Vec<Token> {
    let mut told = String::new();
    texts(arguments, &mut told);
    let told = normalise::fold(&told);
    let told: HashSet<&str> = parts(&told).collect();
    let repeated = |token: &Token| {
        let key = normalise::fold(&token.key);
        parts(&key).all(|part| part.len() < PART || told.contains(part))
    };
    tokens.into_iter().filter(|token| !repeated(token)).collect()
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

fn texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            out.push_str(name);
            out.push('\n');
            texts(member, out);
        }),
        Value::Null | Value::Bool(_) => {}
    }
    out.push('\n');
}
