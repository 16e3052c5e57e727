//! Reads the keys document.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::signature::{DocumentKind, PublicKey};
use weaver_types::{PrincipalId, Timestamp};

use super::header;
use super::node::{Node, Section};
use super::reader::{DocumentReader, excerpt};
use crate::keys::{Approver, DocumentSigner, Keys, TimedKey};

const KEYS: [&str; 7] = ["kind", "format", "id", "version", "expires", "approvers", "signers"];
const APPROVER: [&str; 10] = [
    "key", "keys", "trust", "clearance", "scopes", "roles", "not_before", "not_after",
    "principals", "operator",
];
const KEY: [&str; 3] = ["key", "not_before", "not_after"];
const SIGNER: [&str; 4] = ["key", "documents", "not_before", "not_after"];
/// The name given to an approver's key that is written as `key` instead of in `keys`.
const SINGLE_KEY_NAME: &str = "key";

/// The owner of each key, for messages.
type KeyOwners = BTreeMap<[u8; 32], String>;

/// Reads a keys document.
pub(super) fn read(reader: &mut DocumentReader<'_>, now: Option<Timestamp>) -> Keys {
    let mut out = Keys {
        id: String::new(),
        version: 0,
        expires: None,
        approvers: BTreeMap::new(),
        signers: BTreeMap::new(),
    };
    let Some(root) = reader.root().section(reader, &KEYS) else { return out };
    let header = header::read(reader, &root, now);
    (out.id, out.version, out.expires) = (header.id, header.version, header.expires);
    let mut owners = KeyOwners::new();
    for (name, node) in root.get("approvers").map(|n| n.entries(reader)).unwrap_or_default() {
        let Some(approver) = approver(reader, &node) else { continue };
        for key in approver.keys.values() {
            register_owner(reader, &node, &mut owners, key, excerpt(name).to_string());
        }
        out.approvers.insert(name.to_owned(), approver);
    }
    for (name, node) in root.get("signers").map(|n| n.entries(reader)).unwrap_or_default() {
        let Some(signer) = signer(reader, &node) else { continue };
        register_owner(
            reader,
            &node,
            &mut owners,
            &signer.key,
            format!("signer {}", excerpt(name)),
        );
        out.signers.insert(name.to_owned(), signer);
    }
    out
}

/// Registers the owner of a key. One key belongs to one person in one capacity, so a signature
/// always identifies its signer.
fn register_owner(
    reader: &mut DocumentReader<'_>,
    node: &Node<'_>,
    owners: &mut KeyOwners,
    key: &TimedKey,
    owner: String,
) {
    if let Some(other) = owners.insert(key.key.to_bytes(), owner) {
        let message = format!("`{other}` has the same key");
        node.report(reader, "policy.shared_key", message, "give each person a key of their own");
    }
}

fn approver(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<Approver> {
    let section = node.section(reader, &APPROVER)?;
    let keys = keys(reader, node, &section);
    let trust = section.required(reader, "trust").and_then(|n| n.number(reader, 0..=1_000));
    let clearance = section.required(reader, "clearance").and_then(|n| n.keyword(reader));
    let scopes = section.get("scopes").map(|n| n.texts(reader)).unwrap_or_default();
    let roles = section.get("roles").map(|n| n.texts(reader)).unwrap_or_default();
    let principals = section.get("principals").map(|n| principals(reader, &n)).unwrap_or_default();
    let operator = section.get("operator").and_then(|n| n.boolean(reader)).unwrap_or_default();
    let trust = u16::try_from(trust?).ok()?;
    let (keys, clearance) = (keys?, clearance?);
    Some(Approver { keys, trust, clearance, scopes, roles, principals, operator })
}

fn principals(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> BTreeSet<PrincipalId> {
    let mut out = BTreeSet::new();
    for text in node.texts(reader) {
        match PrincipalId::parse(&text) {
            Ok(id) => {
                out.insert(id);
            }
            Err(error) => {
                let remedy = "write the ids of principals";
                node.report(reader, "policy.id", error.to_string(), remedy);
            }
        }
    }
    out
}

/// Reads the keys of a person: either `key` with its times, or a table `keys` of those.
fn keys(
    reader: &mut DocumentReader<'_>,
    node: &Node<'_>,
    section: &Section<'_>,
) -> Option<BTreeMap<String, TimedKey>> {
    let Some(named) = section.get("keys") else {
        return Some(BTreeMap::from([(SINGLE_KEY_NAME.to_owned(), key(reader, node, section)?)]));
    };
    for short in KEY {
        if let Some(stray) = section.get(short) {
            let message = format!("`{short}` stands beside `keys`");
            let remedy = "write every key with its times inside `keys`";
            stray.report(reader, "policy.two_forms", message, remedy);
        }
    }
    let mut out = BTreeMap::new();
    for (name, entry) in named.entries(reader) {
        let inner = entry.section(reader, &KEY)?;
        out.insert(name.to_owned(), key(reader, &entry, &inner)?);
    }
    if out.is_empty() {
        node.report(reader, "policy.missing_key", "there is no key in `keys`", "write one");
        return None;
    }
    Some(out)
}

/// Reads `key`, `not_before` and `not_after`.
fn key(
    reader: &mut DocumentReader<'_>,
    node: &Node<'_>,
    section: &Section<'_>,
) -> Option<TimedKey> {
    let key = section.required(reader, "key").and_then(|n| n.parse::<PublicKey>(reader));
    let not_before = section.get("not_before").and_then(|n| n.timestamp(reader));
    let not_after = section.get("not_after").and_then(|n| n.timestamp(reader));
    if let (Some(from), Some(to)) = (not_before, not_after)
        && from >= to
    {
        node.report(reader, "policy.window", "`not_before` is not before `not_after`", "swap them");
    }
    Some(TimedKey { key: key?, not_before, not_after })
}

fn signer(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<DocumentSigner> {
    let section = node.section(reader, &SIGNER)?;
    let key = key(reader, node, &section);
    let list = section.required(reader, "documents")?;
    let mut documents = BTreeSet::new();
    for word in list.nonempty_texts(reader) {
        match word.as_str() {
            "policy" => documents.insert(DocumentKind::Policy),
            "contracts" => documents.insert(DocumentKind::Contracts),
            other => {
                let message = format!("`{}` cannot be signed by anybody else", excerpt(other));
                list.report(reader, "policy.word", message, "write policy or contracts");
                false
            }
        };
    }
    Some(DocumentSigner { key: key?, documents })
}
