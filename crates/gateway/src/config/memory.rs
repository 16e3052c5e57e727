//! Durable memory as tools of the gateway: `[memory]`.

use std::path::{Path, PathBuf};

use contextweaver::memory::Limits;
use weaver_policy::Finding;

use super::node::Node;

/// How the name of the file goes on after that of the ledger, unless another is named.
pub(super) const BESIDE: &str = ".memory";

/// Durable memory, which the gateway's client may use through four tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The file.
    pub file: PathBuf,
    /// How much it takes.
    pub limits: Limits,
}

/// Reads the section; nothing where there is none.
pub(super) fn read(
    node: Option<&Node>,
    base: &Path,
    store: Option<&Path>,
    out: &mut Vec<Finding>,
) -> Option<Memory> {
    let section = node?;
    let most = Limits::default();
    let whole = |name: &str| section.get(name)?.whole();
    let bytes = whole("value_bytes").and_then(|bytes| usize::try_from(bytes).ok());
    let limits = Limits {
        values: whole("values").unwrap_or(most.values),
        facts: whole("facts").unwrap_or(most.facts),
        episodes: whole("episodes").unwrap_or(most.episodes),
        value_bytes: bytes.unwrap_or(most.value_bytes),
    };
    let Some(named) = section.get("file") else {
        return Some(Memory { file: beside(store?), limits });
    };
    let text = named.text()?;
    let file = base.join(text);
    if text.trim().is_empty() || text.contains('\0') || Some(file.as_path()) == store {
        let message = "this is no file for memory";
        let remedy = "write a path of its own, or remove it for the one beside the ledger";
        out.push(named.finding("config.path", message, remedy));
        return None;
    }
    Some(Memory { file, limits })
}

/// The file beside a ledger.
pub(super) fn beside(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(BESIDE);
    PathBuf::from(name)
}
