//! Reads the standing approvals of a replay from a folder of terms.

use std::path::{Path, PathBuf};

use weaver_policy::approval::StandingApproval;
use weaver_types::{LogId, Tenant, Timestamp};

use crate::approve::terms::Terms;
use crate::{Exit, Failure};

/// The most files of one folder.
const MAX_FILES: usize = 1_024;

/// Every `*.toml` of the folder, by name.
pub(super) fn read_terms(
    folder: &Path,
    now: Timestamp,
) -> Result<Vec<(String, StandingApproval)>, Failure> {
    let failed = |problem: String| {
        let message = format!("{}: {problem}", folder.display());
        Failure::new(Exit::Invalid, "replay.approvals", message)
            .with_next_step("name a folder with files of terms, *.toml")
    };
    let entries = std::fs::read_dir(folder)
        .map_err(|error| failed(format!("the folder cannot be read: {error}")))?;
    let mut files: Vec<PathBuf> = entries
        .take(MAX_FILES)
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(failed("there are no terms in it".to_owned()));
    }
    // Replaced by the id of the replay's own log.
    let log = LogId::parse("replay").map_err(|error| failed(error.to_string()))?;
    let mut out = Vec::with_capacity(files.len());
    for path in files {
        let standing = Terms::from_file(&path)?.standing(log.clone(), Tenant::default(), now)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        out.push((name, standing));
    }
    Ok(out)
}
