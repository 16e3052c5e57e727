//! Edits of the contracts' text: what a tool does is written anew, and all that a person added to
//! its contract stays.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};
use weaver_policy_analysis::propose::ContractProposal;
use weaver_types::CapabilityId;

use super::documents;
use super::policy_text::table_entry;

/// The keys that say what a tool does, and what of its description was approved.
const CLASS_KEYS: [&str; 7] =
    ["effects", "sink", "critical_arguments", "sends_to", "rung", "lower_rung", "upstream_digest"];

/// The text with these contracts in place of what it says of these tools. `None` if one is written
/// so that it cannot be changed here.
pub(super) fn with_contracts(
    text: &str,
    contracts: &BTreeMap<CapabilityId, ContractProposal>,
) -> Option<String> {
    let mut text = text.to_owned();
    for (id, contract) in contracts {
        let entry = entry_text(id, contract)?;
        text = match has_entry(&text, id)? {
            true => with_class(&text, id, &entry)?,
            false => {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                format!("{text}{end}{entry}")
            }
        };
    }
    Some(text)
}

/// A contract as a setup writes it: its reasons, its header, and its keys.
fn entry_text(id: &CapabilityId, contract: &ContractProposal) -> Option<String> {
    let document = documents::contracts(&BTreeMap::from([(id.clone(), contract.clone())]));
    document.split_once("version = 1\n").map(|(_, entry)| entry.to_owned())
}

fn has_entry(text: &str, id: &CapabilityId) -> Option<bool> {
    let document = DeTable::parse(text).ok()?;
    let Some(all) = table_entry(document.get_ref(), "capabilities") else { return Some(false) };
    Some(table_entry(all.get_ref().as_table()?, id.as_str()).is_some())
}

/// Replaces the keys in the section of a tool, and the reasons for them above it.
fn with_class(text: &str, id: &CapabilityId, entry: &str) -> Option<String> {
    let (reasons, body) = entry.trim_start_matches('\n').split_once("[capabilities.")?;
    let (header, keys) = body.split_once('\n')?;
    let header = format!("[capabilities.{header}");
    let single = header.replace('"', "'");
    let is_header = |line: &str| {
        let line = line.split(" #").next().unwrap_or_default().trim();
        line == header || line == single
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| is_header(line))?;
    let is_reason = |line: &str| {
        let key = line.strip_prefix("# ").and_then(|rest| rest.split_once(": "));
        key.is_some_and(|(key, _)| CLASS_KEYS.contains(&key))
    };
    let above = lines.get(..at)?;
    let comment = above.iter().rev().take_while(|line| line.starts_with('#')).count();
    let (before, comment) = above.split_at_checked(at.checked_sub(comment)?)?;
    let section = lines.iter().take(at.checked_add(1)?).map(|line| line.len()).sum();
    let kept = without_class_keys(text, id, section)?;
    let mut out: String = before.concat();
    out.extend(comment.iter().filter(|line| !is_reason(line)).copied());
    let is_class_line = |line: &&str| {
        let key = line.split(['=', ':']).next().unwrap_or_default();
        CLASS_KEYS.contains(&key.trim_start_matches("# ").trim())
    };
    out.extend(reasons.split_inclusive('\n').filter(is_class_line));
    out.push_str(lines.get(at)?);
    out.extend(keys.split_inclusive('\n').filter(is_class_line));
    out.push_str(&kept);
    Some(out)
}

/// The text from an offset on, in the section of a tool, without the keys that say what it does.
fn without_class_keys(text: &str, id: &CapabilityId, from: usize) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let all = table_entry(document.get_ref(), "capabilities")?.get_ref().as_table()?;
    let own = table_entry(all, id.as_str())?.get_ref().as_table()?;
    let mut spans: Vec<_> = own
        .iter()
        .filter(|(key, _)| CLASS_KEYS.contains(&key.get_ref().as_ref()))
        .map(|(key, value): (_, &toml::Spanned<DeValue<'_>>)| key.span().start..value.span().end)
        .collect();
    spans.sort_by_key(|span| span.start);
    let (mut out, mut next) = (String::new(), from);
    for span in spans {
        let line_start = text.get(..span.start)?.rfind('\n').map_or(0, |end| end.saturating_add(1));
        out.push_str(text.get(next..line_start)?);
        let rest = text.get(span.end..)?;
        next = rest
            .find('\n')
            .map_or(text.len(), |end| span.end.saturating_add(end).saturating_add(1));
    }
    out.push_str(text.get(next..)?);
    Some(out)
}
