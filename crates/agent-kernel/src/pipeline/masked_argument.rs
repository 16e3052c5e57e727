//! Masks in the arguments of a call that writes: what was masked for the model must never be
//! written in place of the value that it stands for.

use serde_json::Value;
use weaver_firewall::Firewall;
use weaver_types::{Capability, Check, Contribution, Discharge, ReasonCode, Verdict};

/// The deepest value that is looked into; deeper arguments are refused elsewhere.
const MAX_DEPTH: usize = 128;
/// The longest place that is named, in characters.
const MAX_PLACE: usize = 120;

/// Why a call that writes is not made with these arguments: one of them holds a mask. Reads may
/// carry masks, since they change nothing.
pub(super) fn refusal(
    firewall: &Firewall,
    capability: &Capability,
    arguments: Option<&Value>,
) -> Option<Contribution> {
    if !capability.spec().effects.writes() {
        return None;
    }
    let (place, mask) = find(firewall, arguments?, &mut String::new(), 0)?;
    let place =
        weaver_text::escape::line(weaver_text::escape::truncate(&place, MAX_PLACE)).into_owned();
    let detail = format!(
        "`{place}` holds the mask `{mask}`, which stands for nothing here and would be written in place of the value; \
         leave the masked part out, or give the real text"
    );
    let (check, reason) = (Check::Justification, ReasonCode::MaskedValueInArguments);
    let said = Contribution::new(check, Verdict::Ask, reason, detail);
    Some(said.discharged_by(Discharge::Arguments))
}

/// The first mask, and the JSON pointer of the text or the name that holds it.
fn find(
    firewall: &Firewall,
    value: &Value,
    place: &mut String,
    depth: usize,
) -> Option<(String, String)> {
    if depth > MAX_DEPTH {
        return None;
    }
    let before = place.len();
    let inside = |step: &str, inner: &Value, place: &mut String| {
        place.push('/');
        place.push_str(step);
        let found = firewall
            .mask_in(step)
            .map(|mask| (place.clone(), mask.to_owned()))
            .or_else(|| find(firewall, inner, place, depth + 1));
        place.truncate(before);
        found
    };
    match value {
        Value::String(text) => firewall.mask_in(text).map(|mask| (place.clone(), mask.to_owned())),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| inside(&at.to_string(), item, place))
        }
        Value::Object(fields) => fields.iter().find_map(|(name, field)| inside(name, field, place)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{Agents, CapabilityDraft, CapabilityId, Effects};

    use super::*;

    fn refused(effects: Effects, arguments: &Value) -> Option<String> {
        let id = CapabilityId::parse("files.edit").unwrap();
        let capability = CapabilityDraft::new(id, "edit", effects, Agents::Any).build().unwrap();
        let said = refusal(&Firewall::new(), &capability, Some(arguments))?;
        assert_eq!((said.verdict, said.reason), (Verdict::Ask, ReasonCode::MaskedValueInArguments));
        Some(said.detail)
    }

    #[test]
    fn no_mask_is_written_in_place_of_a_value() {
        for (arguments, place) in [
            (json!({ "content": "mail [REDACTED] now" }), "`/content`"),
            (json!({ "edits": [{ "oldText": "a [EMAIL_12]" }] }), "`/edits/0/oldText`"),
            (json!({ "[REDACTED]": 1 }), "`/[REDACTED]`"),
            (json!(["[REDACTED: nested data beyond depth limit]"]), "`/0`"),
        ] {
            let detail = refused(Effects::WRITE_LOCAL, &arguments).unwrap();
            assert!(detail.starts_with(place), "{detail}");
            assert_eq!(refused(Effects::READ_LOCAL, &arguments), None, "a read changes nothing");
        }
        for arguments in [json!({ "a": "[NOTE_1] [redacted] array[0] [ ]" }), json!(null)] {
            assert_eq!(refused(Effects::WRITE_LOCAL, &arguments), None, "{arguments}");
        }
    }
}
