//! The firewall as the `ResultFirewall` of the context compiler.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use weaver_stack::firewall::{Firewall, FrameBudget, FrameSpec, HandleQuery};
use weaver_stack::memory::compile::{
    CompileRequest, ContextItem, ContextLog, Phase, ResultFirewall, ResultView, ToolOutput, build,
    item_from_output, item_from_view,
};
use weaver_stack::memory::error::ViewError;
use weaver_stack::text::token::CharsPerFour;
use weaver_stack::types::{
    AllowedAgents, CallId, Capability, CapabilityDraft, CapabilityId, Confidentiality, Constraints,
    Effects, Frame, Handle, HandleId, Integrity, Label, RawContent, RawResult, ResponseMode,
    Timestamp,
};

/// Stores each result under its own handle.
struct StoringFirewall {
    firewall: Firewall,
    call: CallId,
    capability: Capability,
    stored: RefCell<BTreeMap<HandleId, (RawResult, Label)>>,
}

impl StoringFirewall {
    fn new() -> Self {
        let id = CapabilityId::parse("crm.list").unwrap();
        let draft = CapabilityDraft {
            description: "Lists people.".to_owned(),
            timeout_ms: 1_000,
            ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, AllowedAgents::Any)
        };
        Self {
            firewall: Firewall::new(),
            call: CallId::parse("call_1").unwrap(),
            capability: draft.build().unwrap(),
            stored: RefCell::default(),
        }
    }

    fn spec<'a>(&'a self, label: &Label, constraints: &'a Constraints) -> FrameSpec<'a> {
        FrameSpec {
            call: &self.call,
            capability: &self.capability,
            mode: ResponseMode::Summary,
            budget: FrameBudget::default(),
            constraints,
            pii_reader: false,
            handle: None,
            label: label.clone(),
            now: Timestamp::from_micros(0),
            strict: false,
            goal: None,
        }
    }
}

fn handle(id: &HandleId, capability: &CapabilityId) -> Handle {
    let time = Timestamp::from_micros(0);
    Handle {
        handle_id: id.clone(),
        capability_id: capability.clone(),
        media_type: "text/plain".into(),
        created_at: time,
        expires_at: time,
        total_rows: None,
        byte_size: 1,
        views: Cow::default(),
    }
}

impl ResultFirewall for StoringFirewall {
    fn frame(&self, output: &ToolOutput) -> Option<Frame> {
        let label = Label::undeclared_output().join(&output.label);
        let id = HandleId::parse(format!("hdl_{}", self.stored.borrow().len())).ok()?;
        let content = match &output.result.content {
            RawContent::Json(value) => RawResult::json(value.clone()),
            RawContent::Rows(rows) => RawResult::json(rows.to_value()),
            RawContent::Text(text) => RawResult::text(text.clone()),
            RawContent::Binary { .. } => return None,
        };
        let none = Constraints::default();
        let handle = handle(&id, self.capability.id());
        let spec = FrameSpec { handle: Some(&handle), ..self.spec(&label, &none) };
        let frame = self.firewall.frame(&output.result, &spec);
        self.stored.borrow_mut().insert(id, (content, label));
        Some(frame)
    }

    fn view(&self, handle: &HandleId, view: &ResultView) -> Result<Frame, ViewError> {
        let refused =
            |code: &str, message: String| ViewError::Refused { code: code.into(), message };
        let stored = self.stored.borrow();
        let (raw, label) =
            stored.get(handle).ok_or_else(|| refused("handle_not_found", String::new()))?;
        let query = match view {
            ResultView::JsonSubset { path, keys } => {
                json!({ "view": "get", "args": { "path": path, "keys": keys } })
            }
            ResultView::CsvSummary => json!({ "view": "summary" }),
            ResultView::Columns => json!({ "view": "columns" }),
            ResultView::Lines { start, end } => {
                json!({ "view": "lines", "args": { "start": start, "end": end } })
            }
        };
        let none = Constraints::default();
        let mut spec = self.spec(label, &none);
        spec.mode = ResponseMode::Table;
        HandleQuery::parse(&query)
            .and_then(|query| self.firewall.expand(raw, &query, &spec))
            .map_err(|error| refused(error.code(), error.to_string()))
    }
}

fn output(id: &str, result: RawResult, level: Confidentiality) -> ToolOutput {
    let label = Label::new(level, Integrity::Trusted);
    ToolOutput { id: id.to_owned(), call: None, result, label, metadata: BTreeMap::new() }
}

fn shown(items: [&ContextItem; 2]) -> String {
    let mut log = ContextLog::new(Arc::new(CharsPerFour));
    items.into_iter().for_each(|item| log.push(item.clone()).unwrap());
    let open = CompileRequest {
        sensitivity_floor: Confidentiality::Restricted,
        ..CompileRequest::new(Phase::Answer)
    };
    build(&log, &open).unwrap().text
}

#[test]
fn a_view_comes_under_the_label_of_its_source() {
    let firewall = StoringFirewall::new();
    let people: Vec<Value> = (0..80)
        .map(|n| json!({ "id": n, "mail": format!("p{n}@corp.example.com"), "city": "Rome" }))
        .collect();
    let csv = "name,amount\nann,3\nbob,4\n".to_owned();
    let text = (0..300).map(|n| format!("line {n}\n")).collect::<String>();
    for (result, view, found) in [
        (
            RawResult::json(json!({ "people": people })),
            ResultView::JsonSubset {
                path: "people[7]".to_owned(),
                keys: vec!["id".into(), "mail".into()],
            },
            "\"id\":7",
        ),
        (RawResult::text(csv.clone()), ResultView::CsvSummary, "amount"),
        (RawResult::text(csv), ResultView::Columns, "name"),
        (RawResult::text(text), ResultView::Lines { start: 250, end: 252 }, "line 251"),
    ] {
        let source =
            item_from_output(output("r", result, Confidentiality::Confidential), Some(&firewall));
        let item = item_from_view("v", &source, &view, Some(&firewall)).unwrap();
        assert_eq!(item.label().confidentiality, Confidentiality::Confidential);
        assert_eq!(item.label().integrity, Integrity::Untrusted);
        assert_eq!(item.parent(), Some("r"));
        let text = shown([&source, &item]);
        assert!(text.contains(found) && !text.contains("corp.example.com"), "{view:?}: {text}");
        // In a usual context both are left out, for the source is confidential.
        let mut log = ContextLog::new(Arc::new(CharsPerFour));
        log.push(source).unwrap();
        log.push(item).unwrap();
        assert_eq!(build(&log, &CompileRequest::new(Phase::Answer)).unwrap().text, "");
    }
}

#[test]
fn what_the_firewall_refuses_is_no_item() {
    let firewall = StoringFirewall::new();
    let source = item_from_output(
        output("r", RawResult::text("plain"), Confidentiality::Public),
        Some(&firewall),
    );
    let view = ResultView::JsonSubset { path: "a".to_owned(), keys: Vec::new() };
    let error = item_from_view("v", &source, &view, Some(&firewall)).unwrap_err();
    assert_eq!(error.code(), "context.view_refused");
    let error =
        item_from_view("v", &ContextItem::doc("d", "x"), &view, Some(&firewall)).unwrap_err();
    assert_eq!(error.code(), "context.no_handle");
}

#[test]
fn without_a_firewall_nothing_is_shown() {
    let secret = || RawResult::text("password=hunter2!");
    let bare = item_from_output(output("r", secret(), Confidentiality::Public), None);
    assert_eq!(bare.text(), "not shown: 17 bytes of text/plain");
    let firewall = StoringFirewall::new();
    let source = item_from_output(output("r", secret(), Confidentiality::Public), Some(&firewall));
    assert!(source.text().contains("[REDACTED]") && !source.text().contains("hunter2"));
    let item = item_from_view("v", &source, &ResultView::Columns, None).unwrap();
    assert_eq!(item.text(), "not shown: view columns");
}
