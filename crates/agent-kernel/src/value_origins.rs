//! The origins of a run's values, as the policy queries them.

use std::fmt;

use serde_json::Value;
use weaver_firewall::Firewall;
use weaver_policy::{SensitiveValue, ValueOrigin, ValueOrigins};
use weaver_text::values::ValueToken;
use weaver_types::{Capability, MaskedValue};

use crate::cached_run::RunSlot;
use crate::provenance::{self, Payment};

/// The provenance index of a run as the policy sees it. A poisoned index vouches for nothing.
#[derive(Clone)]
pub(crate) struct RunValueOrigins<'a> {
    pub(crate) slot: &'a RunSlot,
    /// Finds sensitive values in a text.
    pub(crate) firewall: &'a Firewall,
}

impl fmt::Debug for RunValueOrigins<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunValueOrigins(..)")
    }
}

impl ValueOrigins for RunValueOrigins<'_> {
    fn vouched(&self, token: &ValueToken) -> Option<ValueOrigin> {
        self.slot.provenance()?.origin_of(token)
    }

    fn knows_user_words(&self) -> bool {
        self.slot.provenance().is_none_or(|index| index.has_user_values())
    }

    fn carried(&self, text: &str) -> Vec<SensitiveValue> {
        provenance::carried_values(self.firewall, text)
    }

    fn is_repeated_payment(&self, capability: &Capability, arguments: &Value) -> bool {
        Payment::of(capability, arguments).is_some_and(|payment| {
            self.slot.provenance().is_none_or(|index| index.has_payment(&payment))
        })
    }

    fn masked_tokens(&self, masked: &MaskedValue) -> Option<Vec<ValueToken>> {
        let value = self.slot.masks().table().restore(&masked.mask);
        (*value != *masked.mask).then(|| provenance::value_readings(&value))
    }
}
