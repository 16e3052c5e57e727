//! Reads the issuers of access tokens that a policy document trusts.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::PrincipalId;

use super::node::{Node, Section};
use super::reader::DocumentReader;
use crate::issuer::TrustedIssuer;

const KEYS: [&str; 8] = [
    "issuer", "jwks_uri", "introspection_endpoint", "groups_claim", "required_scopes", "subjects",
    "groups", "scopes",
];
/// The maximum length of an issuer's name, which is a prefix of its principals' ids.
const MAX_NAME: usize = 32;

/// Reads one issuer.
pub(super) fn issuer(
    reader: &mut DocumentReader<'_>,
    name: &str,
    node: &Node<'_>,
) -> Option<TrustedIssuer> {
    let section = node.section(reader, &KEYS)?;
    let slug = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(slug) {
        let remedy = "write up to 32 of a-z, 0-9, `_` and `-`";
        node.report(reader, "policy.value", "this cannot name an issuer", remedy);
    }
    let issuer = section.required(reader, "issuer");
    let issuer = issuer.and_then(|node| address(reader, &node));
    let mut read = TrustedIssuer::new(issuer?);
    read.jwks_uri = section.get("jwks_uri").and_then(|node| address(reader, &node));
    let introspection = section.get("introspection_endpoint");
    read.introspection_endpoint = introspection.and_then(|node| address(reader, &node));
    if let Some(claim) = section.get("groups_claim").and_then(|node| node.text(reader)) {
        claim.clone_into(&mut read.groups_claim);
    }
    if let Some(node) = section.get("required_scopes") {
        read.required_scopes = node.nonempty_texts(reader);
    }
    if let Some(node) = section.get("subjects") {
        for (subject, node) in node.entries(reader) {
            if let Some(id) = node.parse::<PrincipalId>(reader) {
                read.subjects.insert(subject.to_owned(), id);
            }
        }
    }
    read.groups = roles(reader, &section, "groups");
    read.scopes = roles(reader, &section, "scopes");
    Some(read)
}

fn roles(
    reader: &mut DocumentReader<'_>,
    section: &Section<'_>,
    name: &str,
) -> BTreeMap<String, BTreeSet<String>> {
    let Some(node) = section.get(name) else { return BTreeMap::new() };
    let entries = node.entries(reader);
    entries.into_iter().map(|(key, node)| (key.to_owned(), node.nonempty_texts(reader))).collect()
}

/// Reads a URL whose answers nobody on the network can forge: `https`, or `http` on this machine.
fn address(reader: &mut DocumentReader<'_>, node: &Node<'_>) -> Option<String> {
    let text = node.text(reader)?;
    let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control())
        && !text.contains(['#', '@', '?', '\\']);
    let host = |rest: &str| rest.split('/').next().unwrap_or_default().to_owned();
    let legal = match text.split_once("://") {
        Some(("https", rest)) => !host(rest).is_empty(),
        Some(("http", rest)) => {
            let host = host(rest);
            let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
            matches!(name, "127.0.0.1" | "[::1]" | "localhost")
        }
        _ => false,
    };
    if legal && plain {
        return Some(text.to_owned());
    }
    let remedy = "write https:// and a host, without a user, a query or a fragment";
    node.report(reader, "policy.value", "this is not an address of an issuer", remedy);
    None
}
