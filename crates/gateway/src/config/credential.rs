//! Sources of secrets and certificates.

use weaver_drivers::http::CertificateAuthority;
use weaver_policy::DocumentFinding;

use super::expansion::{ExpansionContext, expand_list, expand_text};
use super::node::Node;
use super::tool::SecretSource;
use crate::bounded_file;

/// The largest file of certificates, in bytes.
const MAX_PEM: usize = 1024 * 1024;

/// Parses a secret source: exactly one of `env`, `file` and `command`.
pub(super) fn read_secret_source(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<SecretSource> {
    match (node.get("env"), node.get("file"), node.get("command")) {
        // The variable is looked up when a request is made.
        (Some(node), None, None) => Some(SecretSource::Env(node.text()?.to_owned())),
        (None, Some(node), None) => {
            Some(SecretSource::File(context.base.join(expand_text(node, context, findings)?)))
        }
        (None, None, Some(command)) => {
            Some(SecretSource::Command(expand_list(Some(command), context, findings)))
        }
        _ => {
            let message = "a secret has one source";
            let remedy = "write one of `env`, `file`, `command`";
            findings.push(node.finding("config.tool", message, remedy));
            None
        }
    }
}

/// Reads a file of certificates.
pub(super) fn read_certificate_authority(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<CertificateAuthority> {
    let path = context.base.join(expand_text(node, context, findings)?);
    context.record_source_file(&path);
    let read = bounded_file::read_bytes(&path, MAX_PEM).map_err(|error| error.to_string());
    let read = read
        .and_then(|pem| CertificateAuthority::from_pem(&pem).map_err(|error| error.to_string()));
    read.inspect_err(|problem| {
        let message = format!("{}: {problem}", path.display());
        findings.push(node.finding(
            "config.authority",
            message,
            "name a file of certificates in PEM",
        ));
    })
    .ok()
}
