//! Arguments that hold masks: as the model wrote them, with the values in their places, and what is
//! said of them where only the model's own words may be seen.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use weaver_firewall::{MaskTable, UnknownMask};
use weaver_types::{
    Capability, Check, Contribution, Decision, Discharge, Label, MaskedValue, ReasonCode, Verdict,
};

/// A call whose arguments hold masks.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentMasks {
    /// The arguments as the model wrote them: so the log and the model see them.
    pub(crate) given: Value,
    /// What stands behind the masks.
    pub(crate) masked: Vec<MaskedValue>,
    pub(crate) unknown: Option<UnknownMask>,
    pub(crate) too_much: bool,
    pub(crate) table: Option<Arc<MaskTable>>,
}

/// Arguments that held masks, with the values in their places.
#[derive(Debug)]
pub(crate) struct UnmaskedArguments {
    pub(crate) arguments: Value,
    pub(crate) masks: ArgumentMasks,
}

/// What a call is decided on: the values, and what it has of masks.
pub(crate) fn parts<'a>(
    unmasked: Option<&'a UnmaskedArguments>,
    given: Option<&'a Value>,
) -> (Option<&'a Value>, Option<&'a ArgumentMasks>) {
    match unmasked {
        Some(unmasked) => (Some(&unmasked.arguments), Some(&unmasked.masks)),
        None => (given, None),
    }
}

impl ArgumentMasks {
    /// Those of a held call that is decided again: its values stand in its request.
    pub(crate) fn held(given: Value, masked: Vec<MaskedValue>) -> Self {
        Self { given, masked, unknown: None, too_much: false, table: None }
    }

    /// Why a call is not made with these arguments: a mask in them stands for nothing and would be
    /// written in place of a value. Reads may carry such a mask, since they change nothing.
    pub(crate) fn refusal(&self, capability: &Capability) -> Option<Contribution> {
        let detail = match &self.unknown {
            _ if self.too_much => "the values behind the masks are more than one run gives out; \
                                   give the real text, or use fewer masks"
                .to_owned(),
            Some(UnknownMask { mask, place }) if capability.spec().effects.writes() => format!(
                "`{place}` holds `{mask}`, which stands for nothing in this run and would be \
                 written in place of a value; copy the mask as it was shown, leave that part out, \
                 or give the real text"
            ),
            _ => return None,
        };
        let (check, reason) = (Check::Justification, ReasonCode::MaskedValueInArguments);
        let said = Contribution::new(check, Verdict::Ask, reason, detail);
        Some(said.discharged_by(Discharge::Arguments))
    }

    /// The decision in words that may be seen: the masks stand there in place of their values.
    pub(crate) fn hidden_in(&self, decision: Decision) -> Decision {
        match &self.table {
            Some(table) => decision.reworded(|detail| match table.hide(detail, &self.masked) {
                Cow::Borrowed(_) => None,
                Cow::Owned(hidden) => Some(hidden),
            }),
            None => decision,
        }
    }

    /// The label of a result that may repeat the values.
    pub(crate) fn join(&self, label: Label) -> Label {
        self.masked.iter().fold(label, |label, value| label.join(&value.label))
    }

    /// From now on the values may come back in any result of the run, and are masked there.
    pub(crate) fn give_out(&self) {
        if let Some(table) = &self.table {
            table.give_out(self.masked.iter().map(|one| one.mask.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{Agents, CapabilityDraft, CapabilityId, Effects};

    use super::*;

    #[test]
    fn a_mask_that_stands_for_nothing_is_written_nowhere_and_too_many_values_go_nowhere() {
        let unknown =
            || Some(UnknownMask { mask: "[EMAIL_9]".to_owned(), place: "/to".to_owned() });
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
                ..CapabilityDraft::new(id, "b", effects, Agents::Any)
            };
            let masks =
                ArgumentMasks { unknown, too_much, ..ArgumentMasks::held(json!({}), vec![]) };
            let said = masks.refusal(&draft.build().unwrap());
            assert_eq!(said.is_some(), word.is_some(), "{effects:?} {too_much}");
            if let (Some(said), Some(word)) = (said, word) {
                assert!(said.detail.contains(word), "{}", said.detail);
                let stop = (said.verdict, said.reason, said.discharge);
                let reason = ReasonCode::MaskedValueInArguments;
                assert_eq!(stop, (Verdict::Ask, reason, Discharge::Arguments));
            }
        }
    }
}
