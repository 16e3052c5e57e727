//! Recognises tools that cannot be called without a file to save something in.

use serde_json::Value;
use weaver_policy::critical::saved_files;

/// Whether no call of a tool with this schema goes without a file to save something in, or whether it
/// may replace one.
pub(super) fn is_always_saved(schema: Option<&Value>) -> bool {
    const REPLACES: [&str; 3] = ["overwrite", "overwrite_existing", "overwriteExisting"];
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|one| one == name));
    let properties = schema.and_then(|schema| schema.get("properties"));
    let has = |name: &&str| properties.is_some_and(|properties| properties.get(name).is_some());
    saved_files(schema).any(is_required) || REPLACES.iter().any(has)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_go_without_a_file_always_saves_one() {
        let saved = |required: &[&str], names: &[&str]| {
            let properties = names.iter().map(|name| ((*name).to_owned(), json!({})));
            let properties: serde_json::Map<String, Value> = properties.collect();
            is_always_saved(Some(&json!({"properties": properties, "required": required})))
        };
        assert!(saved(&["output_path"], &["output_path", "input"]));
        assert!(saved(&[], &["overwrite", "files"]));
        assert!(!saved(&["input"], &["output_path", "input"]));
        assert!(!saved(&["path"], &["path"]));
    }
}
