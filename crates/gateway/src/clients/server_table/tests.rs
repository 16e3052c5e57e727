use super::*;

fn keys() -> Vec<String> {
    vec!["mcpServers".to_owned()]
}

fn changed(text: &str, remove: &[&str], insert: &[(&str, &str)]) -> String {
    let remove: Vec<String> = remove.iter().map(|name| (*name).to_owned()).collect();
    let insert: Vec<NewEntry> = insert
        .iter()
        .map(|(name, value)| NewEntry {
            name: (*name).to_owned(),
            value: serde_json::from_str(value).unwrap(),
            text: None,
        })
        .collect();
    let change = TableChange { keys: &keys(), remove: &remove, insert: &insert };
    apply(Syntax::Json, text, &change).unwrap()
}

#[test]
fn members_go_with_their_commas_and_lines() {
    let text =
        "{\n  \"mcpServers\": {\n    \"a\": 1, // one\n    \"b\": 2,\n    \"c\": 3\n  }\n}\n";
    for (remove, wanted) in [
        (&["a"][..], "{\n  \"mcpServers\": {\n     // one\n    \"b\": 2,\n    \"c\": 3\n  }\n}\n"),
        (&["b"], "{\n  \"mcpServers\": {\n    \"a\": 1, // one\n    \"c\": 3\n  }\n}\n"),
        (&["c"], "{\n  \"mcpServers\": {\n    \"a\": 1, // one\n    \"b\": 2\n  }\n}\n"),
        (&["b", "c"], "{\n  \"mcpServers\": {\n    \"a\": 1 // one\n  }\n}\n"),
        (&["a", "b", "c"], "{\n  \"mcpServers\": {\n     // one\n  }\n}\n"),
    ] {
        assert_eq!(changed(text, remove, &[]), wanted, "{remove:?}");
    }
}

#[test]
fn an_entry_takes_the_place_and_the_layout_of_what_goes() {
    let wide = "{\n\t\"x\": 0,\n\t\"mcpServers\": {\n\t\t\"a\": {},\n\t\t\"b\": {}\n\t}\n}";
    assert_eq!(
        changed(wide, &["a", "b"], &[("w", r#"{"command": "c"}"#)]),
        "{\n\t\"x\": 0,\n\t\"mcpServers\": {\n\t\t\"w\": {\n\t\t\t\"command\": \"c\"\n\t\t}\n\t}\n}"
    );
    let narrow = r#"{"mcpServers": {"a": {}, "b": {}}}"#;
    assert_eq!(
        changed(narrow, &["a"], &[("w", r#"{"command": "c"}"#)]),
        r#"{"mcpServers": {"w": { "command": "c" }, "b": {}}}"#
    );
}

#[test]
fn a_table_that_is_missing_is_made() {
    for (text, wanted) in [
        ("", "{\n  \"mcpServers\": {\n    \"w\": 1\n  }\n}\n"),
        ("{}", "{ \"mcpServers\": { \"w\": 1 } }"),
        ("{\n}\n", "{\n  \"mcpServers\": {\n    \"w\": 1\n  }\n}\n"),
        ("{\"a\": 1}", "{\"a\": 1, \"mcpServers\": { \"w\": 1 }}"),
        ("{\"mcpServers\": {}}", "{\"mcpServers\": { \"w\": 1 }}"),
        ("{\"mcpServers\": null}", "{\"mcpServers\": { \"w\": 1 }}"),
        (
            "{\n    \"a\": 1,\n}",
            "{\n    \"a\": 1,\n    \"mcpServers\": {\n        \"w\": 1\n    },\n}",
        ),
    ] {
        assert_eq!(changed(text, &[], &[("w", "1")]), wanted, "{text}");
    }
}

/// Whatever is taken out of a list of members and put in, the rest stays, and the tree is right: that
/// is checked by `apply` itself, which refuses otherwise.
#[test]
fn every_combination_of_members_can_be_changed() {
    let names = ["a", "b", "c", "d"];
    let layouts =
        [("\n  ", ""), ("\n  ", ","), (" ", ""), ("\n  // note\n  ", ""), (" /* x */ ", ",")];
    for (before, trailing) in layouts {
        let members: Vec<String> =
            names.iter().map(|name| format!("{before}\"{name}\": {{}}")).collect();
        let text = format!("{{\"mcpServers\": {{{}{trailing}\n}}}}", members.join(","));
        for set in 0..16_u32 {
            let remove: Vec<&str> = names
                .iter()
                .enumerate()
                .filter(|(at, _)| set & (1 << at) != 0)
                .map(|(_, name)| *name)
                .collect();
            for insert in [&[][..], &[("w", "{}")], &[("w", "1"), ("v", "2")]] {
                let after = changed(&text, &remove, insert);
                assert_eq!(after.matches("note").count(), text.matches("note").count(), "{after}");
            }
        }
    }
}
