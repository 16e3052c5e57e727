//! The `ChoiceCard` contract.

use serde::{Deserialize, Serialize};

use super::validation::{MAX_ITEMS, non_empty, reject_null, rule_violation};
use super::{Contract, ContractError, Fields, Rule, SelectableItem};

/// A menu of 1 to 20 options, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChoiceCard {
    /// Its id.
    pub id: String,
    /// The options, 1 to 20.
    pub items: Vec<SelectableItem>,
    /// How a model should read the card.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub context_hint: Option<String>,
    /// What an implementation adds.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for ChoiceCard {
    const TITLE: &'static str = "ChoiceCard";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[("id", &self.id)])?;
        match self.items.len() {
            0 => return Err(rule_violation::<Self>("items", Rule::AtLeastOne)),
            1..=MAX_ITEMS => {}
            _ => return Err(rule_violation::<Self>("items", Rule::AtMostTwenty)),
        }
        for (index, item) in self.items.iter().enumerate() {
            item.validate().map_err(|e| e.within(Self::TITLE, "items", index))?;
        }
        Ok(())
    }
}
