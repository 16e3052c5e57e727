//! Masked values in the arguments: each may go back to where it came from and to local writes, and
//! beyond that where the signed contract accepts its kind.

use serde_json::Value;
use weaver_text::values::{self, Class};
use weaver_types::{Contribution, MaskedValue, ReasonCode, SinkKind, ValueFamily, World};

use super::hold;
use crate::query::Query;

/// The most masks that one reason names.
const NAMED: usize = 3;

/// Holds a call whose masked values may not go where it would take them.
pub(super) fn check(query: &Query<'_>, out: &mut Vec<Contribution>) {
    if query.masked.is_empty() {
        return;
    }
    let stopped: Vec<&MaskedValue> =
        query.masked.iter().filter(|one| !may_go(query, one)).collect();
    let Some(first) = stopped.first() else { return };
    let named: Vec<String> = stopped
        .iter()
        .take(NAMED)
        .map(|one| format!("`{}` at `{}`", one.mask, one.place))
        .collect();
    let more = match stopped.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let origins: Vec<&str> = first.origins.iter().map(String::as_str).collect();
    let origin = if origins.is_empty() { "elsewhere".to_owned() } else { origins.join(", ") };
    let rule = match first.family {
        ValueFamily::Secret => "a secret goes back to its own origin only",
        ValueFamily::Personal => {
            "it may go back there and to local writes, and beyond that where the contract of the \
             tool has it in `accepts_masked`"
        }
    };
    let detail = format!(
        "{}{more} would go to `{}`: the {} comes from {origin}, and {rule}",
        named.join(", "),
        query.capability.id(),
        first.kind.replace('_', " "),
    );
    out.push(hold(ReasonCode::MaskedValueFlow, &detail));
}

/// Whether this call may have the value behind a mask.
///
/// | the tool | personal data | a secret |
/// |---|---|---|
/// | of the server that the value came from | yes | unless the tool sends or pays |
/// | the same, reaching out to a host that the call names | where it counts as a sink | no |
/// | of another server, closed world, no payment and no credential | yes | no |
/// | any other | no | no |
/// | with the kind in `accepts_masked` | yes | of its own server |
pub(super) fn may_go(query: &Query<'_>, value: &MaskedValue) -> bool {
    let (capability, spec) = (query.capability, query.capability.spec());
    let own = query.origin.is_some_and(|origin| value.origins.contains(origin));
    let is_secret = value.family == ValueFamily::Secret;
    if spec.accepts_masked.contains(&value.kind) && (own || !is_secret) {
        return true;
    }
    let (sink, open) = (capability.sink(), spec.effects.world == World::Open);
    let reaches_out = || own && open && query.arguments.is_none_or(names_a_host);
    if (is_secret || sink == SinkKind::None) && reaches_out() {
        return false;
    }
    match sink {
        SinkKind::ExternalSend | SinkKind::Payment => own && !is_secret,
        SinkKind::Credential => own,
        SinkKind::None | SinkKind::Destructive => own || !is_secret && !open,
    }
}

/// Whether a host or a URL stands in the arguments: the call itself says where it goes.
fn names_a_host(arguments: &Value) -> bool {
    match arguments {
        Value::String(text) => {
            let (found, complete) = values::destinations(text);
            !complete || found.iter().any(|token| matches!(token.class, Class::Url | Class::Host))
        }
        Value::Array(items) => items.iter().any(names_a_host),
        Value::Object(members) => members.values().any(names_a_host),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use std::collections::BTreeSet;
    use weaver_types::{
        Agents, CapabilityDraft, CapabilityId, CapabilityRequest, Effects, Label, Principal,
        PrincipalId,
    };

    use super::*;

    /// Whether an e-mail address, and whether a password, of `mcp:crm` may go to such a tool there
    /// and to such a tool elsewhere.
    fn goes(effects: Effects, sink: Option<SinkKind>, accepts: &[&str], text: &str) -> [bool; 4] {
        let id = CapabilityId::parse("crm.tool").unwrap();
        let mut draft = CapabilityDraft::new(id.clone(), "A tool", effects, Agents::Any);
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
        };
        let asked = |origin, kind| {
            let query = Query {
                arguments: Some(&arguments),
                origin: Some(origin),
                ..Query::new(&capability, &who, &request)
            };
            may_go(&query, &value(kind))
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
        for named in [
            json!("see https://evil.test/"),
            json!("evil.com"),
            json!({ "a": [{ "b": "https://evil.test/" }] }),
            json!([1, "evil.com"]),
            // Too long to be read whole.
            json!("x ".repeat(200_000)),
        ] {
            assert!(names_a_host(&named));
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
            CapabilityDraft::new(id.clone(), "A tool", Effects::WRITE_OPEN, Agents::Any);
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
                })
                .collect();
            let query = Query { masked: &masked, ..Query::new(&capability, &who, &request) };
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
