//! The origins of a run's values, in the form that a decision needs.

use std::fmt;

use weaver_firewall::Firewall;
use weaver_policy::{CarriedValue, ValueOrigin, ValueOrigins};
use weaver_text::values::Token;

use crate::cached_run::RunSlot;
use crate::provenance;

/// The index of a run as a decision sees it. One that a thread died over vouches for nothing.
#[derive(Clone)]
pub(crate) struct Origins<'a> {
    pub(crate) slot: &'a RunSlot,
    /// Finds what a text carries.
    pub(crate) firewall: &'a Firewall,
}

impl fmt::Debug for Origins<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Origins(..)")
    }
}

impl ValueOrigins for Origins<'_> {
    fn vouched(&self, token: &Token) -> Option<ValueOrigin> {
        self.slot.provenance()?.vouched(token)
    }

    fn carried(&self, text: &str) -> Vec<CarriedValue> {
        provenance::carried(self.firewall, text)
    }
}
