//! The published schemas against the reader: what one takes for a known key, the other does too.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use weaver_policy::{
    DocumentSource, Policy, document_digest, document_schema, sign_document, signing_key_id,
};
use weaver_types::signature::{DocumentKind, SigningKey};

use crate::naive::dice::Dice;
use crate::naive::document::{Documents, Shape};
use crate::support::{NOW, root};

fn keys() -> String {
    let key = |seed| SigningKey::from_seed([seed; 32]).public().to_string();
    format!(
        "kind = \"keys\"\nformat = 1\nid = \"everything\"\nversion = 1\nexpires = 2100-01-01T00:00:00Z\n\
         [approvers.alice]\ntrust = 900\nclearance = \"confidential\"\nscopes = [\"finance\"]\nroles = [\"cfo\"]\n\
         principals = [\"owner\"]\noperator = true\n\
         keys.one = {{ key = \"{}\", not_before = 2026-01-01T00:00:00Z, not_after = 2100-01-01T00:00:00Z }}\n\
         [approvers.bob]\nkey = \"{}\"\ntrust = 1\nclearance = \"public\"\nnot_before = 2026-01-01T00:00:00Z\n\
         [signers.ops]\nkey = \"{}\"\ndocuments = [\"policy\", \"contracts\"]\nnot_after = 2100-01-01T00:00:00Z\n",
        key(1),
        key(2),
        key(3)
    )
}

fn documents() -> Vec<(DocumentKind, String)> {
    let file = |text: &str| text.to_owned();
    vec![
        (DocumentKind::Policy, file(include_str!("../data/policy.toml"))),
        (DocumentKind::Policy, file(Policy::baseline_text())),
        (DocumentKind::Contracts, file(include_str!("../data/contracts.toml"))),
        (DocumentKind::Keys, keys()),
    ]
}

/// Policies and contracts that nobody wrote. They name what the language can say of a call.
fn made_up() -> Vec<(DocumentKind, String)> {
    let each = (0..200).flat_map(|seed| {
        let documents = Documents::random(&mut Dice::new(seed), Shape::FULL);
        let [policy, contracts, _] = documents.texts();
        [(DocumentKind::Policy, policy), (DocumentKind::Contracts, contracts)]
    });
    each.collect()
}

fn json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Datetime(time) => Value::from(time.to_string()),
        toml::Value::Array(items) => items.iter().map(json).collect(),
        toml::Value::Table(table) => table
            .iter()
            .map(|(key, value)| (key.clone(), json(value)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

fn reads(kind: DocumentKind, text: &str) -> bool {
    let id = signing_key_id(&root().public()).unwrap();
    document_digest(kind, text).is_ok()
        && sign_document(&DocumentSource::unsigned("x.toml", text), kind, id, &root(), NOW).is_ok()
}

/// The way to every key in the document.
fn places(value: &Value, at: &str, out: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                out.push((at.to_owned(), key.clone()));
                let key = key.replace('~', "~0").replace('/', "~1");
                places(inner, &format!("{at}/{key}"), out);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                places(inner, &format!("{at}/{index}"), out);
            }
        }
        _ => {}
    }
}

#[test]
fn every_example_fits_its_schema_and_every_misspelt_key_does_not() {
    for (kind, text) in documents() {
        let schema = serde_json::from_str::<Value>(document_schema(kind).unwrap()).unwrap();
        let schema = jsonschema::validator_for(&schema).unwrap();
        assert!(reads(kind, &text), "{text}");
        let document = json(&toml::Value::Table(text.parse().unwrap()));
        assert!(schema.is_valid(&document), "{:?}", schema.iter_errors(&document).next());
        let mut all = Vec::new();
        places(&document, "", &mut all);
        let mut refused = 0;
        // Another name for an agent, a principal or a list leaves one behind that is not declared,
        // which a schema cannot know.
        let is_declaration = |at: &str| ["/agents", "/principals", "/lists"].contains(&at);
        for (at, key) in all.iter().filter(|(at, _)| !is_declaration(at)) {
            let mut changed = document.clone();
            let table = changed.pointer_mut(at).and_then(Value::as_object_mut).unwrap();
            let value = table.remove(key).unwrap();
            table.insert(format!("{key}x"), value);
            let text = toml::to_string(&changed).unwrap();
            assert_eq!(schema.is_valid(&changed), reads(kind, &text), "{at}/{key}");
            refused += usize::from(!schema.is_valid(&changed));
        }
        // All but names that are free, such as those of principals and capabilities.
        assert!(refused * 10 > all.len() * 8, "{refused} of {}", all.len());
    }
}

#[test]
fn made_up_documents_that_the_reader_takes_fit_their_schema() {
    let validators = [DocumentKind::Policy, DocumentKind::Contracts].map(|kind| {
        let schema = serde_json::from_str::<Value>(document_schema(kind).unwrap()).unwrap();
        (kind, jsonschema::validator_for(&schema).unwrap())
    });
    // Some contradict themselves, which no form forbids.
    let taken: Vec<_> = made_up().into_iter().filter(|(kind, text)| reads(*kind, text)).collect();
    assert!(taken.len() > 300, "{}", taken.len());
    for (kind, text) in taken {
        let (_, schema) = validators.iter().find(|(of, _)| *of == kind).unwrap();
        let document = json(&toml::Value::Table(text.parse().unwrap()));
        let fits = schema.validate(&document);
        assert!(fits.is_ok(), "{fits:?}\n{text}");
    }
}

#[test]
fn every_key_of_the_schema_stands_in_a_document() {
    let (full, made_up) = (documents(), made_up());
    for (kind, text) in full.into_iter().filter(|(_, text)| text.contains("everything")) {
        let schema = serde_json::from_str::<Value>(document_schema(kind).unwrap()).unwrap();
        let mut known = Vec::new();
        places(&schema, "", &mut known);
        let keys = known.into_iter().filter(|(at, _)| at.ends_with("/properties"));
        for (_, key) in keys {
            let mut others = made_up.iter().filter(|(other, _)| *other == kind);
            assert!(text.contains(&key) || others.any(|(_, text)| text.contains(&key)), "{key}");
        }
    }
}

#[test]
fn every_key_that_the_reader_knows_stands_in_the_schema() {
    let mut seen = 0;
    for (kind, text) in documents() {
        let schema = serde_json::from_str::<Value>(document_schema(kind).unwrap()).unwrap();
        let mut known = Vec::new();
        places(&schema, "", &mut known);
        let of_schema =
            |name: &str| known.iter().any(|(at, key)| at.ends_with("/properties") && key == name);
        let document = json(&toml::Value::Table(text.parse().unwrap()));
        let mut all = Vec::new();
        places(&document, "", &mut all);
        let tables: BTreeSet<String> = all.into_iter().map(|(at, _)| at).collect();
        for at in tables {
            let mut changed = document.clone();
            let table = changed.pointer_mut(&at).and_then(Value::as_object_mut).unwrap();
            table.insert("zzqx0zzqx".to_owned(), Value::from(1));
            // The message about a key that is like no other lists all that there are.
            for name in known_here(kind, &toml::to_string(&changed).unwrap()) {
                assert!(of_schema(&name), "`{name}` at `{at}` is in no schema of {kind:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

/// The keys that the reader names where it meets one that it does not know.
fn known_here(kind: DocumentKind, text: &str) -> Vec<String> {
    let id = signing_key_id(&root().public()).unwrap();
    let Err(refused) =
        sign_document(&DocumentSource::unsigned("x.toml", text), kind, id, &root(), NOW)
    else {
        return Vec::new();
    };
    let lists =
        refused.findings().iter().filter_map(|found| found.remedy.strip_prefix("known here: "));
    lists.flat_map(|list| list.split(", ").map(str::to_owned)).collect()
}
