//! Documents that the page calls an error.

use super::super::support::load;

fn refused(policy: &[&str], contracts: &[&str]) {
    for body in policy {
        assert!(load(body, "", "").is_err(), "{body}");
    }
    for body in contracts {
        assert!(load("", body, "").is_err(), "{body}");
    }
}

fn rule(rest: &str) -> String {
    format!("[[rules]]\nname = \"a\"\n{rest}\n")
}

#[test]
fn rules_that_say_what_they_may_not() {
    for rest in [
        "match = {}",
        "effect = \"deny\"",
        "match = {}\neffect = \"allow_all\"",
        "match = {}\neffect = \"deny\"\nrequire = { permissions = [\"p\"] }",
        "match = {}\neffect = \"require_approval\"\nrequire = { permissions = [\"p\"] }",
        "match = {}\neffect = \"allow\"\nauthority = { quorum = 2 }",
        "match = {}\neffect = \"deny\"\nauthority = { quorum = 2 }",
        "match = {}\neffect = \"allow\"\ncode = \"missing_role\"",
        "match = {}\neffect = \"require_approval\"\ncode = \"missing_role\"",
        "match = {}\neffect = \"deny\"\ncode = \"rate_limited\"",
        "match = {}\neffect = \"deny\"\nconstraints = { max_rows = 1 }",
        "match = {}\neffect = \"allow\"\nconstraints = { timeout_ms = 0 }",
        "match = {}\neffect = \"require_approval\"\nauthority = { quorum = 0 }",
        "match = {}\neffect = \"require_approval\"\nauthority = { quorum = 17 }",
        "match = {}\neffect = \"require_approval\"\nauthority = { min_trust = 1001 }",
        "match = {}\neffect = \"allow\"\nrequire = { justification = { min_chars = 0 } }",
        "match = {}\neffect = \"allow\"\nrequire = { justification = { min_chars = 1001 } }",
        "match = {}\neffect = \"allow\"\nrequire = { justification = { sources = [] } }",
        "match = {}\neffect = \"allow\"\nrequire = { permissions = [] }",
        "match = {}\neffect = \"allow\"\nreason = \" \"",
    ] {
        refused(&[&rule(rest)], &[]);
    }
    let fine = rule("match = {}\neffect = \"deny\"");
    assert!(load(&fine, "", "").is_ok());
    refused(&[&format!("{fine}{fine}")], &[]);
}

#[test]
fn matches_that_say_nothing_or_too_much() {
    for matches in [
        "any = []",
        "any = [{}]",
        "not = {}",
        "unless = {}",
        "effects = {}",
        "tags = {}",
        "roles = {}",
        "scope = {}",
        "attributes = {}",
        "label = {}",
        "time = {}",
        "arguments = []",
        "capability = []",
        "capability = \"\"",
        "mode = \"SAFER\"",
        "rung = [\"L6\"]",
        "operation = \"look\"",
        "time = { from = \"08:00\", to = \"08:00\" }",
        "time = { from = \"24:00\", to = \"08:00\" }",
        "time = { from = \"8:00\" }",
        "time = { to = \"24:01\" }",
        "time = { days = [\"monday\"] }",
        "time = { days = [] }",
        "time = { not_before = 2026-01-01T00:00:00 }",
        "time = { not_before = \"2026-01-01\" }",
    ] {
        refused(&[&rule(&format!("match = {{ {matches} }}\neffect = \"deny\""))], &[]);
    }
}

#[test]
fn predicates_that_cannot_be() {
    for predicate in [
        "at = \"/a\"",
        "equals = 1",
        "at = \"a\", equals = 1",
        "at = \"/a~2\", equals = 1",
        "at = \"/a\", present = false, equals = 1",
        "at = \"/a\", min = 2, max = 1",
        "at = \"/a\", min = 1.5, max = 1",
        "at = \"/a\", min = \"1\"",
        "at = \"/a\", min_length = 2, max_length = 1",
        "at = \"/a\", min_length = -1",
        "at = \"/a\", in = []",
        "at = \"/a\", prefix = []",
        "at = \"/a\", prefix = [\"\"]",
        "at = \"/a\", glob = [1]",
        "at = \"/a\", inside = [\"\"]",
        "at = \"/a\", inside = [\"/srv/../out\"]",
        "at = \"/a\", inside = [\"~/out\"]",
        "at = \"/a\", inside = [\"C:/out\"]",
        "at = \"/a\", inside = [\"a\\\\b\"]",
        "at = \"/a\", domains = [\"*\"]",
        "at = \"/a\", domains = [\"*example.com\"]",
        "at = \"/a\", domains = [\"a.*.example.com\"]",
        "at = \"/a\", domains = [\"*.*.example.com\"]",
        "at = \"/a\", domains = [\"Example.com\"]",
        "at = \"/a\", domains = [\"example.com:80\"]",
        "at = \"/a\", domains = [\"https://example.com\"]",
        "at = \"/a\", provenance = [\"model\"]",
        "at = \"/a\", provenance = []",
        "at = \"/a\", matches = \".*\"",
    ] {
        let body = format!("match = {{ arguments = [{{ {predicate} }}] }}\neffect = \"deny\"");
        refused(&[&rule(&body)], &[]);
    }
}

#[test]
fn limits_signals_and_approvals_out_of_bounds() {
    let limit = |rest: &str| format!("[[limits]]\nname = \"a\"\nmatch = {{}}\n{rest}\n");
    for rest in [
        "max_calls = 0\nwindow_s = 60",
        "max_calls = 100001\nwindow_s = 60",
        "max_calls = 1\nwindow_s = 0",
        "max_calls = 1\nwindow_s = 3601",
        "max_calls = 1",
        "window_s = 1",
        "max_calls = 1\nwindow_s = 1\nby = []",
        "max_calls = 1\nwindow_s = 1\nby = [\"tenant\"]",
        "max_calls = 5\nwindow_s = 1\nfor_roles = [{ any = [\"a\"], max_calls = 4 }]",
        "max_calls = 5\nwindow_s = 1\nfor_roles = [{ any = [], max_calls = 6 }]",
    ] {
        refused(&[&limit(rest)], &[]);
    }
    let fine = limit("max_calls = 1\nwindow_s = 1");
    assert!(load(&fine, "", "").is_ok());
    refused(&[&format!("{fine}{fine}")], &[]);
    refused(
        &[
            "signals = { grave = { hold_from = \"L1\" } }",
            "signals = { info = { hold_from = \"L6\" } }",
            "approvals = { ttl_s = 59 }",
            "approvals = { ttl_s = 604801 }",
            "approvals = { clock_skew_s = 301 }",
            "approvals = { standing = { max_uses = 0 } }",
            "approvals = { standing = { max_uses = 1000001 } }",
            "approvals = { standing = { max_lifetime_s = 59 } }",
            "approvals = { standing = { max_lifetime_s = 31536001 } }",
            "approvals = { rule = { quorum = 2 } }",
            "contract_enforcement = \"on\"",
        ],
        &[],
    );
}

#[test]
fn contracts_that_cannot_be() {
    let entry = |key: &str, rest: &str| format!("[capabilities.\"{key}\"]\n{rest}\n");
    let digest = "sha256:0101010101010101010101010101010101010101010101010101010101010101";
    let pinned = format!("upstream_digest = \"{digest}\"");
    assert!(load("", &entry("fs.read", &pinned), "").is_ok());
    for (key, rest) in [
        ("fs.*", pinned.as_str()),
        ("fs.read", "upstream_digest = \"sha256:01\""),
        ("fs.read", "effects = \"write\""),
        ("fs.read", "effects = { impact = \"write\" }"),
        ("fs.read", "effects = \"write_open\"\nrung = \"L3\""),
        ("fs.*", "effects = \"write_local\"\nrung = \"L2\""),
        ("fs.read", "agents = \"assistant\""),
        ("fs.read", "timeout_ms = 99"),
        ("fs.read", "timeout_ms = 3600001"),
        ("fs.read", "allowed_fields = []"),
        ("fs.read", "sensitivity = [\"none\"]"),
        ("fs.read", "critical_arguments = [\"a\"]"),
        ("fs.read", "preconditions = [{ check = \"file_digest\" }]"),
        ("fs.read", "preconditions = [{ check = \"file_digest\", name = \"A\" }]"),
        ("fs.read", "preconditions = [{ check = \"environment\", file = { path = \"/a\" } }]"),
        ("fs.read", "preconditions = [{ check = \"weather\", name = \"A\" }]"),
    ] {
        refused(&[], &[&entry(key, rest)]);
    }
    refused(&[], &["[[visible]]\nroles = [\"a\"]", "[[visible]]\ncapabilities = []"]);
}
