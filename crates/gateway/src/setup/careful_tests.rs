//! Posture `careful` on the servers that people start with: what goes through, and what is held.

mod calls;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weaver_policy::{DocumentSource, DocumentSources, PolicyQuery, PolicySet};
use weaver_policy_analysis::propose::ServerTraits;
use weaver_types::formats::{ToolFormat, draft_from_tool};
use weaver_types::signature::SigningKey;
use weaver_types::{
    CapabilityId, CapabilityRequest, Decision, Effects, Label, Operation, Principal, PrincipalId,
    SinkKind, Timestamp, UpstreamName, Verdict,
};

use calls::{dangerous, files, ordinary};

use super::documents::{GatewayDraft, PublicKeys};
use super::permission::Permission;
use super::posture::Posture;
use super::review::{Review, ReviewRow};
use super::selection::{Selection, ServerFolders};
use crate::listing::ListedFeature;
use crate::serve::{FeatureKind, ToolDefinition, propose_definition};

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
/// The folder that the filesystem server was set up for; that of the git server is `app` in it.
const WORK: &str = "/home/ana/work";

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy-analysis/tests/data/servers")
}

fn listed(server: &str) -> (UpstreamName, Vec<ListedFeature>) {
    let list: Value = match server {
        "files" => files(),
        _ => {
            let text = std::fs::read_to_string(data().join(format!("{server}.json"))).unwrap();
            serde_json::from_str(&text).unwrap()
        }
    };
    let reach = ServerTraits::of(list["tools"].as_array().unwrap());
    let tools = list["tools"].as_array().unwrap().iter().map(|tool| {
        let name = tool["name"].as_str().unwrap();
        let capability =
            propose_definition(server, ToolDefinition { name, definition: tool }, None);
        let definition = tool.clone();
        ListedFeature {
            kind: FeatureKind::Tool,
            definition,
            capability,
            server: reach,
            instructions: None,
        }
    });
    (UpstreamName::parse(server).unwrap(), tools.collect())
}

/// The texts of the documents of a posture for these servers.
fn draft(posture: Posture, servers: &[&str]) -> GatewayDraft {
    let folders = ServerFolders::from([
        ("filesystem".to_owned(), vec![WORK.to_owned()]),
        ("git".to_owned(), vec![path("app")]),
        ("files".to_owned(), vec![WORK.to_owned()]),
    ]);
    draft_in(posture, servers, &folders)
}

fn draft_in(posture: Posture, servers: &[&str], folders: &ServerFolders) -> GatewayDraft {
    let servers = servers.iter().map(|server| listed(server)).collect();
    let (review, problems) = Review::propose(posture, servers, folders);
    assert_eq!(problems, Vec::<String>::new());
    let key = SigningKey::from_seed([7; 32]).public();
    let keys = PublicKeys { root: &key, owner: &SigningKey::from_seed([8; 32]).public() };
    GatewayDraft::from_review(&Selection::default(), &review, keys, Path::new(WORK))
}

/// The documents of a posture for these servers.
fn set(posture: Posture, servers: &[&str]) -> PolicySet {
    loaded(&draft(posture, servers))
}

fn loaded(draft: &GatewayDraft) -> PolicySet {
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", &draft.policy),
        contracts: DocumentSource::unsigned("contracts.toml", &draft.contracts),
        keys: DocumentSource::unsigned("keys.toml", &draft.keys),
    };
    PolicySet::load_unsigned_development(&sources, NOW)
        .unwrap_or_else(|error| panic!("{error}\n{}", draft.policy))
}

const SERVERS: [&str; 13] = [
    "everything", "fetch", "filesystem", "git", "memory", "sequential-thinking", "sqlite", "time",
    "github", "gitlab", "slack", "brave-search", "files",
];

fn verdict(set: &PolicySet, id: &str, arguments: &Value) -> Verdict {
    decide(set, id, arguments).verdict()
}

fn decide(set: &PolicySet, id: &str, arguments: &Value) -> Decision {
    decide_as(Operation::Invoke, set, id, Some(arguments))
}

fn decide_as(
    operation: Operation,
    set: &PolicySet,
    id: &str,
    arguments: Option<&Value>,
) -> Decision {
    decide_in(&Label::clean(), operation, set, id, arguments)
}

fn decide_in(
    label: &Label,
    operation: Operation,
    set: &PolicySet,
    id: &str,
    arguments: Option<&Value>,
) -> Decision {
    let (server, name) = id.split_once('.').unwrap();
    let tools = listed(server).1;
    let tool = tools.into_iter().find(|tool| tool.definition["name"] == name);
    let tool = tool.unwrap_or_else(|| panic!("no {id}")).capability.unwrap();
    let capability = set.apply_contract(&tool).unwrap();
    let principal = set.principal(&PrincipalId::parse("agent").unwrap()).unwrap();
    let principal: Principal = principal;
    let request = CapabilityRequest::new(CapabilityId::parse(id).unwrap(), "");
    let query = PolicyQuery {
        arguments,
        operation,
        label,
        now: NOW,
        ..PolicyQuery::new(&capability, &principal, &request)
    };
    set.decide(&query)
}

fn path(name: &str) -> String {
    format!("{WORK}/{name}")
}

#[test]
fn no_dangerous_call_goes_through_unheld() {
    let set = set(Posture::Careful, &SERVERS);
    let calls = dangerous();
    assert!(calls.len() >= 40);
    let through: Vec<String> = calls
        .iter()
        .filter(|(id, arguments)| verdict(&set, id, arguments) < Verdict::Hold)
        .map(|(id, arguments)| format!("{id} {arguments}"))
        .collect();
    assert_eq!(through, Vec::<String>::new());
}

#[test]
fn local_work_goes_through_without_a_question() {
    let set = set(Posture::Careful, &SERVERS);
    let stopped: Vec<String> = ordinary()
        .iter()
        .filter(|(id, arguments)| verdict(&set, id, arguments) != Verdict::Allow)
        .map(|(id, arguments)| format!("{id} {arguments}"))
        .collect();
    assert_eq!(stopped, Vec::<String>::new());
}

/// Where nobody vouches for anything, only calls of sinks wait: ordinary calls name no other machine.
#[test]
fn after_untrusted_input_local_work_goes_on() {
    let set = set(Posture::Careful, &SERVERS);
    let label = Label::undeclared_output();
    let stopped: Vec<String> = ordinary()
        .iter()
        .map(|(id, arguments)| {
            (id, arguments, decide_in(&label, Operation::Invoke, &set, id, Some(arguments)))
        })
        .filter(|(.., decision)| !decision.is_allowed())
        .map(|(id, arguments, decision)| format!("{id} {arguments}: {}", decision.detail()))
        .filter(|stopped| !stopped.contains("nobody knows where the arguments come from"))
        .collect();
    assert_eq!(stopped, Vec::<String>::new());
}

/// Whoever may make a call, or has it released, may look into what it returned.
#[test]
fn the_result_of_every_call_can_be_looked_into() {
    for posture in [Posture::Observe, Posture::Careful, Posture::Locked] {
        let set = set(posture, &SERVERS);
        let view = |id: &str| decide_as(Operation::View, &set, id, None);
        let calls = [dangerous(), ordinary()].concat();
        let stopped: Vec<String> = calls
            .iter()
            .map(|(id, _)| (id, view(id)))
            .filter(|(_, decision)| !decision.is_allowed())
            .map(|(id, decision)| format!("{id}: {}", decision.detail()))
            .collect();
        assert_eq!(stopped, Vec::<String>::new(), "{posture:?}");
    }
}

#[test]
fn what_the_protocol_defines_is_not_judged_by_the_words_for_tools() {
    let listed = [
        (FeatureKind::ResourceReading, "notes.resources/read"),
        (FeatureKind::Prompt, "notes.prompts/get/review"),
        (FeatureKind::Completion, "notes.completion/complete"),
    ]
    .map(|(kind, id)| {
        let words = "Sends, uploads or deletes anything at a URL.";
        let definition = json!({ "name": "read", "description": words });
        let id = CapabilityId::parse(id).unwrap();
        let capability = draft_from_tool(ToolFormat::Mcp, id, &definition).build().unwrap();
        let server = ServerTraits::default();
        ListedFeature { kind, definition, capability: Ok(capability), server, instructions: None }
    });
    let servers = vec![(UpstreamName::parse("notes").unwrap(), listed.into())];
    let (review, _) = Review::propose(Posture::Careful, servers, &ServerFolders::new());
    let proposed =
        |row: &ReviewRow| (row.proposal.effects, row.proposal.effective_sink(), row.permission);
    let local_read = (Effects::READ_LOCAL, SinkKind::None, Permission::Allow);
    assert_eq!(review.rows().iter().map(proposed).collect::<Vec<_>>(), [local_read; 3]);
}

#[test]
fn what_is_held_says_what_would_have_fitted() {
    let set = set(Posture::Careful, &SERVERS);
    let said = |id, arguments| decide(&set, id, &arguments).detail().to_owned();
    let write = said("filesystem.write_file", json!({ "path": "notes.md", "content": "x" }));
    let begins = format!("a path does not begin with `{WORK}`, which the server was set up for");
    assert!(write.ends_with(&begins), "{write}");
    let query = said("sqlite.write_query", json!({ "query": "delete from orders" }));
    assert!(
        query.contains("or a new table, view, column or index")
            && query.ends_with("not understood: `delete`"),
        "{query}"
    );
    let read = "select * from orders o join read_csv('x.csv') c on o.id = c.id";
    let query = said("sqlite.write_query", json!({ "query": read }));
    assert!(query.ends_with("not understood: the function `read_csv`"), "{query}");
}

#[test]
fn observe_stops_nothing_of_it_and_says_what_careful_would() {
    let (observe, careful) = (set(Posture::Observe, &SERVERS), set(Posture::Careful, &SERVERS));
    assert!(observe.has_unenforced_parts() && !careful.has_unenforced_parts());
    for (id, arguments) in dangerous().iter().chain(&ordinary()) {
        assert_eq!(verdict(&observe, id, arguments), Verdict::Allow, "{id} {arguments}");
    }
}

#[test]
fn locked_holds_everything() {
    let set = set(Posture::Locked, &SERVERS);
    for (id, arguments) in ordinary() {
        assert_eq!(verdict(&set, id, &arguments), Verdict::Hold, "{id} {arguments}");
    }
}

#[test]
fn a_folder_in_the_system_that_a_server_was_set_up_for_is_its_own() {
    let folder = |name: &str, folders: &[&str]| {
        (name.to_owned(), folders.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
    };
    let folders = [folder("filesystem", &["/usr/local/app", "."]), folder("files", &[WORK])];
    let draft = draft_in(Posture::Careful, &SERVERS, &folders.into());
    let set = loaded(&draft);
    for (id, path, wanted) in [
        ("filesystem.write_file", "/usr/local/app/notes.md", Verdict::Allow),
        ("filesystem.write_file", "notes.md", Verdict::Allow),
        ("filesystem.write_file", "/usr/local/notes.md", Verdict::Hold),
        ("filesystem.write_file", "../notes.md", Verdict::Hold),
        ("filesystem.write_file", "/usr/local/app/.ssh/config", Verdict::Hold),
        ("filesystem.write_file", ".git/hooks/pre-commit", Verdict::Hold),
        ("filesystem.write_file", "/etc/passwd", Verdict::Hold),
        ("files.write_file", "/usr/local/app/notes.md", Verdict::Hold),
    ] {
        let arguments = json!({ "path": path, "content": "x" });
        assert_eq!(verdict(&set, id, &arguments), wanted, "{id} {path}");
    }
    assert!(draft.policy.contains("sensitive-places-2"), "{}", draft.policy);
}

#[test]
fn the_policy_lists_the_sensitive_places_once() {
    for posture in [Posture::Observe, Posture::Careful] {
        let policy = draft(posture, &SERVERS).policy;
        assert_eq!(policy.matches("\"*/.ssh*\"").count(), 1, "{policy}");
        assert!(policy.contains("{ list = \"sensitive-places\" }"), "{policy}");
    }
    let mut listed = super::local_writes::sensitive_places(&[]);
    listed.sort();
    let set = set(Posture::Careful, &SERVERS);
    let rules = set.policy().rules.iter().filter(|rule| rule.name.starts_with("sensitive-places"));
    let tests = rules.flat_map(|rule| &rule.matches.arguments);
    let lists: Vec<_> = tests.map(|test| test.any_path.clone()).collect();
    assert!(!lists.is_empty() && lists.iter().all(|list| *list == listed), "{lists:?}");
    let policy = draft(Posture::Locked, &SERVERS).policy;
    assert!(!policy.contains("[lists]"), "{policy}");
}

/// A contract that somebody writes or corrects by hand is bounded too.
#[test]
fn no_writer_on_this_machine_writes_sensitive_places() {
    let draft = draft(Posture::Careful, &["time"]);
    let contracts = format!(
        "{}\n[capabilities.\"time.get_current_time\"]\neffects = \"write_local\"\n",
        draft.contracts.split("[capabilities.\"time.get_current_time\"]").next().unwrap()
    );
    let set = loaded(&GatewayDraft { contracts, ..draft });
    let write = |path: &str| {
        verdict(&set, "time.get_current_time", &json!({ "output_path": path, "timezone": "x" }))
    };
    for place in ["/home/ana/.ssh/authorized_keys", "/root/.bashrc", "~/.zshrc", "/etc/x", ".git/x"]
    {
        assert_eq!(write(place), Verdict::Hold, "{place}");
    }
    assert_eq!(write("/home/ana/work/a.png"), Verdict::Allow);
}

/// A tool that reads may do whatever it is told, whatever the arguments are called.
#[test]
fn no_read_is_told_to_change_something_unasked() {
    let set = set(Posture::Careful, &SERVERS);
    for (arguments, wanted) in [
        (json!({ "timezone": "mutation { deleteRepository(id: 1) { id } }" }), Verdict::Hold),
        (json!({ "timezone": "UTC", "request": { "query": "mutation{x}" } }), Verdict::Hold),
        (json!({ "timezone": "1; DROP TABLE x" }), Verdict::Hold),
        (json!({ "timezone": "UTC", "method": "POST" }), Verdict::Hold),
        (json!({ "timezone": "UTC", "operation": "bulkDelete" }), Verdict::Hold),
        (json!({ "timezone": "UTC", "method": "GET" }), Verdict::Allow),
    ] {
        assert_eq!(verdict(&set, "time.get_current_time", &arguments), wanted, "{arguments}");
    }
}

/// Also a write on this machine passes its arguments to a program. A text for people may begin with a dash.
#[test]
fn no_argument_of_a_write_here_is_an_option() {
    let set = set(Posture::Careful, &SERVERS);
    let repo = path("app");
    for (id, arguments, wanted) in [
        ("git.git_add", json!({ "files": ["--pathspec-from-file=x"] }), Verdict::Hold),
        ("git.git_commit", json!({ "message": "--file=/etc/passwd" }), Verdict::Hold),
        ("git.git_commit", json!({ "message": "-m is an option" }), Verdict::Allow),
    ] {
        let mut arguments = arguments;
        arguments["repo_path"] = json!(repo);
        assert_eq!(verdict(&set, id, &arguments), wanted, "{id} {arguments}");
    }
}
