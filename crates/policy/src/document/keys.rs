//! The keys document.

use std::collections::BTreeMap;

use weaver_types::Timestamp;
use weaver_types::signature::PublicKey;

use super::header;
use super::node::Node;
use super::page::{Page, shown};
use crate::keys::{Approver, Keys};

const KEYS: [&str; 6] = ["kind", "format", "id", "version", "expires", "approvers"];
const APPROVER: [&str; 6] = ["key", "trust", "clearance", "scopes", "not_before", "not_after"];

/// Reads a keys document.
pub(super) fn read(page: &mut Page<'_>, now: Option<Timestamp>) -> Keys {
    let empty = Keys { id: String::new(), version: 0, expires: None, approvers: BTreeMap::new() };
    let Some(root) = page.root().section(page, &KEYS) else { return empty };
    let header = header::read(page, &root, now);
    let mut approvers = BTreeMap::new();
    let mut owners: BTreeMap<[u8; 32], &str> = BTreeMap::new();
    if let Some(node) = root.get("approvers") {
        for (name, node) in node.entries(page) {
            let Some(approver) = approver(page, &node) else { continue };
            if let Some(other) = owners.insert(approver.key.to_bytes(), name) {
                let message = format!("`{}` has the same key", shown(other));
                node.wrong(
                    page,
                    "policy.shared_key",
                    message,
                    "give each person a key of their own",
                );
            }
            approvers.insert(name.to_owned(), approver);
        }
    }
    Keys { id: header.id, version: header.version, expires: header.expires, approvers }
}

fn approver(page: &mut Page<'_>, node: &Node<'_>) -> Option<Approver> {
    let section = node.section(page, &APPROVER)?;
    let key = section.need(page, "key").and_then(|n| n.parsed::<PublicKey>(page));
    let trust = section.need(page, "trust").and_then(|n| n.number(page, 0..=1_000));
    let clearance = section.need(page, "clearance").and_then(|n| n.word(page));
    let scopes = section.get("scopes").map(|n| n.texts(page)).unwrap_or_default();
    let not_before = section.get("not_before").and_then(|n| n.time(page));
    let not_after = section.get("not_after").and_then(|n| n.time(page));
    if let (Some(from), Some(to)) = (not_before, not_after)
        && from >= to
    {
        node.wrong(page, "policy.window", "`not_before` is not before `not_after`", "swap them");
    }
    let trust = u16::try_from(trust?).ok()?;
    Some(Approver { key: key?, trust, clearance: clearance?, scopes, not_before, not_after })
}
