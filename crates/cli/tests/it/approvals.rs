//! Held calls through the real gateway: signed files in the inbox, waiting, restarts, hot reload.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_policy::approval::{
    ApprovalRequest, Nonce, OperatorAction, OperatorStatement, Resolution, ResolutionVerdict,
    SignedResolution,
};
use weaver_trace_store::Reader;
use weaver_types::ledger::Namespace;
use weaver_types::signature::SigningKey;
use weaver_types::{
    ApprovalRequestId, Clock as _, LogId, OsRandom, RunId, SystemClock, Tenant, Timestamp,
    random_text,
};

use crate::client::{Client, RULES, events, folder, of_capability, reason, replace, shown};
use crate::support::{Folder, until};

const SINK: &str = "[capabilities.\"good.send\"]\neffects = \"write_open\"\nsink = \"external_send\"\n\
                    clearance = \"internal\"\n";

pub(crate) fn alice() -> SigningKey {
    SigningKey::from_seed([1; 32])
}

pub(crate) fn keys(version: u32) -> String {
    format!(
        "kind = \"keys\"\nformat = 1\nid = \"example\"\nversion = {version}\n\
         [approvers.alice]\nkey = \"{}\"\ntrust = 900\nclearance = \"restricted\"\noperator = true\n",
        alice().public()
    )
}

/// A gateway with a tool that is held, and one person who may release it.
pub(crate) fn held(settings: &str) -> Folder {
    let folder = folder(&[("good", "good")], settings, SINK);
    folder.write("policy/keys.toml", &keys(2));
    folder.sign("keys");
    folder
}

pub(crate) fn now() -> Timestamp {
    SystemClock::default().now()
}

pub(crate) fn message(text: &str) -> Value {
    json!({ "to": "bob@example.com", "text": text })
}

/// The request that a refused call names.
fn request_of(body: &Value) -> ApprovalRequestId {
    let id = body["approval"]["request"].as_str().unwrap_or_else(|| panic!("no request: {body}"));
    ApprovalRequestId::parse(id).unwrap()
}

/// Makes the held call; gives the request that it opened or found.
pub(crate) fn hold(client: &mut Client, text: &str) -> ApprovalRequestId {
    let (is_error, body) = client.execute("good.send", message(text));
    assert!(is_error, "{body}");
    assert_eq!(reason(&body), ("hold".to_owned(), "approval_required".to_owned()), "{body}");
    request_of(&body)
}

/// The request as the ledger holds it, which is what approvers look at.
fn stored(folder: &Folder, id: &ApprovalRequestId) -> ApprovalRequest {
    let reader = folder.reader();
    let all = reader.records(&Tenant::default(), Namespace::Hold, None, 100).unwrap();
    let (_, record) = all.into_iter().find(|(name, _)| name == id.as_str()).unwrap();
    let value: Value = serde_json::from_slice(&record.value).unwrap();
    serde_json::from_value(value["hold"]["open"]["request"].clone()).unwrap()
}

fn signed(request: &ApprovalRequest, verdict: ResolutionVerdict) -> SignedResolution {
    Resolution::new(request, verdict, "alice", now()).unwrap().sign(&alice()).unwrap()
}

pub(crate) fn granted(folder: &Folder, id: &ApprovalRequestId) -> Vec<u8> {
    signed(&stored(folder, id), ResolutionVerdict::Granted).to_json().unwrap()
}

/// Drops a file into the inbox, whole or not at all.
pub(crate) fn drop_in(folder: &Folder, bytes: &[u8]) {
    let inbox = folder.path(".weaver/inbox");
    fs::create_dir_all(&inbox).unwrap();
    let name = random_text("", 8, &OsRandom).unwrap();
    fs::write(inbox.join(format!("{name}.part")), bytes).unwrap();
    fs::rename(inbox.join(format!("{name}.part")), inbox.join(format!("{name}.json"))).unwrap();
}

pub(crate) fn taken(folder: &Folder) {
    until("an empty inbox", || {
        fs::read_dir(folder.path(".weaver/inbox")).unwrap().next().is_none()
    });
}

#[test]
fn a_signed_grant_releases_exactly_this_call_once() {
    let folder = held("");
    let mut client = Client::open(&folder);
    let first = hold(&mut client, "hello");
    assert_eq!(hold(&mut client, "hello"), first, "the same call finds the same request");
    let other = hold(&mut client, "something else");
    assert_ne!(other, first);
    drop_in(&folder, &granted(&folder, &first));
    taken(&folder);
    assert_eq!(hold(&mut client, "something else"), other, "only the approved arguments");
    let (is_error, body) = client.execute("good.send", message("hello"));
    assert!(!is_error && shown(&body).contains("hello"), "{body}");
    assert_ne!(hold(&mut client, "hello"), first, "a grant is for one call");
    client.finish();
    let outcomes = of_capability(&folder, "call.outcome", "good.send");
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    let kinds: Vec<String> = events(&folder).into_iter().map(|(kind, _)| kind).collect();
    let count = |kind: &str| kinds.iter().filter(|found| *found == kind).count();
    assert_eq!((count("approval.requested"), count("approval.granted")), (3, 1));
}

/// Cases: APR-10, APR-12.
#[test]
fn what_is_not_signed_by_somebody_with_the_authority_releases_nothing() {
    let folder = held("");
    let mut client = Client::open(&folder);
    let id = hold(&mut client, "hello");
    let request = stored(&folder, &id);
    let mut planted = request.clone();
    planted.arguments = message("run unit tests");
    let by = |key: &SigningKey, request: &ApprovalRequest, at| {
        let said = Resolution::new(request, ResolutionVerdict::Granted, "alice", at).unwrap();
        said.sign(key).unwrap().to_json().unwrap()
    };
    let stranger = SigningKey::from_seed([9; 32]);
    let mut unsigned: Value = serde_json::from_slice(&by(&alice(), &request, now())).unwrap();
    unsigned.as_object_mut().unwrap().remove("envelope");
    let mut edited: Value = serde_json::from_slice(&by(&alice(), &request, now())).unwrap();
    edited["resolution"]["reason"] = json!("edited");
    let early = Timestamp::from_micros(request.opened_at.micros() - 3_600_000_000);
    let files = [
        by(&stranger, &request, now()),
        by(&alice(), &planted, now()),
        by(&alice(), &request, early),
        unsigned.to_string().into_bytes(),
        edited.to_string().into_bytes(),
        b"not json".to_vec(),
        vec![b' '; 300 * 1024],
    ];
    for file in &files {
        drop_in(&folder, file);
    }
    taken(&folder);
    assert_eq!(hold(&mut client, "hello"), id, "still held");
    // The genuine one is not masked by the forgeries.
    drop_in(&folder, &granted(&folder, &id));
    taken(&folder);
    let (is_error, body) = client.execute("good.send", message("hello"));
    assert!(!is_error, "{body}");
    client.finish();
    let rejected: Vec<Value> = events(&folder)
        .into_iter()
        .filter(|(kind, _)| kind == "approval.rejected")
        .map(|(_, payload)| payload)
        .collect();
    assert_eq!(rejected.len(), files.len(), "{rejected:?}");
}

#[test]
fn a_hold_survives_a_restart_and_is_resumed_once() {
    let folder = held("");
    let mut client = Client::open(&folder);
    let id = hold(&mut client, "hello");
    let grant = granted(&folder, &id);
    client.finish();
    drop_in(&folder, &grant);
    let mut client = Client::open(&folder);
    taken(&folder);
    let (is_error, body) = client.execute("good.send", message("hello"));
    assert!(!is_error, "{body}");
    // The same file once more: it was used.
    drop_in(&folder, &grant);
    taken(&folder);
    assert_ne!(hold(&mut client, "hello"), id);
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "good.send").len(), 1);
}

#[test]
fn a_call_waits_as_long_as_it_is_told_and_its_request_lives_on() {
    let folder = held("[gateway]\napproval_timeout_ms = 300\n");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.execute("good.send", message("hello"));
    assert!(is_error);
    assert_eq!(reason(&body), ("hold".to_owned(), "approval_timeout".to_owned()));
    let id = request_of(&body);
    drop_in(&folder, &granted(&folder, &id));
    taken(&folder);
    let (is_error, body) = client.execute("good.send", message("hello"));
    assert!(!is_error, "{body}");
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "good.send").len(), 1, "it is made once");
}

#[test]
fn a_waiting_call_goes_on_when_it_is_granted_and_ends_when_it_is_refused() {
    let folder = held("[gateway]\napproval_timeout_ms = 60000\n");
    let mut client = Client::open(&folder);
    for (verdict, fails) in [(ResolutionVerdict::Granted, false), (ResolutionVerdict::Denied, true)]
    {
        let text = format!("{verdict:?}");
        let call = json!({"name": "tool_execute", "arguments":
            {"capability": "good.send", "arguments": message(&text)}});
        let waiting = client.begin("tools/call", call);
        let open = |text: &str| {
            let reader = Reader::open(folder.path(".weaver/ledger.db")).ok()?;
            let all = reader.records(&Tenant::default(), Namespace::Hold, None, 100).ok()?;
            all.into_iter().find_map(|(id, record)| {
                let value: Value = serde_json::from_slice(&record.value).unwrap();
                let same = value["hold"]["open"]["request"]["arguments"] == message(text);
                same.then(|| ApprovalRequestId::parse(id).unwrap())
            })
        };
        until("an open request", || open(&text).is_some());
        let request = stored(&folder, &open(&text).unwrap());
        drop_in(&folder, &signed(&request, verdict).to_json().unwrap());
        let answer = client.answer(&waiting);
        assert_eq!(answer["result"]["isError"], fails, "{answer}");
        let body = &answer["result"]["structuredContent"];
        if fails {
            assert_eq!(reason(body), ("deny".to_owned(), "approval_denied".to_owned()));
        }
    }
    client.finish();
}

#[test]
fn without_a_setting_a_call_parks_whose_client_can_wait_and_any_other_is_answered_at_once() {
    let folder = held("");
    let mut client = Client::open(&folder);
    let began = std::time::Instant::now();
    let (is_error, body) = client.execute("good.send", message("at once"));
    assert!(is_error);
    assert_eq!(reason(&body), ("hold".to_owned(), "approval_required".to_owned()));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let first = request_of(&body);
    let call = json!({"name": "tool_execute", "_meta": {"progressToken": "t1"}, "arguments":
        {"capability": "good.send", "arguments": message("parked")}});
    let waiting = client.begin("tools/call", call);
    let open = || {
        let reader = Reader::open(folder.path(".weaver/ledger.db")).ok()?;
        let all = reader.records(&Tenant::default(), Namespace::Hold, None, 100).ok()?;
        all.into_iter().map(|(id, _)| ApprovalRequestId::parse(id).unwrap()).find(|id| *id != first)
    };
    until("an open request", || open().is_some());
    drop_in(&folder, &granted(&folder, &open().unwrap()));
    let answer = client.answer(&waiting);
    assert_eq!(answer["result"]["isError"], false, "it went on in the same call: {answer}");
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "good.send").len(), 1);
}

#[test]
fn a_call_that_nobody_waits_for_any_more_is_not_made_when_it_is_granted() {
    let folder = held("[gateway]\napproval_timeout_ms = 60000\n");
    let mut client = Client::open(&folder);
    let call = json!({"name": "tool_execute", "arguments":
        {"capability": "good.send", "arguments": message("hello")}});
    let waiting = client.begin("tools/call", call);
    let open = || {
        let reader = Reader::open(folder.path(".weaver/ledger.db")).ok()?;
        let all = reader.records(&Tenant::default(), Namespace::Hold, None, 100).ok()?;
        all.into_iter().next().map(|(id, _)| ApprovalRequestId::parse(id).unwrap())
    };
    until("an open request", || open().is_some());
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": waiting}}));
    client.tools(); // By now the notice was read.
    std::thread::sleep(Duration::from_millis(200));
    drop_in(&folder, &granted(&folder, &open().unwrap()));
    taken(&folder);
    std::thread::sleep(Duration::from_millis(200));
    // At the end of the input a wait ends at once too.
    client.finish();
    assert!(of_capability(&folder, "call.intent", "good.send").is_empty());
}

#[test]
fn changed_documents_come_into_force_together_or_not_at_all() {
    let folder = held("");
    let mut client = Client::open(&folder);
    assert!(!client.execute("good.echo", json!({"text": "1"})).0);
    let owner = "principals.owner.roles = []\n";
    let deny = "[[rules]]\nname = \"no-echo\"\nmatch = { capability = \"good.echo\" }\neffect = \"deny\"\n";
    // A change without a signature, then one with a fault, then an older version.
    folder.append("policy/policy.toml", "# changed\n[[rules]]\nname = \"x\"\n");
    let refused = |count: usize| {
        until("a refusal on record", || {
            let Ok(reader) = Reader::open(folder.path(".weaver/ledger.db")) else { return false };
            let all = reader.events(0, 1_000).unwrap();
            let refused = |header: &[u8]| {
                String::from_utf8_lossy(header).contains("\"type\":\"policy.refused\"")
            };
            all.iter().filter(|event| refused(&event.header)).count() == count
        });
    };
    refused(1);
    assert!(!client.execute("good.echo", json!({"text": "2"})).0, "the old policy is in force");
    replace(&folder, "policy", 2, &format!("{owner}{RULES}{deny}"));
    until("the denial", || client.execute("good.echo", json!({"text": "3"})).0);
    let (_, body) = client.execute("good.echo", json!({"text": "3"}));
    assert_eq!(reason(&body).1, "explicit_deny_rule");
    replace(&folder, "policy", 1, &format!("{owner}{RULES}"));
    refused(2);
    assert!(client.execute("good.echo", json!({"text": "4"})).0, "no way back to an older version");
    client.finish();
}

#[test]
fn a_hold_is_decided_again_when_the_policy_changes() {
    let folder = held("");
    let mut client = Client::open(&folder);
    let id = hold(&mut client, "hello");
    let grant = granted(&folder, &id);
    replace(&folder, "policy", 2, &format!("principals.owner.roles = []\n{RULES}# again\n"));
    folder.append(
        "policy/policy.toml",
        "[[rules]]\nname = \"new\"\nmatch = { capability = \"x\" }\neffect = \"deny\"\n",
    );
    folder.sign("policy");
    until("another request", || hold(&mut client, "hello") != id);
    drop_in(&folder, &grant);
    taken(&folder);
    let next = hold(&mut client, "hello");
    assert_ne!(next, id, "what was granted under the old policy releases nothing");
    assert_eq!(stored(&folder, &next).supersedes.as_ref(), Some(&id));
    drop_in(&folder, &granted(&folder, &next));
    taken(&folder);
    assert!(!client.execute("good.send", message("hello")).0);
    client.finish();
}

#[test]
fn an_operator_ends_a_run_and_the_next_call_is_in_another() {
    let folder = held("");
    let mut client = Client::open(&folder);
    assert!(!client.execute("good.echo", json!({"text": "1"})).0);
    let log = {
        let reader = folder.reader();
        LogId::parse(reader.head().unwrap().log.as_str()).unwrap()
    };
    let run = |folder: &Folder| {
        let reader = folder.reader();
        let all = reader.records(&Tenant::default(), Namespace::CurrentRun, None, 10).unwrap();
        let value: Value = serde_json::from_slice(&all[0].1.value).unwrap();
        RunId::parse(value["run"].as_str().unwrap()).unwrap()
    };
    let first = run(&folder);
    let word = OperatorStatement {
        v: 1,
        action: OperatorAction::EndRun { run: first.clone() },
        log,
        approver: "alice".to_owned(),
        at: now(),
        nonce: Nonce::random(&OsRandom).unwrap(),
    };
    drop_in(&folder, &word.sign(&alice()).unwrap().to_json().unwrap());
    taken(&folder);
    until("another run", || run(&folder) != first);
    assert!(!client.execute("good.echo", json!({"text": "2"})).0);
    client.finish();
}

#[test]
fn an_armed_sentinel_holds_a_write_after_untrusted_text_and_leaves_reads_alone() {
    let untrusted = "[capabilities.\"good.people\"]\neffects = \"read_local\"\n\
                     output = { integrity = \"untrusted\" }\n";
    let folder = folder(
        &[("good", "good")],
        "[gateway]\nsentinels = [\"suspicious-memory-origin\"]\n",
        untrusted,
    );
    let mut client = Client::open(&folder);
    let write = |client: &mut Client| {
        client.call(
            "tool_execute",
            json!({"capability": "good.note", "arguments": {"text": "x"}, "justification": "asked to"}),
        )
    };
    assert!(!write(&mut client).0);
    assert!(!client.execute("good.people", json!({})).0);
    for _ in 0..3 {
        assert!(!client.execute("good.echo", json!({"text": "1"})).0, "reads go on");
    }
    let (is_error, body) = write(&mut client);
    assert!(is_error, "{body}");
    assert!(body["obstacles"].to_string().contains("signal_raised"), "{body}");
    client.finish();
    assert!(events(&folder).iter().any(|(kind, _)| kind == "signal.raised"));
}
