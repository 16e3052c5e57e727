//! The `RoutingDecision` contract.

use serde::{Deserialize, Serialize};

use super::validation::{date_time, non_empty, reject_null, rule_violation};
use super::{ChoiceCard, Contract, ContractError, Fields, Nullable, Rule};

/// What routing offered, and what was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoutingDecision {
    /// Its id.
    pub id: String,
    /// The cards that were shown, at least one.
    pub choice_cards: Vec<ChoiceCard>,
    /// The chosen option; none while the answer is pending.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub selected_item_id: Nullable<String>,
    /// The card of the chosen option.
    #[serde(default, skip_serializing_if = "Nullable::is_absent")]
    pub selected_card_id: Nullable<String>,
    /// When it was made, RFC 3339.
    pub timestamp: String,
    /// The context that led to it, for audit.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub context_summary: Option<String>,
    /// What an implementation adds.
    #[serde(default, deserialize_with = "reject_null", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Fields,
}

impl Contract for RoutingDecision {
    const TITLE: &'static str = "RoutingDecision";

    fn validate(&self) -> Result<(), ContractError> {
        non_empty::<Self>(&[("id", &self.id)])?;
        if self.choice_cards.is_empty() {
            return Err(rule_violation::<Self>("choice_cards", Rule::AtLeastOne));
        }
        for (index, card) in self.choice_cards.iter().enumerate() {
            card.validate().map_err(|e| e.within(Self::TITLE, "choice_cards", index))?;
        }
        date_time::<Self>("timestamp", &self.timestamp)
    }
}
