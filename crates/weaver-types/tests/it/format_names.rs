//! Names of tools: legal everywhere, never shared, always leading back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;
use weaver_types::formats::{ToolFormat, ToolNames, drafts_from_tools, tool_name};

use crate::formats::id;

fn legal(format: ToolFormat, name: &str) -> bool {
    let dots = format == ToolFormat::Mcp;
    let mut bytes = name.bytes();
    let begins = bytes.next().is_some_and(|b| dots || b.is_ascii_alphabetic() || b == b'_');
    let rest = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || (dots && b == b'.');
    begins && name.bytes().all(rest) && name.len() <= format.max_name()
}

#[test]
fn plain_ids_stay_readable() {
    for (text, name) in [
        ("billing.invoices.list", "billing__invoices__list"),
        ("fs.getUser", "fs__getUser"),
        ("a_b.c-d", "a_b__c-d"),
        ("a..b", "a____b"),
    ] {
        assert_eq!(tool_name(ToolFormat::OpenAiChat, &id(text)), name);
        assert_eq!(tool_name(ToolFormat::Mcp, &id(text)), text);
    }
}

/// Ids whose obvious encodings would meet.
const NASTY: [&str; 22] = [
    "a.b", "a__b", "a_.b", "a._b", "a___b", "a_b", "a..b", "a.__b", "a____b", "a-b", "a b", "a/b",
    "é.b", "e.b", "x-a", "x-a.b", "1.b", "-a", ".a", "_a", "a.", "a_",
];

#[test]
fn ids_that_are_close_have_names_of_their_own() {
    let long = ["t".repeat(512), "t".repeat(511), "t".repeat(64), "t".repeat(63), "t".repeat(65)];
    let usable = |text: &&str| weaver_types::CapabilityId::parse(text).is_ok();
    let all: Vec<&str> =
        NASTY.into_iter().filter(usable).chain(long.iter().map(String::as_str)).collect();
    for format in ToolFormat::ALL {
        let mut seen = BTreeMap::new();
        for text in &all {
            let name = tool_name(format, &id(text));
            assert!(legal(format, &name), "{format:?} {text} {name}");
            assert_eq!(seen.insert(name.clone(), text), None, "{format:?} {text} {name}");
        }
        // A name that spells no id of a set cannot become one: `x-…` of one is no id of another.
        let digested = tool_name(format, &id("a\u{e9}"));
        assert_ne!(tool_name(format, &id(&digested)), digested);
    }
}

#[test]
fn an_id_that_is_offered_twice_is_refused_with_the_pair_named() {
    let twice = [id("a.b"), id("a.b")];
    let error = ToolNames::new(ToolFormat::Gemini, &twice).unwrap_err();
    assert_eq!(error.code(), "format.name_taken");
    assert!(error.to_string().contains("`a.b` and `a.b`"), "{error}");
}

proptest! {
    #[test]
    fn names_are_legal_injective_and_lead_back(
        texts in prop::collection::btree_set("[a-c._ -]{1,6}|[a-z._-]{1,80}|\\PC{1,40}", 1..40)
    ) {
        let ids: Vec<_> =
            texts.iter().filter_map(|t| weaver_types::CapabilityId::parse(t).ok()).collect();
        for format in ToolFormat::ALL {
            let names = ToolNames::new(format, &ids).unwrap();
            for id in &ids {
                let name = names.name(id).unwrap();
                prop_assert!(legal(format, &name), "{format:?} {name}");
                prop_assert_eq!(names.id(&name), Some(id));
                // Without a table, a name leads to the id that it spells, or to nothing else's.
                let tool = json!([{ "type": "function", "name": name, "function": { "name": name } }]);
                let read = drafts_from_tools(format, None, &tool).remove(0).unwrap().id;
                prop_assert!(read == *id || name.starts_with("x-"), "{format:?} {name} {read}");
            }
        }
    }
}
