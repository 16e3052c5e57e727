//! Proposes what a schema shows beside the critical arguments: who gets something (`sends_to`) and
//! which member of a record is its id (`records`).

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::critical::{self, ArgumentRole};
use weaver_types::{Effects, Impact, JsonPointer, RecordIdentity, SinkKind};

use super::output;
use super::sharing;
use super::tool_text::{self, ToolText};

/// The arguments without which the call tells nobody: the receivers of an event or a draft, the
/// folder of a new document, if none of them is required. A tool that changes what exists may tell
/// those whom an earlier call named, except for a draft, which another call sends.
pub(super) fn propose_sends_to(
    text: &ToolText,
    schema: Option<&Value>,
    effects: Effects,
    sink: SinkKind,
) -> BTreeSet<JsonPointer> {
    const KEPT: [&str; 9] = [
        "event", "meeting", "appointment", "calendar", "draft", "reminder", "document", "file",
        "folder",
    ];
    const TELLS: [&str; 7] = ["send", "invite", "notify", "share", "publish", "reply", "upload"];
    let told = sharing::sharing_word(text).or_else(|| sharing::others_see(text));
    if sink != SinkKind::ExternalSend
        || effects.impact != Impact::Write
        || !text.is_named(&KEPT)
        || text.names_verb(&TELLS)
        || told.is_some()
    {
        return BTreeSet::new();
    }
    let names = tool_text::argument_names(schema);
    let (receivers, others): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| is_receiver(name));
    let required = tool_text::required_arguments(schema);
    let is_id = |name: &&String| critical::argument_role(name) == ArgumentRole::Identifier;
    let changes = others.iter().any(is_id) && !text.is_named(&["draft"]);
    if changes || receivers.iter().any(|name| required.contains(*name)) {
        return BTreeSet::new();
    }
    receivers.iter().filter_map(|name| tool_text::pointer(name)).collect()
}

/// The arguments without which a reader of files asks no address: `url` where it takes a `path` in
/// its place, and the switch that says that the path is an address. Nothing else about it may be an
/// address.
pub(super) fn propose_read_addresses(
    text: &ToolText,
    schema: Option<&Value>,
    effects: Effects,
    sink: SinkKind,
) -> BTreeSet<JsonPointer> {
    let all = tool_text::all_arguments(schema);
    let addresses: Vec<_> =
        all.iter().filter(|one| one.says_address() || one.names_address()).collect();
    let mut paths = all.iter().filter(|one| one.is_text() && critical::names_path(one.name));
    let says_file = || text.sentences.iter().flatten().any(|word| tool_text::is_local_word(word));
    let mut reads_files = || paths.any(|path| says_file() || path.describes_file());
    if effects.impact != Impact::Read
        || sink != SinkKind::ExternalSend
        || addresses.iter().any(|one| one.listed_as_required)
        || !reads_files()
    {
        return BTreeSet::new();
    }
    let mut rest = schema.cloned().unwrap_or_default();
    addresses.iter().for_each(|one| remove_argument(&mut rest, one.name));
    match output::egress_reason(text, Some(&rest), &[]) {
        Some(_) => BTreeSet::new(),
        None => addresses.iter().map(|one| one.at.clone()).collect(),
    }
}

/// Removes the arguments of this name from a schema, at whatever depth.
fn remove_argument(schema: &mut Value, name: &str) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                properties.remove(name);
            }
            members.values_mut().for_each(|member| remove_argument(member, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_argument(item, name)),
        _ => {}
    }
}

/// Whether an argument names people, or a folder that others may read.
fn is_receiver(name: &str) -> bool {
    const PLACES: [&str; 6] = ["folder", "parent", "space", "drive", "directory", "notebook"];
    let words = weaver_text::split::identifier(name);
    let is_place = words.iter().any(|word| PLACES.contains(&word.as_str()));
    let role = critical::argument_role(name);
    is_place || matches!(role, ArgumentRole::Recipient | ArgumentRole::Email)
}

/// The members that identify the records of the output, if its schema shows them: one record with
/// an id of a tool that makes it, or a list of records with an id and a name.
pub(super) fn propose_records(
    text: &ToolText,
    output: Option<&Value>,
    effects: Effects,
) -> Option<RecordIdentity> {
    const MAKES: [&str; 6] = ["create", "add", "new", "insert", "save", "draft"];
    let output = output?;
    let properties = |schema: &Value| schema.get("properties").and_then(Value::as_object).cloned();
    let has_id = |schema: &Value| properties(schema).is_some_and(|all| all.contains_key("id"));
    let id = "id".to_owned();
    if effects.impact == Impact::Write {
        let makes = text.name.iter().any(|word| MAKES.contains(&word.as_str()));
        return (makes && has_id(output)).then_some(RecordIdentity { id, name: None });
    }
    if effects.impact != Impact::Read {
        return None;
    }
    let lists = || properties(output).unwrap_or_default();
    let items = output.get("items").cloned().or_else(|| {
        lists()
            .values()
            .find_map(|member| member.get("items").filter(|items| has_id(items)).cloned())
    })?;
    let members = properties(&items).filter(|all| all.contains_key("id"))?;
    let names = ["name", "title", "subject", "filename"];
    let name = names.iter().find(|name| members.contains_key(**name))?;
    Some(RecordIdentity { id, name: Some((*name).to_owned()) })
}
