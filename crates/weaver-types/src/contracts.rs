//! The nine public weaver contracts (version 0), as their JSON Schemas define them.
//!
//! These types belong to the wire between systems. The `From` impls and the subjects
//! (`DecisionSubject`, `EventSubject`) convert from our own types; they need the feature
//! `calendar`, because times are texts there. Each contract keeps fields that it does not know,
//! omits an optional field that may not be `null`, and distinguishes an absent field from a `null`
//! one where both are allowed ([`Nullable`]), so that reading and writing lose nothing.
//!
//! Read with [`Contract::parse`] and write with [`Contract::to_json`]; both validate, and parsing
//! is strict about the JSON. Plain `serde` works too, but checks only the shape.
//!
//! ```
//! use weaver_types::contracts::{Contract, ContractError, SelectableItem};
//!
//! let item = SelectableItem::parse(br#"{"id":"1","label":"Read","description":"Reads a file","x":1}"#)?;
//! assert_eq!(item.extra["x"], 1);
//! assert!(SelectableItem::parse(br#"{"id":"","label":"Read","description":"Reads"}"#).is_err());
//! # Ok::<(), ContractError>(())
//! ```

mod capability;
mod capability_token;
mod choice_card;
#[cfg(feature = "calendar")]
mod convert;
mod error;
mod frame;
mod handle;
mod nullable;
mod policy_decision;
mod routing_decision;
mod selectable_item;
mod trace_event;
mod validation;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::canonical::{self, Profile};

pub use capability::Capability;
pub use capability_token::CapabilityToken;
pub use choice_card::ChoiceCard;
#[cfg(feature = "calendar")]
pub use convert::{DecisionSubject, EventSubject};
pub use error::{ContractError, Rule};
pub use frame::Frame;
pub use handle::Handle;
pub use nullable::Nullable;
pub use policy_decision::{PolicyDecision, PolicyVerdict};
pub use routing_decision::RoutingDecision;
pub use selectable_item::SelectableItem;
pub use trace_event::{EventType, Outcome, TraceEvent};

/// A JSON object.
pub type Fields = Map<String, Value>;

/// A public contract: its title, its validation, and how it is read and written.
pub trait Contract: Serialize + DeserializeOwned {
    /// The contract's title in its schema.
    const TITLE: &'static str;

    /// Checks what the schema demands beyond the shape.
    ///
    /// # Errors
    ///
    /// [`ContractError::Broken`] with the field and the rule, for the first violation.
    fn validate(&self) -> Result<(), ContractError>;

    /// Reads strict JSON (no duplicate keys, 64-bit integers exact) and validates.
    ///
    /// # Errors
    ///
    /// [`ContractError`], for the JSON, the shape or a broken rule.
    fn parse(bytes: &[u8]) -> Result<Self, ContractError> {
        let value = canonical::parse(bytes, Profile::Foreign)
            .map_err(|source| ContractError::Json { contract: Self::TITLE, source })?;
        let read: Self = serde_json::from_value(value)
            .map_err(|e| ContractError::shape(Self::TITLE, &e.to_string()))?;
        read.validate()?;
        Ok(read)
    }

    /// Validates and writes canonical JSON.
    ///
    /// # Errors
    ///
    /// [`ContractError`], for a broken rule, or for an unknown field that repeats a known one.
    fn to_json(&self) -> Result<String, ContractError> {
        self.validate()?;
        let bytes = canonical::serialize(self, Profile::Foreign)
            .map_err(|source| ContractError::Json { contract: Self::TITLE, source })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
