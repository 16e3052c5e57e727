//! What a host can add to the router: a catalog that changes, lessons from earlier requests, known
//! arguments, prepared context, and its own synonyms.
//!
//! `cargo run --example live_catalog`

use serde_json::json;
use weaver_examples::{Failure, print_section};
use weaver_stack::memory::bridge::{
    ContextEnvelope, ContextInjector, DecisionResolver, DecisionSpec, Pack, PackStore,
    injection_plan_to_compiled_items,
};
use weaver_stack::router::catalog::{Catalog, SelectableItem};
use weaver_stack::router::hydrate::{ContextValue, hydrate};
use weaver_stack::router::route::{
    LessonBounds, Lessons, LiveRouter, RouteRequest, Router, Thesaurus,
};
use weaver_stack::text::token::CharsPerFour;
use weaver_stack::types::{CapabilityId, Label, Timestamp};

const TOOLS: [(&str, &str); 4] = [
    ("billing.search", "Search invoices by customer"),
    ("billing.remind", "Send a payment reminder"),
    ("crm.find", "Find a customer by name"),
    ("weather.today", "The weather at a place"),
];

fn main() -> Result<(), Failure> {
    print_section("1. Tools come and go while others read");
    let live = LiveRouter::new(Router::new(Catalog::new())?);
    for (id, what) in TOOLS {
        let schema = json!({"type": "object", "properties": {"customer": {"type": "string"}}});
        live.put(SelectableItem::new(CapabilityId::parse(id)?, id, what).with_schema(&schema))?;
    }
    let before = live.snapshot();
    live.remove(&CapabilityId::parse("weather.today")?);
    live.merge()?;
    let router = live.snapshot();
    println!(
        "  a reader keeps {} tools, the next sees {}",
        before.catalog().len(),
        router.catalog().len()
    );

    print_section("2. What was accepted for a request comes first the next time");
    let (query, now) =
        ("nudge Acme about their bill", Timestamp::from_micros(1_767_000_000_000_000));
    let mut lessons = Lessons::new(LessonBounds::default());
    let reminder = CapabilityId::parse("billing.remind")?;
    lessons.accept(query, &reminder, &Label::clean(), now)?;
    let taught = router.answer(&RouteRequest::new(query, 2).with_lessons(&lessons, now));
    let first = taught.hits.first().ok_or("an empty shortlist")?;
    println!("  {query}: {}", first.id);

    print_section("3. Arguments that the host knows are filled in");
    let item = router.catalog().get(&first.id).ok_or("no such tool")?;
    let known = [ContextValue::new("customer", json!("Acme"), "session", Label::clean())];
    let call = hydrate(item, &known).call(&serde_json::Map::new());
    println!("  {}", serde_json::Value::Object(call.arguments));

    print_section("4. A decision names the context that it needs");
    let mut store = PackStore::new();
    store.add(
        Pack::new("tone", "handbook")
            .with_label(Label::clean())
            .with_entry("a", "Be brief and kind."),
    )?;
    let mut decisions = DecisionResolver::new();
    decisions.declare(DecisionSpec::new("billing.reminder.v1", 100).with_required_pack("tone"))?;
    let spec = decisions.resolve("billing.reminder.v1")?;
    let plan = ContextInjector::new(&CharsPerFour).build_plan(
        spec,
        &ContextEnvelope::default(),
        &store,
    )?;
    for item in injection_plan_to_compiled_items(&plan) {
        println!("  {} from {}: {}", item.id, item.source, item.text);
    }

    print_section("5. Words that mean the same in this house alone");
    let query = "the zebra of Acme";
    let found = |router: &Router| router.route(query, 1).first().map(|hit| hit.id.to_string());
    let words = Thesaurus::parse("zebra invoice\n# a line is a group\n");
    let taught = router.as_ref().clone().with_thesaurus(words.into());
    println!("  {query}: {:?}, then {:?}", found(&router), found(&taught));
    Ok(())
}
