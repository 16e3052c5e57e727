//! Named lists of patterns.

use weaver_policy::Rule;

use crate::support::{codes, load, set};

const LISTS: &str = "[lists]\nplaces = [\"/etc/*\", \"*/.ssh*\"]\nmail = [\"mail.*\"]\n";

fn rule(conditions: &str) -> String {
    format!("[[rules]]\nname = \"r\"\neffect = \"deny\"\nmatch = {conditions}\n")
}

fn rules(body: &str) -> Vec<Rule> {
    set(body, "").policy().rules.clone()
}

#[test]
fn a_list_stands_for_its_patterns_wherever_patterns_stand() {
    for (with_list, written_out) in [
        ("{ capability = { list = \"mail\" } }", "{ capability = \"mail.*\" }"),
        (
            "{ any = [{ principal = { list = \"mail\" } }, { intent = { list = \"mail\" } }] }",
            "{ any = [{ principal = \"mail.*\" }, { intent = \"mail.*\" }] }",
        ),
        (
            "{ not = { arguments = [{ at = \"/path\", any_path = { list = \"places\" } }] } }",
            "{ not = { arguments = [{ at = \"/path\", any_path = [\"/etc/*\", \"*/.ssh*\"] }] } }",
        ),
        (
            "{ arguments = [{ at = \"/a\", glob = { list = \"mail\" }, glob_any_case = { list = \"places\" } }] }",
            "{ arguments = [{ at = \"/a\", glob = \"mail.*\", glob_any_case = [\"*/.ssh*\", \"/etc/*\"] }] }",
        ),
    ] {
        // A list may stand behind the rules that use it.
        let expected = rules(&rule(written_out));
        assert_eq!(rules(&format!("{LISTS}{}", rule(with_list))), expected, "{with_list}");
        assert_eq!(rules(&format!("{}{LISTS}", rule(with_list))), expected, "{with_list}");
    }
    let limit = "[[limits]]\nname = \"l\"\nmax_calls = 1\nwindow_s = 1\nmatch = { capability = { list = \"mail\" } }\n";
    let limits = set(&format!("{LISTS}{limit}"), "").limits().to_vec();
    assert_eq!(limits[0].matches.capability[0].as_str(), "mail.*");
}

#[test]
fn a_list_that_does_not_exist_is_refused_with_a_suggestion() {
    let body = format!("{LISTS}{}", rule("{ capability = { list = \"mails\" } }"));
    let error = load(&body, "", "").unwrap_err();
    let [finding] = error.findings() else { panic!("{error}") };
    assert_eq!(finding.code, "policy.unknown_list");
    assert_eq!(finding.key.as_deref(), Some("rules[0].match.capability.list"));
    assert_eq!(finding.remedy, "did you mean `mail`?");
    let none = load(&rule("{ capability = { list = \"mail\" } }"), "", "").unwrap_err();
    assert_eq!(none.findings()[0].remedy, "define it under `[lists]`");
    // Contracts have no lists.
    let contracts = "[[visible]]\ncapabilities = { list = \"mail\" }\nroles = [\"a\"]\n";
    let error = load(LISTS, contracts, "").unwrap_err();
    let finding = error.findings().iter().find(|finding| finding.code == "policy.unknown_list");
    assert_eq!(
        finding.map(|one| one.remedy.as_str()),
        Some("define it under `[lists]`"),
        "{error}"
    );
}

#[test]
fn a_list_is_checked_where_it_is_defined() {
    for (lists, code) in [
        ("a = []", "policy.empty_list"),
        ("a = [\"\"]", "policy.text"),
        ("a = [1]", "policy.type"),
        ("a = { list = \"b\" }\nb = [\"x\"]", "policy.type"),
        ("a = [{ list = \"b\" }]\nb = [\"x\"]", "policy.type"),
    ] {
        assert_eq!(codes(&format!("[lists]\n{lists}\n")), [code], "{lists}");
    }
    let misspelt = rule("{ capability = { lists = \"mail\" } }");
    assert_eq!(codes(&format!("{LISTS}{misspelt}")), ["policy.missing_key", "policy.unknown_key"]);
    let many: Vec<String> = (0..1_001).map(|n| format!("\"p{n}\"")).collect();
    let many = |count: usize| codes(&format!("[lists]\na = [{}]\n", many[..count].join(", ")));
    assert_eq!((many(1_000), many(1_001)), (vec![], vec!["policy.too_many"]));
}

#[test]
fn lists_do_not_blow_a_document_up() {
    let entries: Vec<String> = (0..1_000).map(|n| format!("\"p{n}\"")).collect();
    let body = |uses: usize| {
        let rules: String = (0..uses)
            .map(|n| {
                format!(
                    "[[rules]]\nname = \"{n}\"\neffect = \"deny\"\nmatch.capability.list = \"a\"\n"
                )
            })
            .collect();
        codes(&format!("[lists]\na = [{}]\n{rules}", entries.join(", ")))
    };
    assert_eq!((body(100), body(101)), (vec![], vec!["policy.too_many"]));
}
