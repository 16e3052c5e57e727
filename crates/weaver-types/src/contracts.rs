//! The nine public weaver contracts (version 0), as their JSON Schemas have them.
//!
//! These are the types of the wire between systems, not ours: the conversions from our own
//! vocabulary are the `From` impls and the subjects (`DecisionSubject`, `EventSubject`; with the feature
//! `calendar`, since times are texts there). Each
//! contract keeps fields that it does not know, leaves out an optional field that may not be
//! `null`, and tells an absent field from a `null` one where both may stand ([`Nullable`]), so
//! that reading and writing loses nothing.
//!
//! Read with [`Contract::parse`], which is strict about the JSON and validates; write with
//! [`Contract::to_json`], which validates too. Plain `serde` works, and checks the shape only.
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

/// Fields of a JSON object.
pub type Fields = Map<String, Value>;

/// What the nine contracts have in common.
pub trait Contract: Serialize + DeserializeOwned {
    /// The contract's title in its schema.
    const TITLE: &'static str;

    /// Checks what the schema demands beyond the shape.
    ///
    /// # Errors
    ///
    /// [`ContractError::Broken`] with the place and the rule, the first that is found.
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
        let bytes = canonical::of(self, Profile::Foreign)
            .map_err(|source| ContractError::Json { contract: Self::TITLE, source })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
