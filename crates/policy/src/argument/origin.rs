//! Where the values of arguments came from.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::Pointer;

/// Where a value was found. What was found in untrusted output, or nowhere, has no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueOrigin {
    /// In the user's own words.
    User,
    /// In the output of a trusted source.
    Trusted,
}

/// Knows where the values of one call's arguments came from.
pub trait ValueOrigins: std::fmt::Debug + Send + Sync {
    /// The origin of the value at this place; `None` for one that nobody vouches for. A value
    /// found in both is the user's.
    fn origin(&self, at: &Pointer, value: &Value) -> Option<ValueOrigin>;
}
