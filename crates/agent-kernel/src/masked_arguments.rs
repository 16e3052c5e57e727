//! Arguments with masks: as the model wrote them, and with the values in place of the masks.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use weaver_firewall::{MASK, MaskTable, UnknownMask};
use weaver_types::{
    Capability, CheckKind, CheckResult, Decision, Label, MaskedValue, ReasonCode, Remedy, Verdict,
};

/// The masks in the arguments of a call.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentMasks {
    /// The arguments as the model wrote them: the form that the log and the model see.
    pub(crate) as_written: Value,
    /// The values behind the masks.
    pub(crate) values: Vec<MaskedValue>,
    pub(crate) unknown_mask: Option<UnknownMask>,
    pub(crate) exceeds_disclosure_limit: bool,
    pub(crate) table: Option<Arc<MaskTable>>,
}

/// Arguments whose masks were replaced by their values.
#[derive(Debug)]
pub(crate) struct UnmaskedArguments {
    pub(crate) arguments: Value,
    pub(crate) masks: ArgumentMasks,
}

impl ArgumentMasks {
    /// The masks of a held call that is evaluated again; the values come from its request.
    pub(crate) fn for_held_call(as_written: Value, masked: Vec<MaskedValue>) -> Self {
        Self {
            as_written,
            values: masked,
            unknown_mask: None,
            exceeds_disclosure_limit: false,
            table: None,
        }
    }

    /// The refusal of arguments with an unknown mask, which would be written in place of a value.
    /// Reads may contain such a mask, since they change nothing.
    pub(crate) fn refusal(&self, capability: &Capability) -> Option<CheckResult> {
        let detail = match &self.unknown_mask {
            _ if self.exceeds_disclosure_limit => {
                "the values behind the masks are more than one run gives out; \
                                   give the real text, or use fewer masks"
                    .to_owned()
            }
            Some(UnknownMask { mask, pointer: place })
                if mask == MASK && capability.spec().effects.writes() =>
            {
                format!(
                    "`{place}` holds `{mask}`, which stands for no value and would be written in \
                     place of one; leave that part out, or give the real text"
                )
            }
            Some(UnknownMask { mask, pointer: place }) if capability.spec().effects.writes() => {
                format!(
                    "`{place}` holds `{mask}`, which stands for nothing in this run and would be \
                 written in place of a value; copy the mask as it was shown, leave that part out, \
                 or give the real text"
                )
            }
            _ => return None,
        };
        let (check, reason) = (CheckKind::Justification, ReasonCode::MaskedValueInArguments);
        let check_result = CheckResult::new(check, Verdict::Ask, reason, detail);
        Some(check_result.with_remedy(Remedy::Arguments))
    }

    /// The decision with masks in place of the values in its texts, so that it may be shown.
    pub(crate) fn redact_decision(&self, decision: Decision) -> Decision {
        match &self.table {
            Some(table) => {
                decision.map_details(|detail| match table.mask_values(detail, &self.values) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(hidden) => Some(hidden),
                })
            }
            None => decision,
        }
    }

    /// Joins the labels of the values into that of a result, which may repeat them.
    pub(crate) fn join_value_labels(&self, label: Label) -> Label {
        self.values.iter().fold(label, |label, value| label.join(&value.label))
    }

    /// Marks the values as disclosed: from now on they may appear in any result of the run, and are
    /// masked there.
    pub(crate) fn mark_values_disclosed(&self) {
        if let Some(table) = &self.table {
            table.mark_disclosed(self.values.iter().map(|one| one.mask.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{AllowedAgents, CapabilityDraft, CapabilityId, Effects};

    use super::*;

    #[test]
    fn a_mask_that_stands_for_nothing_is_written_nowhere_and_too_many_values_go_nowhere() {
        let unknown =
            || Some(UnknownMask { mask: "[EMAIL_9]".to_owned(), pointer: "/to".to_owned() });
        for (effects, unknown, too_much, word) in [
            (Effects::READ_LOCAL, None, false, None),
            (Effects::WRITE_LOCAL, None, false, None),
            (Effects::READ_LOCAL, unknown(), false, None),
            (Effects::WRITE_LOCAL, unknown(), false, Some("`/to` holds `[EMAIL_9]`")),
            (Effects::READ_LOCAL, None, true, Some("more than one run gives out")),
            (Effects::WRITE_LOCAL, unknown(), true, Some("more than one run gives out")),
        ] {
            let id = CapabilityId::parse("a.b").unwrap();
            let draft = CapabilityDraft {
                description: "a capability".to_owned(),
                ..CapabilityDraft::new(id, "b", effects, AllowedAgents::Any)
            };
            let masks = ArgumentMasks {
                unknown_mask: unknown,
                exceeds_disclosure_limit: too_much,
                ..ArgumentMasks::for_held_call(json!({}), vec![])
            };
            let check_result = masks.refusal(&draft.build().unwrap());
            assert_eq!(check_result.is_some(), word.is_some(), "{effects:?} {too_much}");
            if let (Some(check_result), Some(word)) = (check_result, word) {
                assert!(check_result.detail.contains(word), "{}", check_result.detail);
                let stop = (check_result.verdict, check_result.reason, check_result.discharge);
                let reason = ReasonCode::MaskedValueInArguments;
                assert_eq!(stop, (Verdict::Ask, reason, Remedy::Arguments));
            }
        }
    }
}
