//! Every key of `weaver.toml`, by its JSON Schema: what the schema refuses, the reader refuses too.

use serde_json::{Map, Value};
use weaver_gateway::config::{json_schema, load_with};

use crate::folder::Folder;

/// A key, and a text of the file in which it has this value.
struct Setting {
    key: String,
    text: String,
}

/// Every key below a schema, set to `value`. `place` makes a text with a value out of the text of
/// what stands at the key.
fn settings(
    schema: &Value,
    path: &str,
    value: &str,
    place: &dyn Fn(&str) -> String,
) -> Vec<Setting> {
    let mut all = Vec::new();
    for (name, below) in schema["properties"].as_object().unwrap_or(&Map::new()) {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let at = |text: &str| {
            if path.is_empty() {
                format!("{name} = {text}\n")
            } else {
                place(&format!("{{ {name} = {text} }}"))
            }
        };
        all.push(Setting { key: key.clone(), text: at(value) });
        let (entries, items) = (&below["additionalProperties"], &below["items"]);
        all.extend(settings(below, &key, value, &at));
        all.extend(settings(entries, &format!("{key}.x"), value, &|text| {
            at(&format!("{{ x = {text} }}"))
        }));
        all.extend(settings(items, &format!("{key}[0]"), value, &|text| at(&format!("[{text}]"))));
    }
    all
}

#[test]
fn a_value_of_a_wrong_type_is_refused_at_every_key_by_schema_and_reader() {
    let schema = json_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    // A fraction is a value of no key.
    let all = settings(&schema, "", "1.5", &str::to_owned);
    assert!(all.len() > 120, "{}", all.len());
    let folder = Folder::new();
    for Setting { key, text } in all {
        folder.write("weaver.toml", &text);
        let refused = load_with(folder.path("weaver.toml"), &|_| None).unwrap_err();
        let mut findings = refused.findings().iter();
        let named =
            findings.any(|found| found.code == "config.type" && found.key.as_deref() == Some(&key));
        assert!(named, "`{key}` in {text}: {refused}");
        let form: Value = toml::from_str(&text).unwrap();
        let is_wrong = |place: &str| {
            place.replace('/', ".").replace(".0", "[0]").trim_start_matches('.') == key
        };
        let mut errors = validator.iter_errors(&form);
        assert!(errors.any(|error| is_wrong(error.instance_path().as_str())), "`{key}` in {text}");
    }
}

#[test]
fn a_key_that_is_none_is_refused_in_every_table_by_schema_and_reader() {
    let schema = json_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let folder = Folder::new();
    for Setting { key, text } in settings(&schema, "", "{ no_such_key = 1 }", &str::to_owned) {
        folder.write("weaver.toml", &text);
        let refused = load_with(folder.path("weaver.toml"), &|_| None).unwrap_err();
        let codes: Vec<_> = refused.findings().iter().map(|found| found.code).collect();
        let form: Value = toml::from_str(&text).unwrap();
        // A table of free names has an entry of that name, whose value is wrong.
        let expected = ["config.unknown_key", "config.type"];
        let is_free = key.ends_with("input_schema");
        assert!(is_free || codes.iter().any(|code| expected.contains(code)), "{text}: {refused}");
        assert!(is_free || !validator.is_valid(&form), "{text}");
    }
}
