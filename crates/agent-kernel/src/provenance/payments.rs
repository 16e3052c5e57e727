//! Recognises a payment that was made before: one request of the user asks for one.
//!
//! A payment is compared by its values, in a form that does not depend on how they are written. It
//! is the same as an earlier one if one of the two has all values of the other: neither another
//! spelling, nor one more argument, nor one less, makes a second payment of the first.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::critical::{ArgumentRole, argument_role};
use weaver_text::values;
use weaver_types::{Capability, JsonPointer, SinkKind};

use super::ProvenanceIndex;
use crate::cached_run::RunSlot;

/// What a call pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payment {
    /// The id of the capability: buying something and getting the money back are two things.
    pub(super) capability: String,
    /// The values of the critical arguments, so that another note makes no other payment.
    pub(super) values: BTreeSet<String>,
}

impl Payment {
    /// What a call pays; `None` unless it is a payment.
    pub(crate) fn of(capability: &Capability, arguments: &Value) -> Option<Self> {
        if capability.sink() != SinkKind::Payment {
            return None;
        }
        let critical = &capability.spec().critical_arguments;
        let is_critical = |name: &str| {
            critical.iter().any(|at| match at.as_str().split('/').nth(1) {
                Some(first) => JsonPointer::unescape_step(first) == name,
                None => true,
            })
        };
        let mut values = BTreeSet::new();
        for (name, value) in arguments.as_object()?.iter().filter(|(name, _)| is_critical(name)) {
            collect(name, value, &mut values);
        }
        Some(Self { capability: capability.id().to_string(), values })
    }

    /// Whether two payments of one capability are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.capability == other.capability
            && (self.values.is_subset(&other.values) || other.values.is_subset(&self.values))
    }
}

/// Collects the values below an argument, and the names of members that are values themselves. A
/// quantity of one is what a call without a quantity asks for.
fn collect(name: &str, value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(name, item, out)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            if name.contains(|c: char| c == '@' || c.is_numeric()) {
                out.extend(values::bare_values(name));
            }
            collect(name, member, out);
        }),
        Value::Null => {}
        Value::Number(number) if argument_role(name) == ArgumentRole::Quantity => {
            out.extend(Some(number.to_string()).filter(|_| number.as_f64() != Some(1.0)));
        }
        Value::String(text) => out.extend(values::bare_values(text)),
        Value::Bool(_) | Value::Number(_) => out.extend(values::bare_values(&value.to_string())),
    }
}

/// A payment between its check and its note in the index. Meanwhile no other call makes it.
#[derive(Debug)]
pub(crate) struct PaymentReservation {
    slot: RunSlot,
    number: u64,
    /// The names under which it is noted.
    pub(crate) sources: Vec<String>,
}

impl PaymentReservation {
    /// Reserves a payment in the index of a slot, which the caller has locked. `None` if there is no
    /// place for a note.
    pub(crate) fn new(
        slot: &RunSlot,
        index: &mut ProvenanceIndex,
        payment: Payment,
    ) -> Option<Self> {
        let (number, sources) = index.reserve_payment(payment)?;
        Some(Self { slot: slot.clone(), number, sources })
    }
}

impl Drop for PaymentReservation {
    fn drop(&mut self) {
        if let Some(mut index) = self.slot.provenance() {
            index.release_payment(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values_of(name: &str, value: &Value) -> Vec<String> {
        let mut out = BTreeSet::new();
        collect(name, value, &mut out);
        out.into_iter().collect()
    }

    #[test]
    fn a_payment_has_the_values_that_it_names_and_no_others() {
        for (name, value, values) in [
            ("to", json!("DE89 3704"), vec!["de893704"]),
            ("to", json!(["R-1", null, "", "#R-1"]), vec!["r1"]),
            ("amount", json!("120,00"), vec!["120"]),
            ("amount", json!(120.0), vec!["120"]),
            ("quantity", json!(1), vec![]),
            ("quantity", json!(2), vec!["2"]),
            ("amount", json!(1), vec!["1"]),
            ("lines", json!([{ "sku": "A", "quantity": 1 }]), vec!["a"]),
            ("to", json!({ "kai@corp.example": "Kai" }), vec!["kai", "kaicorpexample"]),
        ] {
            assert_eq!(values_of(name, &value), values, "{name} {value}");
        }
    }

    #[test]
    fn one_payment_is_another_one_if_it_has_values_that_the_other_lacks_and_lacks_some() {
        let payment = |values: &[&str]| Payment {
            capability: "bank.pay".to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let first = payment(&["bob", "120", "r1"]);
        for same in [&["bob", "120", "r1"][..], &["bob", "120"], &["bob", "120", "r1", "eur"], &[]]
        {
            assert!(first.is_same(&payment(same)), "{same:?}");
        }
        for other in [&["bob", "80", "r1"][..], &["bob", "120", "r2"], &["eve"]] {
            assert!(!first.is_same(&payment(other)), "{other:?}");
        }
        let refund = Payment { capability: "bank.refund".to_owned(), ..first.clone() };
        assert!(!first.is_same(&refund));
    }
}
