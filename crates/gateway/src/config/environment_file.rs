//! A file of variables next to the configuration: `environment = ".weaver/secrets.env"`.
//!
//! It holds secrets that clients' configurations contained in the clear, so that `weaver.toml` can
//! be shared and the gateway needs nothing from its client's environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use weaver_policy::DocumentFinding;

use super::error::file_finding;
use super::node::Node;
use crate::bounded_file;

/// The largest file, in bytes.
const MAX_FILE_BYTES: usize = 1024 * 1024;

/// A file of variables.
#[derive(Default)]
pub(super) struct EnvironmentFile {
    pub(super) path: PathBuf,
    pub(super) variables: BTreeMap<String, String>,
}

/// Reads the file that the configuration names, if any.
pub(super) fn read(
    config: &Path,
    toml: &Node,
) -> Result<Option<EnvironmentFile>, Box<DocumentFinding>> {
    let Some(node) = toml.get("environment") else { return Ok(None) };
    let Some(name) = node.text() else { return Ok(None) };
    let path = config.parent().unwrap_or(Path::new("")).join(name);
    let text = bounded_file::read_text(&path, MAX_FILE_BYTES).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        let remedy = "name a file with one NAME=VALUE a line, or remove the key";
        Box::new(node.finding("config.unreadable", message, remedy))
    })?;
    if !is_private(&path) {
        let message = format!("{}: other users can read it", path.display());
        let remedy = format!("run: chmod 600 {}", path.display());
        return Err(Box::new(node.finding("config.environment", message, remedy)));
    }
    let variables = parse_variables(&path, &text)?;
    Ok(Some(EnvironmentFile { path, variables }))
}

#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    true
}

fn parse_variables(
    path: &Path,
    text: &str,
) -> Result<BTreeMap<String, String>, Box<DocumentFinding>> {
    let mut out = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        // An invalid line may contain a secret, so it is not quoted.
        let fault = |message: &str| {
            let file = path.display().to_string();
            let finding = file_finding(&file, "config.environment", message, "write NAME=VALUE");
            Box::new(DocumentFinding { line: Some(index + 1), column: Some(1), ..finding })
        };
        let (name, value) = line.split_once('=').ok_or_else(|| fault("this line has no `=`"))?;
        let legal = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !legal {
            return Err(fault("what is before the `=` is not a name of a variable"));
        }
        let value = match value.starts_with('"') {
            false => value.to_owned(),
            true => serde_json::from_str(value)
                .map_err(|_| fault("the value begins with a quote and is not JSON text"))?,
        };
        if out.insert(name.to_owned(), value).is_some() {
            return Err(fault("this variable appears twice here"));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_broken_ones_told_without_their_values() {
        let read = |text: &str| parse_variables(Path::new("x.env"), text);
        let found = read("# c\n\nA=b=c\nB=\"d\\ne\"\nC=\n").unwrap();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, [("A", "b=c"), ("B", "d\ne"), ("C", "")]);
        for text in ["hunter2", "1A=hunter2", "A=1\nA=hunter2", "A=\"hunter2"] {
            let finding = read(text).unwrap_err();
            assert_eq!(finding.code, "config.environment", "{text}");
            assert!(finding.line.is_some() && !finding.to_string().contains("hunter2"), "{text}");
        }
    }
}
