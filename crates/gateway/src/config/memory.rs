//! `[memory]`: durable memory as tools of the gateway.

use std::path::{Path, PathBuf};

use contextweaver::memory::Limits;
use weaver_policy::DocumentFinding;

use super::node::Node;

/// The suffix that makes the memory file's name from the ledger's.
pub(super) const FILE_SUFFIX: &str = ".memory";

/// Durable memory, which clients use through four tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySettings {
    /// The file.
    pub file: PathBuf,
    /// Its capacity.
    pub limits: Limits,
}

/// Parses the section, if present.
pub(super) fn read(
    node: Option<&Node>,
    base: &Path,
    store: Option<&Path>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<MemorySettings> {
    let section = node?;
    let most = Limits::default();
    let integer = |name: &str| section.get(name)?.integer();
    let bytes = integer("value_bytes").and_then(|bytes| usize::try_from(bytes).ok());
    let limits = Limits {
        values: integer("values").unwrap_or(most.values),
        facts: integer("facts").unwrap_or(most.facts),
        episodes: integer("episodes").unwrap_or(most.episodes),
        value_bytes: bytes.unwrap_or(most.value_bytes),
    };
    let Some(named) = section.get("file") else {
        return Some(MemorySettings { file: default_file(store?), limits });
    };
    let text = named.text()?;
    let file = base.join(text);
    if text.trim().is_empty() || text.contains('\0') || Some(file.as_path()) == store {
        let message = "this is not a file for memory";
        let remedy = "write a path of its own, or remove it for the one beside the ledger";
        findings.push(named.finding("config.path", message, remedy));
        return None;
    }
    Some(MemorySettings { file, limits })
}

/// The default file next to a ledger.
pub(super) fn default_file(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(FILE_SUFFIX);
    PathBuf::from(name)
}
