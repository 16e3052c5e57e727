//! Reads the tools that exist from a file.

use std::path::Path;

use serde::Deserialize;
use weaver_policy::PolicySet;
use weaver_policy_analysis::CapabilitySet;
use weaver_types::CapabilityId;

use super::documents;
use crate::{Exit, Failure};

/// The largest file of tools, in bytes.
const MAX_CATALOGUE_BYTES: usize = 64 * 1024 * 1024;

/// One tool. Other keys of its line are ignored.
#[derive(Deserialize)]
struct Tool {
    id: CapabilityId,
}

/// The catalogue in the file; without a file, the capabilities that the documents name.
pub(super) fn load(path: Option<&Path>, set: &PolicySet) -> Result<CapabilitySet, Failure> {
    let Some(path) = path else { return Ok(CapabilitySet::from_documents(set)) };
    let text = documents::read_file(path, MAX_CATALOGUE_BYTES)?;
    let mut ids = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let tool: Tool = serde_json::from_str(line).map_err(|error| {
            let place = format!("{}:{}", path.display(), number + 1);
            Failure::new(Exit::Invalid, "policy.catalogue", format!("{place}: no tool: {error}"))
                .with_next_step("write one JSON object with an `id` a line")
        })?;
        ids.push(tool.id);
    }
    Ok(CapabilitySet::new(ids))
}
