//! The router without the enforcement: a catalog, a shortlist, cards, and a compiled context.
//!
//! Nothing here permits or calls anything. Because there is no firewall, a raw result cannot
//! enter the context: the host keeps it and adds a stub with its handle. A host needs only
//! `weaver-stack` with the features `router` and `memory` for this.
//!
//! `cargo run --example router_only`

use std::sync::Arc;

use serde_json::json;
use weaver_examples::{Failure, print_indented, print_section};
use weaver_stack::memory::compile::{CompileRequest, ContextItem, ContextLog, Phase, build};
use weaver_stack::router::card::render_cards;
use weaver_stack::router::catalog::Catalog;
use weaver_stack::router::route::Router;
use weaver_stack::text::token::{CharsPerFour, TokenCounter};
use weaver_stack::types::{ArtifactRef, CallId, CapabilityId, HandleId};

/// A catalog in its file format: one tool a line.
const TOOLS: &str = r#"
{"id": "billing.invoices.search", "name": "search_invoices", "description": "Search invoices by customer, amount or state", "schema": {"type": "object", "properties": {"customer": {"type": "string"}, "state": {"type": "string", "description": "open, paid or overdue"}}}}
{"id": "billing.invoices.void", "name": "void_invoice", "description": "Void an invoice for good"}
{"id": "billing.reminders.send", "name": "send_reminder", "description": "Send a payment reminder for an overdue invoice"}
{"id": "calendar.events.create", "name": "create_event", "description": "Create a calendar event"}
{"id": "crm.customers.find", "name": "find_customer", "description": "Find a customer by name or address"}
{"id": "files.read", "name": "read_file", "description": "Read a file from disk"}
{"id": "weather.today", "name": "weather", "description": "The weather at a place"}
"#;

fn main() -> Result<(), Failure> {
    let counter = CharsPerFour;
    let router = Router::new(Catalog::from_jsonl(TOOLS)?)?;
    let question = "Search the invoices of Acme: which are overdue?";

    print_section("1. A shortlist");
    println!("  {} tools; the user asks: {question}", router.catalog().len());
    let hits = router.route(question, 3);
    for hit in &hits {
        println!("  {:6.2}  {}", hit.points(), hit.id);
    }

    print_section("2. What the model gets: cards, never schemas");
    let cards = render_cards(&router.cards(&hits, &counter));
    print_indented(&cards);

    print_section("3. The host calls the first one; its raw result stays outside");
    let raw = json!([
        { "invoice": "A-17", "customer": "Acme", "iban": "DE89 3704 0044 0532 0130 00", "due": 420 },
        { "invoice": "A-19", "customer": "Acme", "iban": "DE89 3704 0044 0532 0130 00", "due": 80 },
    ])
    .to_string();
    let artifact = ArtifactRef {
        handle_id: HandleId::parse("host:results/1")?,
        media_type: "application/json".to_owned(),
        byte_size: u64::try_from(raw.len())?,
    };
    println!("  {} bytes kept as {}", raw.len(), artifact.handle_id);

    print_section("4. The context for the next step");
    let call = CallId::parse("call_1")?;
    let first = hits.first().map(|hit| hit.id.clone()).ok_or("an empty shortlist")?;
    let context = context(question, &cards, &call, &first, &artifact)?;
    let pack = build(&context, &CompileRequest::new(Phase::Interpret))?;
    print_indented(&pack.text);
    println!("  ({} items, label {:?})", pack.item_ids.len(), pack.label.confidentiality);
    if pack.text.contains("DE89") || !counter.within(&pack.text, 4_000) {
        return Err("the raw result reached the context".into());
    }
    println!("  No account number of the result is in it.");
    Ok(())
}

fn context(
    question: &str,
    cards: &str,
    call: &CallId,
    tool: &CapabilityId,
    artifact: &ArtifactRef,
) -> Result<ContextLog, Failure> {
    let mut log = ContextLog::new(Arc::new(CharsPerFour));
    log.push(ContextItem::user_turn("turn:1", question))?;
    log.push(ContextItem::plan_state("plan:1", format!("Tools at hand:\n{}", cards.trim_end())))?;
    log.push(ContextItem::tool_call(
        call,
        tool,
        &json!({ "customer": "Acme", "state": "overdue" }),
    ))?;
    log.push(ContextItem::tool_result_stub(call, artifact))?;
    Ok(log)
}
