//! Prepares the arguments of a call before anything is decided: repairs them, and replaces masks
//! by their values.

use std::sync::Arc;

use serde_json::Value;
use weaver_firewall::ResolvedArguments;
use weaver_policy::PolicySet;
use weaver_types::CapabilityRequest;

use super::{PolicyDecisionPoint, readable_secrets};
use crate::caller::Caller;
use crate::masked_arguments::{ArgumentMasks, UnmaskedArguments};
use crate::repair::{RepairedArguments, Repairs, repaired_arguments};

/// The arguments of a call as they are decided on and sent.
pub(crate) struct PreparedArguments<'a> {
    given: Option<&'a Value>,
    repaired: Option<RepairedArguments>,
    unmasked: Option<Box<UnmaskedArguments>>,
}

impl PreparedArguments<'_> {
    /// The repaired arguments, with values in place of masks.
    pub(crate) fn value(&self) -> Option<&Value> {
        match (&self.unmasked, &self.repaired) {
            (Some(unmasked), _) => Some(&unmasked.arguments),
            (None, Some(repaired)) => Some(&repaired.arguments),
            (None, None) => self.given,
        }
    }

    /// The masks in the arguments, if there are any.
    pub(crate) fn masks(&self) -> Option<&ArgumentMasks> {
        self.unmasked.as_ref().map(|unmasked| &unmasked.masks)
    }

    /// The repairs that were made, if any.
    pub(crate) fn repairs(&self) -> Option<&Value> {
        self.repaired.as_ref().map(|repaired| &repaired.changes)
    }
}

impl PolicyDecisionPoint {
    pub(crate) fn prepare_arguments<'a>(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        request: &CapabilityRequest,
        given: Option<&'a Value>,
    ) -> PreparedArguments<'a> {
        let repaired = self.repair_arguments(policy, request, given);
        let arguments = repaired.as_ref().map(|repaired| &repaired.arguments).or(given);
        let unmasked = self.unmask_arguments(caller, arguments);
        PreparedArguments { given, repaired, unmasked }
    }

    /// The repaired arguments of a call; `None` when they are used unchanged.
    fn repair_arguments(
        &self,
        policy: &PolicySet,
        request: &CapabilityRequest,
        arguments: Option<&Value>,
    ) -> Option<RepairedArguments> {
        let (repairs, arguments) = (self.context.settings.repairs, arguments?);
        if repairs == Repairs::none() {
            return None;
        }
        let entry = self.context.registry.get(&request.capability_id)?;
        let capability = entry.effective(policy).ok()?;
        repaired_arguments(repairs, &capability, &entry.arguments, arguments)
    }

    /// The arguments of a call with the values in place of their masks; `None` when they contain no
    /// mask, which is the common case. A run that cannot be read knows no masks.
    fn unmask_arguments(
        &self,
        caller: Caller<'_>,
        as_written: Option<&Value>,
    ) -> Option<Box<UnmaskedArguments>> {
        let as_written = as_written.filter(|as_written| may_contain_mask(as_written, 0))?;
        let slot = self.recorder.slot_of(caller);
        let table = slot.map(|slot| Arc::clone(slot.masks().table()));
        let table = table.filter(|_| self.context.settings.placeholders);
        let resolved = match &table {
            Some(table) => {
                self.context.firewall.with_masks(Arc::clone(table), None).resolve_masks(as_written)
            }
            None => self.context.firewall.resolve_masks(as_written),
        };
        let ResolvedArguments {
            arguments,
            resolved: mut masked,
            unknown,
            exceeds_limits: too_much,
        } = resolved;
        if arguments.is_none() && unknown.is_none() && !too_much {
            return None;
        }
        if let (Some(table), Some(arguments)) = (&table, &arguments) {
            readable_secrets::mark(&self.context.firewall, table, arguments, &mut masked);
        }
        let masks = ArgumentMasks {
            as_written: as_written.clone(),
            values: masked,
            unknown_mask: unknown,
            exceeds_disclosure_limit: too_much,
            table,
        };
        Some(Box::new(UnmaskedArguments {
            arguments: arguments.unwrap_or_else(|| as_written.clone()),
            masks,
        }))
    }
}

/// Whether any text or name contains a bracket, without which there is no mask, or the beginning of
/// an escape of a hidden character.
fn may_contain_mask(value: &Value, depth: usize) -> bool {
    /// Deeper arguments are refused elsewhere.
    const MAX_DEPTH: usize = 128;
    let is_possible = |text: &str| text.as_bytes().contains(&b'[') || text.contains("\\u{");
    match value {
        Value::String(text) => is_possible(text),
        _ if depth > MAX_DEPTH => false,
        Value::Array(items) => items.iter().any(|item| may_contain_mask(item, depth + 1)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, field)| is_possible(name) || may_contain_mask(field, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bracket_or_an_escape_is_found_in_any_text_or_name_up_to_128_levels() {
        for (value, found) in [
            (json!("[EMAIL_1]"), true),
            (json!("EMAIL_1]"), false),
            (json!("a\\u{200f}"), true),
            (json!("a\u{200f}"), false),
            (json!(["a", { "b": ["c", "x[y"] }]), true),
            (json!({ "a[b": 1 }), true),
            (json!({ "a": { "b[": null } }), true),
            (json!({ "a": [1, true, null, "b"] }), false),
            (json!(null), false),
        ] {
            assert_eq!(may_contain_mask(&value, 0), found, "{value}");
        }
        let lists = |levels: usize| (0..levels).fold(json!("["), |inner, _| json!([inner]));
        assert!(may_contain_mask(&lists(129), 0) && !may_contain_mask(&lists(130), 0));
        let objects =
            |levels: usize| (0..levels).fold(json!("["), |inner, _| json!({ "a": inner }));
        assert!(may_contain_mask(&objects(129), 0) && !may_contain_mask(&objects(130), 0));
    }
}
