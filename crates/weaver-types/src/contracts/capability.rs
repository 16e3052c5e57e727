//! The `Capability` contract.

use serde::{Deserialize, Serialize};

use super::validation::{non_empty, reject_null};
use super::{Contract, ContractError, Fields};

/// A named, versioned thing that can be executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capability {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub description: String,
    /// Where the schema of its arguments is.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub input_schema_ref: Option<String>,
    /// Where the schema of its frames is.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub output_schema_ref: Option<String>,
    /// Tags for search.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Additions of an implementation.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for Capability {
    const TITLE: &'static str = "Capability";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[
            ("id", &self.id),
            ("name", &self.name),
            ("version", &self.version),
            ("description", &self.description),
        ])
    }
}
