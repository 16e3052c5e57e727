//! Suggestions for a misspelt tool name.

use std::collections::BTreeSet;

use weaver_text::split;
use weaver_types::{CapabilityId, UpstreamName};

use super::client::Client;

/// The most names in one suggestion.
const MAX_NAMES: usize = 3;

/// What to do about an unknown id.
pub(super) fn hint(client: &Client, unknown: &str) -> String {
    // As a client in proxy mode would name it, perhaps with its own prefix.
    let unknown = unknown.strip_prefix("mcp__weaver__").unwrap_or(unknown).replacen("__", ".", 1);
    let snapshot = client.gateway.tool_snapshot();
    let ids = snapshot.catalog.iter().map(|item| &item.id);
    let near = nearest_offered(client, &unknown, ids);
    did_you_mean(&near).unwrap_or_else(|| "`tool_browse {}` lists all.".to_owned())
}

/// What to do about an unknown name in proxy mode.
pub(super) fn exported_name_hint(client: &Client, unknown: &str) -> String {
    let snapshot = client.gateway.tool_snapshot();
    // An exported name has its server before two underscores.
    let near =
        nearest_offered(client, &unknown.replacen("__", ".", 1), snapshot.exported_names.values());
    let name_of = |near: &String| {
        let listed = snapshot.exported_names.iter().find(|(_, id)| id.as_str() == near);
        listed.map(|(name, _)| name.clone())
    };
    let names: Vec<String> = near.iter().filter_map(name_of).collect();
    did_you_mean(&names).unwrap_or_else(|| "List the tools again.".to_owned())
}

/// The ids nearest to an unknown one. Only tools listed for this client are considered, so that a
/// hidden tool cannot be told from a missing one.
fn nearest_offered<'a>(
    client: &Client,
    unknown: &str,
    ids: impl Iterator<Item = &'a CapabilityId>,
) -> Vec<String> {
    let offered: Vec<&str> =
        ids.filter(|id| client.is_offered(id)).map(CapabilityId::as_str).collect();
    let near = nearest(unknown, &offered).into_iter();
    near.take(MAX_NAMES).map(str::to_owned).collect()
}

fn did_you_mean(near: &[String]) -> Option<String> {
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => None,
        [one] => Some(format!("Did you mean {one}?")),
        several => Some(format!("Did you mean one of {}?", several.join(", "))),
    }
}

/// The names nearest to an unknown one: the same tool at another server, else one that differs by a
/// few letters, else those that contain all its words.
fn nearest<'a>(unknown: &str, names: &[&'a str]) -> Vec<&'a str> {
    let tool = |name: &'a str| name.split_once('.').map_or(name, |(_, tool)| tool);
    let wanted = unknown.split_once('.').map_or(unknown, |(_, tool)| tool);
    let of_same_tool: Vec<&str> =
        names.iter().copied().filter(|name| tool(name) == wanted).collect();
    if !of_same_tool.is_empty() {
        return of_same_tool;
    }
    if let Some(similar) = weaver_text::suggest::nearest(unknown, names.iter().copied()) {
        return vec![similar];
    }
    let wanted = words(wanted);
    let candidates = names.iter().copied().map(|name| (words(name), name));
    let mut candidates: Vec<(usize, &str)> = candidates
        .filter(|(words, _)| !wanted.is_empty() && wanted.is_subset(words))
        .map(|(words, name)| (words.len(), name))
        .collect();
    // The fewer additional words, the nearer.
    candidates.sort_unstable();
    candidates.into_iter().map(|(_, name)| name).collect()
}

/// The words of a name: the same for `readTextFile`, `read_text_file` and `read-text-file`.
fn words(name: &str) -> BTreeSet<String> {
    split::words(name).into_iter().collect()
}

/// What is added to the answer about something that does not exist here: it may be at one of these
/// servers, which are unavailable. Empty if there are none.
pub(crate) fn unavailable_note(servers: &BTreeSet<UpstreamName>) -> String {
    if servers.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = servers.iter().map(UpstreamName::as_str).collect();
    format!(" (unavailable: {})", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const NAMES: [&str; 5] = [
        "files.read_text_file",
        "files.read_multiple_files",
        "files.write_file",
        "git.git_log",
        "notes.createNote",
    ];

    #[test]
    fn a_wrong_server_a_slip_and_missing_words_are_seen_through() {
        let cases: [(&str, &[&str]); 8] = [
            ("filesystem.read_text_file", &["files.read_text_file"]),
            ("write_file", &["files.write_file"]),
            ("files.wriet_file", &["files.write_file"]),
            ("files.read_text", &["files.read_text_file"]),
            ("files.read", &["files.read_text_file", "files.read_multiple_files"]),
            ("git.log", &["git.git_log"]),
            ("notes.create_note", &["notes.createNote"]),
            ("calendar.add_event", &[]),
        ];
        for (unknown, wanted) in cases {
            let mut found = nearest(unknown, &NAMES);
            let mut wanted = wanted.to_vec();
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{unknown}");
        }
    }

    #[test]
    fn a_name_of_nothing_but_marks_is_near_to_none() {
        assert!(nearest("files.__", &NAMES).is_empty());
        assert!(nearest("", &[]).is_empty());
    }
}
