//! What the patterns of a schema and its other conditions on texts cost on a text.
//!
//! The engine runs in time linear in the text, with the number of a pattern's states as the factor
//! (Thompson's simulation of a nondeterministic automaton). `a[ab]{1500}c` is a short text with thousands
//! of states, so neither the length of a schema nor its number of patterns bounds that factor.

use regex_automata::nfa::thompson::NFA;
use serde_json::{Map, Value};

/// The states of a pattern that cannot be compiled within its bound.
const MAX_STATES: usize = 50_000;
/// The largest automaton of one pattern, in bytes.
const MAX_NFA_BYTES: usize = 1 << 20;

/// How many steps the patterns and other conditions on texts of a schema take for each byte: the states of
/// all patterns together, and one for each length that is counted.
pub(super) fn pattern_states(schema: &Value) -> u64 {
    let mut open = vec![schema];
    let mut states = 0_u64;
    while let Some(next) = open.pop() {
        match next {
            Value::Object(members) => {
                for (key, member) in members {
                    match (key.as_str(), member) {
                        ("pattern", Value::String(pattern)) => {
                            states = states.saturating_add(states_of(pattern));
                        }
                        _ if is_text_condition(key, member) => states = states.saturating_add(1),
                        ("patternProperties", Value::Object(patterns)) => {
                            let all = patterns.keys().map(|pattern| states_of(pattern));
                            states = states.saturating_add(all.sum());
                        }
                        _ => {}
                    }
                    open.push(member);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    states
}

fn states_of(pattern: &str) -> u64 {
    let config = NFA::config().nfa_size_limit(Some(MAX_NFA_BYTES));
    let compiled = NFA::compiler().configure(config).build(pattern);
    let states = compiled.map_or(MAX_STATES, |automaton| automaton.states().len());
    u64::try_from(states).unwrap_or(u64::MAX)
}

/// The bytes of all texts of a value, which patterns are run on.
pub(super) fn text_bytes(value: &Value) -> u64 {
    let len = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
    match value {
        Value::String(text) => len(text),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| len(name).saturating_add(text_bytes(member))).sum()
        }
        _ => 0,
    }
}

/// The schema without its patterns.
pub(super) fn without_patterns(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut kept: Map<String, Value> = members
                .iter()
                .filter(|(key, member)| !is_pattern(key, member))
                .map(|(key, member)| (key.clone(), without_patterns(member)))
                .collect();
            // What a pattern let in must not be forbidden now.
            if members.get("patternProperties").is_some_and(Value::is_object) {
                kept.retain(|key, _| {
                    !matches!(key.as_str(), "additionalProperties" | "unevaluatedProperties")
                });
            }
            Value::Object(kept)
        }
        Value::Array(items) => Value::Array(items.iter().map(without_patterns).collect()),
        leaf => leaf.clone(),
    }
}

/// Whether a member of an object is a pattern or another condition on texts, and not a property of that
/// name.
fn is_pattern(key: &str, member: &Value) -> bool {
    key == "pattern" && member.is_string()
        || key == "patternProperties" && member.is_object()
        || is_text_condition(key, member)
}

/// Whether this is a condition that reads a text once.
fn is_text_condition(key: &str, member: &Value) -> bool {
    matches!(key, "minLength" | "maxLength") && member.is_number()
        || matches!(key, "format" | "contentEncoding") && member.is_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_short_pattern_may_have_many_states() {
        let states = |pattern: &str| pattern_states(&json!({ "items": [{ "pattern": pattern }] }));
        assert!(states("^[a-z]+$") < 30);
        assert!(states("a[ab]{1500}c") > 1_500);
        assert_eq!(states("("), 50_000);
        let lengths = json!({ "anyOf": vec![json!({ "maxLength": 5 }); 900], "format": "uri" });
        assert_eq!(pattern_states(&lengths), 901);
        let keys = json!({ "patternProperties": { "a{100}": { "pattern": "b{100}" } } });
        assert!((200..400).contains(&pattern_states(&keys)), "{}", pattern_states(&keys));
    }

    #[test]
    fn patterns_are_left_out_and_nothing_else() {
        let schema = json!({ "additionalProperties": false, "patternProperties": { "^x": {} },
            "properties": { "pattern": { "type": "string", "pattern": "a" } } });
        let rest = json!({ "properties": { "pattern": { "type": "string" } } });
        assert_eq!(without_patterns(&schema), rest);
        assert_eq!(text_bytes(&json!({ "ab": ["cde", 5, { "f": "gh" }] })), 8);
    }
}
