//! Where secrets and certificates come from.

use weaver_drivers::http::Authority;
use weaver_policy::Finding;

use super::expansion::{ExpansionContext, expanded, expanded_list};
use super::node::Node;
use super::tool::SecretSource;
use crate::bounded_file;

/// The largest file of certificates, in bytes.
const MAX_PEM: usize = 1024 * 1024;

/// Where a secret comes from: the one of the three that is named.
pub(super) fn source(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<SecretSource> {
    match (node.get("env"), node.get("file"), node.get("command")) {
        // The name of a variable: its value is looked up when a request is made.
        (Some(node), None, None) => Some(SecretSource::Env(node.text()?.to_owned())),
        (None, Some(node), None) => {
            Some(SecretSource::File(context.base.join(expanded(node, context, out)?)))
        }
        (None, None, Some(command)) => {
            Some(SecretSource::Command(expanded_list(Some(command), context, out)))
        }
        _ => {
            let message = "a secret has one source";
            let remedy = "write one of `env`, `file`, `command`";
            out.push(node.finding("config.tool", message, remedy));
            None
        }
    }
}

/// A file of certificates.
pub(super) fn authority(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Authority> {
    let path = context.base.join(expanded(node, context, out)?);
    context.note_file(&path);
    let read = bounded_file::bytes(&path, MAX_PEM).map_err(|error| error.to_string());
    let read = read.and_then(|pem| Authority::from_pem(&pem).map_err(|error| error.to_string()));
    read.inspect_err(|problem| {
        let message = format!("{}: {problem}", path.display());
        out.push(node.finding("config.authority", message, "name a file of certificates in PEM"));
    })
    .ok()
}
