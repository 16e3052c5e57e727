//! The contracts and standing approvals of one suite: the reviewed ones, completed by proposals.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::corpus::Suite;
use super::weaver::Proposal;

/// The reviewed contracts, completed by the proposal for tools that they do not cover. An entry
/// under a tool's name without a namespace applies to that tool.
pub fn merge_contracts(reviewed: &Path, proposal: &str, suite: &Suite) -> Result<String> {
    let read = |text: &str| -> Result<Table> { Ok(toml::from_str(text)?) };
    let text = fs::read_to_string(reviewed);
    let text = text.with_context(|| format!("{} cannot be read", reviewed.display()))?;
    let mut out = read(&text).with_context(|| format!("{}", reviewed.display()))?;
    let table = |table: &Table| {
        table.get("capabilities").and_then(Value::as_table).cloned().unwrap_or_default()
    };
    let mut entries = Table::new();
    for (id, contract) in table(&out) {
        let plain = suite.tools.iter().any(|tool| tool["name"] == id.as_str());
        entries.insert(if plain { format!("{}.{id}", suite.surface()) } else { id }, contract);
    }
    for (id, contract) in table(&read(proposal)?) {
        if !entries.keys().any(|pattern| matches_pattern(pattern, &id)) {
            entries.insert(id, contract);
        }
    }
    out.insert("capabilities".to_owned(), Value::Table(entries));
    Ok(toml::to_string(&out)?)
}

/// The standing approvals that name this suite's tools, or the proposed ones if there are none.
pub fn standing_approvals(
    folder: &Path,
    proposal: &Proposal,
    suite: &Suite,
) -> Result<Vec<PathBuf>> {
    let ids: Vec<String> = suite
        .tools
        .iter()
        .filter_map(|tool| Some(format!("{}.{}", suite.surface(), tool["name"].as_str()?)))
        .collect();
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("{} cannot be read", folder.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    let speaks = |path: &PathBuf| {
        let terms = fs::read_to_string(path).ok().and_then(|text| text.parse::<Table>().ok());
        let patterns: Vec<String> = match terms.as_ref().and_then(|terms| terms.get("capability")) {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(all)) => {
                all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        ids.iter().any(|id| patterns.iter().any(|pattern| matches_pattern(pattern, id)))
    };
    files.retain(speaks);
    Ok(if files.is_empty() { proposal.approvals.clone() } else { files })
}

/// Whether a pattern with `*` matches the id.
fn matches_pattern(pattern: &str, id: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == id };
    let Some(mut left) = id.strip_prefix(head) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let Some((last, middle)) = parts.split_last() else { return true };
    for part in middle {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, id, fit) in [
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("a.*", "a.bc", true),
            ("*.send_*", "a.send_mail", true),
            ("*_mail", "a.send_mails", false),
        ] {
            assert_eq!(matches_pattern(pattern, id), fit, "{pattern} {id}");
        }
    }

    #[test]
    fn what_was_reviewed_counts_before_what_is_proposed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        fs::write(&file, "kind = \"contracts\"\n[capabilities.read]\neffects = \"read_local\"\n")
            .unwrap();
        let suite = Suite {
            name: "s".to_owned(),
            tools: vec![serde_json::json!({ "name": "read" })],
            ..Suite::default()
        };
        let proposal = "[capabilities.\"s.read\"]\neffects = \"destructive\"\n[capabilities.\"s.send\"]\neffects = \"write_open\"\n";
        let merged: Table =
            toml::from_str(&merge_contracts(&file, proposal, &suite).unwrap()).unwrap();
        assert_eq!(merged["capabilities"]["s.read"]["effects"].as_str(), Some("read_local"));
        assert_eq!(merged["capabilities"]["s.send"]["effects"].as_str(), Some("write_open"));
    }
}
