//! Collects the tokens of user texts, arguments and frames.

use std::collections::HashSet;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use weaver_firewall::{Firewall, MaskTable};
use weaver_policy::SensitiveValue;
use weaver_text::normalise;
use weaver_text::values::{self, RequestTokens, ValueClass, ValueToken};
use weaver_types::{Frame, ValueFamily, hex};

/// The shortest part of a value that is searched for in arguments, in bytes.
const MIN_PART_BYTES: usize = 2;

/// Kinds of personal data that are used for payment or official identification. Other kinds, such as
/// addresses, phone numbers and IBANs, are written down so that others may use them: a mail that
/// could not contain them would be of little use, and who receives it is checked anyway.
const HARMFUL_KINDS: [&str; 4] = ["card", "ssn", "passport", "national_id"];

/// The tokens in a text of the user.
pub(crate) fn user_tokens(text: &str) -> RequestTokens {
    values::request_tokens(text)
}

/// The tokens in the arguments of a call, as a result could repeat them: of all values, and of the
/// member names that are not among the declared ones.
pub(crate) fn argument_tokens(arguments: &Value, declared: &HashSet<String>) -> Vec<ValueToken> {
    let mut out = Vec::new();
    collect_tokens(None, arguments, &mut out);
    collect_name_tokens(arguments, declared, &mut out);
    out
}

fn collect_name_tokens(value: &Value, declared: &HashSet<String>, out: &mut Vec<ValueToken>) {
    match value {
        Value::Array(items) => {
            items.iter().for_each(|item| collect_name_tokens(item, declared, out));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            if !declared.contains(name) {
                values::tokens_in_reply(None, name, out);
            }
            collect_name_tokens(member, declared, out);
        }),
        Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
}

/// The tokens in a frame, with the values in place of their masks: the model cannot read these
/// values, but may send them back where they came from.
pub(crate) fn frame_tokens(frame: &Frame, masks: &MaskTable) -> Vec<ValueToken> {
    let mut answer = FrameTokenCollector { masks, out: Vec::new() };
    for fact in &frame.facts {
        answer.collect_text(None, fact);
    }
    for row in &frame.table {
        for (label, value) in row {
            answer.collect_value(Some(label), value);
        }
    }
    for block in &frame.content {
        answer.collect_block(block);
    }
    for whole in frame.structured.iter().chain(&frame.raw) {
        answer.collect_value(None, whole);
    }
    answer.out
}

/// Collects the tokens of a frame.
struct FrameTokenCollector<'a> {
    masks: &'a MaskTable,
    out: Vec<ValueToken>,
}

impl FrameTokenCollector<'_> {
    fn collect_text(&mut self, label: Option<&str>, text: &str) {
        values::tokens_in_reply(label, &self.masks.restore(text), &mut self.out);
    }

    /// Collects from a content block; JSON in it is parsed, so that its values keep their labels.
    fn collect_block(&mut self, block: &Value) {
        let text = block.get("text").and_then(Value::as_str).map(str::trim);
        let Some(text) = text else { return self.collect_value(None, block) };
        let opens = text.starts_with(['{', '[']);
        match serde_json::from_str::<Value>(text).ok().filter(|_| opens) {
            Some(value) => self.collect_value(None, &value),
            None => self.collect_text(None, text),
        }
    }

    fn collect_value(&mut self, label: Option<&str>, value: &Value) {
        match value {
            Value::String(text) => self.collect_text(label, text),
            Value::Array(items) => items.iter().for_each(|item| self.collect_value(label, item)),
            Value::Object(members) => {
                members.iter().for_each(|(label, member)| self.collect_value(Some(label), member));
            }
            other => collect_tokens(label, other, &mut self.out),
        }
    }
}

fn collect_tokens(label: Option<&str>, value: &Value, out: &mut Vec<ValueToken>) {
    match value {
        Value::String(text) => values::tokens_in_reply(label, text, out),
        Value::Number(number) => values::tokens_in_reply(label, &number.to_string(), out),
        Value::Array(items) => items.iter().for_each(|item| collect_tokens(label, item, out)),
        Value::Object(members) => {
            members.iter().for_each(|(label, member)| collect_tokens(Some(label), member, out));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// The values in a text whose disclosure harms their owner: secrets and some personal data.
pub(crate) fn carried_values(firewall: &Firewall, text: &str) -> Vec<SensitiveValue> {
    let spans = firewall.value_spans(text).into_iter();
    let harmful = spans.filter(|span| {
        ValueFamily::of(&span.kind) == ValueFamily::Secret
            || HARMFUL_KINDS.contains(&span.kind.as_ref())
    });
    harmful
        .map(|span| carried_value(&span.kind, text.get(span.range).unwrap_or_default()))
        .collect()
}

fn carried_value(kind: &str, text: &str) -> SensitiveValue {
    SensitiveValue { kind: kind.to_owned(), tokens: value_readings(text) }
}

/// The possible readings of a text that is one sensitive value. What is too long to be compared as
/// written, such as a private key, is compared by its digest.
pub(crate) fn value_readings(text: &str) -> Vec<ValueToken> {
    let secret = values::secret(text).unwrap_or_else(|| hex(&Sha256::digest(text)));
    let readings = [
        (ValueClass::Account, values::account(text)),
        (ValueClass::Identifier, values::identifier(text)),
        (ValueClass::Secret, Some(secret)),
    ];
    let tokens = readings.into_iter().filter_map(|(class, key)| Some((class, key?)));
    tokens.map(|(class, key)| ValueToken::new(class, key)).collect()
}

/// Removes tokens that a result may merely repeat: those whose parts all occur in the arguments.
pub(crate) fn without_echoes(tokens: Vec<ValueToken>, arguments: &Value) -> Vec<ValueToken> {
    let mut words = String::new();
    append_texts(arguments, &mut words);
    let words = normalise::fold(&words);
    let words: HashSet<&str> = alphanumeric_parts(&words).collect();
    let repeated = |token: &ValueToken| {
        let key = normalise::fold(&token.key);
        alphanumeric_parts(&key).all(|part| part.len() < MIN_PART_BYTES || words.contains(part))
    };
    tokens.into_iter().filter(|token| !repeated(token)).collect()
}

fn alphanumeric_parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

fn append_texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| append_texts(item, out)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            out.push_str(name);
            out.push('\n');
            append_texts(member, out);
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
        let tokens = names.iter().map(|name| ValueToken::new(ValueClass::Name, *name)).collect();
        without_echoes(tokens, &arguments).into_iter().map(|token| token.key).collect()
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

    fn keys(tokens: &[ValueToken]) -> Vec<&str> {
        tokens.iter().map(|token| token.key.as_str()).collect()
    }

    #[test]
    fn what_arguments_name_is_read_at_every_depth_and_numbers_too() {
        let declared: HashSet<String> =
            ["to", "rows", "mail", "on", "none"].map(str::to_owned).into();
        let arguments = json!({
            "to": "eve@evil.example",
            "rows": [{ "mail": "bob@corp.example", "evil-room": null }, 4_711],
            "on": true,
            "none": null,
        });
        let found = argument_tokens(&arguments, &declared);
        let found = keys(&found);
        for name in ["eve@evil.example", "bob@corp.example", "4711", "evil-room"] {
            assert!(found.contains(&name), "{name}: {found:?}");
        }
        assert!(!found.contains(&"true") && !found.contains(&"rows"), "{found:?}");
        assert!(argument_tokens(&json!({ "on": true, "none": null }), &declared).is_empty());
    }

    #[test]
    fn secrets_and_what_somebody_pays_with_are_carried_and_a_mail_address_is_not() {
        let firewall = Firewall::new();
        let kinds = |text: &str| -> Vec<String> {
            carried_values(&firewall, text).into_iter().map(|value| value.kind).collect()
        };
        assert_eq!(kinds("write to jane.roe@corp.example.com"), Vec::<String>::new());
        assert_eq!(kinds("pay with 4539578763621486"), ["card"]);
        let key = carried_values(&firewall, "the key is AKIAIOSFODNN7EXAMPLQ");
        assert_eq!(key.len(), 1);
        assert_eq!(ValueFamily::of(&key[0].kind), ValueFamily::Secret);
        assert!(keys(&key[0].tokens).contains(&"AKIAIOSFODNN7EXAMPLQ"), "{key:?}");
    }
}
