//! Recorded calls: what a draft would have made of them, and which rules they suggest.

use std::cell::Cell;

use serde_json::{Value, json};
use weaver_policy::{Policy, PolicySet};
use weaver_policy_analysis::history::{CallHistory, HistoryEvent, RecordedArguments};
use weaver_policy_analysis::replay::{DraftReplay, UnjudgedReason, replay};
use weaver_policy_analysis::suggest::{
    AllowScope, ExclusionReason, NotAllowable, Suggestions, policy_text, propose_allow_rules,
    rule_text, suggest,
};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::DomainTag;
use weaver_types::{Digest, EventKind, RunId, hex};

use crate::support::{NOW, load, set};

const CONTRACTS: &str = r#"
[capabilities."files.read"]
effects = "read_local"
[capabilities."files.write"]
effects = "write_local"
[capabilities."web.fetch"]
effects = "read_open"
sink = "external_send"
[capabilities."db.query"]
effects = "write_local"
[capabilities."mail.send"]
effects = "write_open"
sink = "external_send"
[capabilities."shop.reserve"]
effects = "write_local"
sink = "payment"
"#;

/// The log of a gateway, as far as calls go.
struct Log {
    history: CallHistory,
    next: Cell<u32>,
}

/// What a call was, and what became of it.
#[derive(Clone)]
struct Made<'a> {
    run: &'a str,
    capability: &'a str,
    class: &'a str,
    rung: &'a str,
    arguments: Value,
    verdict: &'a str,
    reason: &'a str,
    checks: Value,
    more: Value,
}

impl<'a> Made<'a> {
    fn new(capability: &'a str, arguments: Value) -> Self {
        let (class, rung) = match capability {
            "mail.send" => ("network", "L4"),
            "web.fetch" => ("network", "L1"),
            "files.read" => ("read_only", "L0"),
            _ => ("local_write", "L3"),
        };
        let checks = json!([check("rule", "allow", "rule_allow")]);
        let (verdict, reason, more) = ("allow", "rule_allow", json!({}));
        Self { run: "run_1", capability, class, rung, arguments, verdict, reason, checks, more }
    }

    fn stopped(self, verdict: &'a str, check_of: &str, reason: &'a str) -> Self {
        let checks = json!([check(check_of, verdict, reason)]);
        Self { verdict, reason, checks, ..self }
    }

    fn would_have(mut self, verdict: &str, check_of: &str, reason: &str) -> Self {
        self.more["would_have"] = json!({ "verdict": verdict, "reason": reason, "checks_total": 1,
            "checks": [check(check_of, verdict, reason)] });
        self
    }

    fn in_run(self, run: &'a str) -> Self {
        Self { run, ..self }
    }
}

fn check(check: &str, verdict: &str, reason: &str) -> Value {
    let discharge = if verdict == "hold" { "approval" } else { "nothing" };
    json!({ "check": check, "verdict": verdict, "reason": reason, "detail": "so it is",
        "discharge": discharge })
}

fn recorded(arguments: &Value) -> Value {
    let bytes = canonical::to_bytes(arguments, Profile::Foreign).unwrap();
    let salt = [3; 16];
    json!({ "text": String::from_utf8(bytes.clone()).unwrap(), "salt": hex(&salt),
        "bytes": bytes.len(), "commit": Digest::of_parts(DomainTag::ARGS_COMMIT, &[&salt, &bytes]) })
}

impl Log {
    fn new() -> Self {
        let log = Self { history: CallHistory::since(NOW), next: Cell::new(0) };
        ["run_1", "run_2", "run_3"].into_iter().fold(log, |mut log, run| {
            log.event(EventKind::RunStarted, run, None, &json!({ "safety_mode": "NORMAL" }));
            log
        })
    }

    fn event(&mut self, kind: EventKind, run: &str, call: Option<&str>, payload: &Value) {
        let run = RunId::parse(run).unwrap();
        let at = NOW;
        let event = HistoryEvent { kind, at, run: Some(&run), call, payload: Some(payload) };
        self.history.apply(&event);
    }

    fn id(&self) -> String {
        self.next.set(self.next.get() + 1);
        format!("call_{}", self.next.get())
    }

    /// The run has taken in something untrusted.
    fn taint(&mut self, run: &str) {
        let label = json!({ "confidentiality": "internal", "integrity": "untrusted" });
        self.event(EventKind::Outcome, run, None, &json!({ "run": { "label": label } }));
    }

    fn decided(&mut self, kind: EventKind, made: &Made<'_>) -> String {
        let id = self.id();
        let mut payload = json!({
            "capability": made.capability, "principal": "agent", "class": made.class,
            "rung": made.rung, "verdict": made.verdict, "reason": made.reason,
            "checks": made.checks, "checks_total": made.checks.as_array().unwrap().len(),
            "arguments": recorded(&made.arguments), "run": {},
        });
        let more = made.more.as_object().unwrap().clone();
        payload.as_object_mut().unwrap().extend(more);
        self.event(kind, made.run, Some(&id), &payload);
        id
    }

    /// A call that was executed and succeeded.
    fn done(&mut self, made: &Made<'_>) -> String {
        let id = self.decided(EventKind::Intent, made);
        self.event(EventKind::Outcome, made.run, Some(&id), &json!({ "success": true }));
        id
    }

    /// A call that was not executed.
    fn refused(&mut self, made: &Made<'_>) -> String {
        self.decided(EventKind::Refused, made)
    }

    fn replayed(&self, policy: &str) -> DraftReplay {
        replay(&set(policy, CONTRACTS), self.history.calls(), NOW, NOW)
    }

    fn suggestions(&self) -> Suggestions {
        suggest(&set("", CONTRACTS), self.history.calls())
    }
}

fn read(path: &str) -> Made<'static> {
    Made::new("files.read", json!({ "path": path }))
}

fn write(path: &str) -> Made<'static> {
    Made::new("files.write", json!({ "path": path, "content": "x" }))
}

fn rule(name: &str, effect: &str, matches: &str) -> String {
    format!("[[rules]]\nname = \"{name}\"\neffect = \"{effect}\"\nmatch = {matches}\n")
}

/// The policy with the suggested rules.
fn enforced(suggestions: &Suggestions) -> PolicySet {
    let text = policy_text(suggestions);
    load(&text, CONTRACTS, "").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_replay_says_what_a_draft_would_have_made_of_each_call() {
    let mut log = Log::new();
    log.done(&read("/home/ana/work/a.md"));
    log.done(&write("/home/ana/work/a.md"));
    log.refused(&read("/x").stopped("deny", "rule", "no_matching_rule"));
    log.refused(&write("/y").stopped("hold", "rule", "approval_required"));
    let reads = rule("reads", "allow", "{ capability = \"files.read\" }");
    let draft = log.replayed(&reads);
    assert_eq!((draft.now.allow, draft.now.deny, draft.judged), (2, 2, 4));
    assert_eq!((draft.allowed_of_held, draft.allowed_of_denied), (0, 1));
    assert_eq!(draft.by_rule["rule `reads`"].now.allow, 2);
    assert_eq!(draft.by_rule["no_matching_rule"].now.deny, 2);
    assert_eq!(
        draft.summary(),
        "would have asked you 0 times in less than a day, denied 2 calls, allowed 0 that were held \
         and 1 that were denied (of 4 calls)"
    );
    let all = log.replayed(&rule("all", "allow", "{}"));
    assert_eq!((all.now.allow, all.allowed_of_held), (4, 1));
    let asks = log.replayed(&rule("ask", "require_approval", "{}"));
    assert_eq!(asks.now.hold, 4);
    assert!(!asks.is_unchanged() && asks.changed_total == 3, "{asks:?}");
}

#[test]
fn what_flow_and_signals_said_is_carried_over_and_never_lifted_by_a_draft() {
    let mut log = Log::new();
    log.refused(&read("/a").stopped("hold", "flow", "untrusted_influence"));
    log.refused(&read("/a").stopped("hold", "signal", "signal_raised"));
    log.refused(&read("/a").stopped("deny", "precondition", "precondition_failed"));
    let all = log.replayed(&rule("all", "allow", "{}"));
    assert_eq!((all.now.hold, all.now.deny, all.now.allow), (2, 1, 0));
}

/// The gateway sends it back before any policy is asked, so the floor says nothing of it either.
#[test]
fn a_call_that_no_policy_was_asked_about_stays_sent_back() {
    let mut log = Log::new();
    let mail = Made::new("mail.send", json!({ "to": "a@b.example" }));
    log.refused(&mail.stopped("ask", "justification", "invalid_arguments"));
    let report = log.replayed(&rule("all", "allow", "{}"));
    assert_eq!((report.judged, report.now.ask, report.now.hold), (1, 1, 0));
}

#[test]
fn a_draft_that_observes_is_judged_as_if_it_were_enforced() {
    let mut log = Log::new();
    log.done(&read("/a"));
    let mut policy = Policy::new("observes");
    policy.enforcement = weaver_policy::RuleEnforcement::Observe;
    let contracts = set("", CONTRACTS).contracts().clone();
    let draft = PolicySet::from_code(policy, contracts).unwrap();
    let report = replay(&draft, log.history.calls(), NOW, NOW);
    assert_eq!((report.now.deny, report.now.allow), (1, 0));
}

#[test]
fn a_held_call_and_its_release_are_one_call() {
    let mut log = Log::new();
    let mut held = write("/a").stopped("hold", "rule", "approval_required");
    held.more = json!({ "request": "apr_1" });
    log.refused(&held);
    log.refused(&held);
    let mut released = write("/a");
    released.more = json!({ "released_by": { "request": "apr_1", "people": ["owner"] } });
    released.checks = json!([check("rule", "allow", "approval_granted")]);
    log.done(&released);
    assert_eq!(log.history.calls().len(), 1);
    assert_eq!(log.history.calls()[0].attempts, 3);
    let asks = log.replayed(&rule("ask", "require_approval", "{}"));
    assert_eq!((asks.then.hold, asks.now.hold, asks.changed_total), (1, 1, 0));
    let all = log.replayed(&rule("all", "allow", "{}"));
    assert_eq!(all.allowed_of_held, 1);
}

#[test]
fn what_the_log_does_not_hold_is_said_and_not_guessed() {
    let mut log = Log::new();
    log.done(&masked(read("/home/[NAME_1]/a")));
    assert!(matches!(log.history.calls()[0].arguments, RecordedArguments::Redacted(_)));
    let inside =
        |folder: &str| format!("{{ arguments = [{{ at = \"/path\", inside = \"{folder}\" }}] }}");
    for folder in ["/home/ana", "/home"] {
        let by_path = log.replayed(&rule("home", "allow", &inside(folder)));
        assert_eq!(by_path.not_judged[&UnjudgedReason::Arguments], 1, "{folder}: {by_path:?}");
    }
    let by_path = log.replayed(&rule("home", "allow", &inside("/home")));
    assert!(by_path.summary().contains("1 call cannot be judged again"), "{}", by_path.summary());
    // A draft that does not look at arguments can judge it.
    let all = log.replayed(&rule("all", "allow", "{}"));
    assert_eq!((all.now.allow, all.unjudged_total()), (1, 0));
}

/// A call whose arguments the log holds redacted.
fn masked(mut made: Made<'static>) -> Made<'static> {
    let commit = Digest::from_bytes([0; 32]);
    let text = made.arguments.to_string();
    made.more =
        json!({ "arguments": { "text": text, "salt": "00", "commit": commit, "bytes": 30 } });
    made
}

#[test]
fn what_was_masked_in_a_text_for_people_counts_by_where_it_went() {
    let mail = |path: &str| json!({ "path": path, "content": "to [EMAIL_1]" });
    let wrote = |path: &str| masked(Made { arguments: mail(path), ..write("") });
    let mut log = Log::new();
    log.done(&wrote("/home/ana/work/a.md"));
    let text = policy_text(&log.suggestions());
    assert!(text.contains("inside = [\"/home/ana/work\"]"), "{text}");
    let folder = |test: &str| format!("{{ arguments = [{{ {test} }}] }}");
    let draft = |test: &str| log.replayed(&rule("draft", "allow", &folder(test)));
    for test in ["at = \"/path\", inside = \"/home\"", "at = \"\", paths_inside = \"/home\""] {
        let replay = draft(test);
        assert_eq!((replay.now.allow, replay.unjudged_total()), (1, 0), "{test}");
    }
    // What reads the text itself cannot be judged.
    let unknown = draft("at = \"/content\", prefix = \"to\"").unjudged_total();
    assert_eq!(unknown, 1);
}

#[test]
fn limits_count_the_calls_that_the_draft_allows() {
    let mut log = Log::new();
    for _ in 0..3 {
        log.done(&read("/a"));
    }
    let limit = "[[limits]]\nname = \"few\"\nmatch = {}\nmax_calls = 2\nwindow_s = 60\n";
    let draft = log.replayed(&(rule("all", "allow", "{}") + limit));
    assert_eq!((draft.now.allow, draft.now.deny), (2, 1));
}

#[test]
fn suggestions_allow_what_was_done_and_no_more() {
    let mut log = Log::new();
    for name in ["a.md", "b.md", "sub/c.md"] {
        log.done(&read(&format!("/home/ana/work/{name}")));
        log.done(&write(&format!("/home/ana/work/notes/{name}")));
    }
    log.done(&Made::new("web.fetch", json!({ "url": "https://docs.example/a" })));
    log.done(&Made::new("db.query", json!({ "query": "insert into a values (1)" })));
    let suggestions = log.suggestions();
    assert!(suggestions.excluded.is_empty(), "{suggestions:?}");
    let set = enforced(&suggestions);
    let again = replay(&set, log.history.calls(), NOW, NOW);
    assert_eq!(again.now.allow, 8, "{again:?}");
    // What it does not cover.
    let mut other = Log::new();
    for made in [
        read("/home/ana/other/a.md"),
        write("/home/ana/work/a.md"),
        write("/home/ana/work/notes/../../.bashrc"),
        Made::new("web.fetch", json!({ "url": "https://evil.example/a" })),
        Made::new("web.fetch", json!({ "url": "https://docs.example.evil/a" })),
        Made::new("db.query", json!({ "query": "drop table a" })),
        Made::new("mail.send", json!({ "to": "a@b.example" })),
        Made::new("files.write", json!({ "content": "no path" })),
    ] {
        other.done(&made);
    }
    let others = replay(&set, other.history.calls(), NOW, NOW);
    assert_eq!((others.now.deny, others.now.allow), (8, 0), "{others:?}");
}

#[test]
fn nothing_is_suggested_from_what_was_tainted_held_or_denied() {
    let mut log = Log::new();
    log.done(&write("/home/ana/work/a").would_have("hold", "flow", "untrusted_influence"));
    log.done(&write("/home/ana/work/b").would_have("hold", "rule", "approval_required"));
    log.done(&write("/home/ana/work/c").would_have("deny", "rule", "explicit_deny_rule"));
    log.refused(&write("/home/ana/work/d").stopped("deny", "rule", "no_matching_rule"));
    log.refused(&write("/home/ana/work/e").stopped("hold", "rule", "approval_required"));
    let failed = log.decided(EventKind::Intent, &write("/home/ana/work/f"));
    log.event(EventKind::Outcome, "run_1", Some(&failed), &json!({ "success": false }));
    log.done(&write("/home/ana/.ssh/authorized_keys"));
    let suggestions = log.suggestions();
    assert!(suggestions.rules.is_empty(), "{suggestions:?}");
    let counts: Vec<(ExclusionReason, usize)> =
        suggestions.excluded.iter().map(|(reason, left)| (*reason, left.calls)).collect();
    assert_eq!(
        counts,
        [
            (ExclusionReason::Tainted, 1),
            (ExclusionReason::Denied, 2),
            (ExclusionReason::Held, 2),
            (ExclusionReason::NotSuccessful, 1),
            (ExclusionReason::SensitivePlace, 1),
        ]
    );
}

#[test]
fn what_nothing_was_said_of_is_no_word_against_it() {
    let mut log = Log::new();
    log.done(&read("/home/ana/work/a").would_have("deny", "rule", "no_matching_rule"));
    log.done(
        &Made::new("mail.send", json!({ "to": "a@b.example" }))
            .would_have("hold", "floor", "floor_hold"),
    );
    let suggestions = log.suggestions();
    let effects: Vec<&str> = suggestions.rules.iter().map(|one| one.rule.effect.as_str()).collect();
    assert_eq!(effects, ["allow", "require_approval"], "what leaves keeps asking");
    let again = replay(&enforced(&suggestions), log.history.calls(), NOW, NOW);
    assert_eq!((again.now.allow, again.now.hold), (1, 1));
}

#[test]
fn one_write_after_untrusted_data_is_no_evidence_and_two_runs_are() {
    let mut log = Log::new();
    log.taint("run_1");
    log.taint("run_2");
    log.done(&write("/home/ana/work/a.md"));
    log.done(&write("/home/ana/elsewhere/planted.md").in_run("run_2"));
    let once = log.suggestions();
    assert!(once.rules.is_empty(), "{once:?}");
    assert_eq!(once.excluded[&ExclusionReason::OnceAfterUntrusted].calls, 2);
    log.done(&write("/home/ana/work/b.md").in_run("run_2"));
    let twice = log.suggestions();
    assert_eq!(twice.rules.len(), 1, "{twice:?}");
    assert_eq!((twice.rules[0].calls, twice.rules[0].after_untrusted), (2, 2));
    let text = policy_text(&twice);
    assert!(text.contains("inside = [\"/home/ana/work\"]"), "{text}");
    assert!(!text.contains("elsewhere"), "{text}");
}

#[test]
fn a_tool_that_only_an_injected_call_used_is_in_no_rule() {
    let mut log = Log::new();
    log.done(&write("/home/ana/work/a.md"));
    log.done(&Made::new("notes.add", json!({ "text": "milk" })));
    log.taint("run_2");
    let append = json!({ "path": "/home/ana/elsewhere/x", "content": "y" });
    log.done(&Made::new("files.append", append).in_run("run_2"));
    log.done(&Made::new("memory.wipe", json!({})).in_run("run_2"));
    let suggestions = log.suggestions();
    assert_eq!(suggestions.excluded[&ExclusionReason::OnceAfterUntrusted].calls, 2);
    let text = policy_text(&suggestions);
    assert!(text.contains("files.write") && text.contains("notes.add"), "{text}");
    assert!(!text.contains("files.append") && !text.contains("memory.wipe"), "{text}");
}

#[test]
fn receivers_are_sets_and_amounts_ranges() {
    let mut log = Log::new();
    for (to, amount) in [("ana", 10), ("ben", 250)] {
        let arguments = json!({ "recipient": to, "amount": amount });
        log.done(&Made::new("shop.reserve", arguments));
    }
    let text = policy_text(&log.suggestions());
    assert!(text.contains("in = [\"ana\", \"ben\"]"), "{text}");
    assert!(text.contains("max = 250") && text.contains("min = 10"), "{text}");
}

#[test]
fn an_argument_that_no_call_of_a_rule_had_must_be_absent_where_it_is_known() {
    let contracts = format!(
        "{CONTRACTS}critical_arguments = [\"/recipient\", \"/amount\", \"/via\", \"/items/*/id\"]\n"
    );
    let mut log = Log::new();
    log.done(&Made::new("shop.reserve", json!({ "recipient": "ana", "amount": 10 })));
    // Another call of the same tool shows that it takes a second path.
    log.done(&read("/home/ana/work/a.md"));
    let both = json!({ "path": "/home/ana/work/b.md", "base_path": "/home/ana/work" });
    log.done(&Made::new("files.read", both));
    let suggestions = suggest(&load("", &contracts, "").unwrap(), log.history.calls());
    let text = policy_text(&suggestions);
    let set = load(&text, &contracts, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let again = replay(&set, log.history.calls(), NOW, NOW);
    assert_eq!(again.now.allow, 3, "{again:?}\n{text}");
    for made in [
        Made::new("shop.reserve", json!({ "recipient": "ana", "amount": 10, "via": "eve" })),
        Made::new("files.read", json!({ "path": "/home/ana/work/b.md", "base_path": "/etc" })),
    ] {
        let mut other = Log::new();
        other.done(&made);
        let verdicts = replay(&set, other.history.calls(), NOW, NOW).now;
        assert_eq!(verdicts.deny, 1, "{}\n{text}", made.arguments);
    }
    let said = "a call with `via`. All other arguments are free, also those that no call had.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_rule_for_a_stopped_call_requires_that_other_declared_arguments_are_absent() {
    let contracts = format!("{CONTRACTS}critical_arguments = [\"/recipient\", \"/via\"]\n");
    let mut log = Log::new();
    let made = Made::new("shop.reserve", json!({ "recipient": "ana" }));
    let id = log.refused(&made.stopped("deny", "rule", "no_matching_rule"));
    let call = log.history.find(&id).unwrap();
    let proposal = propose_allow_rules(&load("", &contracts, "").unwrap(), call).unwrap();
    let with_via = Made::new("shop.reserve", json!({ "recipient": "ana", "via": "eve" }));
    for (width, rule) in &proposal.rules {
        let draft = load(&rule_text(rule), &contracts, "").unwrap();
        assert_eq!(replay(&draft, [call], NOW, NOW).now.allow, 1, "{width:?}");
        let mut other = Log::new();
        other.done(&with_via);
        let allowed = replay(&draft, other.history.calls(), NOW, NOW).now.allow == 1;
        assert_eq!(allowed, *width == AllowScope::Tool, "{width:?}");
    }
}

#[test]
fn a_rule_for_a_stopped_call_leaves_no_empty_or_declared_argument_free() {
    let contracts =
        format!("{CONTRACTS}critical_arguments = [\"/recipient\", \"/branch\", \"/force\"]\n");
    let made = |branch: &str, force: bool, cc: Value, env: Value| {
        let arguments = json!({ "recipient": "ana", "branch": branch, "force": force, "cc": cc,
            "env": env, "note": "" });
        Made::new("shop.reserve", arguments)
    };
    let mut log = Log::new();
    let held = made("feature", false, json!([]), json!({}));
    let id = log.refused(&held.stopped("deny", "rule", "no_matching_rule"));
    let call = log.history.find(&id).unwrap();
    let proposal = propose_allow_rules(&load("", &contracts, "").unwrap(), call).unwrap();
    let (width, rule) = proposal.rules.first().unwrap();
    assert_eq!(*width, AllowScope::Same);
    let draft = load(&rule_text(rule), &contracts, "").unwrap();
    assert_eq!(replay(&draft, [call], NOW, NOW).now.allow, 1, "{}", rule_text(rule));
    for other in [
        made("main", false, json!([]), json!({})),
        made("feature", true, json!([]), json!({})),
        made("feature", false, json!(["eve"]), json!({})),
        made("feature", false, json!([]), json!({ "GIT_CONFIG_COUNT": "1" })),
    ] {
        let mut log = Log::new();
        log.done(&other);
        let verdicts = replay(&draft, log.history.calls(), NOW, NOW).now;
        assert_eq!(verdicts.allow, 0, "{}\n{}", other.arguments, rule_text(rule));
    }
    let with_note = Made::new(
        "shop.reserve",
        json!({ "recipient": "ana", "branch": "feature",
        "force": false, "cc": [], "env": {}, "note": "for Ana" }),
    );
    let mut log = Log::new();
    log.done(&with_note);
    let verdicts = replay(&draft, log.history.calls(), NOW, NOW).now;
    assert_eq!(verdicts.allow, 0, "the note of a payment may decide where it goes");
}

#[test]
fn a_rule_for_the_same_message_leaves_only_texts_for_people_and_times_free() {
    let arguments = |text: &str, acl: &str, public: bool, options: Value| {
        json!({ "recipient": "ana", "body": text, "acl": acl, "public": public,
            "options": options, "limit": 5 })
    };
    let made = |arguments| Made::new("web.fetch", arguments);
    let options = || json!({ "track": true });
    let mut log = Log::new();
    let held = made(arguments("a", "private", false, options()));
    let id = log.refused(&held.stopped("deny", "rule", "no_matching_rule"));
    let call = log.history.find(&id).unwrap();
    let proposal = propose_allow_rules(&load("", CONTRACTS, "").unwrap(), call).unwrap();
    let allows = |(width, rule): &(AllowScope, weaver_policy::Rule), arguments: Value| {
        let draft = load(&rule_text(rule), CONTRACTS, "").unwrap();
        let mut log = Log::new();
        log.done(&made(arguments));
        (*width, replay(&draft, log.history.calls(), NOW, NOW).now.allow == 1)
    };
    for rule in &proposal.rules {
        let is_tool = rule.0 == AllowScope::Tool;
        assert_eq!(allows(rule, arguments("b", "private", false, options())), (rule.0, true));
        let mut with_bcc = arguments("a", "private", false, options());
        with_bcc["BCC"] = json!("eve");
        let headers = json!({ "track": true, "headers": { "Bcc": "eve" } });
        for other in [
            with_bcc,
            arguments("a", "public-read", false, options()),
            arguments("a", "private", true, options()),
            arguments("a", "private", false, headers),
        ] {
            // Another word for another place is similar, where nothing says that it decides.
            let is_similar = rule.0 == AllowScope::Similar && other["acl"] != "private";
            assert_eq!(allows(rule, other.clone()), (rule.0, is_tool || is_similar), "{other}");
        }
    }
    assert_eq!(proposal.rules.len(), 3);
    assert_eq!(proposal.free, ["body"]);
}

/// A text that the rule looks at, one that is executed, and what decides about deletions.
#[test]
fn a_rule_for_the_same_call_binds_what_it_was_stopped_for() {
    let contracts = format!(
        "{CONTRACTS}[capabilities.\"box.run_command\"]\neffects = \"read_open\"\nsink = \"external_send\"\n\
         [capabilities.\"notes.delete\"]\neffects = \"write_local\"\nsink = \"destructive\"\n"
    );
    let stopping = "[[rules]]\nname = \"statements\"\nmatch = { arguments = [{ at = \"/text\", reading_sql = false }] }\n\
                    effect = \"require_approval\"\nreason = \"x\"\n";
    for (id, policy, arguments) in [
        ("web.fetch", stopping, json!({ "to": "ana", "text": "uptime" })),
        ("web.fetch", "", json!({ "to": "ana", "topic": "home/lamp" })),
        ("web.fetch", "", json!({ "path": "/home/ana/.bashrc", "content": "alias a=b" })),
        ("box.run_command", "", json!({ "to": "ana", "text": "uptime" })),
        ("db.query", "", json!({ "database": "shop", "query": "UPDATE t SET a=1" })),
        (
            "notes.delete",
            "",
            json!({ "mailbox": "a", "before_date": "2001-01-01", "subject": "spam" }),
        ),
    ] {
        let mut log = Log::new();
        let held = Made::new(id, arguments.clone());
        let call = log.refused(&held.stopped("deny", "rule", "no_matching_rule"));
        let call = log.history.find(&call).unwrap();
        let set = load(policy, &contracts, "").unwrap();
        let proposal = propose_allow_rules(&set, call).unwrap();
        assert_eq!(proposal.free, [""; 0], "{id}");
        let (width, rule) = proposal.rules.first().unwrap();
        assert_eq!(*width, AllowScope::Same);
        let draft = load(&rule_text(rule), &contracts, "").unwrap();
        assert_eq!(replay(&draft, [call], NOW, NOW).now.deny, 0, "{}", rule_text(rule));
        for name in arguments.as_object().unwrap().keys() {
            let mut other = arguments.clone();
            other[name] = json!("another");
            let mut log = Log::new();
            log.done(&Made::new(id, other));
            let verdicts = replay(&draft, log.history.calls(), NOW, NOW).now;
            assert_eq!(verdicts.deny, 1, "{name}: {}", rule_text(rule));
        }
    }
}

#[test]
fn a_list_is_covered_item_by_item() {
    let mut log = Log::new();
    let paths = |all: &[&str]| Made::new("files.read", json!({ "paths": all }));
    log.done(&paths(&["/home/ana/work/a.md", "/home/ana/work/b.md"]));
    log.done(&paths(&["/home/ana/work/c.md"]));
    let text = policy_text(&log.suggestions());
    assert!(text.contains("paths_inside = [\"/home/ana/work\"]"), "{text}");
    let set = enforced(&log.suggestions());
    let verdict = |made: &Made<'_>| {
        let mut other = Log::new();
        other.done(made);
        replay(&set, other.history.calls(), NOW, NOW).now
    };
    assert_eq!(verdict(&paths(&["/home/ana/work/x.md", "/home/ana/work/y.md"])).allow, 1);
    assert_eq!(verdict(&paths(&["/home/ana/work/x.md", "/etc/passwd"])).deny, 1);
    let three = ["/home/ana/work/x.md", "/home/ana/work/y.md", "/etc/passwd"];
    assert_eq!(verdict(&paths(&three)).deny, 1);
}

#[test]
fn a_stopped_call_becomes_a_rule_at_three_widths() {
    let mut log = Log::new();
    let id = log.refused(&write("/home/ana/work/a.md").stopped("deny", "rule", "no_matching_rule"));
    let set = set("", CONTRACTS);
    let call = log.history.find(&id).unwrap();
    let proposal = propose_allow_rules(&set, call).unwrap();
    let widths: Vec<AllowScope> = proposal.rules.iter().map(|(width, _)| *width).collect();
    assert_eq!(widths, AllowScope::ALL);
    let text: Vec<String> = proposal.rules.iter().map(|(_, rule)| rule_text(rule)).collect();
    assert!(text[0].contains("equals = \"/home/ana/work/a.md\""), "{text:?}");
    assert!(text[1].contains("inside = [\"/home/ana/work\"]"), "{text:?}");
    assert!(!text[2].contains("arguments"), "{text:?}");
    for rule in &text {
        let draft = load(rule, CONTRACTS, "").unwrap_or_else(|error| panic!("{error}\n{rule}"));
        assert_eq!(replay(&draft, [call], NOW, NOW).now.allow, 1, "{rule}");
    }
}

#[test]
fn similar_to_an_amount_is_no_more_and_nothing_on_the_other_side() {
    for (amount, others) in [
        (50, [(10, true), (51, false), (-1, false)]),
        (-50, [(-10, true), (-51, false), (1, false)]),
    ] {
        let made = |amount: i32| {
            Made::new("shop.reserve", json!({ "recipient": "ana", "amount": amount }))
        };
        let mut log = Log::new();
        let id = log.refused(&made(amount).stopped("deny", "rule", "no_matching_rule"));
        let call = log.history.find(&id).unwrap();
        let proposal = propose_allow_rules(&load("", CONTRACTS, "").unwrap(), call).unwrap();
        let similar = proposal.rules.iter().find(|(width, _)| *width == AllowScope::Similar);
        let text = rule_text(&similar.unwrap().1);
        let draft = load(&text, CONTRACTS, "").unwrap();
        for (other, expected) in others {
            let mut log = Log::new();
            log.done(&made(other));
            let allowed = replay(&draft, log.history.calls(), NOW, NOW).now.allow == 1;
            assert_eq!(allowed, expected, "{other}: {text}");
        }
    }
}

#[test]
fn similar_to_a_mail_is_one_address_at_its_domain() {
    let mut log = Log::new();
    let mail = |to: &str| Made::new("mail.send", json!({ "to": to }));
    let contracts =
        format!("{CONTRACTS}\n[capabilities.\"post.send\"]\neffects = \"write_local\"\n");
    let post = |to: &str| Made::new("post.send", json!({ "to": to }));
    let id = log.refused(&post("ana@Corp.example").stopped("deny", "rule", "no_matching_rule"));
    let call = log.history.find(&id).unwrap();
    let proposal = propose_allow_rules(&load("", &contracts, "").unwrap(), call).unwrap();
    let similar = proposal.rules.iter().find(|(width, _)| *width == AllowScope::Similar);
    let (_, rule) = similar.unwrap();
    let draft = load(&rule_text(rule), &contracts, "").unwrap();
    let allowed = |to: &str| {
        let mut other = Log::new();
        other.done(&post(to));
        replay(&draft, other.history.calls(), NOW, NOW).now.allow == 1
    };
    assert!(allowed("ana@corp.example") && allowed("ben@corp.example"), "{}", rule_text(rule));
    for to in [
        "eve@evil.example",
        "eve@evil.example,ana@corp.example",
        "eve@evil.example\n@corp.example",
        "evil-list; ana@corp.example",
        "<eve@evil.example> ana@corp.example",
    ] {
        assert!(!allowed(to), "{to:?}");
    }
    // A list of addresses has no one domain to be similar to.
    let listed = mail("eve@evil.example,ana@corp.example");
    let id = log.refused(&listed.stopped("deny", "rule", "no_matching_rule"));
    let call = log.history.find(&id).unwrap();
    let proposal = propose_allow_rules(&load("", &contracts, "").unwrap(), call).unwrap();
    for (width, rule) in proposal.rules.iter().filter(|(width, _)| *width != AllowScope::Tool) {
        assert!(rule_text(rule).contains("eve@evil.example"), "{width:?} {}", rule_text(rule));
    }
}

#[test]
fn what_no_rule_releases_is_refused_with_the_reason() {
    let set = set(&rule("ask", "require_approval", "{}"), CONTRACTS);
    let mut log = Log::new();
    let tainted = log.refused(&write("/a").stopped("hold", "flow", "untrusted_influence"));
    let mode = log.refused(&write("/a").stopped("deny", "mode", "mode_forbids"));
    let done = log.done(&write("/a"));
    let floor = log.refused(
        &Made::new("mail.send", json!({ "to": "a@b.example" }))
            .stopped("hold", "floor", "floor_hold"),
    );
    let held = log.refused(&write("/a").stopped("hold", "rule", "approval_required"));
    let mut both = write("/a").stopped("hold", "flow", "untrusted_influence");
    both.checks = json!([check("floor", "hold", "floor_hold"), both.checks[0]]);
    let both = log.refused(&both);
    let of = |id: &str| propose_allow_rules(&set, log.history.find(id).unwrap());
    assert_eq!(of(&tainted), Err(NotAllowable::Tainted));
    assert_eq!(of(&both), Err(NotAllowable::TaintedEffects));
    assert!(matches!(of(&mode), Err(NotAllowable::OtherCheck(_))));
    assert_eq!(of(&done), Err(NotAllowable::NotStopped));
    assert!(of(&floor).unwrap().needs_standing_approval);
    let held = of(&held).unwrap();
    assert_eq!((held.stopped_by, held.needs_standing_approval), (vec!["ask".to_owned()], false));
}

#[test]
fn a_tainted_read_is_allowed_by_its_host_and_by_no_rule() {
    let set = set(&rule("all", "allow", "{}"), CONTRACTS);
    let mut log = Log::new();
    let mut of = |capability: &str, arguments: Value, reason: &str| {
        let made = Made::new(capability, arguments);
        let id = log.refused(&made.stopped("hold", "flow", reason));
        propose_allow_rules(&set, log.history.find(&id).unwrap())
    };
    let fetch = |url: &str| json!({ "url": url });
    let found = of("web.fetch", fetch("https://docs.example/a"), "untrusted_influence").unwrap();
    assert_eq!(found.destination.map(|host| host.to_string()), Some("docs.example".to_owned()));
    assert!(found.rules.is_empty() && !found.needs_standing_approval);
    // Its contract says that it reads here; the address in place of a path goes out all the same.
    let found = of("files.read", fetch("https://docs.example/a"), "untrusted_influence").unwrap();
    assert_eq!(found.destination.map(|host| host.to_string()), Some("docs.example".to_owned()));
    for (capability, arguments, reason) in [
        ("web.fetch", fetch("docs.example/a"), "untrusted_influence"),
        ("web.fetch", fetch("https://a@docs.example/"), "untrusted_influence"),
        (
            "web.fetch",
            json!({ "urls": ["https://a.example", "https://b.example"] }),
            "untrusted_influence",
        ),
        ("web.fetch", fetch("https://docs.example/a"), "clearance_exceeded"),
        ("mail.send", json!({ "to": "https://docs.example/" }), "untrusted_influence"),
        ("files.write", fetch("https://docs.example/a"), "untrusted_influence"),
    ] {
        assert_eq!(of(capability, arguments, reason), Err(NotAllowable::Tainted), "{capability}");
    }
}

#[test]
fn an_empty_history_suggests_nothing() {
    let log = Log::new();
    assert_eq!(log.suggestions(), Suggestions::default());
    assert_eq!(log.history.find("call_1"), None);
    assert_eq!(log.replayed("").then, weaver_policy_analysis::replay::ReplayCounts::default());
}

#[test]
fn what_leaves_keeps_asking_though_flow_spoke_against_it() {
    let mut log = Log::new();
    let mail = Made::new("mail.send", json!({ "to": "a@b.example" }));
    log.done(&mail.clone().would_have("hold", "flow", "untrusted_influence"));
    let suggestions = log.suggestions();
    assert_eq!(suggestions.rules.len(), 1, "{suggestions:?}");
    let again = replay(&enforced(&suggestions), log.history.calls(), NOW, NOW);
    assert_eq!((again.now.hold, again.now.allow), (1, 0));
    let mut stopped = Log::new();
    stopped.refused(&mail.stopped("hold", "flow", "untrusted_influence"));
    assert!(stopped.suggestions().rules.is_empty());
}

/// A server with a mailbox and more.
const DESK: &str = r#"
[capabilities."desk.inbox"]
effects = "read_local"
[capabilities."desk.drafts"]
effects = "read_local"
[capabilities."desk.calendar"]
effects = "read_local"
[capabilities."desk.contacts"]
effects = "read_local"
[capabilities."desk.list_*"]
effects = "read_local"
[capabilities."desk.read_file"]
effects = "read_local"
[capabilities."desk.resources/read"]
effects = "read_local"
[capabilities."desk.payroll"]
effects = "read_local"
output = { confidentiality = "confidential" }
[capabilities."desk.vault"]
effects = "read_local"
sensitivity = ["secrets"]
[capabilities."desk.translate"]
effects = "read_open"
[capabilities."desk.note"]
effects = "write_local"
[capabilities."shelf.books"]
effects = "read_local"
"#;

/// The tools that are allowed although nobody called them.
fn uncalled(log: &Log, contracts: &str) -> Vec<String> {
    let suggestions = suggest(&set("", contracts), log.history.calls());
    let all = suggestions.rules.iter().flat_map(|one| &one.uncalled);
    all.map(ToString::to_string).collect()
}

fn look(tool: &'static str) -> Made<'static> {
    let (class, rung) = ("read_only", "L0");
    Made { class, rung, ..Made::new(tool, json!({ "query": "plan" })) }
}

#[test]
fn who_read_a_server_in_three_ways_may_read_it_in_a_fourth() {
    let mut log = Log::new();
    log.done(&look("desk.inbox"));
    log.done(&look("desk.drafts"));
    assert!(uncalled(&log, DESK).is_empty(), "two ways are few, in one run");
    log.done(&look("desk.drafts"));
    log.done(&look("desk.calendar"));
    // Neither what a pattern covers, nor what names a place, is more confidential, keeps secrets,
    // reaches out or writes; nor another server.
    assert_eq!(uncalled(&log, DESK), ["desk.contacts"]);
    let suggestions = suggest(&set("", DESK), log.history.calls());
    let text = policy_text(&suggestions);
    let said = "# From no call; others of the same server made 4 calls.";
    assert!(text.contains(said) && text.contains("suggested-desk-other-reads"), "{text}");
    let set = load(&text, DESK, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut next = Log::new();
    next.done(&look("desk.contacts"));
    next.done(&look("desk.payroll"));
    let file = json!({ "query": "plan", "attachment": "/home/ana/work/a.md" });
    next.done(&Made { arguments: file, ..look("desk.contacts") });
    let now = replay(&set, next.history.calls(), NOW, NOW).now;
    assert_eq!((now.allow, now.deny), (1, 2), "those that named no path may name none");
}

#[test]
fn an_injection_alone_opens_no_group_of_reads() {
    let mut log = Log::new();
    log.taint("run_1");
    for tool in ["desk.inbox", "desk.drafts", "desk.calendar"] {
        log.done(&look(tool));
    }
    assert!(uncalled(&log, DESK).is_empty());
    for tool in ["desk.inbox", "desk.drafts", "desk.calendar"] {
        log.done(&look(tool).in_run("run_2"));
    }
    assert_eq!(uncalled(&log, DESK), ["desk.contacts"], "in two runs it is work");
}

#[test]
fn a_read_that_was_stopped_is_left_alone_and_so_is_one_without_places_among_those_with_them() {
    let mut log = Log::new();
    for tool in ["desk.inbox", "desk.drafts", "desk.calendar"] {
        log.done(&look(tool));
    }
    let mut stopped = log;
    stopped.refused(&look("desk.contacts").stopped("deny", "rule", "explicit_deny_rule"));
    assert!(uncalled(&stopped, DESK).is_empty());
    let mut mixed = Log::new();
    for tool in ["desk.inbox", "desk.drafts", "desk.calendar"] {
        mixed.done(&look(tool));
    }
    mixed.done(&read_at("desk.read_file", "/home/ana/work/a.md"));
    assert_eq!(uncalled(&mixed, DESK), ["desk.contacts"], "a place is the exception here");
    for tool in ["desk.folder", "desk.archive"] {
        mixed.done(&read_at(tool, "/etc/desk.conf"));
    }
    let more = format!(
        "{DESK}[capabilities.\"desk.folder\"]\neffects = \"read_local\"\n\
        [capabilities.\"desk.archive\"]\neffects = \"read_local\"\n"
    );
    assert!(uncalled(&mixed, &more).is_empty(), "and here it is not");
}

fn read_at(tool: &'static str, path: &'static str) -> Made<'static> {
    Made { arguments: json!({ "path": path }), ..look(tool) }
}

/// A server that works on files.
const FILES: &str = r#"
[capabilities."files.read"]
effects = "read_local"
[capabilities."files.stat"]
effects = "read_local"
[capabilities."files.list"]
effects = "read_local"
[capabilities."files.compare"]
effects = "read_local"
[capabilities."files.write"]
effects = "write_local"
[capabilities."files.edit"]
effects = "write_local"
[capabilities."files.move"]
effects = "write_local"
[capabilities."files.delete"]
effects = "destructive"
[capabilities."mail.send"]
effects = "write_open"
sink = "external_send"
"#;

/// What the rules that a log suggests make of calls of these tools.
fn verdicts(log: &Log, calls: &[(&'static str, Value)]) -> Vec<String> {
    let suggestions = suggest(&set("", FILES), log.history.calls());
    let text = policy_text(&suggestions);
    let set = load(&text, FILES, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let verdict = |(tool, arguments): &(&'static str, Value)| {
        let mut next = Log::new();
        let (class, rung) = match *tool {
            "files.delete" => ("destructive", "L4"),
            "files.move" => ("write", "L2"),
            _ => ("read_only", "L0"),
        };
        next.done(&Made { class, rung, ..Made::new(tool, arguments.clone()) });
        let now = replay(&set, next.history.calls(), NOW, NOW).now;
        let named = [("allow", now.allow), ("hold", now.hold), ("deny", now.deny)];
        named.iter().find(|(_, many)| *many > 0).map_or("none", |(name, _)| name).to_owned()
    };
    calls.iter().map(verdict).collect()
}

#[test]
fn who_read_files_of_a_folder_in_three_ways_may_read_them_in_a_fourth_and_no_others() {
    let mut log = Log::new();
    for tool in ["files.read", "files.stat", "files.list"] {
        log.done(&read_at(tool, "/home/ana/work/a.md"));
    }
    let inside = "/home/ana/work/b.md";
    let compared = [
        json!({ "path": inside, "other": inside }),
        json!({ "left": inside, "right": "/home/ana/.ssh/id" }),
        json!({ "path": "/home/ana/work/../.ssh/id" }),
        json!({ "query": "all" }),
    ];
    let calls = compared.map(|arguments| ("files.compare", arguments));
    assert_eq!(verdicts(&log, &calls), ["allow", "deny", "deny", "deny"]);
}

#[test]
fn who_wrote_in_a_folder_in_two_ways_may_do_so_in_a_third_and_is_asked_before_anything_is_lost() {
    let mut log = Log::new();
    let edit = |run| Made { capability: "files.edit", ..write("/home/ana/work/a.md") }.in_run(run);
    log.taint("run_1");
    log.done(&write("/home/ana/work/a.md"));
    log.done(&edit("run_1"));
    let inside = json!({ "source": "/home/ana/work/a.md", "destination": "/home/ana/work/b.md" });
    let outside = json!({ "source": "/home/ana/work/a.md", "destination": "/home/ana/b.md" });
    let calls = [
        ("files.move", inside),
        ("files.move", outside),
        ("files.delete", json!({ "path": "/home/ana/work/a.md" })),
        ("mail.send", json!({ "to": "a@b.example" })),
    ];
    assert_eq!(verdicts(&log, &calls), ["deny", "deny", "hold", "deny"], "an injection, maybe");
    log.taint("run_2");
    log.done(&write("/home/ana/work/b.md").in_run("run_2"));
    log.done(&edit("run_2"));
    assert_eq!(verdicts(&log, &calls), ["allow", "deny", "hold", "deny"]);
}
