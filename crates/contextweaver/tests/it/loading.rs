//! Catalogs from files of others.

use contextweaver::card::EffectsNotice;
use contextweaver::catalog::load::{self, CatalogFormat, LoadOptions};
use contextweaver::catalog::{Catalog, ItemKind, SelectableItem, Snapshot, write};
use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_types::Effects;

fn read(text: &str) -> Catalog {
    load::read(text, LoadOptions::default()).unwrap().into_catalog().unwrap()
}

fn format_of(text: &str) -> CatalogFormat {
    load::read(text, LoadOptions::default()).unwrap().format
}

fn only(catalog: &Catalog) -> &SelectableItem {
    assert_eq!(catalog.len(), 1);
    catalog.iter().next().unwrap()
}

#[test]
fn our_own_items_keep_every_field() {
    let item = json!({
        "id": "crm.merge", "kind": "flow", "name": "merge", "description": "Merge contacts",
        "namespace": "crm", "tags": ["b", "a"], "schema": {"type": "object", "properties": {
            "left": {"type": "string", "description": "one"}}},
        "output_schema": {"type": "object"}, "examples": ["merge these two", {"q": 1}],
        "effects": "write_local", "cost_hint": 0.29, "depends_on": ["crm.find"], "provides": ["merged"],
        "requires": ["contacts"], "constraints": {"max": 3}, "metadata": {"owner": "x"},
        "somebody_elses": true,
    });
    let item = only(&read(&json!([item]).to_string())).clone();
    assert_eq!((item.kind, item.cost_hint), (ItemKind::Flow, 290));
    assert_eq!(item.effects, Some(Effects::WRITE_LOCAL));
    assert_eq!(item.parameters[0].name, "left");
    assert_eq!(item.examples, ["merge these two", "{\"q\":1}"]);
    assert_eq!(item.depends_on.first().unwrap().as_str(), "crm.find");
    assert_eq!((item.provides.len(), item.requires.len(), item.constraints.len()), (1, 1, 1));
    let catalog = Catalog::from_items([item]).unwrap();
    for format in [CatalogFormat::Json, CatalogFormat::JsonLines] {
        let text = write(&catalog, format).unwrap().text;
        assert_eq!(only(&read(&text)), only(&catalog), "{format}");
    }
}

#[test]
fn effects_have_the_words_of_contracts() {
    let effects = |word: &str| {
        let loaded =
            load::read(&json!([{"id": "a", "effects": word}]).to_string(), LoadOptions::default());
        loaded.unwrap().into_catalog().map(|catalog| only(&catalog).effects)
    };
    for (word, meant) in Effects::SHORTHANDS {
        assert_eq!(effects(word).unwrap(), Some(meant));
        assert_eq!(json!(EffectsNotice::from_effects(Some(meant))), word);
    }
    assert_eq!(effects("undeclared").unwrap(), None);
    let error = effects("read").unwrap_err().to_string();
    assert!(error.contains("read_local") && !error.contains("reads"), "{error}");
}

#[test]
fn names_of_fields_of_others_are_known_and_silence_is_no_claim() {
    let line = |text: &str| only(&read(text)).clone();
    let python = line(
        r#"{"id":"a","args_schema":{"properties":{"x":{}}},"side_effects":true,"output_schema":null}"#,
    );
    assert_eq!(python.parameters[0].name, "x");
    assert_eq!(python.effects, Some(Effects::WRITE_OPEN));
    let silent = line(r#"{"id":"a","args_schema":{},"side_effects":false}"#);
    assert_eq!((silent.schema, silent.effects), (None, None));
}

#[test]
fn lists_of_providers_are_told_apart_and_read() {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let texts = [
        (
            json!({"tools": [{"name": "find", "description": "Find", "inputSchema": schema,
            "annotations": {"readOnlyHint": true, "openWorldHint": false}}]}),
            CatalogFormat::Mcp,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "find",
            "description": "Find", "inputSchema": schema}]}}),
            CatalogFormat::Mcp,
        ),
        (
            json!([{"type": "function", "function": {"name": "find", "description": "Find",
            "parameters": schema}}]),
            CatalogFormat::OpenAi,
        ),
        (
            json!([{"type": "function", "name": "find", "description": "Find",
            "parameters": schema}]),
            CatalogFormat::OpenAiResponses,
        ),
        (
            json!([{"name": "find", "description": "Find", "input_schema": schema}]),
            CatalogFormat::Anthropic,
        ),
        (
            json!([{"functionDeclarations": [{"name": "find", "description": "Find",
            "parameters": {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}}}]}]),
            CatalogFormat::Gemini,
        ),
    ];
    for (at, (value, format)) in texts.iter().enumerate() {
        let text = value.to_string();
        assert_eq!(format_of(&text), *format, "{text}");
        for source in [LoadOptions::default(), LoadOptions::for_format(*format)] {
            let source = LoadOptions { namespace: Some("crm"), ..source };
            let catalog = load::read(&text, source).unwrap().into_catalog().unwrap();
            let item = only(&catalog);
            assert_eq!(item.id.as_str(), "crm.find");
            assert_eq!((item.namespace.as_str(), item.description.as_str()), ("crm", "Find"));
            assert_eq!(item.parameters[0].name, "q");
            // Only what a server says counts, and only where it says something.
            assert_eq!(item.effects, (at == 0).then_some(Effects::READ_LOCAL), "{text}");
        }
    }
}

#[test]
fn what_was_written_for_a_provider_reads_back() {
    let catalog = read(
        r#"{"id":"crm.find","name":"find","description":"Find","schema":{"type":"object","properties":{"q":{"type":"string"}}}}
           {"id":"crm.note","kind":"prompt","description":"A prompt"}"#,
    );
    for format in [
        CatalogFormat::Mcp,
        CatalogFormat::OpenAi,
        CatalogFormat::OpenAiResponses,
        CatalogFormat::Anthropic,
        CatalogFormat::Gemini,
    ] {
        let written = write(&catalog, format).unwrap();
        assert_eq!(written.notes[0], "`crm.note` is a prompt and no tool: left out");
        assert_eq!(format_of(&written.text), format);
        let again = read(&written.text);
        assert_eq!(only(&again).id.as_str(), "crm.find", "{format}");
        assert_eq!(only(&again).parameters[0].name, "q", "{format}");
    }
    assert_eq!(write(&catalog, CatalogFormat::Skill).unwrap_err().code(), "catalog.read_only");
}

#[test]
fn prompts_and_resources_of_a_server_are_items_too() {
    let text = json!({"result": {
        "prompts": [{"name": "review", "arguments": [{"name": "file", "description": "which"}]}],
        "resources": [{"uri": "file:///a b.txt", "name": "A", "description": "notes"}],
    }});
    let catalog = read(&text.to_string());
    let kinds: Vec<_> = catalog.iter().map(|item| (item.source_id(), item.kind)).collect();
    assert_eq!(kinds, [("file:///a b.txt", ItemKind::Resource), ("review", ItemKind::Prompt)]);
    assert_eq!(catalog.iter().nth(1).unwrap().parameters[0].name, "file");
}

fn petstore() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Pet Store", "version": "1"},
        "paths": {
            "/pets/{id}": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "get": {
                    "operationId": "getPet", "summary": "One pet", "tags": ["pets"],
                    "responses": {"200": {"description": "", "content": {"application/json":
                        {"schema": {"$ref": "#/components/schemas/Pet"}}}}},
                },
                "delete": {"description": "Remove a pet", "deprecated": true},
                "put": {
                    "operationId": "putPet",
                    "parameters": [{"name": "id", "in": "query", "schema": {"type": "integer"}}],
                    "requestBody": {"required": true, "content": {"application/json":
                        {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                },
            },
        },
        "components": {
            "parameters": {"Id": {"name": "id", "in": "path", "required": true,
                "description": "which pet", "schema": {"type": "string"}}},
            "schemas": {"Pet": {"type": "object", "properties": {
                "name": {"type": "string"},
                "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
                "elsewhere": {"$ref": "https://example.com/s.json#/X"},
            }}},
        },
    })
}

#[test]
fn operations_become_items_and_references_are_written_out() {
    let catalog = read(&petstore().to_string());
    let effects: Vec<_> = catalog.iter().map(|i| (i.source_id(), i.effects.unwrap())).collect();
    let destroy = Effects::UNDECLARED;
    assert_eq!(
        effects,
        [
            ("pet_store.DELETE /pets/{id}", destroy),
            ("pet_store.getPet", Effects::READ_OPEN),
            ("pet_store.putPet", Effects::WRITE_OPEN),
        ]
    );
    let item = |name: &str| catalog.iter().find(|item| item.name == name).unwrap();
    let get = item("getPet");
    assert_eq!(get.schema.as_ref().unwrap()["required"], json!(["id"]));
    assert_eq!(get.schema.as_ref().unwrap()["properties"]["id"]["description"], "which pet");
    assert_eq!(get.tags, ["pets"]);
    let pet = get.output_schema.as_ref().unwrap();
    assert_eq!(pet["properties"]["name"]["type"], "string");
    // What refers to itself ends, and nothing is fetched.
    assert_eq!(pet["properties"]["friends"]["items"]["description"], "not written out here: Pet");
    assert_eq!(pet["properties"]["elsewhere"]["description"], "not written out here: X");
    let put = item("putPet").schema.clone().unwrap();
    assert_eq!(put["properties"]["id"]["type"], "integer");
    assert_eq!(put["properties"]["id_path"]["type"], "string");
    assert_eq!(put["properties"]["body"]["properties"]["name"]["type"], "string");
    assert_eq!(put["required"], json!(["id_path", "body"]));
    let old = json!({"swagger": "2.0", "paths": {}}).to_string();
    assert!(load::read(&old, LoadOptions::default()).unwrap_err().to_string().contains("`2.0`"));
}

#[test]
fn references_that_explode_stay_within_the_bounds() {
    let mut schemas = serde_json::Map::new();
    for level in 0..40 {
        let next = format!("#/components/schemas/L{}", level + 1);
        let wide: serde_json::Map<String, Value> =
            (0..12).map(|n| (format!("p{n}"), json!({"$ref": next}))).collect();
        schemas.insert(format!("L{level}"), json!({"type": "object", "properties": wide}));
    }
    let paths: serde_json::Map<String, Value> = (0..200)
        .map(|n| {
            let schema = json!({"$ref": "#/components/schemas/L0"});
            let body = json!({"content": {"application/json": {"schema": schema}}});
            (format!("/p{n}"), json!({"post": {"requestBody": body}}))
        })
        .collect();
    let text = json!({"openapi": "3.0.3", "paths": paths, "components": {"schemas": schemas}});
    let catalog = read(&text.to_string());
    assert_eq!(catalog.len(), 200);
    assert!(catalog.iter().all(|item| item.check_bounds().is_ok()));
    let body = &catalog.iter().next().unwrap().schema.as_ref().unwrap()["properties"]["body"];
    assert_eq!(body["properties"]["p0"]["type"], "object");
}

#[test]
fn a_snapshot_is_the_same_whatever_the_order_and_reads_back() {
    let lines =
        [r#"{"id":"b","name":"B","tags":["x"]}"#, r#"{"id":"a","schema":{"type":"object"}}"#];
    let one = Snapshot::from_catalog(&read(&lines.join("\n"))).unwrap();
    let other = Snapshot::from_catalog(&read(&[lines[1], lines[0]].join("\n"))).unwrap();
    assert_eq!(one.to_bytes().unwrap(), other.to_bytes().unwrap());
    let text = String::from_utf8(one.to_bytes().unwrap()).unwrap();
    assert_eq!(Snapshot::from_catalog(&read(&text)).unwrap().digest(), one.digest());
    let forged = text.replace("\"B\"", "\"C\"");
    assert_eq!(
        load::read(&forged, LoadOptions::default()).unwrap_err().code(),
        "catalog.snapshot_digest"
    );
    let newer = text.replace("\"v\":1", "\"v\":2");
    assert_eq!(
        load::read(&newer, LoadOptions::default()).unwrap_err().code(),
        "catalog.snapshot_version"
    );
}

/// Schema, effects, cost and metadata count, too.
#[test]
fn every_field_changes_the_digest() {
    let plain = r#"{"id":"t","name":"t","description":"d","schema":{"properties":{"a":{}}}}"#;
    let digest = |line: &str| Snapshot::from_catalog(&read(line)).unwrap().digest();
    let changes = [
        plain.replace("\"a\"", "\"cmd\""),
        plain.replace("\"d\"", "\"D\""),
        plain.replace("{\"id\"", "{\"side_effects\":true,\"id\""),
        plain.replace("{\"id\"", "{\"cost_hint\":1,\"id\""),
        plain.replace("{\"id\"", "{\"metadata\":{\"a\":1},\"id\""),
        plain.replace("{\"id\"", "{\"kind\":\"agent\",\"id\""),
        plain.replace("{\"id\"", "{\"provides\":[\"a\"],\"id\""),
        plain.replace("{\"id\"", "{\"output_schema\":{\"type\":\"null\"},\"id\""),
    ];
    let mut digests: Vec<_> = changes.iter().map(|line| digest(line)).collect();
    digests.push(digest(plain));
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), changes.len() + 1);
}

#[cfg(feature = "yaml")]
mod yaml {
    use super::*;

    #[test]
    fn yaml_holds_any_of_the_others() {
        let text = "- id: a.b\n  description: Reads\n  tags: [no, yes]\n  effects: read_local\n";
        assert_eq!(format_of(text), CatalogFormat::Json);
        assert_eq!(only(&read(text)).tags, ["no", "yes"]);
        let list = "tools:\n- name: x\n  inputSchema: {type: object}\n";
        assert_eq!(format_of(list), CatalogFormat::Mcp);
        let api = "openapi: 3.0.0\npaths:\n  /a:\n    get: {operationId: readA}\n";
        assert_eq!(only(&read(api)).id.as_str(), "readA");
        let catalog = read(
            r#"{"id":"a b","description":"x\u2028: y\n- z","cost_hint":0.5,"constraints":{"k":[]}}"#,
        );
        let yaml = write(&catalog, CatalogFormat::Yaml).unwrap().text;
        assert_eq!(only(&read(&yaml)), only(&catalog), "{yaml}");
    }

    #[test]
    fn a_skill_is_its_front_matter() {
        let text = "---\nname: pdf\ndescription: Fill PDF forms\nlicense: MIT\n---\n# Do this\n";
        assert_eq!(format_of(text), CatalogFormat::Skill);
        let catalog = read(text);
        let item = only(&catalog);
        assert_eq!((item.kind, item.id.as_str()), (ItemKind::Skill, "pdf"));
        assert_eq!(item.metadata["license"], "MIT");
        for bad in ["---\nname: x\n---\n", "---\nname: x", "name: x\n---\n", "---\n- a\n---\n"] {
            let source = LoadOptions::for_format(CatalogFormat::Skill);
            assert!(
                load::read(bad, source).and_then(load::LoadedCatalog::into_catalog).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn aliases_do_not_explode() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let refs = vec![format!("*a{}", n - 1); 9].join(", ");
            bomb.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
        }
        let error = load::read(&bomb, LoadOptions::default()).unwrap_err();
        assert_eq!(error.code(), "catalog.yaml", "{error}");
        for hostile in [
            "[".repeat(100_000),
            "- ".repeat(100_000),
            "a: b: c".to_owned(),
            "a: 1\na: 2".to_owned(),
        ] {
            let source = LoadOptions::for_format(CatalogFormat::Yaml);
            assert!(load::read(&hostile, source).is_err());
        }
    }
}

#[test]
fn entries_that_are_no_items_are_told_one_by_one() {
    let text = json!([{"id": "a"}, {"name": "x"}, {"id": ""}, 7, {"id": "b", "kind": "toool"},
        {"id": "c", "cost_hint": -1}, {"id": "d", "effects": "maybe"},
        {"id": "e", "schema": "text"}]);
    let source = LoadOptions::for_format(CatalogFormat::Json);
    let loaded = load::read(&text.to_string(), source).unwrap();
    let found: Vec<_> = loaded
        .findings()
        .into_iter()
        .filter(|finding| !finding.code.starts_with("catalog.missing_desc"))
        .filter(|finding| finding.code != "catalog.undeclared_effects")
        .map(|finding| (finding.item, finding.code))
        .collect();
    let expected = [
        ("entry 1", "catalog.json"),
        ("entry 2", "catalog.id"),
        ("entry 3", "catalog.json"),
        ("entry 4", "catalog.word"),
        ("entry 5", "catalog.cost"),
        ("entry 6", "catalog.effects"),
        ("e", "catalog.schema"),
    ];
    assert_eq!(found, expected.map(|(item, code)| (item.to_owned(), code)));
    let error = loaded.into_catalog().unwrap_err().to_string();
    assert!(error.starts_with("entry 1: not an item: missing field `id`"), "{error}");
}

/// JSON that looks like what is read, with anything anywhere.
fn hostile() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "id", "name", "tools", "items", "openapi", "paths", "/a", "get", "parameters", "schema",
        "$ref", "properties", "requestBody", "content", "application/json", "type", "function",
        "inputSchema", "functionDeclarations", "effects", "depends_on", "result", "in",
        "responses", "200", "components", "prompts", "arguments", "format", "v",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        prop::sample::select(vec![
            "function", "3.0.0", "3.1.0", "#/paths", "#", "#/components", "object", "", "a b",
            "weaver.catalog", "path", "\u{202e}",
        ])
        .prop_map(|text| json!(text)),
        "\\PC{0,12}".prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map(key.clone(), inner, 0..7)
                .prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_that_is_read_breaks_the_reader(value in hostile(), api: bool) {
        let value = match (api, value) {
            (true, Value::Object(mut map)) => {
                map.insert("openapi".to_owned(), json!("3.1.0"));
                Value::Object(map)
            }
            (_, value) => value,
        };
        let text = value.to_string();
        for format in CatalogFormat::ALL.map(Some).into_iter().chain([None]) {
            let source = LoadOptions { format, namespace: Some("n") };
            if let Ok(loaded) = load::read(&text, source) {
                let _ = loaded.findings();
                if let Ok(catalog) = loaded.into_catalog() {
                    let snapshot = Snapshot::from_catalog(&catalog).unwrap();
                    let bytes = String::from_utf8(snapshot.to_bytes().unwrap()).unwrap();
                    let again = load::read(&bytes, LoadOptions::default()).unwrap().into_catalog().unwrap();
                    prop_assert_eq!(Snapshot::from_catalog(&again).unwrap().digest(), snapshot.digest());
                }
            }
        }
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[-\\[\\]{}:,\"&*a-c \n#|>!%0-9']{0,80}") {
        for format in CatalogFormat::ALL.map(Some).into_iter().chain([None]) {
            let _ = load::read(&text, LoadOptions { format, namespace: None });
        }
    }
}
