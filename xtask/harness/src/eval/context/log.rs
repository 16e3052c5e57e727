//! Reads a log in the peer's format or in ours.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The keys of an item that `weaver compile` reads.
const KEYS: [&str; 6] = ["id", "kind", "text", "parent_id", "sensitivity", "metadata"];

/// One item of a log.
pub struct Item {
    pub id: String,
    pub kind: String,
    pub text: String,
    pub parent: Option<String>,
    fields: Value,
}

/// The items of a file, in order.
pub struct Log {
    pub name: String,
    pub items: Vec<Item>,
    indexes: HashMap<String, usize>,
}

impl Log {
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut log = Self { name, items: Vec::new(), indexes: HashMap::new() };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = || format!("{}:{}", file.display(), number + 1);
            let value: Value = serde_json::from_str(line).with_context(place)?;
            // A line that is no item is the header of the file.
            if let Some(item) = parse_item(&value) {
                log.indexes.insert(item.id.clone(), log.items.len());
                log.items.push(item);
            }
        }
        Ok(log)
    }

    pub fn index_of(&self, id: &str) -> Option<usize> {
        self.indexes.get(id).copied()
    }

    /// The log in the format that `weaver compile` reads.
    pub fn lines(&self) -> String {
        self.items.iter().map(|item| format!("{}\n", item.fields)).collect()
    }
}

fn parse_item(value: &Value) -> Option<Item> {
    let word = |key: &str| value[key].as_str().map(str::to_owned);
    let (id, kind) = (word("id")?, word("kind").or_else(|| word("type"))?);
    let (text, parent) = (word("text")?, word("parent_id"));
    let mut fields = json!({ "id": id, "kind": kind, "text": text });
    for key in KEYS.iter().skip(3) {
        if !value[*key].is_null() {
            fields[*key] = value[*key].clone();
        }
    }
    Some(Item { id, kind, text, parent, fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("two.jsonl");
        let lines = "{\"type\":\"user_turn\",\"id\":\"u\",\"text\":\"hi\"}\n\n\
            {\"kind\":\"agent_msg\",\"id\":\"a\",\"text\":\"ho\",\"parent_id\":\"u\",\"token_estimate\":0}\n";
        std::fs::write(&file, lines).unwrap();
        let log = Log::read(&file).unwrap();
        assert_eq!((log.name.as_str(), log.items.len(), log.index_of("a")), ("two", 2, Some(1)));
        assert_eq!(log.items[1].parent.as_deref(), Some("u"));
        let first: Value = serde_json::from_str(log.lines().lines().next().unwrap()).unwrap();
        assert_eq!(first, json!({ "id": "u", "kind": "user_turn", "text": "hi" }));
    }
}
