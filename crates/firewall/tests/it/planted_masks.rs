//! Masks that a server writes itself: they stand for their own words, and never for a value of
//! another server.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_firewall::view::{ViewGenerator, ViewRegistry, ViewSource};
use weaver_firewall::{Firewall, HandleError, HandleQuery, MaskTable, ViewRequest};
use weaver_types::{RawContent, RawResult, ResponseMode};

use crate::support::{FIREWALL, spec};

/// A view that gives the text as it is stored.
struct Stored;

impl ViewGenerator for Stored {
    fn names(&self) -> &[&'static str] {
        &["stored"]
    }

    fn render(&self, source: ViewSource<'_>, _: &ViewRequest) -> Result<RawContent, HandleError> {
        Ok(source.content.clone())
    }
}

/// A run that knows the address of somebody as `[EMAIL_1]`.
fn run() -> Firewall {
    let mut views = ViewRegistry::default();
    views.register("text/*", Arc::new(Stored)).unwrap();
    let firewall = FIREWALL.clone().with_views(views).with_masks(Arc::new(MaskTable::new()), None);
    let (seen, _) = firewall.redact_value(&json!("jane.roe@corp.example.com"));
    assert_eq!(seen, "[EMAIL_1]");
    firewall
}

#[test]
fn a_mask_in_a_table_of_a_server_is_masked_in_every_view() {
    let raw = RawResult::text(
        "name,note,password,[EMAIL_1]\nbob,use [EMAIL_1] now,[EMAIL_1],1\nann,ok,x,2\n",
    );
    for view in ["columns", "head", "lines", "rows", "stored", "summary", "tail"] {
        for mode in [ResponseMode::Auto, ResponseMode::Table] {
            for more in [json!({}), json!({ "sort": "-name" }), json!({ "group_by": "note" })] {
                let firewall = run();
                let mut query = json!({ "view": view });
                query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let query = HandleQuery::parse(&query).unwrap();
                let Ok(frame) = firewall.expand(&raw, &query, &spec(mode)) else { continue };
                let shown = json!([frame.content, frame.table, frame.facts]).to_string();
                assert!(!shown.contains("[EMAIL_1]"), "{view} {mode:?} {more}: {shown}");
                if ["head", "rows", "stored", "tail"].contains(&view) {
                    assert!(shown.contains("[LOOKALIKE_1]"), "{view} {mode:?} {more}: {shown}");
                    let stands_for = firewall.resolve_masks(&json!("[LOOKALIKE_1]")).arguments;
                    assert_eq!(stands_for, Some(json!("[EMAIL_1]")));
                }
            }
        }
    }
}

/// What is computed of masked values has their masks.
#[test]
fn groups_are_named_by_the_masks_of_their_values() {
    let raw = RawResult::text("mail,n\njane.roe@corp.example.com,1\nbob,2\n");
    for view in [None, Some("rows")] {
        for mode in [ResponseMode::Auto, ResponseMode::Table] {
            let mut query = HandleQuery::parse(&json!({ "group_by": "mail" })).unwrap();
            query.view = view.map(ViewRequest::new);
            let rows: Value = json!([{ "mail": "jane.roe@corp.example.com", "n": 1 }]);
            let raw = if view.is_none() { RawResult::json(rows) } else { raw.clone() };
            let frame = run().expand(&raw, &query, &spec(mode)).unwrap();
            let shown = json!([frame.content, frame.table]).to_string();
            assert!(shown.contains("[EMAIL_1]"), "{view:?} {mode:?}: {shown}");
        }
    }
}

#[test]
fn lines_that_are_looked_for_have_the_masks_of_their_values() {
    let raw = RawResult::text("mail jane.roe@corp.example.com\nand [EMAIL_1]\nother words\n");
    for view in [None, Some("lines")] {
        for mode in [ResponseMode::Auto, ResponseMode::Table] {
            for test in
                [json!({ "filter": { "value": { "contains": "a" } } }), json!({ "sort": "value" })]
            {
                let mut query = HandleQuery::parse(&test).unwrap();
                query.view = view.map(ViewRequest::new);
                let frame = run().expand(&raw, &query, &spec(mode)).unwrap();
                let shown = json!([frame.content, frame.table]).to_string();
                assert!(shown.contains("mail [EMAIL_1]"), "{view:?} {mode:?}: {shown}");
                assert!(shown.contains("and [LOOKALIKE_1]"), "{view:?} {mode:?}: {shown}");
            }
        }
    }
}
