//! What an OpenAPI document says, part by part.

use contextweaver::catalog::load::{self, CatalogFormat, LoadOptions};
use contextweaver::catalog::{Catalog, SelectableItem};
use serde_json::{Value, json};
use weaver_types::Effects;

fn read(api: &Value) -> Catalog {
    load::read(&api.to_string(), LoadOptions::default()).unwrap().into_catalog().unwrap()
}

/// A document with one path.
fn api(path: &Value) -> Value {
    json!({ "openapi": "3.0.3", "paths": { "/a": path }, "components": { "schemas": {
        "Word": { "type": "string", "description": "any word", "x-internal": "hush" } } } })
}

/// The one item of a document with one operation.
fn operation(get: &Value) -> SelectableItem {
    only(&json!({ "get": get }))
}

fn only(path: &Value) -> SelectableItem {
    let catalog = read(&api(path));
    assert_eq!(catalog.len(), 1);
    catalog.iter().next().unwrap().clone()
}

fn properties(item: &SelectableItem) -> Value {
    item.schema.as_ref().unwrap()["properties"].clone()
}

#[test]
fn only_the_versions_3_0_and_3_1_are_read() {
    for version in ["3.0.0", "3.0.3", "3.1.0", "3.1.1"] {
        let api = json!({ "openapi": version, "paths": { "/a": { "get": {} } } });
        assert_eq!(read(&api).len(), 1, "{version}");
    }
    for version in ["2.0", "3.2.0", "4.0.0", "1", ""] {
        let api = json!({ "openapi": version, "paths": {} }).to_string();
        let error = load::read(&api, LoadOptions::default()).unwrap_err();
        assert_eq!(error.code(), "catalog.openapi", "{version}: {error}");
    }
    // A document may have webhooks alone, but no list in place of its paths.
    assert!(read(&json!({ "openapi": "3.1.0" })).is_empty());
    let odd = json!({ "openapi": "3.1.0", "paths": [] }).to_string();
    assert!(load::read(&odd, LoadOptions::for_format(CatalogFormat::OpenApi)).is_err());
}

#[test]
fn each_method_is_an_item_with_what_http_says_of_it() {
    let methods = ["get", "head", "options", "trace", "put", "post", "patch", "delete"];
    let path: Value = methods.iter().map(|method| ((*method).to_owned(), json!({}))).collect();
    let catalog = read(&api(&path));
    let effects = |method: &str| {
        let id = format!("{} /a", method.to_uppercase());
        let item = catalog.iter().find(|item| item.source_id() == id);
        item.unwrap_or_else(|| panic!("{id}")).effects.unwrap()
    };
    assert_eq!(catalog.len(), 8);
    assert!(methods[..4].iter().all(|method| effects(method) == Effects::READ_OPEN));
    assert!(methods[4..7].iter().all(|method| effects(method) == Effects::WRITE_OPEN));
    assert_eq!(effects("delete"), Effects::UNDECLARED);
}

#[test]
fn an_operation_speaks_before_its_path_and_one_name_may_stand_in_two_places() {
    let own = |place: &str, kind: &str| json!({ "name": "n", "in": place, "required": true, "schema": { "type": kind } });
    let item = only(&json!({
        "parameters": [own("query", "string"), own("header", "boolean")],
        "get": { "parameters": [own("query", "integer")] },
    }));
    let found = properties(&item);
    assert_eq!(found["n"]["type"], "integer", "the operation's own");
    assert_eq!(found["n_header"]["type"], "boolean");
    assert_eq!(found.as_object().unwrap().len(), 2);
    assert_eq!(item.schema.as_ref().unwrap()["required"], json!(["n", "n_header"]));
}

#[test]
fn a_body_keeps_its_place_beside_a_parameter_of_that_name() {
    let body = json!({ "required": true, "description": "what to add", "content": {
        "text/plain": { "schema": { "type": "string" } },
        "application/json": { "schema": { "type": "array", "items": {} } } } });
    let parameters = json!([{ "name": "body", "in": "query", "schema": { "type": "integer" } }]);
    let item = only(&json!({ "post": { "parameters": parameters, "requestBody": body } }));
    let found = properties(&item);
    assert_eq!(found["body"]["type"], "integer");
    assert_eq!(found["request_body"]["type"], "array", "JSON before other forms");
    assert_eq!(found["request_body"]["description"], "what to add");
    assert_eq!(item.schema.as_ref().unwrap()["required"], json!(["request_body"]));
}

#[test]
fn what_refers_elsewhere_in_the_document_is_written_out_without_extensions() {
    let word = json!({ "$ref": "#/components/schemas/Word" });
    let described = json!({ "$ref": "#/components/schemas/Word", "description": "the first word" });
    let item = operation(&json!({ "parameters": [
        { "name": "a", "in": "query", "schema": word },
        { "name": "b", "in": "query", "schema": described } ] }));
    let found = properties(&item);
    assert_eq!(found["a"]["type"], "string");
    assert_eq!(found["a"]["description"], "any word");
    assert_eq!(found["b"]["description"], "the first word");
    assert!(!found.to_string().contains("hush"), "{found}");
}

#[test]
fn an_answer_is_that_of_success_or_the_default_one() {
    let answer =
        |kind: &str| json!({ "content": { "application/json": { "schema": { "type": kind } } } });
    let of = |responses: Value| operation(&json!({ "responses": responses })).output_schema;
    let found =
        of(json!({ "404": answer("null"), "201": answer("object"), "default": answer("array") }));
    assert_eq!(found.unwrap()["type"], "object");
    let found = of(json!({ "404": answer("null"), "default": answer("array") }));
    assert_eq!(found.unwrap()["type"], "array");
    assert_eq!(of(json!({ "404": answer("null") })), None);
}

#[test]
fn names_and_tags_are_those_of_the_operation() {
    let item = operation(&json!({ "operationId": "listThings", "summary": "All things",
        "description": "In pages", "tags": ["things"], "deprecated": true }));
    assert_eq!(
        (item.id.as_str(), item.description.as_str()),
        ("listThings", "All things\nIn pages")
    );
    assert_eq!(item.tags, ["things", "deprecated"]);
    assert_eq!(operation(&json!({ "operationId": "" })).source_id(), "GET /a");
    let titled = json!({ "openapi": "3.1.0", "info": { "title": "Pet Store (v2)" },
        "paths": { "/a": { "get": { "operationId": "x" } } } });
    let catalog = read(&titled);
    let item = catalog.iter().next().unwrap();
    assert_eq!((item.id.as_str(), item.namespace.as_str()), ("pet_store_v2.x", "pet_store_v2"));
}
