//! Where a tainted run may send: what is vouched for, what is carried along, what names nobody.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_policy::{PolicyQuery, SensitiveValue, ValueOrigin, ValueOrigins};
use weaver_text::values::{ValueClass, ValueToken};
use weaver_types::{
    Confidentiality, Effects, Integrity, JsonPointer, Label, MaskedValue, ReasonCode, Rung,
    SinkKind, ValueFamily, Verdict,
};

use crate::support::{Case, draft, set};

const ALLOW_ALL: &str = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n";

/// Vouches for these tokens. A text with `4111` carries a card, which is read as an account.
#[derive(Debug, Default)]
struct Known(Vec<(ValueToken, ValueOrigin)>);

impl Known {
    fn of(tokens: &[(ValueClass, &str, ValueOrigin)]) -> Self {
        let known =
            tokens.iter().map(|(class, key, origin)| (ValueToken::new(*class, *key), *origin));
        Self(known.collect())
    }
}

impl ValueOrigins for Known {
    fn vouched(&self, token: &ValueToken) -> Option<ValueOrigin> {
        self.0.iter().find(|(known, _)| known == token).map(|(_, origin)| *origin)
    }

    fn carried(&self, text: &str) -> Vec<SensitiveValue> {
        let tokens = vec![
            ValueToken::new(ValueClass::Account, "4111"),
            ValueToken::new(ValueClass::Number, "4111"),
        ];
        let card = SensitiveValue { kind: "bank_account".to_owned(), tokens };
        if text.contains("4111") { vec![card] } else { Vec::new() }
    }

    fn masked_tokens(&self, masked: &MaskedValue) -> Option<Vec<ValueToken>> {
        // `[BANK_ACCOUNT_1]` is a mask of which nobody remembers the value.
        let value = masked.mask.strip_prefix("[value ")?.strip_suffix("]")?;
        Some(vec![ValueToken::new(ValueClass::Account, value)])
    }
}

/// A tool that sends, in a tainted run.
struct Send {
    case: Case,
    known: Known,
    masked: Vec<MaskedValue>,
}

impl Send {
    fn new(critical: &[&str]) -> Self {
        Self::to_sink(SinkKind::ExternalSend, critical)
    }

    fn to_sink(sink: SinkKind, critical: &[&str]) -> Self {
        let mut draft = draft("mail.draft", Effects::WRITE_LOCAL);
        draft.sink = Some(sink);
        draft.critical_arguments = pointers(critical);
        let mut case = Case::new(draft.build().unwrap(), &[]);
        case.label = Label::new(Confidentiality::Internal, Integrity::Untrusted);
        let known = Known::of(&[(ValueClass::Email, "bob@corp.example", ValueOrigin::User)]);
        Self { case, known, masked: Vec::new() }
    }

    /// Why the call is held; nothing where it goes on.
    fn held(&self, arguments: Value) -> Option<String> {
        let case = Case { arguments: Some(arguments), ..self.case.clone() };
        let query = PolicyQuery {
            origins: Some(&self.known),
            masked: &self.masked,
            origin: Some("mail"),
            ..case.query()
        };
        let decision = set(ALLOW_ALL, "").decide(&query);
        match (decision.verdict(), decision.primary_reason()) {
            (Verdict::Allow, _) => None,
            (Verdict::Hold, ReasonCode::UntrustedInfluence) => Some(decision.detail().to_owned()),
            other => panic!("{other:?}: {}", decision.detail()),
        }
    }

    #[track_caller]
    fn goes(&self, arguments: Value) {
        assert_eq!(self.held(arguments.clone()), None, "{arguments}");
    }

    #[track_caller]
    fn waits(&self, arguments: Value, because: &str) {
        let held = self.held(arguments.clone()).unwrap_or_default();
        assert!(held.ends_with(because), "{arguments}: {held:?}");
    }
}

fn pointers(places: &[&str]) -> BTreeSet<JsonPointer> {
    places.iter().map(|at| JsonPointer::parse(at).unwrap()).collect()
}

#[test]
fn a_value_that_nobody_vouches_for_is_named_with_its_place() {
    let to = "the e-mail address at `/to` is not found in the user's words or in trusted results";
    Send::new(&["/to"]).waits(json!({ "to": "eve@evil.example" }), to);
    let pay = "the e-mail address at `/to` is not found in the user's words";
    Send::to_sink(SinkKind::Payment, &["/to"]).waits(json!({ "to": "eve@evil.example" }), pay);
    let long = format!("/{}", "n".repeat(200));
    let shown = format!("at `/{}` is not", "n".repeat(79));
    let held = Send::new(&[&long]).held(json!({ "n".repeat(200): "eve@evil.example" })).unwrap();
    assert!(held.contains(&shown), "{held}");
}

#[test]
fn what_only_trusted_results_say_pays_nobody() {
    let trusted = Known::of(&[(ValueClass::Email, "bob@corp.example", ValueOrigin::Trusted)]);
    let to_bob = || json!({ "to": "bob@corp.example" });
    let send = Send { known: trusted, ..Send::new(&["/to"]) };
    send.goes(to_bob());
    for sink in [SinkKind::Payment, SinkKind::Credential, SinkKind::Destructive] {
        let strict = Send::to_sink(sink, &["/to"]);
        strict.goes(to_bob());
        let strict = Send {
            known: Known::of(&[(ValueClass::Email, "bob@corp.example", ValueOrigin::Trusted)]),
            ..strict
        };
        strict.waits(to_bob(), "the e-mail address at `/to` is not found in the user's words");
    }
}

#[test]
fn a_text_that_is_a_handle_says_who_gets_it() {
    let send = Send::new(&["/to"]);
    let with = |name: &str, text: &str| json!({ "to": "bob@corp.example", name: text });
    for handle in
        ["@eve", "#general", "  @eve  ", "#1", "+123456", "+1 (555) 010-0.0/", "+49-89-1234"]
    {
        send.waits(with("hotel", handle), "or in trusted results");
        // In a text, a telephone number with its country is one that a reader could call.
        match handle.bytes().filter(u8::is_ascii_digit).count() {
            0..8 => send.goes(with("body", handle)),
            _ => send.waits(with("body", handle), "or in trusted results"),
        }
    }
    for text in ["eve", "@", "#", "@!?", "@eve now", "+12345", "+123456a", "123456", "+ one two"] {
        send.goes(with("hotel", text));
    }
}

#[test]
fn an_address_in_a_text_must_be_vouched_for_too() {
    let send = Send::new(&["/to"]);
    let with = |body: &str| json!({ "to": "bob@corp.example", "body": body });
    send.goes(with("hello"));
    send.goes(with("ask bob@corp.example"));
    send.waits(with("ask eve@evil.example"), "or in trusted results");
    send.waits(
        json!({ "to": "bob@corp.example", "x": { "eve@evil.example": 1 } }),
        "trusted results",
    );
}

#[test]
fn a_text_that_cannot_be_read_whole_is_held() {
    let send = Send::new(&["/to"]);
    let with = |length: usize| json!({ "to": "bob@corp.example", "body": "x ".repeat(length / 2) });
    send.goes(with(256 * 1024));
    let unreadable = "`/body` is too long or too deeply encoded to be read";
    send.waits(with(256 * 1024 + 2), unreadable);
}

#[test]
fn a_value_that_harms_its_owner_goes_on_by_the_users_word_alone() {
    let body = || json!({ "to": "bob@corp.example", "body": "my 4111" });
    let carried = "the bank account in `/body` is not found in the user's words";
    let mut send = Send::new(&["/to"]);
    send.waits(body(), carried);
    for class in [ValueClass::Account, ValueClass::Number] {
        for (origin, goes) in [(ValueOrigin::User, true), (ValueOrigin::Trusted, false)] {
            let bob = (ValueClass::Email, "bob@corp.example", ValueOrigin::User);
            send.known = Known::of(&[bob, (class, "4111", origin)]);
            match goes {
                true => send.goes(body()),
                false => send.waits(body(), carried),
            }
        }
    }
}

#[test]
fn a_mask_at_that_place_of_that_kind_says_itself_where_it_may_go() {
    let masked = |kind: &str, place: &str| MaskedValue {
        mask: "[BANK_ACCOUNT_1]".to_owned(),
        place: place.to_owned(),
        kind: kind.to_owned(),
        family: ValueFamily::Personal,
        origins: ["mail".to_owned()].into(),
        label: Label::new(Confidentiality::Restricted, Integrity::Trusted),
        stays_readable: false,
    };
    let carried = "the bank account in `/body` is not found in the user's words";
    let body = || json!({ "to": "bob@corp.example", "body": "my 4111" });
    for (kind, place, goes) in [
        ("bank_account", "/body", true),
        ("bank_account", "/subject", false),
        ("card", "/body", false),
        ("card", "/subject", false),
    ] {
        let send = Send { masked: vec![masked(kind, place)], ..Send::new(&["/to"]) };
        match goes {
            true => send.goes(body()),
            false => send.waits(body(), carried),
        }
    }
}

#[test]
fn a_mask_exempts_the_value_that_it_stands_for_and_no_other_of_its_kind() {
    let carried = "the bank account in `/body` is not found in the user's words";
    for (value, place, goes) in [
        ("4111", "/body", true),
        ("4111", "/subject", true),
        ("4222", "/body", false),
        ("4222", "/subject", false),
    ] {
        let masked = MaskedValue {
            mask: format!("[value {value}]"),
            place: place.to_owned(),
            kind: "bank_account".to_owned(),
            family: ValueFamily::Personal,
            origins: ["mail".to_owned()].into(),
            label: Label::new(Confidentiality::Restricted, Integrity::Trusted),
            stays_readable: false,
        };
        let send = Send { masked: vec![masked], ..Send::new(&["/to"]) };
        let body = json!({ "to": "bob@corp.example", "body": "my 4111" });
        match goes {
            true => send.goes(body),
            false => send.waits(body, carried),
        }
    }
}

#[test]
fn where_no_argument_says_to_whom_all_that_is_said_must_be_known() {
    let mut send = Send::new(&["/to"]);
    let user = ValueOrigin::User;
    send.known = Known::of(&[
        (ValueClass::Phrase, "hello dear world", user),
        (ValueClass::Number, "5", user),
        (ValueClass::Day, "2027-05-15", user),
    ]);
    let with = |name: &str, value: Value| json!({ "note": "hello dear world", name: value });
    for (name, value) in [
        ("flag", json!(true)),
        ("hotel", json!(true)),
        ("sort", json!("desc")),
        ("sort", json!(" desc ")),
        ("start", json!("10:30")),
        ("start", json!("2027-05-15")),
        ("hotel", json!("2027-05-15")),
        ("nights", json!(5)),
        ("hotel", json!("")),
        ("hotel", json!(null)),
    ] {
        send.goes(with(name, value));
    }
    let at =
        |name: &str| format!("`/{name}` is not found in the user's words or in trusted results");
    for (name, value) in [
        ("note", json!("hello dear eve")),
        ("hotel", json!("desc")),
        ("sort", json!("desc by name")),
        ("start", json!("when eve comes")),
        ("start", json!("2027-05-16")),
        ("hotel", json!("10:30")),
        ("nights", json!(6)),
    ] {
        send.waits(with(name, value), &at(name));
    }
    let nobody = "no argument says where the call goes";
    send.waits(json!({}), nobody);
    send.waits(json!({ "flag": true, "sort": "desc", "start": "10:30" }), nobody);
    let strict = Send { known: send.known, ..Send::to_sink(SinkKind::Payment, &["/to"]) };
    strict.waits(json!({ "note": "hello dear world" }), nobody);
}

/// A calendar whose guests get an invitation, in a tainted run.
fn calendar(sink: SinkKind, sends_to: &[&str]) -> Send {
    let mut draft = draft("calendar.create", Effects::WRITE_LOCAL);
    draft.sink = Some(sink);
    draft.critical_arguments = pointers(&["/guests", "/title"]);
    draft.sends_to = pointers(sends_to);
    let any = json!({ "properties": { "title": {}, "guests": {}, "more": {} } });
    draft.input_schema = Some(any.into());
    let mut send = Send::new(&[]);
    send.case.capability = draft.build().unwrap();
    send
}

/// A reader of files that takes addresses in their place, in a tainted run that holds secrets.
fn file_reader() -> Send {
    let mut draft = draft("pdf.read", Effects::READ_OPEN);
    draft.sink = Some(SinkKind::ExternalSend);
    draft.sends_to = pointers(&["/sources/*/url", "/is_url"]);
    let source = json!({ "type": "object", "properties": { "path": {}, "url": {}, "pages": {} } });
    let sources = json!({ "type": "array", "items": source });
    let any =
        json!({ "properties": { "sources": sources, "path": {}, "is_url": {}, "length": {} } });
    draft.input_schema = Some(any.into());
    let mut send = Send::new(&[]);
    send.case.capability = draft.build().unwrap();
    send.case.label = Label::new(Confidentiality::Restricted, Integrity::Untrusted);
    send
}

#[test]
fn a_reader_of_files_that_is_given_no_address_asks_none() {
    let send = file_reader();
    for file in [
        json!({ "path": "/home/ana/a.md", "length": 1 }),
        json!({ "path": "notes/today.txt", "is_url": false }),
        json!({ "path": "~/plan.md" }),
        json!({ "path": "file:///home/ana/a.md" }),
        json!({ "sources": [{ "path": "/home/ana/a.pdf", "pages": "1-3" }, { "path": "b.pdf" }] }),
        json!({ "sources": [{ "path": "/home/ana/a.pdf", "url": null }] }),
    ] {
        send.goes(file);
    }
    for address in [
        json!({ "path": "https://evil.example/?q=x" }),
        json!({ "path": "evil.com/x" }),
        json!({ "path": "//evil.example/x" }),
        json!({ "path": r"\\evil.example\x" }),
        json!({ "path": "/\t/evil.example/x" }),
        json!({ "path": "/home/ana/a.md", "is_url": true }),
        json!({ "sources": [{ "path": "a.pdf" }, { "url": "https://evil.example/a.pdf" }] }),
        json!({ "sources": [{ "path": "https://evil.example/a.pdf" }] }),
        json!({ "sources": [{ "path": "a.pdf", "https://evil.example": 1 }] }),
    ] {
        assert!(send.held(address.clone()).is_some(), "{address}");
    }
}

#[test]
fn a_call_that_names_nobody_goes_nowhere() {
    let send = calendar(SinkKind::ExternalSend, &["/guests"]);
    for nobody in [
        json!({}),
        json!({ "title": "lunch" }),
        json!({ "title": "lunch", "guests": null }),
        json!({ "title": "lunch", "guests": [] }),
        json!({ "title": "lunch", "guests": ["", " ", null, []] }),
        json!({ "title": "lunch", "guests": [{ "email": " " }] }),
        json!({ "title": "lunch", "more": { "colour": ["red", 3] } }),
        json!({ "title": "lunch", "more": { "attendees": [], "email": " " } }),
    ] {
        send.goes(nobody);
    }
    for somebody in [
        json!({ "title": "lunch", "guests": "eve" }),
        json!({ "title": "lunch", "guests": ["eve"] }),
        json!({ "title": "lunch", "guests": ["", "eve"] }),
        json!({ "title": "lunch", "guests": [7] }),
        json!({ "title": "lunch", "guests": [{ "email": "eve" }] }),
        json!({ "title": "lunch", "guests": [{ "email": "", "name": "eve" }] }),
        json!({ "title": "lunch", "guests": { "eve@evil.example": null } }),
        json!({ "title": "lunch", "guests": [{ "C0EV1L99": {} }] }),
        // A name that holds the word of a field, among others, is none.
        json!({ "title": "lunch", "guests": { "eve.mail@evil.example": {} } }),
        json!({ "title": "lunch", "guests": { "team-evil": {} } }),
        json!({ "title": "lunch", "guests": { "user-eve": null } }),
        json!({ "title": "lunch", "guests": [{ "date@evil.example": "" }] }),
        json!({ "title": "lunch", "guests": { "everyone": {} } }),
        json!({ "title": "lunch", "guests": { "contact-list": {} } }),
        json!({ "title": "lunch", "guests": { "client-room": null } }),
        // A name that is a number is no index of a list.
        json!({ "title": "lunch", "guests": { "4711": {} } }),
        // Whom a member or an argument outside of the schema names, nobody knows.
        json!({ "title": "lunch", "more": { "attendees": ["eve"] } }),
        json!({ "title": "lunch", "more": [{ "email": "eve@evil.example" }] }),
        json!({ "title": "lunch", "more": { "webhook": "https://evil.example" } }),
        json!({ "title": "lunch", "invite": "eve" }),
    ] {
        assert!(send.held(somebody.clone()).is_some(), "{somebody}");
    }
}

#[test]
fn only_a_contract_that_says_who_gets_it_lets_a_call_go_nowhere() {
    let lunch = || json!({ "title": "lunch" });
    assert!(calendar(SinkKind::ExternalSend, &[]).held(lunch()).is_some());
    assert!(calendar(SinkKind::Payment, &["/guests"]).held(lunch()).is_some());
    calendar(SinkKind::ExternalSend, &["/guests"]).goes(lunch());
    let deeper = calendar(SinkKind::ExternalSend, &["/guests/*/email"]);
    deeper.goes(json!({ "title": "lunch", "guests": [{ "name": "eve" }] }));
    assert!(deeper.held(json!({ "guests": [{ "email": "eve" }] })).is_some());
}

#[test]
fn a_name_outside_of_the_schema_is_critical_unless_it_names_a_text() {
    let send = calendar(SinkKind::ExternalSend, &[]);
    let mut known = Known::of(&[(ValueClass::Phrase, "lunch", ValueOrigin::User)]);
    known.0.push((ValueToken::new(ValueClass::Name, "lunch"), ValueOrigin::User));
    let send = Send { known, ..send };
    let with = |name: &str| json!({ "title": "lunch", name: "something else" });
    for name in ["body", "start", "sort"] {
        send.goes(with(name));
    }
    for name in ["recipient", "hotel", "url"] {
        assert!(send.held(with(name)).is_some(), "{name}");
    }
    send.goes(json!({ "title": "lunch", "more": "something else" }));
}

#[test]
fn a_setting_outside_of_the_schema_is_critical_where_it_decides() {
    let mut send = calendar(SinkKind::Payment, &[]);
    send.known = Known::of(&[(ValueClass::Name, "lunch", ValueOrigin::User)]);
    send.case.capability = {
        let mut draft = draft("bank.pay", Effects::WRITE_OPEN);
        draft.sink = Some(SinkKind::Payment);
        draft.rung = Some(Rung::L3);
        draft.critical_arguments = pointers(&["/to"]);
        draft.input_schema = Some(json!({ "properties": { "to": {} } }).into());
        draft.build().unwrap()
    };
    send.goes(json!({ "to": "lunch", "format": "short" }));
    assert!(send.held(json!({ "to": "lunch", "recurring": "daily" })).is_some());
    assert!(send.held(json!({ "to": "lunch", "permission": "all" })).is_some());
}

#[test]
fn a_member_that_the_schema_does_not_name_may_be_a_second_receiver() {
    let mut draft = draft("chat.post", Effects::WRITE_OPEN);
    draft.sink = Some(SinkKind::ExternalSend);
    draft.rung = Some(Rung::L3);
    draft.critical_arguments = pointers(&["/channel"]);
    let schema = json!({ "properties": {
        "channel": {}, "text": {}, "options": { "type": "object" }, "blocks": { "items": {} },
    } });
    draft.input_schema = Some(schema.into());
    let known =
        [ValueClass::Phrase, ValueClass::Name].map(|class| (class, "general", ValueOrigin::User));
    let mut send = Send { known: Known::of(&known), ..Send::new(&[]) };
    send.case.capability = draft.build().unwrap();
    let with = |more: Value| json!({ "channel": "general", "options": more });
    for more in [json!({}), json!({ "format": "x", "title": "y", "silent": true, "count": 3 })] {
        send.goes(with(more));
    }
    for more in [
        json!({ "bcc": "mallory" }),
        json!({ "also_send_to": ["C0EV1L99"] }),
        json!({ "webhook_host": "evil" }),
        json!({ "deeper": [{ "recipient": "mallory" }] }),
    ] {
        assert!(send.held(with(more.clone())).is_some(), "{more}");
    }
    let blocks = json!({ "channel": "general", "blocks": [{ "user": "mallory" }] });
    assert!(send.held(blocks).is_some());
}

/// A map of receivers has them as the names of its members, whatever stands under them.
#[test]
fn a_member_name_below_a_receiver_is_a_receiver() {
    let send = Send::new(&["/to", "/cc"]);
    let with = |cc: Value| json!({ "to": "bob@corp.example", "cc": cc });
    for nobody in [json!(null), json!({}), json!([]), json!({ "address": "", "name": null })] {
        send.goes(with(nobody));
    }
    send.goes(with(json!([{ "emailAddress": { "address": "bob@corp.example" } }])));
    for empty in [json!(null), json!({}), json!([[]]), json!(""), json!({ "name": null })] {
        for cc in [json!({ "room-evil": empty }), json!([{ "room-evil": empty }])] {
            assert!(send.held(with(cc.clone())).is_some(), "{cc}");
        }
        for name in ["14155550199", "0", "contact-list", "mailinglist", "broadcast", "admin"] {
            let cc = json!({ name: empty });
            assert!(send.held(with(cc.clone())).is_some(), "{cc}");
        }
    }
    // Nor does an amount that the user said, for an account under whose number it stands.
    let pays = Send::to_sink(SinkKind::Payment, &["/accounts"]);
    let known = Known::of(&[(ValueClass::Amount, "250", ValueOrigin::User)]);
    let pays = Send { known, ..pays };
    let known = Known::of(&[(ValueClass::Amount, "250", ValueOrigin::User)]);
    let splits = Send { known, ..Send::to_sink(SinkKind::Payment, &["/splits"]) };
    for accounts in [json!({ "99887766": { "amount": 250 } }), json!({ "99887766": 250 })] {
        assert!(pays.held(json!({ "accounts": accounts })).is_some(), "{accounts}");
        assert!(splits.held(json!({ "splits": accounts })).is_some(), "{accounts}");
    }
    // What somebody vouched for stands under it does not vouch for the name.
    let cc = json!({ "room-evil": "bob@corp.example" });
    assert!(send.held(with(cc.clone())).is_some(), "{cc}");
    let cc = json!({ "address": { "name": { "room-evil": "" } } });
    assert!(send.held(with(cc.clone())).is_some(), "{cc}");
    let known =
        [ValueClass::Phrase, ValueClass::Name].map(|class| (class, "team-blue", ValueOrigin::User));
    let send = Send { known: Known::of(&known), ..send };
    send.goes(json!({ "to": { "team-blue": {} } }));
}

#[test]
fn a_display_name_is_read_as_a_text() {
    let send = Send::new(&["/to"]);
    let to = |name: &str| json!({ "to": format!("{name} <bob@corp.example>") });
    send.goes(to("Bob"));
    send.goes(to("Dr. B. Stone (Sales)"));
    for name in ["\"https://evil.com/x\"", "see www.evil.com", "card 4111"] {
        assert!(send.held(to(name)).is_some(), "{name}");
    }
}

#[test]
fn the_words_of_a_clearance_say_what_the_run_holds() {
    let all = [
        (Confidentiality::Public, "public"),
        (Confidentiality::Internal, "internal"),
        (Confidentiality::Confidential, "confidential"),
        (Confidentiality::Restricted, "restricted"),
    ];
    for (held, held_word) in all {
        for (clearance, clearance_word) in all {
            let mut draft = draft("mail.draft", Effects::WRITE_LOCAL);
            draft.sink = Some(SinkKind::ExternalSend);
            draft.clearance = clearance;
            let mut case = Case::new(draft.build().unwrap(), &[]);
            case.label = Label::new(held, Integrity::Trusted);
            let decision = case.decide(&set(ALLOW_ALL, ""));
            if held <= clearance {
                assert_eq!(decision.verdict(), Verdict::Allow, "{held_word} {clearance_word}");
                continue;
            }
            let detail = format!(
                "the run holds {held_word} data, and `mail.draft` may receive {clearance_word} \
                 data at most"
            );
            assert_eq!(decision.primary_reason(), ReasonCode::ClearanceExceeded);
            assert_eq!(decision.detail(), detail);
        }
    }
}

#[test]
fn what_lies_behind_a_mask_counts_only_where_it_may_not_go() {
    let mut draft = draft("mail.draft", Effects::WRITE_LOCAL);
    draft.sink = Some(SinkKind::ExternalSend);
    draft.clearance = Confidentiality::Internal;
    let case = Case::new(draft.build().unwrap(), &[]);
    let masked = [MaskedValue {
        mask: "[EMAIL_1]".to_owned(),
        place: "/body".to_owned(),
        kind: "email".to_owned(),
        family: ValueFamily::Personal,
        origins: ["mail".to_owned()].into(),
        label: Label::new(Confidentiality::Restricted, Integrity::Trusted),
        stays_readable: false,
    }];
    let reasons = |origin| {
        let query = PolicyQuery { masked: &masked, origin: Some(origin), ..case.query() };
        let decision = set(ALLOW_ALL, "").decide(&query);
        let held = decision.check_results().iter().filter(|one| one.verdict == Verdict::Hold);
        held.map(|one| one.reason).collect::<Vec<_>>()
    };
    assert!(reasons("mail").is_empty());
    assert_eq!(reasons("crm"), [ReasonCode::ClearanceExceeded, ReasonCode::MaskedValueFlow]);
}

#[test]
fn what_holds_nothing_may_mean_everything_at_a_strict_sink() {
    let mut delete = Send::to_sink(SinkKind::Destructive, &["/table", "/filter", "/ids"]);
    delete.known = Known::of(&[(ValueClass::Name, "orders", ValueOrigin::User)]);
    delete.goes(json!({ "table": "orders", "filter": null, "note": {} }));
    delete.goes(json!({ "table": "orders", "filter": { "name": "orders", "id": null } }));
    for (arguments, place) in [
        (json!({ "table": "orders", "filter": {} }), "/filter"),
        (json!({ "table": "orders", "filter": { "id": null } }), "/filter"),
        (json!({ "table": "orders", "filter": { "$or": [{}] } }), "/filter"),
        (json!({ "table": "orders", "ids": [] }), "/ids"),
        (json!({ "table": "orders", "ids": [null] }), "/ids"),
        (json!({ "table": "orders", "ids": [{ "id": "" }] }), "/ids"),
        (json!({ "table": "orders", "ids": ["orders", null] }), "/ids/1"),
    ] {
        let why = format!("the empty value at `{place}` is not found in the user's words");
        delete.waits(arguments, &why);
    }
    Send::new(&["/to", "/cc"]).goes(json!({ "to": "bob@corp.example", "cc": [{}] }));
}
