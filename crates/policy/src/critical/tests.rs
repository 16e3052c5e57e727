use serde_json::json;

use super::*;

fn found(schema: Value, sink: SinkKind) -> Vec<String> {
    arguments(Some(&schema), sink).iter().map(|at| at.as_str().to_owned()).collect()
}

fn texts(names: &[&str]) -> Value {
    let members: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    json!({ "type": "object", "properties": members })
}

#[test]
fn names_tell_what_an_argument_is_for() {
    let table = [
        ("recipients", ArgumentRole::Recipient),
        ("to", ArgumentRole::Recipient),
        ("user_email", ArgumentRole::Email),
        ("addresses", ArgumentRole::Recipient),
        ("webhookURL", ArgumentRole::Network),
        ("filePath", ArgumentRole::Path),
        ("event_id", ArgumentRole::Identifier),
        ("accountNumber", ArgumentRole::Identifier),
        ("iban", ArgumentRole::Account),
        ("newPassword", ArgumentRole::Secret),
        ("totalAmount", ArgumentRole::Amount),
        ("quantity", ArgumentRole::Quantity),
        ("startTime", ArgumentRole::Time),
        ("message_body", ArgumentRole::Text),
        ("hotel", ArgumentRole::Other),
    ];
    for (name, wanted) in table {
        assert_eq!(argument_role(name), wanted, "{name}");
    }
}

#[test]
fn an_outgoing_tool_is_read_by_its_names_and_a_stricter_one_in_full() {
    let schema = texts(&["recipient", "subject", "hotel", "start_day", "body"]);
    assert_eq!(found(schema.clone(), SinkKind::ExternalSend), ["/recipient"]);
    assert_eq!(found(schema.clone(), SinkKind::Payment), ["/hotel", "/recipient"]);
    assert!(found(schema, SinkKind::None).is_empty());
}

#[test]
fn schemas_are_read_below_lists_choices_and_references() {
    let schema = json!({
        "type": "object",
        "$defs": { "who": { "type": "object", "properties": { "email": {}, "role_text": {} } } },
        "properties": {
            "parts": { "type": "array", "items": { "properties": { "file_id": {}, "text": {} } } },
            "more": { "anyOf": [{ "properties": { "to": {} } }, { "type": "null" }] },
            "whom": { "$ref": "#/$defs/who" },
            "a/b": { "properties": { "url": {} } },
            "pair": { "type": "array", "prefixItems": [{}, { "properties": { "url": {} } }] },
            "to_all": { "type": "boolean" },
        },
    });
    assert_eq!(
        found(schema, SinkKind::ExternalSend),
        ["/a~1b/url", "/more/to", "/pair/*/url", "/parts/*/file_id", "/whom"]
    );
}

/// A schema for a value, with a recipient somewhere below.
fn schemas() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(json!({ "properties": { "to": { "type": "string" }, "body": {} } })),
        Just(json!({ "type": "string" })),
        Just(json!({ "$ref": "#/$defs/who" })),
        Just(json!({ "$ref": "#" })),
        Just(json!(true)),
    ];
    leaf.prop_recursive(6, 24, 3, |inner| {
        let list = proptest::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            list.clone().prop_map(|all| json!({ "prefixItems": all })),
            list.clone().prop_map(|all| json!({ "items": all })),
            list.clone().prop_map(|all| json!({ "anyOf": all })),
            list.prop_map(|all| json!({ "allOf": all, "type": "object" })),
            inner.clone().prop_map(|one| json!({ "type": "array", "items": one })),
            inner.clone().prop_map(|one| json!({ "additionalProperties": one })),
            inner.clone().prop_map(|one| json!({ "patternProperties": { "^x": one } })),
            inner.clone().prop_map(|one| json!({ "properties": { "body": one } })),
            inner.prop_map(|one| json!({ "properties": { "more": one, "to": {} } })),
        ]
    })
}

proptest::proptest! {
    /// An argument that the schema declares is not asked about again, so that a recipient among
    /// them must have been found.
    #[test]
    fn a_declared_recipient_is_critical(body in schemas()) {
        let schema = json!({
            "properties": { "body": body },
            "$defs": { "who": { "properties": { "to": {}, "more": {} } } },
        });
        let critical = arguments(Some(&schema), SinkKind::ExternalSend);
        let mut paths = vec![vec!["body"]];
        for next in 0.. {
            let Some(path) = paths.get(next).cloned() else { break };
            if path.len() < 4 {
                paths.extend(["body", "more", "0", "1"].map(|step| [path.as_slice(), &[step]].concat()));
            }
            let at = [path.as_slice(), &["to"]].concat();
            let step = |part: &&'static str| {
                part.parse().map_or_else(|_| PathStep::member(part), PathStep::item)
            };
            let steps: Vec<PathStep<'_>> = at.iter().map(step).collect();
            if schema_membership(&schema, &steps) == SchemaMembership::Declared {
                proptest::prop_assert!(
                    critical.iter().any(|declared| covers(declared, &at)),
                    "{at:?} in {schema}",
                );
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_critical_as_a_whole() {
    assert_eq!(arguments(None, SinkKind::ExternalSend), [JsonPointer::parse("").unwrap()].into());
    assert_eq!(found(json!({ "not": {} }), SinkKind::Payment), [""]);
    let endless = json!({ "properties": { "x": { "$ref": "#" } } });
    assert!(!found(endless, SinkKind::ExternalSend).is_empty(), "it ends, and covers the rest");
    let lost = json!({ "properties": { "x": { "$ref": "#/$defs/none" } } });
    assert_eq!(found(lost, SinkKind::ExternalSend), ["/x"]);
    assert!(found(json!({ "type": "object", "properties": {} }), SinkKind::Payment).is_empty());
}

#[test]
fn a_declared_place_covers_what_is_below_it() {
    let at = |text: &str| JsonPointer::parse(text).unwrap();
    assert!(covers::<&str>(&at(""), &[]) && covers(&at(""), &["a"]));
    assert!(covers(&at("/to"), &["to", "0"]) && !covers(&at("/to"), &["to_all"]));
    assert!(covers(&at("/parts/*/id"), &["parts", "3", "id"]));
    assert!(!covers(&at("/parts/*/id"), &["parts", "3"]));
    assert!(covers(&at("/a~1b"), &["a/b"]));
}

#[test]
fn a_schema_is_read_where_it_declares_its_members() {
    for (schema, whole) in [
        (json!({ "additionalProperties": false }), false),
        (json!({ "additionalProperties": true }), true),
        (json!({ "type": "object" }), false),
        (json!({ "type": "string" }), true),
        (json!({ "type": "object", "title": "T" }), true),
        (json!({ "title": "T" }), true),
        (json!({}), true),
        (json!({ "properties": {} }), false),
        (json!({ "anyOf": [] }), false),
        (json!({ "oneOf": [] }), false),
        (json!({ "allOf": [] }), false),
    ] {
        let expected = if whole { vec![""] } else { vec![] };
        assert_eq!(found(schema.clone(), SinkKind::Payment), expected, "{schema}");
    }
}

#[test]
fn what_lies_too_deep_is_critical_as_a_whole() {
    let nested = |levels| {
        let leaf = json!({ "properties": { "to": {} } });
        (0..levels).fold(leaf, |inner, _| json!({ "properties": { "x": inner } }))
    };
    let send = SinkKind::ExternalSend;
    assert_eq!(found(nested(4), send), ["/x/x/x/x/to"]);
    assert_eq!(found(nested(5), send), ["/x/x/x/x/x/to"]);
    assert_eq!(found(nested(6), send), ["/x/x/x/x/x/x"]);
    assert_eq!(found(nested(9), send), ["/x/x/x/x/x/x"]);
}

#[test]
fn what_lies_beyond_the_bound_on_schemas_is_critical() {
    let wide = |count| {
        let names = (0..count).map(|n| (format!("part{n:03}x"), json!({ "type": "string" })));
        json!({ "properties": names.collect::<Map<_, _>>() })
    };
    let none: [&str; 0] = [];
    assert_eq!(found(wide(511), SinkKind::ExternalSend), none);
    assert_eq!(found(wide(512), SinkKind::ExternalSend), ["/part511x"]);
    assert_eq!(found(wide(514), SinkKind::ExternalSend).len(), 3);
}

#[test]
fn at_a_strict_sink_a_group_is_read_and_not_critical_itself() {
    let hotel = || json!({ "type": "object", "properties": { "city": {}, "title": {} } });
    let schema = json!({
        "$defs": { "hotel": hotel() },
        "properties": {
            "plain": {},
            "stay": hotel(),
            "list": { "type": "array", "items": hotel() },
            "entries": { "type": "array", "items": hotel() },
            "named": { "$ref": "#/$defs/hotel" },
            "named_entries": { "items": { "$ref": "#/$defs/hotel" } },
            "texts": { "items": { "type": "string" } },
            "odd": { "properties": 1 },
            "nothing": { "type": "boolean" },
        },
    });
    assert_eq!(
        found(schema.clone(), SinkKind::Payment),
        [
            "/entries/*/city", "/list", "/named/city", "/named_entries/*/city", "/odd", "/plain",
            "/stay/city",
        ]
    );
    // A `list` may name receivers.
    assert_eq!(found(schema, SinkKind::ExternalSend), ["/list"]);
}

#[test]
fn a_name_alone_tells_whether_an_argument_is_critical() {
    let (none, send, pay) = (SinkKind::None, SinkKind::ExternalSend, SinkKind::Payment);
    for (name, critical) in [
        ("to", [false, true, true]),
        ("amount", [false, true, true]),
        ("hotel", [false, false, true]),
        ("subject", [false, false, false]),
        ("start_date", [false, false, false]),
        ("limit", [false, false, false]),
    ] {
        assert_eq!([none, send, pay].map(|sink| is_critical(name, sink)), critical, "{name}");
    }
    for sink in [SinkKind::Credential, SinkKind::Destructive] {
        assert!(is_critical("hotel", sink));
    }
}

#[test]
fn references_are_followed_from_the_root() {
    let schema = |reference: &str| {
        json!({
            "$defs": { "a/b": { "properties": { "url": {} } }, "list": [{}], "text": "x" },
            "properties": { "x": { "$ref": reference } },
        })
    };
    let send = SinkKind::ExternalSend;
    assert_eq!(found(schema("#/$defs/a~1b"), send), ["/x/url"]);
    for lost in ["#/$defs/none", "#/$defs/text", "other.json", "#$defs", "#/$defs/a~1b/url"] {
        assert_eq!(found(schema(lost), send), ["/x"], "{lost}");
    }
}

/// Names under which tools take somebody who gets something.
const RECEIVERS: &str = "to cc bcc recipients receiver send_to forward_to audience addressee \
    attendees guests invitees members users assignees reviewers watchers followers share_with \
    shared_with notify notify_users mention mentions dest destination target channel room thread \
    group team list mailing_list phone number msisdn account iban payee beneficiary handle username \
    user_id peer contact subscriber webhook callback endpoint url host inbox mailbox copy_to \
    carbon_copy blind_copy on_behalf_of reply_to return_path escalate_to owner collaborators viewer \
    editors delegates recipient_list also_send_to additional_recipients extra_to deliver_to \
    delivery dm_user chat_id topic_arn queue subscribers observers readers participants_emails \
    grantee principal organizer organiser partner friend colleague manager conversation workspace \
    distribution_list newsgroup broadcast_to whom who recipientName forwardTo bccAddresses ship_to \
    bill_to pay_to transfer_to payable_to customers speakers panelists hosts relay via fax pager \
    telegram slack whatsapp discord signal sms twitter at_user tag_users cc_list";

#[test]
fn a_receiver_is_one_under_any_name() {
    let missed: Vec<&str> = RECEIVERS
        .split_whitespace()
        .filter(|name| !is_critical(name, SinkKind::ExternalSend))
        .collect();
    assert_eq!(missed, Vec::<&str>::new());
}

#[test]
fn plurals_and_joined_words_have_the_role_of_their_word() {
    for (name, role) in [
        ("copies", ArgumentRole::Recipient),
        ("beneficiaries", ArgumentRole::Recipient),
        ("directories", ArgumentRole::Path),
        ("repositories", ArgumentRole::Network),
        ("queries", ArgumentRole::Text),
        ("series", ArgumentRole::Other),
        ("filepath", ArgumentRole::Path),
        ("pathname", ArgumentRole::Path),
        ("dirname", ArgumentRole::Path),
        ("new_string", ArgumentRole::Text),
        // A count of language-model tokens is no secret.
        ("maxTokens", ArgumentRole::Setting),
        ("max_output_tokens", ArgumentRole::Setting),
        ("token", ArgumentRole::Secret),
        ("tokens", ArgumentRole::Secret),
        ("access_tokens", ArgumentRole::Secret),
        ("max_amount", ArgumentRole::Amount),
    ] {
        assert_eq!(argument_role(name), role, "{name}");
    }
}

#[test]
fn the_words_of_the_tool_say_which_argument_is_its_object() {
    let (send, pay) = (SinkKind::ExternalSend, SinkKind::Payment);
    let (grant, destroy) = (SinkKind::Credential, SinkKind::Destructive);
    for (id, sink, names, required, critical) in [
        ("ops.pay_order", pay, "order note", "", "/order"),
        ("ops.cancel_order", pay, "order shop", "", "/order /shop"),
        ("ops.delete_message", destroy, "channel message", "", "/channel /message"),
        ("ops.delete_page", destroy, "page limit", "", "/page"),
        ("ops.delete_by_query", destroy, "index query", "query", "/index /query"),
        ("ops.delete_by_query", destroy, "index query", "", "/index /query"),
        ("ops.delete_rows", destroy, "index query", "", "/index"),
        ("ops.delete_rows", destroy, "index query", "query", "/index /query"),
        ("ops.grant_role", grant, "user role_type until", "", "/role_type /until /user"),
        ("ops.set_user_permission", grant, "user permission", "", "/permission /user"),
        ("forge.update_repository", grant, "repo visibility status", "", "/repo /visibility"),
        ("ops.add_key", grant, "title content", "title content", "/content"),
        ("ops.run", grant, "body", "body", "/body"),
        ("ops.buy_tickets", pay, "event count", "count", "/count /event"),
        ("ops.post_comment", grant, "user comment", "comment", "/user"),
        ("docs.share_document", send, "document email", "", "/document /email"),
        ("docs.share_note", send, "note email", "", "/email /note"),
        ("docs.share_page", send, "page email", "", "/email /page"),
        ("mail.forward_message", send, "message to", "", "/message /to"),
        ("mail.send_report", send, "report to", "", "/report /to"),
        ("desk.apply_macro", send, "macro ticket_id", "", "/macro /ticket_id"),
        ("chat.send_message", send, "message to", "", "/to"),
        ("cal.create_event", send, "event to", "", "/to"),
        ("forge.add_comment", send, "comment to", "", "/to"),
        ("shop.order", pay, "quantity title", "", "/quantity"),
    ] {
        let mut schema = texts(&names.split(' ').collect::<Vec<_>>());
        schema["required"] = required.split_whitespace().collect();
        let found = tool_arguments(id, Some(&schema), sink);
        let found: Vec<&str> = found.iter().map(JsonPointer::as_str).collect();
        assert_eq!(found.join(" "), critical, "{id} {names}");
    }
    let items =
        json!({ "properties": { "items": { "items": { "properties": { "count": {} } } } } });
    assert_eq!(found(items, pay), ["/items/*/count"]);
    let manner = json!({ "properties": {
        "protocol": { "enum": ["tcp", "udp"] }, "method": {}, "tier": { "enum": ["a", "b"] },
    } });
    assert_eq!(found(manner, grant), ["/method", "/tier"], "a listed way to do the same is free");
}

#[test]
fn a_reference_is_read_as_what_it_leads_to() {
    let level = || json!({ "$ref": "#/$defs/Level" });
    let schema = json!({
        "$defs": {
            "Level": { "enum": ["viewer", "admin"] },
            "Box": { "properties": { "note": {} } },
            "Loop": { "$ref": "#/$defs/Loop" },
        },
        "type": "object",
        "properties": {
            "user": {},
            "level": level(),
            "permission": level(),
            "scopes": { "type": "array", "items": level() },
            "box": { "$ref": "#/$defs/Box" },
            "loop": { "$ref": "#/$defs/Loop" },
            "gone": { "$ref": "#/$defs/Gone" },
        },
    });
    assert_eq!(
        found(schema, SinkKind::Credential),
        ["/gone", "/level", "/loop", "/permission", "/scopes", "/user"]
    );
}

#[test]
fn how_often_something_is_paid_decides() {
    let schema = texts(&["to", "recurring", "frequency", "note"]);
    assert_eq!(found(schema.clone(), SinkKind::Payment), ["/frequency", "/recurring", "/to"]);
    assert_eq!(found(schema, SinkKind::ExternalSend), ["/to"]);
    let switch = json!({ "properties": { "to": {}, "recurring": { "type": "boolean" } } });
    assert_eq!(found(switch, SinkKind::Payment), ["/to"]);
}
