use std::collections::BTreeMap;

use serde_json::{Value, json};
use weaver_policy::{DocumentSource, DocumentSources, Pattern, PolicySet};
use weaver_types::{CapabilityId, Integrity, Timestamp};

use super::*;

const TOOLS: &str = include_str!("tests/tools.txt");

fn schema(arguments: &str) -> Value {
    let names = arguments.split(',').filter(|name| !name.is_empty());
    let properties = names.map(|name| (name.to_owned(), json!({ "type": "string" })));
    json!({ "type": "object", "properties": Value::Object(properties.collect()) })
}

fn words(proposal: &ContractProposal) -> (&'static str, &'static str, &'static str) {
    let effects = match proposal.effects {
        Effects::READ_LOCAL => "read_local",
        Effects::READ_OPEN => "read_open",
        Effects::WRITE_LOCAL => "write_local",
        Effects::WRITE_OPEN => "write_open",
        _ => "destructive",
    };
    let sink = match proposal.sink {
        None => "-",
        Some(SinkKind::None) => "none",
        Some(SinkKind::ExternalSend) => "external_send",
        Some(SinkKind::Payment) => "payment",
        Some(SinkKind::Credential) => "credential",
        Some(SinkKind::Destructive) => "destructive",
    };
    let trusted = proposal.output.integrity == Some(Integrity::Trusted);
    (effects, sink, if trusted { "trusted" } else { "untrusted" })
}

#[test]
fn made_up_tools_get_the_proposals_that_an_operator_would_write() {
    let mut wrong = Vec::new();
    let lines = TOOLS.lines().filter(|line| !line.starts_with('#'));
    for line in lines.clone() {
        let parts: Vec<&str> = line.split('|').collect();
        let [name, arguments, description, effects, sink, origin] = parts[..] else {
            panic!("{line}")
        };
        let schema = schema(arguments);
        let proposal = propose(&ToolDescription {
            name,
            description,
            input: Some(&schema),
            ..ToolDescription::default()
        });
        if words(&proposal) != (effects, sink, origin) {
            wrong.push(format!("{line}: {:?} {:?}", words(&proposal), proposal.reasons));
        }
    }
    assert!(lines.count() >= 120);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_clear_verb_of_reading_is_outweighed_only_by_what_is_said_of_the_tool() {
    check_hinted(include_str!("tests/reads.txt"));
}

#[test]
fn tools_that_compute_analyse_or_keep_things_here_are_not_held_and_their_like_are() {
    check_hinted(include_str!("tests/needless.txt"));
}

/// Checks tools that are given with their hints, one a line.
fn check_hinted(text: &str) {
    let mut wrong = Vec::new();
    let lines = text.lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let [name, hints, arguments, description, effects, sink] =
            line.split('|').collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        let kind = |name: &str| if name.ends_with('!') { "boolean" } else { "string" };
        let names = arguments.split(',').filter(|name| !name.is_empty());
        let all = names
            .map(|name| (name.trim_end_matches('!').to_owned(), json!({ "type": kind(name) })));
        let input = json!({ "type": "object", "properties": Value::Object(all.collect()) });
        let hint = |yes: char, no: char| match (hints.contains(yes), hints.contains(no)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let proposal = propose(&ToolDescription {
            name,
            description: &description.replace('/', "\n"),
            input: Some(&input),
            hints: ToolHints {
                read_only: hint('r', 'w'),
                destructive: hint('d', '-'),
                open_world: hint('o', 'c'),
                ..ToolHints::default()
            },
            ..ToolDescription::default()
        });
        let found = words(&proposal);
        if (found.0, found.1) != (effects, sink) {
            wrong.push(format!("{line}: {found:?} {:?}", proposal.reasons));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The effects that are proposed for these tools of one server.
fn effects_of_server(tools: &[Value]) -> Vec<&'static str> {
    let server = ServerReach::of(tools);
    let tools = tools.iter().map(|tool| ToolDescription::from_json(tool).with_server(server));
    tools.map(|tool| words(&propose(&tool)).0).collect()
}

#[test]
fn a_server_of_documents_writes_on_this_machine() {
    let tool = |name: &str, description: &str, arguments: &[&str]| json!({ "name": name, "description": description, "inputSchema": schema_of(arguments) });
    let documents = [
        tool("create_document", "Create a Word document.", &["filename"]),
        tool("add_heading", "Add a heading to a Word document.", &["filename", "text"]),
        tool("add_page_break", "Add a page break to the document.", &["filename"]),
        tool("merge_table_cells", "Merge cells of a table.", &["filename", "row"]),
        tool("search_and_replace", "Replace a text in a document.", &["filename", "find"]),
        tool("add_slide", "Add a slide.", &["presentation_id", "layout"]),
        tool("reply_to_comment", "Reply to a comment of the document.", &["filename", "text"]),
        tool("export_csv", "Export a sheet of a workbook.", &["path", "sheet"]),
        tool("apply_table_style", "Apply a style to a table.", &["filename", "style"]),
    ];
    assert_eq!(effects_of_server(&documents), ["write_local"; 9]);
    let others = [
        (tool("delete_paragraph", "Delete a paragraph.", &["filename"]), "destructive"),
        (tool("add_picture", "Add a picture to a document.", &["filename", "url"]), "write_open"),
        (tool("run_macro", "Run a macro of the workbook.", &["filename"]), "destructive"),
    ];
    for (other, effects) in others {
        let all = [&documents[..], std::slice::from_ref(&other)].concat();
        assert_eq!(effects_of_server(&all).last(), Some(&effects), "{other}");
    }
    // A service that keeps documents has other tools.
    for other in [
        tool("share_document", "Share a document.", &["document_id"]),
        tool("send_document", "Send a document.", &["filename"]),
        tool("list_files", "List files of Google Drive.", &[]),
        tool("get_document", "Get a document.", &["owner", "name"]),
    ] {
        let all = [&documents[..], std::slice::from_ref(&other)].concat();
        assert!(effects_of_server(&all)[5..].starts_with(&["write_open"]), "{other}");
    }
}

#[test]
fn documents_that_may_be_overwritten_are_bounded_by_their_kind() {
    let hints = json!({ "readOnlyHint": false, "destructiveHint": true });
    let tool = |name: &str, arguments: &[&str]| {
        json!({ "name": name, "annotations": hints,
        "description": "Changes a workbook.", "inputSchema": schema_of(arguments) })
    };
    let list = [tool("write_range", &["path", "rows"]), tool("delete_sheet", &["path", "sheet"])];
    let server = ServerReach::of(&list);
    let described = |at: usize| ToolDescription::from_json(&list[at]).with_server(server);
    let write = local_write(&described(0), &[]).unwrap();
    assert!(write.is_lowered && write.writes_documents_only());
    assert!(local_write(&described(1), &[]).is_none());
    let bounds = write.bounding_match(&[]).unwrap();
    let misfit = bounds.not.unwrap();
    let fits = |path: &str| {
        let call = json!({ "path": path, "rows": [] });
        let one = &misfit.any[0];
        let outside = one.not.as_ref().unwrap();
        !one.arguments[0].holds(&call) || outside.arguments[0].holds(&call)
    };
    assert!(fits("/home/ana/Report.XLSX") && fits("a.csv"));
    assert!(!fits("/home/ana/.bashrc") && !fits("a.sh") && !fits("a.xlsm"));
}

#[test]
fn paths_that_are_relative_to_a_folder_of_the_server_are_inside_it() {
    let folders = ["/home/ana/vault".to_owned()];
    let bounds = |description: &str| {
        let mut input = schema_of(&["filename", "content"]);
        input["properties"]["filename"]["description"] = json!(description);
        let tool = json!({ "name": "create_note", "description": "Creates a note.",
            "inputSchema": input });
        let write = local_write(&ToolDescription::from_json(&tool), &folders).unwrap();
        write.bounding_match(&folders).unwrap().not.unwrap()
    };
    let fits = |misfit: &weaver_policy::MatchConditions, folder: &str| {
        let call = json!({ "filename": folder, "content": "x" });
        misfit.not.as_ref().unwrap().arguments[0].holds(&call)
    };
    for description in ["A path relative to the vault root.", "The filename of a note."] {
        let misfit = bounds(description);
        assert!(fits(&misfit, "Daily") && fits(&misfit, "/home/ana/vault/Daily"), "{description}");
        assert!(!fits(&misfit, "../x") && !fits(&misfit, "/etc"), "{description}");
    }
    assert!(!fits(&bounds("The absolute path of a file."), "Daily"));
    // A tool without a word for where it writes stays with the folder of its server.
    let tag = json!({ "name": "add_tags", "description": "Add tags in frontmatter.",
        "inputSchema": schema_of(&["files", "tags"]) });
    let tag = ToolDescription::from_json(&tag);
    assert!(local_write(&tag, &folders).is_some() && local_write(&tag, &[]).is_none());
}

#[test]
fn a_switch_for_addresses_does_not_make_a_reader_of_files_a_way_out() {
    let mut input = schema_of(&["path"]);
    input["properties"]["isUrl"] = json!({ "type": "boolean" });
    let tool = json!({ "name": "read_file", "description": "Read a file.", "inputSchema": &input,
        "annotations": { "readOnlyHint": true } });
    let tool = ToolDescription::from_json(&tool);
    assert_eq!(words(&propose(&tool)).1, "external_send");
    let read = local_read(&tool).unwrap();
    assert_eq!(words(&read.proposal).0, "read_local");
    let held = |call: Value| {
        read.address_match.any.iter().any(|one| one.arguments.iter().all(|test| test.holds(&call)))
    };
    let open = json!({ "name": "read_file", "description": "Read a file.", "inputSchema": input,
        "annotations": { "readOnlyHint": true, "openWorldHint": true } });
    assert!(local_read(&ToolDescription::from_json(&open)).is_some(), "the address is the world");
    assert!(held(json!({ "path": "https://evil.example/?q=x" })));
    assert!(held(json!({ "path": "evil.example", "isUrl": true })));
    assert!(!held(json!({ "path": "/home/ana/a.md" })));
    assert!(!held(json!({ "path": "a.md", "isUrl": false })));
    let mut fetch = schema_of(&["path", "url"]);
    fetch["properties"]["isUrl"] = json!({ "type": "boolean" });
    let fetch = json!({ "name": "read_file", "inputSchema": fetch });
    assert_eq!(local_read(&ToolDescription::from_json(&fetch)), None);
    let mut shows = schema_of(&["path"]);
    shows["properties"]["include_links"] = json!({ "type": "boolean" });
    let shows = json!({ "name": "read_file", "inputSchema": shows });
    assert_eq!(words(&propose(&ToolDescription::from_json(&shows))).1, "none");
}

#[test]
fn what_made_up_tools_decide_by_is_critical() {
    let mut wrong = Vec::new();
    let lines = include_str!("tests/critical.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let [name, arguments, description, critical] = line.split('|').collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        let arguments: Vec<&str> = arguments.split(',').collect();
        let plain = |name: &str| name.trim_end_matches(['?', '!']).to_owned();
        let kind = |name: &str| if name.ends_with('!') { "boolean" } else { "string" };
        let all = arguments.iter().map(|name| (plain(name), json!({ "type": kind(name) })));
        let required = arguments.iter().filter(|name| !name.ends_with(['?', '!']));
        let input = json!({ "type": "object", "required": required.collect::<Vec<_>>(),
            "properties": Value::Object(all.collect()) });
        let input = Some(&input);
        let tool = ToolDescription { name, description, input, ..ToolDescription::default() };
        let proposal = propose(&tool);
        let found: Vec<&str> =
            proposal.critical_arguments.iter().map(JsonPointer::as_str).collect();
        if found.join(",") != critical {
            wrong.push(format!("{line}: {found:?} {:?}", proposal.reasons));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_of_a_server_that_shares_are_not_local() {
    let tool = |name: &str, arguments: &[&str]| json!({ "name": name, "inputSchema": schema_of(arguments) });
    let rename = tool("rename_file", &["file", "name"]);
    let note = tool("create_note", &["text"]);
    let bare = json!({ "name": "note", "description": "Writes a note.", "inputSchema": schema_of(&["text"]) });
    let words_at = |tool: &Value, server| {
        words(&propose(&ToolDescription::from_json(tool).with_server(server))).0
    };
    for (other, reach, effects) in [
        (tool("list_files", &[]), ServerReach::Unknown, "write_local"),
        (tool("get_file", &["file", "owner_path"]), ServerReach::Unknown, "write_local"),
        (tool("share_file", &["file"]), ServerReach::Service, "write_open"),
        (tool("send_letter", &["text"]), ServerReach::Service, "write_open"),
        (tool("list_things", &["owner"]), ServerReach::Service, "write_open"),
    ] {
        let tools = [rename.clone(), note.clone(), other];
        let server = ServerReach::of(&tools);
        assert_eq!(server, reach, "{}", tools[2]);
        assert_eq!(words_at(&rename, server), effects, "{}", tools[2]);
        assert_eq!(words_at(&note, server), "write_local", "a note tells nobody: {}", tools[2]);
        assert_eq!(words_at(&bare, server), "write_local", "nor does it here: {}", tools[2]);
    }
    let mut closed = rename.clone();
    closed["annotations"] = json!({ "openWorldHint": false });
    assert_eq!(words_at(&closed, ServerReach::Unknown), "write_local");
    assert_eq!(words_at(&closed, ServerReach::Service), "write_open", "its own world");
    let move_file = tool("move_file", &["source_path", "target_path"]);
    assert_eq!(words_at(&move_file, ServerReach::Service), "write_local", "a path is on a disk");
}

#[test]
fn a_server_that_names_the_file_it_keeps_everything_in_is_local() {
    let tool = |name: &str, arguments: &str, description: &str| json!({ "name": name, "description": description, "inputSchema": schema(arguments) });
    let board = [
        tool("task_create", "title,assignee,milestone", "Create a new task using Backlog.md"),
        tool("task_edit", "id,title,assignee", "Edit a Backlog.md task."),
        tool("milestone_rename", "from,to", "Rename a milestone of Backlog.md."),
        tool("milestone_remove", "name", "Remove a milestone."),
    ];
    let local = ["write_local", "write_local", "write_local", "destructive"];
    assert_eq!(effects_of_server(&board), local);
    for other in [
        tool("task_share", "id", "Share a task."),
        tool("task_list", "workspace", "List tasks of Backlog.md"),
        tool("task_assign", "id,email", "Assign a task."),
    ] {
        let effects = effects_of_server(&[&board[..], std::slice::from_ref(&other)].concat());
        assert!(!effects[..3].contains(&"write_local"), "{other}: {effects:?}");
    }
}

#[test]
fn a_database_that_runs_here_is_local() {
    let tool = |name: &str, description: &str| json!({ "name": name, "description": description, "inputSchema": schema("key,value") });
    let tools = [tool("set", "Set a Redis key-value pair."), tool("delete", "Delete a Redis key.")];
    let effects = |traits: ServerTraits| -> Vec<_> {
        let tools = tools.iter().map(|tool| ToolDescription::from_json(tool).with_server(traits));
        tools.map(|tool| words(&propose(&tool)).0).collect()
    };
    assert_eq!(effects(ServerTraits::of(&tools)), ["write_open", "destructive"]);
    let here = ServerTraits::of(&tools).on_this_machine();
    assert_eq!(effects(here), ["write_local", "destructive"]);
    let service = ServerTraits::from(ServerReach::Service).on_this_machine();
    assert_eq!(effects(service), ["write_open", "destructive"]);
}

#[test]
fn a_server_that_was_given_a_folder_keeps_its_projects_there() {
    let tool = |name: &str, arguments: &str| json!({ "name": name, "description": "Works on the memory bank.", "inputSchema": schema(arguments) });
    let bank = [tool("bank_read", "projectName,fileName"), tool("bank_write", "projectName,text")];
    let effects = |tools: &[Value], traits: ServerTraits| -> Vec<_> {
        let tools = tools.iter().map(|tool| ToolDescription::from_json(tool).with_server(traits));
        tools.map(|tool| words(&propose(&tool)).0).collect()
    };
    assert_eq!(effects(&bank, ServerTraits::of(&bank)), ["read_open", "write_open"]);
    let here = ServerTraits::of_local_files(&bank);
    assert_eq!(effects(&bank, here), ["read_local", "write_local"]);
    for other in [tool("bank_fetch", "url"), tool("bank_send", "to"), tool("open_webpage", "")] {
        let all = [&bank[..], std::slice::from_ref(&other)].concat();
        let found = effects(&all, ServerTraits::of_local_files(&all));
        assert_eq!(found[1], "write_open", "{other}");
    }
}

#[test]
fn a_list_of_operations_one_of_which_deletes_may_destroy() {
    let batch = |choices: Value| {
        let items = json!({ "properties": { "operation": { "type": "string", "enum": choices } } });
        let operations = json!({ "type": "array", "items": items });
        let input = json!({ "properties": { "operations": operations } });
        let tool =
            json!({ "name": "edit_files", "description": "Edits files.", "inputSchema": input });
        words(&propose(&ToolDescription::from_json(&tool))).0
    };
    assert_eq!(batch(json!(["copy", "delete"])), "destructive");
    assert_eq!(batch(json!(["copy", "rename"])), "write_local");
}

#[test]
fn a_list_of_tasks_is_local_unless_people_work_together_on_it() {
    let tool = |name: &str, arguments: &str, description: &str| json!({ "name": name, "description": description, "inputSchema": schema(arguments) });
    let own = [
        tool("add_task", "title,details", "Add a task to the list."),
        tool("update_task", "taskId,title", "Update a task's title."),
        tool("mark_task_done", "taskId,result", "Mark a task as done."),
        tool("delete_task", "taskId", "Delete a task."),
        tool("approve_task", "taskId", "The user confirms that a task is completed."),
    ];
    let local = ["write_local", "write_local", "write_local", "destructive", "write_open"];
    assert_eq!(effects_of_server(&own), local);
    // The same tools beside one that sorts tasks into a project, or gives them to somebody.
    for place in ["project_id,title", "boardId,title", "title,assignee"] {
        let shared = [&own[..], &[tool("create_task", place, "Create a task.")]].concat();
        let effects = effects_of_server(&shared);
        assert!(effects.iter().all(|effects| !effects.contains("local")), "{place}: {effects:?}");
    }
}

#[test]
fn what_is_put_down_and_goes_out_by_an_argument_is_sent() {
    let sink = |name: &str, properties: Value| {
        let tool = json!({ "name": name, "description": "Puts it down for later.",
            "inputSchema": { "type": "object", "properties": properties } });
        words(&propose(&ToolDescription::from_json(&tool))).1
    };
    let text = || json!({ "type": "string" });
    for (name, more, choices) in [
        ("create_draft", "send_at", None),
        ("create_draft", "scheduled_time", None),
        ("create_draft", "status", Some(["draft", "sent"])),
        ("create_post_draft", "status", Some(["draft", "publish"])),
        ("create_reminder", "notify", None),
        ("add_note", "share_with", None),
    ] {
        let mut member = text();
        if let Some(choices) = choices {
            member["enum"] = json!(choices);
        }
        assert_eq!(
            sink(name, json!({ "body": text(), more: member })),
            "external_send",
            "{name} {more}"
        );
    }
    for (name, more, choices) in [
        ("create_draft", "status", ["open", "done"]),
        ("create_draft", "format", ["html", "plain"]),
        ("create_reminder", "schedule", ["daily", "weekly"]),
        ("create_reminder", "date", ["today", "tomorrow"]),
        ("add_note", "category", ["shopping", "work"]),
    ] {
        let member = json!({ "type": "string", "enum": choices });
        assert_eq!(sink(name, json!({ "body": text(), more: member })), "none", "{name} {more}");
    }
}

#[test]
fn an_event_without_guests_and_a_draft_to_nobody_tell_nobody() {
    let sends_to = |name: &str, required: &[&str], optional: &[&str]| {
        let mut input = schema_of(&[required, optional].concat());
        input["required"] = json!(required);
        let tool = ToolDescription { name, input: Some(&input), ..ToolDescription::default() };
        let found = propose(&tool).sends_to;
        found.iter().map(|at| at.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sends_to("create_event", &["title", "start"], &["attendees"]), ["/attendees"]);
    assert_eq!(sends_to("update_draft", &["draft_id"], &["to", "body"]), ["/to"]);
    assert_eq!(sends_to("create_document", &["title"], &["folder_id"]), ["/folder_id"]);
    for (name, required, optional) in [
        ("create_event", &["title", "attendees"][..], &[][..]),
        ("update_event", &["event_id"], &["attendees"]),
        ("invite_to_event", &["title"], &["attendees"]),
        ("send_letter", &["text"], &["cc"]),
        ("share_document", &["title"], &["folder_id"]),
    ] {
        assert!(sends_to(name, required, optional).is_empty(), "{name}");
    }
}

#[test]
fn a_reader_of_files_asks_an_address_only_where_it_is_given_one() {
    let sends_to = |name: &str, description: &str, input: Value| {
        let tool = json!({ "name": name, "description": description, "inputSchema": input });
        let found = propose(&ToolDescription::from_json(&tool));
        assert_eq!(words(&found).1, "external_send", "{name}");
        found.sends_to.iter().map(|at| at.as_str().to_owned()).collect::<Vec<_>>()
    };
    let source = json!({ "type": "object", "properties": {
        "path": { "type": "string", "description": "Path to the local PDF file." },
        "url": { "type": "string", "description": "URL of the PDF file." } } });
    let list = json!({ "type": "object", "required": ["sources"],
        "properties": { "sources": { "type": "array", "items": source } } });
    let words = "Reads content/metadata/images from one or more PDFs (local/URL).";
    assert_eq!(sends_to("read_pdf", words, list), ["/sources/*/url"]);
    let mut switch = schema_of(&["path", "isUrl"]);
    switch["properties"]["isUrl"] = json!({ "type": "boolean" });
    switch["required"] = json!(["path"]);
    assert_eq!(sends_to("read_file", "Read files and URLs.", switch.clone()), ["/isUrl"]);
    // Where an address has to be given, or another argument may be one, or nothing says that the
    // path is that of a file, each call may ask an address.
    let mut required = schema_of(&["path", "url"]);
    required["required"] = json!(["path", "url"]);
    let optional = |arguments: &[&str]| {
        let mut input = schema_of(arguments);
        input["required"] = json!([]);
        input
    };
    let mut other = optional(&["path", "url", "from"]);
    other["properties"]["from"]["description"] = json!("URL to begin with.");
    for (name, description, input) in [
        ("read_file", "Read a file.", required),
        ("read_file", "Read a file.", other),
        ("get_resource", "Get a resource of the service.", optional(&["path", "url"])),
        ("read_page", "Read a local page.", optional(&["name", "url"])),
    ] {
        assert!(sends_to(name, description, input).is_empty(), "{name}");
    }
}

#[test]
fn what_is_done_to_files_names_nobody_and_a_switch_is_no_place() {
    let mut folder = schema_of(&["path", "validateGitRepo"]);
    folder["properties"]["validateGitRepo"] = json!({ "type": "boolean" });
    for (name, description, input, effects) in [
        ("git_commit", "Commit.", schema_of(&["path", "message", "filesToStage"]), "write_local"),
        ("set_working_dir", "Set the working directory.", folder, "write_local"),
        ("git_commit", "Commit.", schema_of(&["path", "message", "sendTo"]), "write_open"),
        ("git_commit", "Commit.", schema_of(&["path", "files_to_email"]), "write_open"),
        (
            "set_working_dir",
            "Set the working directory.",
            schema_of(&["path", "repo"]),
            "write_open",
        ),
    ] {
        let tool = json!({ "name": name, "description": description, "inputSchema": input });
        let found = propose(&ToolDescription::from_json(&tool));
        assert_eq!(words(&found).0, effects, "{tool}");
    }
}

#[test]
fn hints_that_every_tool_repeats_with_their_defaults_say_nothing() {
    let defaults = json!({ "readOnlyHint": false, "destructiveHint": true,
        "idempotentHint": false, "openWorldHint": true });
    let tool = |name: &str, description: &str, hints: &Value| {
        json!({ "name": name, "description": description, "annotations": hints,
        "inputSchema": schema_of(&["path"]) })
    };
    let effects = |tools: &[Value]| {
        let server = ServerTraits::of(tools);
        let proposals =
            tools.iter().map(|tool| propose(&ToolDescription::from_json(tool).with_server(server)));
        proposals.map(|found| words(&found).0).collect::<Vec<_>>()
    };
    let mut tools = vec![
        tool("read_sheet", "Read values from an Excel sheet.", &defaults),
        tool("copy_sheet", "Copy a sheet of the workbook.", &defaults),
        tool("delete_sheet", "Delete a sheet of the workbook.", &defaults),
    ];
    assert_eq!(effects(&tools), ["read_local", "write_local", "destructive"]);
    // Somebody who chose one hint chose the others too.
    tools.push(tool("list_sheets", "List the sheets.", &json!({ "readOnlyHint": true })));
    assert_eq!(effects(&tools)[..3], ["destructive"; 3]);
}

#[test]
fn records_are_proposed_where_the_output_schema_shows_them() {
    let record = json!({ "type": "object", "properties": { "id": {}, "title": {} } });
    let list = json!({ "properties": { "notes": { "type": "array", "items": record } } });
    let records = |name: &str, output: &Value| {
        let tool = ToolDescription { name, output: Some(output), ..ToolDescription::default() };
        propose(&tool).records.map(|found| (found.id, found.name.unwrap_or_default()))
    };
    let pair = |id: &str, name: &str| Some((id.to_owned(), name.to_owned()));
    assert_eq!(records("create_note", &record), pair("id", ""));
    assert_eq!(records("list_notes", &list), pair("id", "title"));
    assert_eq!(records("update_note", &record), None, "it names a record that was there");
    assert_eq!(records("create_note", &list), None);
    assert_eq!(records("list_notes", &record), None);
    assert_eq!(records("create_note", &json!({ "properties": { "title": {} } })), None);
}

#[test]
fn a_second_verb_or_a_passive_that_writes_is_no_read() {
    let effects_of = |description| {
        let tool = ToolDescription { name: "get_data", description, ..ToolDescription::default() };
        words(&propose(&tool)).0
    };
    for (description, effects) in [
        ("Gets and resets the counter.", "destructive"),
        ("Gets and resets counters.", "destructive"),
        ("Reads and updates the record.", "write_open"),
        ("This tool reads and updates records.", "write_open"),
        ("Gets the messages. Messages are deleted after that.", "destructive"),
        ("Gets the messages. Old ones will be automatically dropped.", "destructive"),
        ("Gets the file. If there is one in the cache it is overwritten.", "destructive"),
    ] {
        assert_eq!(effects_of(description), effects, "{description}");
    }
    for description in [
        "Gets news and updates.",
        "Gets news and updates about the changes that are staged.",
        "Gets deleted messages. Nothing is deleted.",
        "Gets the lock. Tells whether the door to the room is locked.",
        "Gets the messages. They can be deleted with another tool.",
        "Gets the messages. Long ones are truncated, and all are returned as text.",
    ] {
        assert_eq!(effects_of(description), "read_open", "{description}");
    }
}

#[test]
fn what_computes_from_an_address_reaches_it() {
    for (name, argument) in [
        ("extract_content", json!({ "urls": { "type": "array", "items": { "type": "string" } } })),
        ("extract_one", json!({ "url": { "type": "string" } })),
        ("convert_to_markdown", json!({ "uri": { "type": "string" } })),
        ("compare", json!({ "imageUrls": { "type": "array" } })),
        ("validate", json!({ "target": {}, "schemaUrl": {} })),
        ("translate", json!({ "text": {}, "callback": {} })),
        ("calculate_hash", json!({ "address": {} })),
        ("parse", json!({ "feeds": { "type": "array" } })),
        ("classify", json!({ "images": { "items": { "properties": { "src": {} } } } })),
        (
            "extract",
            json!({ "request": { "$ref": "#/properties/request/$defs/page",
                "$defs": { "page": { "properties": { "url": {} } } } } }),
        ),
    ] {
        let input = json!({ "type": "object", "properties": argument });
        let tool = ToolDescription { name, input: Some(&input), ..ToolDescription::default() };
        let (effects, sink, _) = words(&propose(&tool));
        assert_eq!((effects, sink), ("read_open", "external_send"), "{name}");
    }
    let sum = schema("numbers,text");
    let tool = ToolDescription { name: "extract", input: Some(&sum), ..ToolDescription::default() };
    assert_eq!(words(&propose(&tool)).0, "read_local");
}

#[test]
fn a_hint_is_believed_where_the_verb_looks_things_up_and_nothing_writes() {
    let proposed = |name, description, read_only, destructive, arguments| {
        let hints = ToolHints { read_only, destructive, ..ToolHints::default() };
        let input = schema(arguments);
        let input = Some(&input);
        let tool =
            ToolDescription { name, description, input, hints, ..ToolDescription::default() };
        words(&propose(&tool)).0
    };
    let (yes, no) = (Some(true), Some(false));
    for (name, description, read_only, destructive) in [
        ("resolve-library-id", "Resolves a name to an id and returns a list.", yes, no),
        ("read_paper", "Read passages. Use this before you include or reject it.", yes, no),
        ("scrape", "Scrape a page. Add a limit to get less. Remove what you do not need.", yes, no),
        ("API-post-search", "Search by title.", None, yes),
        ("API-query-data-source", "Query a data source.", None, yes),
        ("tavily_map", "Maps a site.", None, None),
        ("tavily_research", "Perform comprehensive research on a topic.", None, None),
        ("browser_navigate", "Navigate to a URL.", no, yes),
        ("browser_hover", "Hover over element on page.", no, yes),
    ] {
        assert_eq!(proposed(name, description, read_only, destructive, "x"), "read_open", "{name}");
    }
    for (name, description, read_only, destructive, effects) in [
        ("resolve_issue", "Resolves an issue.", None, None, "write_open"),
        ("resolve_issue", "Resolves an issue. It also deletes the branch.", yes, no, "destructive"),
        ("read_mail", "Read mail. Messages are deleted after that.", yes, no, "destructive"),
        ("read_mail", "Reads and deletes the mail.", yes, no, "destructive"),
        ("search_and_purge", "Search and purge.", None, yes, "destructive"),
        ("search", "Search, and deletes what it finds.", None, yes, "destructive"),
        ("get_next", "Get the next one.", None, yes, "destructive"),
        ("search", "Search the index.", no, yes, "destructive"),
        ("map_drive", "Maps a drive.", None, None, "destructive"),
        ("browser_click", "Click.", no, yes, "destructive"),
    ] {
        let found = proposed(name, description, read_only, destructive, "x");
        assert_eq!(found, effects, "{name}: {description}");
    }
    let hints = ToolHints { read_only: no, destructive: yes, ..ToolHints::default() };
    let url = schema("url");
    let tool = ToolDescription {
        name: "browser_navigate",
        input: Some(&url),
        hints,
        ..ToolDescription::default()
    };
    assert_eq!(words(&propose(&tool)), ("read_open", "external_send", "untrusted"));
}

#[test]
fn a_secret_read_is_restricted() {
    for name in
        ["get_api_key", "read_password", "fetch_access_token", "show_secret", "list_account_keys"]
    {
        let label =
            propose(&ToolDescription { name, description: "", ..ToolDescription::default() })
                .output;
        assert_eq!(label.confidentiality, Some(Confidentiality::Restricted), "{name}");
    }
    let count =
        ToolDescription { name: "count_tokens", description: "", ..ToolDescription::default() };
    assert_eq!(propose(&count).output.confidentiality, Some(Confidentiality::Internal));
}

#[test]
fn critical_are_the_defaults_and_the_title_of_what_can_go_without_people() {
    let schema = json!({ "type": "object", "required": ["title", "start"], "properties": {
        "title": { "type": "string" }, "start": { "type": "string" },
        "attendees": { "type": "array", "items": { "type": "string" } },
        "description": { "type": "string" } } });
    let tool = ToolDescription {
        name: "create_meeting",
        description: "",
        input: Some(&schema),
        ..ToolDescription::default()
    };
    let places = |tool: &ToolDescription<'_>| -> Vec<String> {
        let found = propose(tool).critical_arguments;
        found.iter().map(|at| at.as_str().to_owned()).collect()
    };
    assert_eq!(places(&tool), ["/attendees", "/title"]);
    let fetch = schema_of(&["url", "user"]);
    let tool = ToolDescription {
        name: "fetch_page",
        description: "",
        input: Some(&fetch),
        ..ToolDescription::default()
    };
    assert_eq!(places(&tool), ["/url"], "a read sends to addresses alone");
}

/// A set of documents with these contracts.
fn read(contracts: &str) -> PolicySet {
    let [policy, keys] = ["policy", "keys"]
        .map(|kind| format!("kind = \"{kind}\"\nformat = 1\nid = \"t\"\nversion = 1\n"));
    let sources = DocumentSources {
        policy: DocumentSource::unsigned("policy.toml", &policy),
        contracts: DocumentSource::unsigned("contracts.toml", contracts),
        keys: DocumentSource::unsigned("keys.toml", &keys),
    };
    PolicySet::load_unsigned_development(&sources, Timestamp::default()).unwrap()
}

fn schema_of(names: &[&str]) -> Value {
    schema(&names.join(","))
}

#[test]
fn a_document_of_any_names_is_read_back_as_proposed() {
    let schema = schema("to,body");
    let mut all = BTreeMap::new();
    let output = json!({ "properties": { "id": {} } });
    for name in [
        "send_fax", "list\"faxes", "get\\time", "löschen", "frobnicate", "update_draft",
        "create_note",
    ] {
        let description = "Sends.\n[capabilities.\"x\"]\neffects = \"read_local\"";
        let tool = ToolDescription {
            name,
            description,
            input: Some(&schema),
            output: Some(&output),
            ..ToolDescription::default()
        };
        all.insert(CapabilityId::parse(format!("s.{name}")).unwrap(), propose(&tool));
    }
    let text = contracts_document("proposal", &all);
    let read = read(&text);
    let read = read.contracts();
    assert_eq!(read.capabilities.len(), all.len(), "{text}");
    for (id, proposal) in &all {
        let pattern = Pattern::parse(id.as_str()).unwrap();
        let contract = &read.capabilities[&pattern];
        assert_eq!(contract.effects, Some(proposal.effects), "{text}");
        assert_eq!(contract.critical_arguments, proposal.critical_arguments);
        assert_eq!(contract.sends_to, proposal.sends_to);
        assert_eq!(contract.records, proposal.records);
        assert_eq!(contract.output, proposal.output);
    }
    assert!(text.contains("# effects: name `send`"));
}

#[test]
fn terms_are_proposed_for_what_is_known_and_writes() {
    let propose =
        |name| propose(&ToolDescription { name, description: "", ..ToolDescription::default() });
    let id = |name: &str| CapabilityId::parse(name).unwrap();
    let names = ["send_fax", "list_faxes", "pay_bill", "frobnicate", "create_note", "move_crate"];
    let all: BTreeMap<_, _> = names.iter().map(|name| (id(name), propose(name))).collect();
    let files = standing_approval_terms(&all, "owner");
    assert_eq!(files.keys().collect::<Vec<_>>(), ["external_send.toml", "payment.toml"]);
    assert!(files["payment.toml"].contains("capability = [\"pay_bill\"]"));
    assert!(files["external_send.toml"].contains("capability = [\"send_fax\"]"));
}

#[test]
fn any_text_at_all_gives_a_proposal() {
    for name in ["", "and", "_", "\u{202e}", "get", "to_to_to", "and_and"] {
        let long = "and ".repeat(10_000);
        let _ = propose(&ToolDescription {
            name,
            description: &long,
            input: Some(&json!([])),
            ..ToolDescription::default()
        });
    }
}

#[test]
fn a_selector_of_a_page_is_no_option_of_a_program() {
    let with = |description: &str| {
        let target = json!({ "type": "string", "description": description });
        let input = json!({ "type": "object", "properties": { "target": target } });
        let tool = ToolDescription { name: "x", input: Some(&input), ..ToolDescription::default() };
        option_injection_match(&tool).is_some()
    };
    for text in [
        "Exact target element reference from the page snapshot, or a unique element selector",
        "CSS selector of the part",
    ] {
        assert!(!with(text), "{text}");
    }
    assert!(with("The branch or commit to compare with") && with(""));
}
