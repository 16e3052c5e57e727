//! The forms of files: how they begin, what ends a line, and how large they may be.

use contextweaver::catalog::load::{self, CatalogFormat, LoadOptions};
use contextweaver::catalog::{Catalog, ItemKind};
use serde_json::json;

fn read(text: &str, source: LoadOptions<'_>) -> Catalog {
    load::read(text, source).unwrap().into_catalog().unwrap()
}

fn problem(text: &str, source: LoadOptions<'_>) -> String {
    let read = load::read(text, source).and_then(load::LoadedCatalog::into_catalog);
    read.map(|catalog| format!("{} items", catalog.len())).unwrap_err().to_string()
}

fn ids(catalog: &Catalog) -> Vec<&str> {
    catalog.iter().map(|item| item.source_id()).collect()
}

#[test]
fn lines_may_be_empty_and_are_told_by_their_number() {
    let text = "\u{feff}{\"id\":\"a\"}\r\n\r\n{\"id\":\"b\"}\r\n   \n";
    for source in [LoadOptions::default(), LoadOptions::for_format(CatalogFormat::JsonLines)] {
        assert_eq!(ids(&read(text, source)), ["a", "b"]);
    }
    let broken = format!("{text}{{\"name\":\"x\"}}\n");
    assert!(problem(&broken, LoadOptions::default()).starts_with("line 5: "));
    let twice = format!("{text}{{\"id\":\"a\"}}\n");
    assert!(problem(&twice, LoadOptions::default()).starts_with("line 5: "));
}

#[test]
fn a_line_is_bounded() {
    let line = |bytes: usize| {
        let short = "{\"id\":\"a\",\"ignored\":\"\"}";
        short.replace("\"\"", &format!("\"{}\"", "x".repeat(bytes - short.len())))
    };
    let source = LoadOptions::for_format(CatalogFormat::JsonLines);
    assert_eq!(read(&line(1 << 20), source).len(), 1);
    let error = problem(&line((1 << 20) + 1), source);
    assert!(error.contains("the line") && error.contains("1048576"), "{error}");
}

#[test]
fn prompts_resources_and_templates_stand_in_their_servers_namespace() {
    let text = json!({
        "prompts": [{ "name": "review", "title": "Review it" }],
        "resources": [{ "uri": "file:///a", "name": "A" }],
        "resourceTemplates": [{ "uriTemplate": "file:///{path}", "name": "Any file" }],
    })
    .to_string();
    let catalog = read(&text, LoadOptions { namespace: Some("docs"), ..LoadOptions::default() });
    assert_eq!(ids(&catalog), ["docs.file:///a", "docs.file:///{path}", "docs.review"]);
    assert!(catalog.iter().all(|item| item.namespace == "docs" && item.effects.is_none()));
    let kinds: Vec<ItemKind> = catalog.iter().map(|item| item.kind).collect();
    assert_eq!(kinds, [ItemKind::Resource, ItemKind::Resource, ItemKind::Prompt]);
    let nameless = json!({ "prompts": [{ "title": "x" }] }).to_string();
    assert!(problem(&nameless, LoadOptions::default()).contains("name"));
}

#[test]
fn a_plain_array_of_declarations_is_geminis() {
    let text = json!([{ "name": "find", "description": "Find",
        "parameters": { "type": "OBJECT", "properties": { "q": { "type": "STRING" } } } }]);
    let loaded = load::read(&text.to_string(), LoadOptions::default()).unwrap();
    assert_eq!(loaded.format, CatalogFormat::Gemini);
    assert_eq!(loaded.into_catalog().unwrap().iter().next().unwrap().parameters[0].name, "q");
}

#[test]
fn a_plain_array_of_a_servers_tools_is_mcps() {
    let text = json!([{ "name": "find", "inputSchema": { "properties": { "q": {} } } }]);
    let loaded = load::read(&text.to_string(), LoadOptions::default()).unwrap();
    assert_eq!(loaded.format, CatalogFormat::Mcp);
    assert_eq!(loaded.into_catalog().unwrap().iter().next().unwrap().parameters[0].name, "q");
}

#[cfg(feature = "yaml")]
mod yaml {
    use super::*;

    #[test]
    fn a_skill_may_come_from_any_editor_and_its_front_matter_is_bounded() {
        let source = LoadOptions {
            namespace: Some("office"),
            ..LoadOptions::for_format(CatalogFormat::Skill)
        };
        let windows = "---\r\nname: pdf\r\ndescription: Fill forms\r\n---\r\nDo this\r\n";
        assert_eq!(ids(&read(windows, source)), ["office.pdf"]);
        let front = |bytes: usize| {
            let head = "name: pdf\ndescription: Fill forms\nmetadata: ";
            format!("---\n{head}\"{}\"\n---\nbody\n", "x".repeat(bytes - head.len() - 3))
        };
        assert!(load::read(&front(64 * 1024), source).is_ok());
        let error = problem(&front(64 * 1024 + 1), source);
        assert!(error.contains("64 KiB"), "{error}");
        for (text, missing) in [
            ("---\nname: pdf\n---\n", "there is no `description`"),
            ("---\nname: ''\ndescription: x\n---\n", "there is no `name`"),
        ] {
            assert!(problem(text, source).contains(missing), "{text}");
        }
        let plain = "---\nname: pdf\ndescription: x\nlicense:\n---\n";
        assert!(read(plain, source).iter().next().unwrap().metadata.is_empty());
    }

    #[test]
    fn yaml_says_a_key_once_and_is_bounded() {
        let source = LoadOptions::for_format(CatalogFormat::Yaml);
        assert_eq!(ids(&read("- id: a\n- id: b\n", source)), ["a", "b"]);
        let twice = problem("- id: a\n  id: b\n", source);
        assert!(twice.to_lowercase().contains("duplicate"), "{twice}");
        let deep = |levels: usize| {
            format!("- id: a\n  metadata: {{k: {}1{}}}\n", "[".repeat(levels), "]".repeat(levels))
        };
        let error = problem(&deep(200), source);
        assert!(error.contains("YAML"), "{error}");
        assert_eq!(read(&deep(10), source).len(), 1);
        let large = format!("- id: a\n  description: \"{}\"\n", " ".repeat(32 << 20));
        assert!(problem(&large, source).contains("at most 33554432 are read"));
        // A word stays a word.
        let words = read("- id: a\n  tags: [no, yes, on, off]\n", source);
        assert_eq!(words.iter().next().unwrap().tags, ["no", "yes", "on", "off"]);
    }
}
