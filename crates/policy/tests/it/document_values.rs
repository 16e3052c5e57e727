//! Numbers, times and places in documents, at their bounds.

use serde_json::json;
use weaver_policy::{PolicySet, Weekday};
use weaver_types::{
    ApprovalAuthority, Confidentiality, JsonPointer, PathSource, Precondition, Rung,
};

use crate::support::{codes, load, root, set};

const RULE: &str = "[[rules]]\nname = \"r\"\neffect = \"allow\"\n";

fn limit(more: &str) -> String {
    format!("[[limits]]\nname = \"l\"\nmatch = {{}}\n{more}\n")
}

/// Whether a document with this body loads; otherwise one of these bounds is broken.
#[track_caller]
fn bounded(body: &str, good: bool) {
    let expected = if good { vec![] } else { vec!["policy.bounds"] };
    assert_eq!(codes(body), expected, "{body}");
}

#[test]
fn numbers_of_a_policy_have_bounds() {
    for (calls, good) in [(0, false), (1, true), (100_000, true), (100_001, false)] {
        bounded(&limit(&format!("max_calls = {calls}\nwindow_s = 60")), good);
        let more = "max_calls = 1\nwindow_s = 60\nfor_roles = { any = [\"ops\"], max_calls = ";
        bounded(&limit(&format!("{more}{calls} }}")), good);
    }
    for (seconds, good) in [(0, false), (1, true), (3_600, true), (3_601, false)] {
        bounded(&limit(&format!("max_calls = 1\nwindow_s = {seconds}")), good);
    }
    for (key, least, most) in [
        ("approvals.ttl_s", 60, 604_800),
        ("approvals.clock_skew_s", 0, 300),
        ("approvals.standing.max_uses", 1, 1_000_000),
        ("approvals.standing.max_lifetime_s", 60, 31_536_000),
        ("approvals.flow.quorum", 1, 16),
        ("approvals.flow.min_trust", 0, 1_000),
    ] {
        for (number, good) in [(least, true), (most, true), (most + 1, false)] {
            bounded(&format!("{key} = {number}\n"), good);
        }
        bounded(&format!("{key} = {}\n", least - 1), false);
    }
    for (key, least) in
        [("max_tokens", 1), ("max_rows", 0), ("max_fields", 0), ("max_chars", 0), ("timeout_ms", 1)]
    {
        let rule = |n: i64| format!("{RULE}match = {{}}\nconstraints = {{ {key} = {n} }}\n");
        bounded(&rule(least), true);
        bounded(&rule(least - 1), false);
        bounded(&rule(4_294_967_295), true);
        bounded(&rule(4_294_967_296), false);
    }
}

#[test]
fn what_approvals_may_say_is_read_as_it_stands() {
    let body = r#"
[approvals]
ttl_s = 61
clock_skew_s = 299
floor = { quorum = 2 }
signal = { min_trust = 7 }
flow = { clearance = "restricted", scopes = ["a"], roles = ["r"] }
standing = { max_uses = 3, max_lifetime_s = 60, authority = { quorum = 4 } }
"#;
    let set = set(body, "");
    let bounds = set.approvals();
    assert_eq!((bounds.ttl_s, bounds.clock_skew_s), (61, 299));
    assert_eq!(bounds.floor, ApprovalAuthority { quorum: 2, ..ApprovalAuthority::default() });
    assert_eq!(
        bounds.signal,
        ApprovalAuthority { min_trust: Some(7), ..ApprovalAuthority::default() }
    );
    assert_eq!(bounds.flow.clearance, Some(Confidentiality::Restricted));
    assert_eq!(bounds.flow.scopes, ["a".to_owned()].into());
    assert!(bounds.flow.admits_roles(&["r".to_owned()].into()));
    assert!(!bounds.flow.admits_roles(&["x".to_owned()].into()));
    assert_eq!((bounds.standing.max_uses, bounds.standing.max_lifetime_s), (3, 60));
    assert_eq!(bounds.standing.authority.quorum, 4);
    let plain = crate::support::set("", "");
    let bounds = plain.approvals();
    assert_eq!((bounds.ttl_s, bounds.clock_skew_s), (900, 30));
    assert_eq!((bounds.standing.max_uses, bounds.standing.max_lifetime_s), (100, 2_592_000));
}

#[test]
fn a_severity_holds_or_denies_from_a_rung_or_never() {
    let body = "[signals]\ninfo = { hold_from = \"L2\" }\nwarning = { deny_from = \"L3\" }\n\
                critical = { hold_from = \"never\", deny_from = \"never\" }\n";
    let set = set(body, "");
    let signals = &set.policy().signals;
    assert_eq!((signals.info.hold_from, signals.info.deny_from), (Some(Rung::L2), None));
    assert_eq!((signals.warning.hold_from, signals.warning.deny_from), (None, Some(Rung::L3)));
    assert_eq!((signals.critical.hold_from, signals.critical.deny_from), (None, None));
    assert_eq!(codes("[signals]\ninfo = {}\n"), ["policy.empty_table"]);
    assert_eq!(codes("[signals]\ninfo = { hold_from = \"L9\" }\n"), ["policy.word"]);
}

fn timed(time: &str) -> String {
    format!("{RULE}match = {{ time = {{ {time} }} }}\n")
}

#[test]
fn a_time_of_day_is_written_in_hours_and_minutes() {
    let read = |time: &str| {
        let set: PolicySet = set(&timed(time), "");
        let window = set.policy().rules[0].matches.time.clone().unwrap();
        (window.from, window.to)
    };
    assert_eq!(read("from = \"00:00\", to = \"24:00\""), (Some(0), Some(1_440)));
    assert_eq!(read("from = \"23:59\""), (Some(1_439), None));
    assert_eq!(read("from = \"09:30\", to = \"01:05\""), (Some(570), Some(65)));
    assert_eq!(read("days = [\"mon\"]"), (None, None));
    for wrong in ["24:00", "09:60", "9:30", "09:3", "0930", "09:030", "+9:30", "aa:bb", "09:30:00"]
    {
        assert_eq!(codes(&timed(&format!("from = \"{wrong}\""))), ["policy.time"], "{wrong}");
    }
    for wrong in ["24:01", "25:00"] {
        assert_eq!(codes(&timed(&format!("to = \"{wrong}\""))), ["policy.time"], "{wrong}");
    }
    let set = set(&timed("days = [\"sat\", \"sun\"]"), "");
    let days = &set.policy().rules[0].matches.time.as_ref().unwrap().days;
    assert_eq!(days.iter().copied().collect::<Vec<_>>(), [Weekday::Sat, Weekday::Sun]);
}

#[test]
fn a_precondition_names_its_place_once() {
    let read = |inner: &str| {
        let contracts = format!("[capabilities.\"x\"]\npreconditions = {{ {inner} }}\n");
        let set = load("", &contracts, "").map_err(|error| error.code())?;
        let contract = set.contracts().capabilities.values().next().unwrap().clone();
        Ok(contract.preconditions.into_iter().collect::<Vec<_>>())
    };
    let path = || PathSource::Path("/a".to_owned());
    let argument = || PathSource::Argument(JsonPointer::parse("/p").unwrap());
    for (inner, expected) in [
        (
            "check = \"file_digest\", file = { path = \"/a\" }",
            Precondition::FileDigest { file: path() },
        ),
        (
            "check = \"file_mtime\", file = { argument = \"/p\" }",
            Precondition::FileMtime { file: argument() },
        ),
        (
            "check = \"git_head\", repository = { path = \"/a\" }",
            Precondition::GitHead { repository: path() },
        ),
        (
            "check = \"environment\", name = \"HOME\"",
            Precondition::Environment { name: "HOME".to_owned() },
        ),
        (
            "check = \"http_etag\", url = \"http://a.example/{id}\"",
            Precondition::HttpEtag { url: "http://a.example/{id}".to_owned() },
        ),
    ] {
        assert_eq!(read(inner), Ok(vec![expected]), "{inner}");
    }
    for (inner, code) in [
        ("check = \"file_digest\", file = {}", "policy.value"),
        ("check = \"file_digest\", file = { path = \"/a\", argument = \"/p\" }", "policy.value"),
        ("check = \"file_digest\", repository = { path = \"/a\" }", "policy.missing_key"),
        ("check = \"file_digests\", file = { path = \"/a\" }", "policy.word"),
        ("file = { path = \"/a\" }", "policy.missing_key"),
        ("check = \"http_etag\", url = \"https://\"", "policy.value"),
        ("check = \"http_etag\", url = \"https://{host}/\"", "policy.value"),
        ("check = \"http_etag\", url = \"https://a{x}/\"", "policy.value"),
        ("check = \"http_etag\", url = \"https://u@a.example/\"", "policy.value"),
        ("check = \"http_etag\", url = \"https://a.example\\\\\\\\b/\"", "policy.value"),
        ("check = \"http_etag\", url = \"https://a.example/a b\"", "policy.value"),
        ("check = \"http_etag\", url = \"ftp://a.example/\"", "policy.value"),
    ] {
        assert_eq!(read(inner), Err(code), "{inner}");
    }
}

#[test]
fn the_keys_of_a_person_stand_beside_the_person_or_in_a_table() {
    let key = root().public();
    let person = |more: &str| {
        let text = format!("[approvers.ana]\ntrust = 1\nclearance = \"public\"\n{more}\n");
        let error = load("", "", &text).err();
        error.map(|error| error.findings().iter().map(|one| one.code).collect::<Vec<_>>())
    };
    assert_eq!(person(&format!("key = \"{key}\"")), None);
    assert_eq!(person(&format!("keys = {{ a = {{ key = \"{key}\" }} }}")), None);
    assert_eq!(person("keys = {}"), Some(vec!["policy.missing_key"]));
    assert_eq!(person(""), Some(vec!["policy.missing_key"]));
    let both = format!("key = \"{key}\"\nkeys = {{ a = {{ key = \"{key}\" }} }}");
    assert_eq!(person(&both), Some(vec!["policy.two_forms"]));
    let (early, late) = ("2027-01-01T00:00:00Z", "2027-01-01T00:00:01Z");
    let window = |from: &str, to: &str| {
        person(&format!("key = \"{key}\"\nnot_before = {from}\nnot_after = {to}"))
    };
    assert_eq!(window(early, late), None);
    assert_eq!(window(early, early), Some(vec!["policy.window"]));
    assert_eq!(window(late, early), Some(vec!["policy.window"]));
    let principals = |id: &str| person(&format!("key = \"{key}\"\nprincipals = [\"{id}\"]"));
    assert_eq!((principals("bot"), principals("a b")), (None, Some(vec!["policy.id"])));
}

#[test]
fn conditions_on_arguments_are_read_key_by_key() {
    let body = r#"
[[rules]]
name = "r"
effect = "allow"
[[rules.match.arguments]]
at = "/a"
in = [1, "x"]
min = 1
max = 2.5
prefix = "p"
suffix = ["s", "t"]
glob = "*.md"
inside = "/in"
paths_inside = "/all"
holds_paths = true
domains = "a.example"
min_length = 0
max_length = 9
provenance = ["trusted", "user"]
[[rules.match.arguments]]
at = ""
present = true
equals = { b = [true, 1.5, 2027-01-01T00:00:00Z] }
"#;
    let set = set(body, "");
    let arguments = &set.policy().rules[0].matches.arguments;
    assert_eq!(
        serde_json::to_value(arguments).unwrap(),
        json!([
            {
                "at": "/a", "in": [1, "x"], "min": 1, "max": 2.5, "prefix": ["p"],
                "suffix": ["s", "t"], "glob": ["*.md"], "inside": ["/in"],
                "paths_inside": ["/all"], "holds_paths": true, "domains": ["a.example"],
                "min_length": 0, "max_length": 9, "provenance": ["user", "trusted"],
            },
            { "at": "", "present": true, "equals": { "b": [true, 1.5, "2027-01-01T00:00:00Z"] } },
        ])
    );
    let wrong = |inner: &str| codes(&format!("{RULE}match = {{ arguments = {{ {inner} }} }}\n"));
    assert_eq!(wrong("equals = 1"), ["policy.missing_key"]);
    assert_eq!(wrong("at = \"a\", equals = 1"), ["policy.value"]);
    assert_eq!(wrong("at = \"/a\", min = \"1\""), ["policy.type"]);
    assert_eq!(wrong("at = \"/a\", equals = 9007199254740993"), ["policy.canonical"]);
    assert_eq!(wrong("at = \"/a\", equals = inf"), ["policy.number"]);
    assert_eq!(wrong("at = \"/a\""), ["policy.argument"]);
}
