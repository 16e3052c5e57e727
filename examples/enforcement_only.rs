//! The enforcement without the router: policy, kernel, firewall and ledger.
//!
//! A host that knows its tools by name needs no shortlist. A call is granted and invoked once, and
//! its result is redacted. The model sees more of the result through a handle. A token that is
//! used again is refused. A call that sends something out is held, with the reasons. A host needs
//! only `weaver-stack` with the features `kernel` and `trace` for this.
//!
//! `cargo run --example enforcement_only`

use serde_json::{Value, json};
use weaver_examples::{
    ExampleHost, Failure, print_decision, print_indented, print_ledger, print_section,
};
use weaver_stack::firewall::HandleQuery;
use weaver_stack::kernel::{Call, Invocation, Registry, block_on};
use weaver_stack::policy::{Contracts, Policy, PolicySet};
use weaver_stack::types::{
    CallId, CapabilityId, CapabilityRequest, Effects, Frame, HandleId, RawResult, ResponseMode,
    ToolSpec,
};

const POLICY: &str = r#"
kind = "policy"
format = 1
id = "people-desk"
version = 1

[[rules]]
name = "directory"
match = { capability = "people.*", effects = { impact = "read" }, roles = { any = ["reader"] } }
effect = "allow"
reason = "readers may use the directory"
constraints = { max_rows = 3 }

[[rules]]
name = "mail-needs-a-second-person"
match = { capability = "mail.*" }
effect = "require_approval"
reason = "mail leaves the house"
"#;

fn main() -> Result<(), Failure> {
    let policy = PolicySet::from_code(Policy::from_code(POLICY)?, Contracts::new("none"))?;
    let host = ExampleHost::open(tools()?, policy, "ana", &["reader"])?;
    let list = CapabilityRequest::new(CapabilityId::parse("people.list")?, "who is on the team?");
    let arguments = json!({ "team": "north" });
    let mode = ResponseMode::Table;

    print_section("1. A grant: one token for one call with exactly these arguments");
    let call = Call { request: &list, arguments: Some(&arguments), mode };
    let grant = block_on(host.kernel.grant(host.caller(), call));
    print_decision(&grant.decision);
    let token = grant.token.ok_or("no token")?;

    print_section("2. The call: 40 people come back, the model sees three redacted rows");
    let done = block_on(host.kernel.invoke(host.caller(), &token, &arguments, mode));
    let handle = print_frame(done)?.ok_or("no handle")?;

    print_section("3. A look further, through the handle, under the same rules");
    let query = HandleQuery::parse(&json!({ "offset": 10, "fields": ["name", "mail", "office"] }))?;
    print_frame(block_on(host.kernel.expand(host.caller(), &handle, &query)))?;

    print_section("4. The token again");
    let replay = block_on(host.kernel.invoke(host.caller(), &token, &arguments, mode));
    print_decision(&replay.decision);

    print_section("5. Mail is held, and the decision says by which checks");
    let request = CapabilityRequest::new(CapabilityId::parse("mail.send")?, "write to the team");
    let letter = json!({ "to": "north@example.com", "text": "Hello" });
    let call = Call { request: &request, arguments: Some(&letter), mode };
    let held = block_on(host.kernel.execute(host.caller(), call));
    print_decision(&held.decision);
    explain(&host, &held, &grant.call)?;

    print_section("6. The trace");
    print_ledger(&host.ledger)
}

fn tools() -> Result<Registry, Failure> {
    let registry = Registry::new();
    let list = ToolSpec::new("people.list", "List people")
        .describe("The people of a team")
        .with_effects(Effects::READ_LOCAL)
        .arg("team", "string", true);
    registry.register_fn(list.build()?, |_| Ok(RawResult::json(team())))?;
    let send = ToolSpec::new("mail.send", "Send mail")
        .describe("Send a letter")
        .with_effects(Effects::WRITE_OPEN)
        .arg("to", "string", true)
        .arg("text", "string", true);
    // Never reached: if it were, the example would fail.
    registry.register_fn(send.build()?, |_| std::process::exit(70))?;
    Ok(registry)
}

/// Forty people, with data that a model does not need.
fn team() -> Value {
    let person = |n: usize| {
        let office = ["Oslo", "Lyon"][n % 2];
        json!({
            "id": n,
            "name": format!("Person {n}"),
            "mail": format!("person.{n}@corp.example.com"),
            "office": office,
            "note": format!("password=sesame-{n}"),
        })
    };
    (1..=40).map(person).collect()
}

/// Prints the frame that the model gets, and returns its handle.
fn print_frame(done: Invocation) -> Result<Option<HandleId>, Failure> {
    let frame: Frame = done
        .result
        .and_then(|result| result.data)
        .ok_or_else(|| format!("{}: {}", done.decision.primary_reason(), done.decision.detail()))?;
    for fact in &frame.facts {
        print_indented(&format!("- {fact}"));
    }
    for row in &frame.table {
        print_indented(&Value::Object(row.clone()).to_string());
    }
    for warning in &frame.warnings {
        print_indented(&format!("! {} × {}", warning.count, warning.kind));
    }
    if let Some(handle) = &frame.handle {
        let rows = handle.total_rows.unwrap_or_default();
        print_indented(&format!(
            "handle: {rows} rows, {} bytes, {}",
            handle.byte_size, handle.media_type
        ));
    }
    let seen = serde_json::to_string(&frame)?;
    if seen.contains("sesame") || seen.contains("@corp") {
        return Err("something reached the model that must not".into());
    }
    Ok(frame.handle.map(|handle| handle.handle_id))
}

/// Prints the result of every check of a recorded call. `first` is the call that it may name.
fn explain(host: &ExampleHost, done: &Invocation, first: &CallId) -> Result<(), Failure> {
    let known = host.kernel.explain(&host.principal, &done.call).ok_or("not remembered")?;
    for said in known.decision.check_results() {
        let detail = said.detail.replace(first.as_str(), "call 1");
        print_indented(&format!("{:?}: {} ({}) {detail}", said.check, said.verdict, said.reason));
    }
    Ok(())
}
