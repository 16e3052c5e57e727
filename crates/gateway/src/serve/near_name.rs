//! The tools that a name was probably meant for which no tool has.

use std::collections::BTreeSet;

use weaver_text::split;
use weaver_types::CapabilityId;

use super::client::Client;

/// The most names that an answer proposes.
const MAX_NAMES: usize = 3;

/// What to do about an id that no tool has.
pub(super) fn hint(client: &Client, unknown: &str) -> String {
    let snapshot = client.gateway.tool_snapshot();
    let ids = snapshot.catalog.iter().map(|item| &item.id);
    let near = of_ids(client, unknown, ids);
    question(&near).unwrap_or_else(|| "`tool_browse {}` lists all.".to_owned())
}

/// The same for a name under which the proxy would list a tool.
pub(super) fn listed_hint(client: &Client, unknown: &str) -> String {
    let snapshot = client.gateway.tool_snapshot();
    // A listed name has its server before two underscores.
    let near = of_ids(client, &unknown.replacen("__", ".", 1), snapshot.names.values());
    let name_of = |near: &String| {
        let listed = snapshot.names.iter().find(|(_, id)| id.as_str() == near);
        listed.map(|(name, _)| name.clone())
    };
    let names: Vec<String> = near.iter().filter_map(name_of).collect();
    question(&names).unwrap_or_else(|| "List the tools again.".to_owned())
}

/// The ids nearest to one. Only tools that this client is shown are looked at, so that a hidden tool
/// is told from none by nothing.
fn of_ids<'a>(
    client: &Client,
    unknown: &str,
    ids: impl Iterator<Item = &'a CapabilityId>,
) -> Vec<String> {
    let offered: Vec<&str> =
        ids.filter(|id| client.offered(id)).map(CapabilityId::as_str).collect();
    let near = nearest(unknown, &offered).into_iter();
    near.take(MAX_NAMES).map(str::to_owned).collect()
}

fn question(near: &[String]) -> Option<String> {
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => None,
        [one] => Some(format!("Did you mean {one}?")),
        several => Some(format!("Did you mean one of {}?", several.join(", "))),
    }
}

/// The names nearest to one: those of the same tool at another server, else one that differs by a
/// few letters, else those that have all its words.
fn nearest<'a>(unknown: &str, names: &[&'a str]) -> Vec<&'a str> {
    let tool = |name: &'a str| name.split_once('.').map_or(name, |(_, tool)| tool);
    let wanted = unknown.split_once('.').map_or(unknown, |(_, tool)| tool);
    let same: Vec<&str> = names.iter().copied().filter(|name| tool(name) == wanted).collect();
    if !same.is_empty() {
        return same;
    }
    if let Some(near) = weaver_text::suggest::nearest(unknown, names.iter().copied()) {
        return vec![near];
    }
    let wanted = words(wanted);
    let having = names.iter().copied().map(|name| (words(name), name));
    let mut having: Vec<(usize, &str)> = having
        .filter(|(words, _)| !wanted.is_empty() && wanted.is_subset(words))
        .map(|(words, name)| (words.len(), name))
        .collect();
    // The fewer words more, the nearer.
    having.sort_unstable();
    having.into_iter().map(|(_, name)| name).collect()
}

/// The words of a name: `readTextFile`, `read_text_file` and `read-text-file` have the same.
fn words(name: &str) -> BTreeSet<String> {
    split::words(name).into_iter().collect()
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
