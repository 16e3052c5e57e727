//! Loads the three signed documents from their folder.

use std::path::Path;

use weaver_policy::{
    DocumentFinding, DocumentSource, DocumentSources, MAX_DOCUMENT_BYTES, PolicySet,
};
use weaver_types::Timestamp;
use weaver_types::signature::{DocumentKind, PublicKey};

use super::error::{ConfigErrors, file_finding};
use crate::bounded_file::{self, ReadError};

/// The largest signature envelope, in bytes.
const MAX_SIGNATURE: usize = 64 * 1024;
const KINDS: [DocumentKind; 3] =
    [DocumentKind::Policy, DocumentKind::Contracts, DocumentKind::Keys];

/// The text and signature of one document.
struct DocumentText {
    name: String,
    toml: String,
    signature: Option<Vec<u8>>,
    /// The document could not be read; the text is a stand-in.
    is_unreadable: bool,
}

impl DocumentText {
    fn source(&self) -> DocumentSource<'_> {
        DocumentSource { name: &self.name, toml: &self.toml, signature: self.signature.as_deref() }
    }
}

/// Loads the documents; without a root key, signatures are not verified.
pub(super) fn load(
    folder: &Path,
    root: Option<&PublicKey>,
    now: Timestamp,
) -> Result<PolicySet, ConfigErrors> {
    let mut findings = Vec::new();
    let [policy, contracts, keys] = KINDS.map(|kind| read_document(folder, kind, &mut findings));
    let sources = DocumentSources {
        policy: policy.source(),
        contracts: contracts.source(),
        keys: keys.source(),
    };
    let loaded = match root {
        Some(root) => PolicySet::load(&sources, root, now),
        None => PolicySet::load_unsigned_development(&sources, now),
    };
    let is_unreadable =
        |name: &str| [&policy, &contracts, &keys].iter().any(|d| d.is_unreadable && d.name == name);
    match loaded {
        Ok(set) if findings.is_empty() => Ok(set),
        Ok(_) => Err(ConfigErrors::new(findings)),
        Err(error) => {
            let rest = error.findings().iter().filter(|finding| !is_unreadable(&finding.file));
            findings.extend(rest.cloned());
            Err(ConfigErrors::new(findings))
        }
    }
}

fn read_document(
    folder: &Path,
    kind: DocumentKind,
    findings: &mut Vec<DocumentFinding>,
) -> DocumentText {
    let path = folder.join(format!("{kind}.toml"));
    let name = path.display().to_string();
    let signature_path = path.with_added_extension("sig");
    let signature = match bounded_file::read_bytes(&signature_path, MAX_SIGNATURE) {
        Ok(bytes) => Some(bytes),
        Err(ReadError::Absent) => None,
        Err(error) => {
            let remedy = format!("make it readable, or run `weaver sign {name}` again");
            let file = Path::new(&signature_path).display().to_string();
            findings.push(file_finding(&file, "config.unreadable", error.to_string(), remedy));
            None
        }
    };
    match bounded_file::read_text(&path, MAX_DOCUMENT_BYTES) {
        Ok(toml) => DocumentText { name, toml, signature, is_unreadable: false },
        Err(error) => {
            let remedy = format!(
                "write the {kind} document there and run `weaver sign {name}`, or correct \
                 `folder` under `[trust]`"
            );
            findings.push(file_finding(&name, "config.unreadable", error.to_string(), remedy));
            // The other documents are still checked; findings about this stand-in text are dropped.
            let toml = format!("kind = \"{kind}\"\nformat = 1\nid = \"absent\"\nversion = 1\n");
            DocumentText { name, toml, signature, is_unreadable: true }
        }
    }
}
