//! The three signed documents in their folder.

use std::path::Path;

use weaver_policy::{Finding, MAX_BYTES, PolicySet, Source, Sources};
use weaver_types::Timestamp;
use weaver_types::signature::{Kind, PublicKey};

use super::error::{ConfigErrors, whole};
use crate::bounded_file::{self, ReadError};

/// The largest signature envelope, in bytes.
const MAX_SIGNATURE: usize = 64 * 1024;
const KINDS: [Kind; 3] = [Kind::Policy, Kind::Contracts, Kind::Keys];

/// The texts of one document.
struct Document {
    name: String,
    toml: String,
    signature: Option<Vec<u8>>,
    /// Nothing of this document could be read.
    absent: bool,
}

impl Document {
    fn source(&self) -> Source<'_> {
        Source { name: &self.name, toml: &self.toml, signature: self.signature.as_deref() }
    }
}

/// Loads the documents; without a root key, signatures are not looked at.
pub(super) fn load(
    folder: &Path,
    root: Option<&PublicKey>,
    now: Timestamp,
) -> Result<PolicySet, ConfigErrors> {
    let mut findings = Vec::new();
    let [policy, contracts, keys] = KINDS.map(|kind| read(folder, kind, &mut findings));
    let sources =
        Sources { policy: policy.source(), contracts: contracts.source(), keys: keys.source() };
    let loaded = match root {
        Some(root) => PolicySet::load(&sources, root, now),
        None => PolicySet::load_unsigned_development(&sources, now),
    };
    let absent =
        |name: &str| [&policy, &contracts, &keys].iter().any(|d| d.absent && d.name == name);
    match loaded {
        Ok(set) if findings.is_empty() => Ok(set),
        Ok(_) => Err(ConfigErrors::new(findings)),
        Err(error) => {
            let rest = error.findings().iter().filter(|finding| !absent(&finding.file));
            findings.extend(rest.cloned());
            Err(ConfigErrors::new(findings))
        }
    }
}

fn read(folder: &Path, kind: Kind, findings: &mut Vec<Finding>) -> Document {
    let path = folder.join(format!("{kind}.toml"));
    let name = path.display().to_string();
    let mut beside = path.clone().into_os_string();
    beside.push(".sig");
    let signature = match bounded_file::bytes(Path::new(&beside), MAX_SIGNATURE) {
        Ok(bytes) => Some(bytes),
        Err(ReadError::Absent) => None,
        Err(error) => {
            let remedy = format!("make it readable, or run `weaver sign {name}` again");
            let file = Path::new(&beside).display().to_string();
            findings.push(whole(&file, "config.unreadable", error.to_string(), remedy));
            None
        }
    };
    match bounded_file::text(&path, MAX_BYTES) {
        Ok(toml) => Document { name, toml, signature, absent: false },
        Err(error) => {
            let remedy = format!(
                "write the {kind} document there and run `weaver sign {name}`, or correct \
                 `folder` under `[trust]`"
            );
            findings.push(whole(&name, "config.unreadable", error.to_string(), remedy));
            // The other documents are read all the same; what is said of this text is dropped.
            let toml = format!("kind = \"{kind}\"\nformat = 1\nid = \"absent\"\nversion = 1\n");
            Document { name, toml, signature, absent: true }
        }
    }
}
