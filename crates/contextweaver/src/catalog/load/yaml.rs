//! Parses one YAML document into a JSON value, with bounds on size, depth and aliases.

use serde_json::Value;
use serde_saphyr::options::{AliasLimits, DuplicateKeyPolicy};

use crate::error::CatalogError;

/// The largest text, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The most parser events that aliases may replay in total. This stops "billion laughs" documents.
const MAX_REPLAYED: usize = 200_000;
/// The deepest nesting.
const MAX_DEPTH: usize = 96;

pub(super) fn parse(text: &str) -> Result<Value, CatalogError> {
    let problem = |problem: String| CatalogError::NotYaml { problem };
    if text.len() > MAX_BYTES {
        return Err(problem(format!("it has {} bytes, at most {MAX_BYTES} are read", text.len())));
    }
    let mut options = serde_saphyr::Options::default();
    let mut limits = AliasLimits::default();
    limits.max_total_replayed_events = MAX_REPLAYED;
    limits.max_replay_stack_depth = 16;
    options.alias_limits = limits;
    options.duplicate_keys = DuplicateKeyPolicy::Error;
    // `no` and `yes` are words, not booleans.
    options.strict_booleans = true;
    options.with_snippet = false;
    if let Some(budget) = options.budget.as_mut() {
        budget.max_depth = MAX_DEPTH;
        budget.max_events = 8_000_000;
        budget.max_nodes = 4_000_000;
    }
    serde_saphyr::from_str_with_options(text, options).map_err(|error| problem(error.to_string()))
}
