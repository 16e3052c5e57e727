//! The `SelectableItem` contract.

use serde::{Deserialize, Serialize};

use super::validation::{non_empty, reject_null};
use super::{Contract, ContractError, Fields};

/// One option that a model can choose: an action, a tool, a capability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectableItem {
    /// Its id within its card.
    pub id: String,
    /// A short name that is safe to show a model.
    pub label: String,
    /// What it does, without details of schemas.
    pub description: String,
    /// The capability behind it.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<String>,
    /// What an implementation adds.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for SelectableItem {
    const TITLE: &'static str = "SelectableItem";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[
            ("id", &self.id),
            ("label", &self.label),
            ("description", &self.description),
        ])
    }
}
