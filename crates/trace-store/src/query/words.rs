//! The words of an event's payload, for full text.

use std::collections::BTreeSet;

use serde_json::Value;

/// The longest word that is told apart, in characters; of a longer one its beginning counts.
pub const MAX_WORD: usize = 64;

/// The words of a text: runs of letters and digits, in lower case.
pub(super) fn of_text(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(fold)
}

/// A word as it is compared.
fn fold(word: &str) -> String {
    // Lower case may bring forth marks that are no letters (`İ`): they are left out.
    let lower = word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric());
    lower.take(MAX_WORD).collect()
}

/// Every word of a payload's texts. Names of fields, numbers and salts are none.
pub(super) fn of_payload(payload: &Value) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    collect(payload, JsonText::Parse, &mut words);
    words.remove("");
    words
}

/// What is done with a text that is JSON itself.
#[derive(Clone, Copy)]
enum JsonText {
    Parse,
    Keep,
}

fn collect(value: &Value, json_text: JsonText, words: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => match inner(text).filter(|_| matches!(json_text, JsonText::Parse)) {
            // Arguments stand in the log as the text of their JSON.
            Some(inner) => collect(&inner, JsonText::Keep, words),
            None => words.extend(of_text(text)),
        },
        Value::Array(items) => items.iter().for_each(|item| collect(item, json_text, words)),
        Value::Object(fields) => {
            let told = fields.iter().filter(|(name, _)| *name != "salt");
            told.for_each(|(_, value)| collect(value, json_text, words));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn inner(text: &str) -> Option<Value> {
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
        let words: Vec<String> = of_payload(&payload).into_iter().collect();
        assert_eq!(words, ["report", "search", "the", "tickets", "weekly", "ärger"]);
    }

    #[test]
    fn long_words_and_odd_cases_are_bounded() {
        assert_eq!(of_text(&"a".repeat(100)).next().unwrap().len(), MAX_WORD);
        assert_eq!(of_text("İstanbul").collect::<Vec<_>>(), ["istanbul"]);
    }
}
