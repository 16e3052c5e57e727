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
    let mut answer = FrameTokenCollector { masks, out: Vec::new() };
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
struct FrameTokenCollector<'a> {
    masks: &'a MaskTable,
    out: Vec<Token>,
}

impl FrameTokenCollector<'_> {
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
    let mut words = String::new();
    texts(arguments, &mut words);
    let words = normalise::fold(&words);
    let words: HashSet<&str> = parts(&words).collect();
    let repeated = |token: &Token| {
        let key = normalise::fold(&token.key);
        parts(&key).all(|part| part.len() < PART || words.contains(part))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn left(names: &[&str], arguments: Value) -> Vec<String> {
        let tokens = names.iter().map(|name| Token::new(Class::Name, *name)).collect();
        echoes(tokens, &arguments).into_iter().map(|token| token.key).collect()
    }

    #[test]
    fn what_a_call_was_told_is_only_repeated_wherever_it_stood() {
        for arguments in [
            json!("eve smith"),
            json!({ "to": "Eve Smith" }),
            json!({ "eve": "smith" }),
            json!({ "to": ["smith", { "x": "eve" }] }),
            json!({ "eve": { "smith": null } }),
            json!("smith, (eve)!"),
        ] {
            assert_eq!(left(&["eve smith", "bob"], arguments.clone()), ["bob"], "{arguments}");
        }
        for arguments in [json!("eve"), json!("evesmith"), json!(["ev", "e smith"]), json!(null)] {
            assert_eq!(left(&["eve smith"], arguments.clone()), ["eve smith"], "{arguments}");
        }
        assert_eq!(left(&["4711"], json!({ "n": 4_711 })), Vec::<String>::new());
        assert_eq!(left(&["true"], json!({ "n": true })), ["true"], "a switch names nothing");
    }

    #[test]
    fn names_and_values_beside_each_other_are_no_one_word() {
        assert_eq!(left(&["evesmith"], json!({ "eve": "smith" })), ["evesmith"]);
        assert_eq!(left(&["evesmith"], json!(["eve", "smith"])), ["evesmith"]);
        assert_eq!(left(&["eve7"], json!(["eve", 7])), ["eve7"]);
    }

    #[test]
    fn a_part_of_one_byte_is_not_looked_for() {
        assert_eq!(left(&["eve a"], json!("eve")), Vec::<String>::new());
        assert_eq!(left(&["eve ab"], json!("eve")), ["eve ab"]);
        assert_eq!(left(&["eve \u{e9}\u{e9}"], json!("eve")).len(), 1);
    }

    fn keys(tokens: &[Token]) -> Vec<&str> {
        tokens.iter().map(|token| token.key.as_str()).collect()
    }

    #[test]
    fn what_arguments_name_is_read_at_every_depth_and_numbers_too() {
        let found = written(&json!({
            "to": "eve@evil.example",
            "rows": [{ "mail": "bob@corp.example" }, 4_711],
            "on": true,
            "none": null,
        }));
        let found = keys(&found);
        for name in ["eve@evil.example", "bob@corp.example", "4711"] {
            assert!(found.contains(&name), "{name}: {found:?}");
        }
        assert!(!found.contains(&"true"), "{found:?}");
        assert!(written(&json!({ "on": true, "none": null })).is_empty());
    }

    #[test]
    fn secrets_and_what_somebody_pays_with_are_carried_and_a_mail_address_is_not() {
        let firewall = Firewall::new();
        let kinds = |text: &str| -> Vec<String> {
            carried(&firewall, text).into_iter().map(|value| value.kind).collect()
        };
        assert_eq!(kinds("write to jane.roe@corp.example.com"), Vec::<String>::new());
        assert_eq!(kinds("pay with 4539578763621486"), ["card"]);
        let key = carried(&firewall, "the key is AKIAIOSFODNN7EXAMPLQ");
        assert_eq!(key.len(), 1);
        assert_eq!(ValueFamily::of(&key[0].kind), ValueFamily::Secret);
        assert!(keys(&key[0].tokens).contains(&"AKIAIOSFODNN7EXAMPLQ"), "{key:?}");
    }
}
