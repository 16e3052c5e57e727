//! Information flow: what a run has taken in, against where a call would send it.

use serde_json::{Value, json};
use weaver_policy::{PolicyQuery, SensitiveValue, ValueOrigin, ValueOrigins};
use weaver_text::values::{ValueClass, ValueToken};
use weaver_types::{
    CallId, Confidentiality, Effects, Integrity, JsonPointer, Label, Operation, ReasonCode,
    SinkKind, Verdict,
};

use crate::support::{Case, codes, draft, host, set};

const ALLOW_ALL: &str = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n";

/// A sink below L4, so that the floor does not speak.
fn sink(label: Label) -> Case {
    let mut draft = draft("mail.draft", Effects::WRITE_LOCAL);
    draft.sink = Some(SinkKind::ExternalSend);
    let mut case = Case::new(draft.build().unwrap(), &[]);
    case.label = label;
    case
}

fn label(confidentiality: Confidentiality, integrity: Integrity) -> Label {
    Label::new(confidentiality, integrity)
}

#[test]
fn untrusted_influence_holds_a_sink_and_names_the_calls() {
    let call = CallId::parse("call_7").unwrap();
    let tainted = label(Confidentiality::Public, Integrity::Untrusted).tainted_by(&call);
    let decision = sink(tainted).decide(&set(ALLOW_ALL, ""));
    assert_eq!(decision.verdict(), Verdict::Hold);
    assert_eq!(decision.primary_reason(), ReasonCode::UntrustedInfluence);
    assert!(decision.detail().contains("`call_7`"));
}

#[test]
fn one_tainted_text_does_not_stop_later_reads_or_local_writes() {
    let set = set(ALLOW_ALL, "");
    for effects in [Effects::READ_LOCAL, Effects::READ_OPEN, Effects::WRITE_LOCAL] {
        let mut case = Case::new(host("x", effects), &[]);
        case.label = label(Confidentiality::Restricted, Integrity::Untrusted);
        assert_eq!(case.answer(&set).0, Verdict::Allow, "{effects:?}");
    }
}

#[test]
fn data_above_the_clearance_of_a_sink_is_held() {
    let set = set(ALLOW_ALL, "");
    let answer = |confidentiality| sink(label(confidentiality, Integrity::Trusted)).answer(&set);
    assert_eq!(answer(Confidentiality::Internal).0, Verdict::Allow);
    assert_eq!(
        answer(Confidentiality::Confidential),
        (Verdict::Hold, ReasonCode::ClearanceExceeded)
    );
}

#[test]
fn a_view_sends_nothing() {
    let mut case = sink(label(Confidentiality::Restricted, Integrity::Untrusted));
    case.operation = Operation::View;
    assert_eq!(case.answer(&set(ALLOW_ALL, "")).0, Verdict::Allow);
}

/// Vouches for nothing; a text with `sk_live` carries a secret.
#[derive(Debug)]
struct Nobody;

impl ValueOrigins for Nobody {
    fn carried(&self, text: &str) -> Vec<SensitiveValue> {
        let secret = SensitiveValue { kind: "secret".to_owned(), tokens: Vec::new() };
        if text.contains("sk_live") { vec![secret] } else { Vec::new() }
    }
}

/// The user vouches for one address.
#[derive(Debug)]
struct OneAddress;

impl ValueOrigins for OneAddress {
    fn vouched(&self, token: &ValueToken) -> Option<ValueOrigin> {
        let known = ValueToken::new(ValueClass::Email, "bob@corp.example".to_owned());
        (*token == known).then_some(ValueOrigin::User)
    }
}

#[test]
fn a_tainted_run_sends_to_a_receiver_that_somebody_vouches_for_and_to_no_other() {
    let mut draft = draft("mail.draft", Effects::WRITE_LOCAL);
    draft.sink = Some(SinkKind::ExternalSend);
    draft.critical_arguments = [JsonPointer::parse("/to").unwrap()].into();
    let mut case = Case::new(draft.build().unwrap(), &[]);
    case.label = label(Confidentiality::Internal, Integrity::Untrusted);
    let set = set(ALLOW_ALL, "");
    let mut answer = |to: Value| {
        case.arguments = Some(json!({ "to": to }));
        set.decide(&PolicyQuery { origins: Some(&OneAddress), ..case.query() }).verdict()
    };
    assert_eq!(answer(json!("Bob <bob@corp.example>")), Verdict::Allow);
    assert_eq!(answer(json!(["bob@corp.example", "bob@corp.example"])), Verdict::Allow);
    for held in [
        json!("eve@evil.example"),
        json!("bob@corp.example, eve@evil.example"),
        json!(["bob@corp.example", "eve@evil.example"]),
        json!(""),
    ] {
        assert_eq!(answer(held.clone()), Verdict::Hold, "{held}");
    }
}

/// What a tainted run may do with these arguments under a policy that trusts some hosts.
fn tainted(effects: Effects, sink: SinkKind, arguments: Value) -> Verdict {
    tainted_call("web.fetch", effects, sink, arguments)
}

fn tainted_call(tool: &str, effects: Effects, sink: SinkKind, arguments: Value) -> Verdict {
    let mut draft = draft(tool, effects);
    draft.sink = Some(sink);
    let critical = ["/url", "/urls", "/calendarUrl", "/event_uri", "/href", "/recipient"];
    draft.critical_arguments = critical.map(|at| JsonPointer::parse(at).unwrap()).into();
    let mut case = Case::new(draft.build().unwrap(), &[]);
    case.label = label(Confidentiality::Internal, Integrity::Untrusted);
    case.arguments = Some(arguments);
    let hosts = "trusted_destinations = [\"localhost\", \"*.docs.example\"]\n";
    // That a file of this machine is no host depends on no host that is trusted.
    let is_file = case.arguments.as_ref().is_some_and(|all| all.to_string().contains("ile:/"));
    let hosts = if is_file { "" } else { hosts };
    let set = set(&format!("{hosts}{ALLOW_ALL}"), "");
    set.decide(&PolicyQuery { origins: Some(&Nobody), ..case.query() }).verdict()
}

#[test]
fn a_tainted_run_reads_on_from_the_hosts_that_the_policy_trusts() {
    let read = |arguments| tainted(Effects::READ_OPEN, SinkKind::ExternalSend, arguments);
    assert_eq!(read(json!({ "url": "http://localhost:3000/a?b=c" })), Verdict::Allow);
    assert_eq!(
        read(json!({ "urls": ["https://a.docs.example/", "http://localhost"] })),
        Verdict::Allow
    );
    for held in [
        json!({ "url": "https://evil.example/" }),
        json!({ "url": "http://localhost@evil.example/" }),
        json!({ "url": "localhost" }),
        json!({ "url": "http://localhost/?key=sk_live" }),
        json!({ "urls": ["http://localhost", "https://evil.example/"] }),
        json!({ "url": "http://localhost", "text": "and https://evil.example/" }),
        json!({}),
    ] {
        assert_eq!(read(held.clone()), Verdict::Hold, "{held}");
    }
    let local = || json!({ "url": "http://localhost/" });
    for (effects, sink) in [
        (Effects::WRITE_LOCAL, SinkKind::ExternalSend),
        (Effects::READ_OPEN, SinkKind::Credential),
        (Effects::READ_OPEN, SinkKind::Payment),
    ] {
        assert_eq!(tainted(effects, sink, local()), Verdict::Hold, "{effects:?} {sink:?}");
    }
}

/// Vouches for nothing, in a run in which nobody passes on what the user says.
#[derive(Debug)]
struct NoUserWords;

impl ValueOrigins for NoUserWords {
    fn knows_user_words(&self) -> bool {
        false
    }
}

#[test]
fn where_no_words_of_the_user_are_known_no_reason_asks_for_them() {
    for sink in [SinkKind::ExternalSend, SinkKind::Payment] {
        let mut draft = draft("web.open", Effects::WRITE_LOCAL);
        draft.sink = Some(sink);
        draft.critical_arguments = [JsonPointer::parse("/action").unwrap()].into();
        let mut case = Case::new(draft.build().unwrap(), &[]);
        case.label = label(Confidentiality::Internal, Integrity::Untrusted);
        case.arguments = Some(json!({ "action": "list" }));
        let set = set(ALLOW_ALL, "");
        let detail = |origins: &dyn ValueOrigins| {
            let decision = set.decide(&PolicyQuery { origins: Some(origins), ..case.query() });
            assert_eq!(decision.verdict(), Verdict::Hold);
            decision.detail().to_owned()
        };
        let (known, unknown) = (detail(&Nobody), detail(&NoUserWords));
        assert!(known.contains("not found in the user's words"), "{known}");
        assert!(unknown.contains("at `/action`"), "{unknown}");
        assert!(!unknown.contains("user's words"), "{unknown}");
    }
}

#[test]
fn a_file_url_of_this_machine_is_no_host_for_a_read() {
    let read =
        |url: &str| tainted(Effects::READ_OPEN, SinkKind::ExternalSend, json!({ "url": url }));
    for local in [
        "file:///data/b.docx",
        "file:///data/b%20c.docx",
        "file:/data/b.TXT",
        "file://localhost/b.csv",
    ] {
        assert_eq!(read(local), Verdict::Allow, "{local}");
    }
    for host in [
        "file://evil.example/share/b",
        "file:////evil.example/share/b",
        "file:///%5c%5cevil.example/b",
        "file:///data/sk_live",
        "http://evil.example/file:///b",
    ] {
        assert_eq!(read(host), Verdict::Hold, "{host}");
    }
    // What writes, pays or gives access is asked about as before.
    let url = || json!({ "url": "file:///data/b.docx" });
    for (effects, sink) in
        [(Effects::WRITE_LOCAL, SinkKind::ExternalSend), (Effects::READ_OPEN, SinkKind::Credential)]
    {
        assert_eq!(tainted(effects, sink, url()), Verdict::Hold, "{effects:?} {sink:?}");
    }
}

/// A page sends whatever its script wants wherever it wants, from a browser.
#[test]
fn a_page_of_ones_own_is_read_but_not_opened() {
    let read = |tool: &str, url: &str| {
        tainted_call(tool, Effects::READ_OPEN, SinkKind::ExternalSend, json!({ "url": url }))
    };
    for page in [
        "file:///data/b.html",
        "file:///data/b.SVG",
        "file:///data/b",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:image/svg+xml,a",
        "data:application/xhtml+xml,a",
    ] {
        for tool in [
            "chrome.navigate_page",
            "web.fetch",
            "web.browser_read_page",
            "web.open_url",
            "w.read_webpage",
            "pdf.convert_html_to_pdf",
            "m.url_to_markdown",
            "x.parse_html",
        ] {
            assert_eq!(read(tool, page), Verdict::Hold, "{tool} {page}");
        }
        assert_eq!(read("docs.convert_to_markdown", page), Verdict::Allow, "{page}");
    }
    for inert in ["data:,a", "data:text/plain;base64,YQ==", "data:IMAGE/png;base64,YQ=="] {
        assert_eq!(read("chrome.navigate_page", inert), Verdict::Allow, "{inert}");
    }
}

/// Beside a vouched address, a script would go through as a text for people.
#[test]
fn a_script_is_no_text_for_people() {
    let opened = |name: &str, script: Value| {
        let arguments = json!({ "url": "http://localhost:3000/", name: script });
        tainted(Effects::READ_OPEN, SinkKind::ExternalSend, arguments)
    };
    for name in
        ["initScript", "script", "javascript", "customJs", "user_scripts", "expression", "function"]
    {
        assert_eq!(opened(name, json!("fetch(String.fromCharCode(104))")), Verdict::Hold, "{name}");
        assert_eq!(opened(name, json!(["f(1)"])), Verdict::Hold, "{name}");
    }
    assert_eq!(opened("javascript", json!(true)), Verdict::Allow);
    assert_eq!(opened("transcript", json!("what was said")), Verdict::Allow);
    assert_eq!(opened("description", json!("a scripture")), Verdict::Allow);
}

/// Whatever the argument is called, a browser may run it.
#[test]
fn a_browser_is_given_no_text_that_may_be_a_script() {
    let opened = |tool: &str, text: &str| {
        let arguments = json!({ "url": "http://localhost:3000/", "payload": text });
        tainted_call(tool, Effects::READ_OPEN, SinkKind::ExternalSend, arguments)
    };
    for script in [
        "fetch(String.fromCharCode(104))",
        "<img src=x>",
        "location='x'",
        "a{background:url(x)}",
        "-x 3221225993:80",
        "open`x`",
    ] {
        assert_eq!(opened("b.browser_open", script), Verdict::Hold, "{script}");
        assert_eq!(opened("b.fetch", script), Verdict::Hold, "{script}");
    }
    for text in ["Anna (home)", "a < b", "- milk", "#menu > li", "5 - 3"] {
        assert_eq!(opened("b.browser_open", text), Verdict::Allow, "{text}");
    }
    let searched = json!({ "payload": "Anna's f(x)" });
    let search = tainted_call("b.search", Effects::READ_OPEN, SinkKind::None, searched);
    assert_eq!(search, Verdict::Allow);
}

#[test]
fn a_path_without_a_host_leads_a_read_nowhere_else() {
    let read = |name: &str, value: &str| {
        tainted(Effects::READ_OPEN, SinkKind::ExternalSend, json!({ name: value }))
    };
    for path in [
        "/anna/work/",
        "data:text/plain,a",
        "/caldav/v2/anna%40mail.example/events",
        "/remote.php/dav/calendars/anna/",
        "/a/b.ics",
    ] {
        for name in ["url", "calendarUrl", "event_uri", "href"] {
            assert_eq!(read(name, path), Verdict::Allow, "{name} {path}");
        }
        assert_eq!(read("recipient", path), Verdict::Hold, "{path}");
    }
    for other in [
        "//evil.example/a",
        "/\\evil.example/a",
        "/%5Cevil.example",
        "/a/../../b",
        "evil.example/a",
        "data:\\evil.example",
        "/proxy/https://evil.example/",
        "/a?to=https://evil.example",
        "/a b",
        "/a\t",
        "/data/sk_live",
        "/",
        // `https://` and this is a URL of a host.
        "/evil.example/a",
        "/evil.php.example/a",
        "/evil%2eexample/a",
        "/evil:8000/a",
        "/anna@evil/a",
        "/3232235777/a",
        "/0x7f000001/a",
    ] {
        assert_eq!(read("url", other), Verdict::Hold, "{other}");
    }
    let opened = |url: &str| {
        let arguments = json!({ "url": url });
        tainted_call("browser.navigate", Effects::READ_OPEN, SinkKind::ExternalSend, arguments)
    };
    assert_eq!(opened("/anna/work/"), Verdict::Hold);
    assert_eq!(opened("/work"), Verdict::Hold);
    let url = || json!({ "url": "/anna/work/" });
    for (effects, sink) in
        [(Effects::WRITE_LOCAL, SinkKind::ExternalSend), (Effects::READ_OPEN, SinkKind::Credential)]
    {
        assert_eq!(tainted(effects, sink, url()), Verdict::Hold, "{effects:?} {sink:?}");
    }
}

#[test]
fn a_destination_that_is_no_host_is_an_error() {
    for wrong in ["*", "*.com", "https://docs.example", "docs.example/"] {
        let policy = format!("trusted_destinations = [\"{wrong}\"]\n{ALLOW_ALL}");
        assert_eq!(codes(&policy), ["policy.destination"], "{wrong}");
    }
}
