//! The words of an event's payload, for full-text search.

use std::collections::BTreeSet;

use serde_json::Value;

/// How many characters of a word are distinguished.
pub const MAX_WORD_CHARS: usize = 64;

/// The words of a text: sequences of letters and digits, in lower case.
pub(super) fn words_of_text(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(fold)
}

/// The normalised form in which words are compared.
fn fold(word: &str) -> String {
    // Lower-casing can produce characters that are not letters (`İ`); they are dropped.
    let lower = word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric());
    lower.take(MAX_WORD_CHARS).collect()
}

/// Every word of a payload's texts. Field names, numbers and salts are not included.
pub(super) fn words_of_payload(payload: &Value) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    collect(payload, JsonText::Parse, &mut words);
    words.remove("");
    words
}

/// How a string that contains JSON is treated.
#[derive(Clone, Copy)]
enum JsonText {
    Parse,
    Keep,
}

fn collect(value: &Value, json_text: JsonText, words: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            match parse_nested_json(text).filter(|_| matches!(json_text, JsonText::Parse)) {
                // The log stores arguments as JSON text.
                Some(nested) => collect(&nested, JsonText::Keep, words),
                None => words.extend(words_of_text(text)),
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, json_text, words)),
        Value::Object(fields) => {
            let told = fields.iter().filter(|(name, _)| *name != "salt");
            told.for_each(|(_, value)| collect(value, json_text, words));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn parse_nested_json(text: &str) -> Option<Value> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_have_words_and_names_numbers_and_salts_have_none() {
        let payload = json!({
            "field": 12,
            "salt": "never",
            "goal": "Search the Ärger-tickets",
            "arguments": { "text": "{\"note\":\"# Weekly\\nreport\"}" },
        });
        let words: Vec<String> = words_of_payload(&payload).into_iter().collect();
        assert_eq!(words, ["report", "search", "the", "tickets", "weekly", "ärger"]);
    }

    #[test]
    fn long_words_and_odd_cases_are_bounded() {
        assert_eq!(words_of_text(&"a".repeat(100)).next().unwrap().len(), MAX_WORD_CHARS);
        assert_eq!(words_of_text("İstanbul").collect::<Vec<_>>(), ["istanbul"]);
    }
}
