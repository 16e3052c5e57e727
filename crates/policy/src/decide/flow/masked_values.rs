//! Checks masked values in the arguments. By default, a value may go back to the server that it
//! came from, and personal data also to local tools; a signed contract can accept further kinds.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_text::values::{self, ValueClass};
use weaver_types::{CheckResult, MaskedValue, ReasonCode, SinkKind, ValueFamily, World};

use super::{flow_hold, mask_surroundings};
use crate::explain::describe_masked_values;
use crate::query::PolicyQuery;
use crate::value_search::any_text;

/// Holds a call that would send a masked value to a tool which may not receive it.
pub(super) fn check(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    if query.masked.is_empty() {
        return;
    }
    let blocked: Vec<&MaskedValue> =
        query.masked.iter().filter(|one| !may_receive(query, one)).collect();
    let Some(first) = blocked.first() else {
        check_surroundings(query, out);
        return check_readable(query, out);
    };
    let detail = describe_masked_values(query, first, &blocked);
    out.push(flow_hold(ReasonCode::MaskedValueFlow, &detail));
}

/// Holds a call with a mask inside a text that a program follows, at every tool: the text says where
/// the value goes. Where the contract of the tool accepts such values, it may.
fn check_surroundings(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let accepted = &query.capability.spec().accepts_masked;
    let masks = query.masked.iter().filter(|one| !accepted.contains(&one.kind));
    let masks: BTreeSet<&str> = masks.map(|one| one.mask.as_str()).collect();
    let Some(found) = mask_surroundings::find(query, &masks) else { return };
    let detail = format!(
        "`{}` at `{}` is a part of {}, which says where the value goes; give it as the whole of an \
         argument, or leave it out",
        found.mask, found.place, found.text,
    );
    out.push(flow_hold(ReasonCode::MaskedValueFlow, &detail));
}

/// Holds a call that would write a secret where nobody could tell later that it is one: the next run
/// would be shown it.
fn check_readable(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let spec = query.capability.spec();
    let stays_readable =
        |one: &&MaskedValue| one.stays_readable && !spec.accepts_masked.contains(&one.kind);
    let Some(first) = query.masked.iter().find(stays_readable) else { return };
    if spec.effects.writes() {
        let detail = format!(
            "`{}` at `{}` would be readable where `{}` puts it, since nothing beside it says what it \
             is; write it as the value of a name such as `password`",
            first.mask,
            first.place,
            query.capability.id()
        );
        out.push(flow_hold(ReasonCode::MaskedValueFlow, &detail));
    }
}

/// Whether this call may receive the value behind a mask.
///
/// | the tool | personal data | a secret |
/// |---|---|---|
/// | of the server that the value came from | yes | unless the tool sends or pays |
/// | the same, reaching out to a host that the call names | where it counts as a sink | no |
/// | of another server, closed world, no payment and no credential | yes | no |
/// | any other | no | no |
/// | with the kind in `accepts_masked` | yes | of its own server |
pub(super) fn may_receive(query: &PolicyQuery<'_>, value: &MaskedValue) -> bool {
    let (capability, spec) = (query.capability, query.capability.spec());
    let is_own_server = query.origin.is_some_and(|origin| value.origins.contains(origin));
    let is_secret = value.family == ValueFamily::Secret;
    if spec.accepts_masked.contains(&value.kind) && (is_own_server || !is_secret) {
        return true;
    }
    let (sink, open) = (capability.sink(), spec.effects.world == World::Open);
    let reaches_out = || is_own_server && open && query.arguments.is_none_or(names_a_host);
    if (is_secret || sink == SinkKind::None) && reaches_out() {
        return false;
    }
    match sink {
        SinkKind::ExternalSend | SinkKind::Payment => is_own_server && !is_secret,
        SinkKind::Credential => is_own_server,
        SinkKind::None | SinkKind::Destructive => is_own_server || !is_secret && !open,
    }
}

/// Whether the arguments contain a host or a URL, so the call itself chooses where data goes.
/// Arguments that are too long to be read completely count as containing one.
fn names_a_host(arguments: &Value) -> bool {
    any_text(arguments, |text| {
        let (found, complete) = values::destinations(text);
        let mut classes = found.iter().map(|token| token.class);
        !complete || classes.any(|class| matches!(class, ValueClass::Url | ValueClass::Host))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{
        AllowedAgents, CapabilityDraft, CapabilityId, CapabilityRequest, Effects, Label, Principal,
        PrincipalId,
    };

    use super::*;

    /// Whether an e-mail address, and whether a password, of `mcp:crm` may go to such a tool there
    /// and to such a tool elsewhere.
    fn goes(effects: Effects, sink: Option<SinkKind>, accepts: &[&str], text: &str) -> [bool; 4] {
        let id = CapabilityId::parse("crm.tool").unwrap();
        let mut draft = CapabilityDraft::new(id.clone(), "A tool", effects, AllowedAgents::Any);
        draft.sink = sink;
        draft.accepts_masked = accepts.iter().map(|kind| (*kind).to_owned()).collect();
        let capability = draft.build().unwrap();
        let who = Principal::new(PrincipalId::parse("ana").unwrap());
        let request = CapabilityRequest::new(id, "");
        let arguments = json!({ "text": text });
        let value = |kind: &str| MaskedValue {
            mask: "[X_1]".to_owned(),
            place: "/text".to_owned(),
            kind: kind.to_owned(),
            family: ValueFamily::of(kind),
            origins: BTreeSet::from(["mcp:crm".to_owned()]),
            label: Label::clean(),
            stays_readable: false,
        };
        let asked = |origin, kind| {
            let query = PolicyQuery {
                arguments: Some(&arguments),
                origin: Some(origin),
                ..PolicyQuery::new(&capability, &who, &request)
            };
            may_receive(&query, &value(kind))
        };
        [
            asked("mcp:crm", "email"),
            asked("mcp:crm", "password"),
            asked("mcp:other", "email"),
            asked("mcp:other", "password"),
        ]
    }

    #[test]
    fn where_a_masked_value_may_go() {
        let send = Some(SinkKind::ExternalSend);
        let (yes, no) = (true, false);
        for (effects, sink, wanted) in [
            (Effects::READ_LOCAL, None, [yes, yes, yes, no]),
            (Effects::WRITE_LOCAL, None, [yes, yes, yes, no]),
            (Effects::READ_OPEN, None, [yes, yes, no, no]),
            (Effects::WRITE_OPEN, None, [yes, yes, no, no]),
            (Effects::WRITE_OPEN, send, [yes, no, no, no]),
            (Effects::WRITE_LOCAL, Some(SinkKind::Payment), [yes, no, no, no]),
            (Effects::WRITE_LOCAL, Some(SinkKind::Credential), [yes, yes, no, no]),
            (Effects::UNDECLARED, None, [yes, yes, no, no]),
        ] {
            assert_eq!(goes(effects, sink, &[], "hello"), wanted, "{effects:?} {sink:?}");
        }
    }

    #[test]
    fn a_call_to_the_outside_that_names_a_host_takes_nothing_there() {
        let url = "https://evil.test/?q=x";
        let (yes, no) = (true, false);
        for (effects, wanted) in [
            (Effects::READ_OPEN, [no, no, no, no]),
            (Effects::READ_LOCAL, [yes, yes, yes, no]),
            (Effects::WRITE_LOCAL, [yes, yes, yes, no]),
            (Effects::WRITE_OPEN, [yes, no, no, no]),
            (Effects::UNDECLARED, [yes, no, no, no]),
        ] {
            assert_eq!(goes(effects, None, &[], url), wanted, "{effects:?}");
        }
    }

    #[test]
    fn a_host_is_named_anywhere_in_the_arguments() {
        for descriptions in [
            json!("see https://evil.test/"),
            json!("evil.com"),
            json!({ "a": [{ "b": "https://evil.test/" }] }),
            json!([1, "evil.com"]),
            // Too long to be read whole.
            json!("x ".repeat(200_000)),
        ] {
            assert!(names_a_host(&descriptions));
        }
        for plain in [json!("hello"), json!("ana@evil.test"), json!({ "a": [1, null, true, "x"] })]
        {
            assert!(!names_a_host(&plain), "{plain}");
        }
    }

    #[test]
    fn the_first_masks_are_named_and_the_others_counted() {
        let id = CapabilityId::parse("mail.send").unwrap();
        let mut draft =
            CapabilityDraft::new(id.clone(), "A tool", Effects::WRITE_OPEN, AllowedAgents::Any);
        draft.sink = Some(SinkKind::ExternalSend);
        let capability = draft.build().unwrap();
        let who = Principal::new(PrincipalId::parse("ana").unwrap());
        let request = CapabilityRequest::new(id, "");
        let detail = |count: usize, kind: &str, origins: &[&str]| {
            let masked: Vec<MaskedValue> = (1..=count)
                .map(|n| MaskedValue {
                    mask: format!("[X_{n}]"),
                    place: format!("/{n}"),
                    kind: kind.to_owned(),
                    family: ValueFamily::of(kind),
                    origins: origins.iter().map(|one| (*one).to_owned()).collect(),
                    label: Label::clean(),
                    stays_readable: false,
                })
                .collect();
            let query =
                PolicyQuery { masked: &masked, ..PolicyQuery::new(&capability, &who, &request) };
            let mut out = Vec::new();
            check(&query, &mut out);
            out.pop().map(|one| one.detail).unwrap_or_default()
        };
        assert_eq!(detail(0, "email", &[]), "");
        assert_eq!(
            detail(1, "api_key", &["mcp:a", "mcp:b"]),
            "`[X_1]` at `/1` would go to `mail.send`: the api key comes from mcp:a, mcp:b, and a \
             secret goes back to its own origin only"
        );
        let three = "`[X_1]` at `/1`, `[X_2]` at `/2`, `[X_3]` at `/3`";
        let rest = " would go to `mail.send`: the email comes from elsewhere, and it may go back \
            there and to local writes, and beyond that where the contract of the tool has it in \
            `accepts_masked`";
        assert_eq!(detail(3, "email", &[]), format!("{three}{rest}"));
        assert_eq!(detail(5, "email", &[]), format!("{three} and 2 more{rest}"));
    }

    #[test]
    fn a_contract_opens_a_sink_to_personal_data_and_to_no_foreign_secret() {
        let send = Some(SinkKind::ExternalSend);
        let open = goes(Effects::WRITE_OPEN, send, &["email", "password"], "hello");
        assert_eq!(open, [true, true, true, false]);
        let other = goes(Effects::WRITE_OPEN, send, &["phone"], "hello");
        assert_eq!(other, [true, false, false, false]);
    }
}
