//! The reference flow: routing is advisory, selection is not permission.
//!
//! A support agent has a goal. The router shortlists three tools, without checking what the agent
//! may do. Each selected tool then passes the whole pipeline: a read is allowed, a write
//! needs a justification and is allowed with one, and a deletion is denied although
//! it was shortlisted and justified. Everything is synthetic and offline.
//!
//! `cargo run --example reference_flow`

use serde_json::{Value, json};
use weaver_examples::{
    ExampleHost, Failure, print_decision, print_indented, print_ledger, print_section,
};
use weaver_stack::kernel::{Call, Registry, block_on};
use weaver_stack::policy::{Contracts, Policy, PolicySet};
use weaver_stack::router::card::render_cards;
use weaver_stack::router::catalog::{Catalog, SelectableItem};
use weaver_stack::router::route::Router;
use weaver_stack::text::token::CharsPerFour;
use weaver_stack::types::{
    CapabilityId, CapabilityRequest, Effects, Frame, JustificationSource, RawResult, ResponseMode,
    ToolSpec, Verdict,
};

const GOAL: &str = "Search the refund docs, update the ticket status and delete the spam ticket";

/// The operator declares that the ticket tools affect a closed world. Without that, a
/// write would count as one to the outside, and the floor would hold it.
const CONTRACTS: &str = r#"
kind = "contracts"
format = 1
id = "support-desk"
version = 1

[capabilities."tickets.update_status"]
effects = { impact = "write", world = "closed" }

[capabilities."tickets.delete"]
effects = { impact = "destroy", world = "closed" }
"#;

fn main() -> Result<(), Failure> {
    let policy = PolicySet::from_code(Policy::baseline()?, Contracts::from_code(CONTRACTS)?)?;
    let host = ExampleHost::open(tools()?, policy, "support-agent", &["reader", "writer"])?;

    print_section("1. The router narrows what the model sees");
    let shortlist = shortlist(&host)?;

    print_section("2. docs.search (READ)");
    let search = SelectedAction::new("docs.search", json!({ "query": "refunds" }))?;
    expect(search.grant_and_invoke(&host, None)?, Verdict::Allow)?;

    print_section("3. tickets.update_status (WRITE), without a justification");
    let update =
        SelectedAction::new("tickets.update_status", json!({ "id": "T-42", "status": "closed" }))?;
    expect(update.grant_and_invoke(&host, None)?, Verdict::Ask)?;

    print_section("4. The same, after the host asked a person");
    expect(update.grant_and_invoke(&host, Some("customer confirmed the fix"))?, Verdict::Allow)?;

    print_section("5. tickets.delete (DESTRUCTIVE), routed and justified");
    let delete = SelectedAction::new("tickets.delete", json!({ "id": "T-41" }))?;
    expect(delete.grant_and_invoke(&host, Some("spam, reported by two agents"))?, Verdict::Deny)?;

    print_section("6. The trace");
    print_ledger(&host.ledger)?;
    println!("\nRouted were {} tools, deleted was no ticket.", shortlist.len());
    Ok(())
}

/// The tools of the support desk; each is a function of the host.
fn tools() -> Result<Registry, Failure> {
    let registry = Registry::new();
    let search = ToolSpec::new("docs.search", "Search docs")
        .describe("Search the support docs, for example on refunds")
        .with_effects(Effects::READ_LOCAL)
        .arg("query", "string", true);
    registry.register_fn(search.build()?, |_| {
        Ok(RawResult::json(json!([
            { "title": "Refunds", "text": "Refunds take five days.", "owner": "lee@desk.example.com" },
            { "title": "Refund limits", "text": "Up to 200 EUR.", "owner": "kim@desk.example.com" },
        ])))
    })?;
    let update = ToolSpec::new("tickets.update_status", "Update ticket status")
        .describe("Set the status of a ticket")
        .with_effects(Effects::WRITE_LOCAL)
        .arg("id", "string", true)
        .arg("status", "string", true);
    registry.register_fn(update.build()?, |call| {
        Ok(RawResult::json(
            json!({ "id": call.arguments()["id"], "status": call.arguments()["status"] }),
        ))
    })?;
    let delete = ToolSpec::new("tickets.delete", "Delete ticket")
        .describe("Delete a ticket for good, for example spam")
        .with_effects(Effects::DESTROY_LOCAL)
        .arg("id", "string", true);
    // Never reached: if it were, the example would fail.
    registry.register_fn(delete.build()?, |_| std::process::exit(70))?;
    for (id, name, what) in [
        ("calendar.find_slot", "Find slot", "Find a free slot in the calendar of a colleague"),
        ("reports.weekly", "Weekly report", "Figures of the week by team"),
        ("weather.today", "Weather", "The weather at a place"),
    ] {
        let spec = ToolSpec::new(id, name).describe(what).with_effects(Effects::READ_LOCAL);
        registry.register_fn(spec.build()?, |_| Ok(RawResult::text("nothing new")))?;
    }
    Ok(registry)
}

/// Ranks all tools for the goal and records which ones the model is shown.
fn shortlist(host: &ExampleHost) -> Result<Vec<CapabilityId>, Failure> {
    let mut catalog = Catalog::new();
    for entry in host.kernel.registry().list_all() {
        catalog.insert(SelectableItem::from(&entry.capability().descriptor()))?;
    }
    let router = Router::new(catalog)?;
    let hits = router.route(GOAL, 3);
    println!("  goal: {GOAL}");
    println!("  {} tools, shortlist of {}:", router.catalog().len(), hits.len());
    print_indented(&render_cards(&router.cards(&hits, &CharsPerFour)));
    let ids: Vec<CapabilityId> = hits.into_iter().map(|hit| hit.id).collect();
    for wanted in ["docs.search", "tickets.update_status", "tickets.delete"] {
        if !ids.iter().any(|id| id.as_str() == wanted) {
            return Err(format!("`{wanted}` is not on the shortlist").into());
        }
    }
    block_on(host.kernel.record_shortlist(host.caller(), GOAL, &ids))?;
    Ok(ids)
}

/// An action that the model selected from the shortlist.
struct SelectedAction {
    capability: CapabilityId,
    arguments: Value,
}

impl SelectedAction {
    fn new(capability: &str, arguments: Value) -> Result<Self, Failure> {
        Ok(Self { capability: CapabilityId::parse(capability)?, arguments })
    }

    /// Requests a grant, and invokes the tool if it is granted.
    fn grant_and_invoke(&self, host: &ExampleHost, why: Option<&str>) -> Result<Verdict, Failure> {
        let mut request = CapabilityRequest::new(self.capability.clone(), GOAL);
        if let Some(why) = why {
            println!("  justification, from the host: {why}");
            request = request.justified(why, JustificationSource::Host);
        }
        let mode = ResponseMode::Summary;
        let call = Call { request: &request, arguments: Some(&self.arguments), mode };
        let grant = block_on(host.kernel.grant(host.caller(), call));
        print_decision(&grant.decision);
        if let Some(token) = &grant.token {
            let done = block_on(host.kernel.invoke(host.caller(), token, &self.arguments, mode));
            frame(done.result.and_then(|result| result.data).ok_or("no frame")?);
        }
        Ok(grant.decision.verdict())
    }
}

/// Prints the frame that the model gets.
fn frame(frame: Frame) {
    println!("    the model sees:");
    for fact in frame.facts {
        println!("    - {fact}");
    }
    for warning in frame.warnings {
        println!("    ! {} × {}", warning.count, warning.kind);
    }
}

fn expect(found: Verdict, wanted: Verdict) -> Result<(), Failure> {
    if found == wanted { Ok(()) } else { Err(format!("{found} instead of {wanted}").into()) }
}
