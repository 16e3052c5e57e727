//! The holes that were found in agent-kernel (Python) by running it, each tried on this kernel. The
//! number is that of the finding.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::{
    Caller, DriverError, FnDriver, Invocation, Ports, RevocationSubject, block_on,
};
use weaver_firewall::HandleQuery;
use weaver_policy::{DocumentSource, DocumentSources, Effect, Policy, PolicySet, Rule};
use weaver_types::{
    CapabilityDraft, Constraints, Effects, Frame, HandleId, JustificationSource, Principal,
    RawChunk, RawResult, ReasonCode, ResponseMode, RunBudget, RunContext, SafetyMode,
    SensitivityTag, Tenant, Verdict,
};

use crate::approvals::{Desk, documents};
use crate::support::{
    Asked, START, World, ana, answer, draft, log, memory, open_policy, principal, snapshot,
    succeeded,
};

fn frame(done: &Invocation) -> &Frame {
    done.result.as_ref().unwrap().data.as_ref().unwrap_or_else(|| panic!("{done:?}"))
}

fn text(done: &Invocation) -> String {
    format!("{:?} {}", done, serde_json::to_string(&done.result).unwrap())
}

/// A world whose one tool answers this.
fn answering(spec: CapabilityDraft, raw: RawResult) -> World {
    let world = World::new(open_policy());
    world.answering(spec, move |_| Ok(raw.clone()));
    world
}

fn shown(raw: RawResult, mode: ResponseMode) -> Frame {
    let world = answering(draft("db.rows", Effects::READ_LOCAL), raw);
    frame(&world.call(&world.run(), &ana(), &Asked::new("db.rows").mode(mode))).clone()
}

fn json_of(frame: &Frame) -> String {
    serde_json::to_string(frame).unwrap()
}

/// A stored result of two fields that may be seen and one that may not.
struct Stored {
    world: World,
    run: RunContext,
    handle: HandleId,
}

fn stored() -> Stored {
    let row = |n: u32| json!({"id": n, "name": format!("row {n}"), "salary": 1_000 + n});
    let world = answering(
        CapabilityDraft {
            allowed_fields: ["id".to_owned(), "name".to_owned()].into(),
            ..draft("db.rows", Effects::READ_LOCAL)
        },
        RawResult::json((0..200).map(row).collect()),
    );
    let run = world.run();
    let mut asked = Asked::new("db.rows").mode(ResponseMode::Summary);
    asked.request.constraints = Constraints { max_rows: Some(10), ..Constraints::default() };
    let done = world.call(&run, &ana(), &asked);
    let handle = frame(&done).handle.as_ref().unwrap().handle_id.clone();
    Stored { world, run, handle }
}

impl Stored {
    fn view(&self, who: &Principal, query: &Value) -> Invocation {
        let query = HandleQuery::parse(query).unwrap();
        block_on(self.world.kernel.expand(
            Caller { run: &self.run, principal: who },
            &self.handle,
            &query,
        ))
    }
}

/// Cases: HOLE-01.
#[test]
fn an_operation_is_not_confused_with_another() {
    let world = World::new(open_policy());
    world.tool("a.read", Effects::READ_LOCAL);
    world.answering(draft("b.delete_all", Effects::DESTROY_LOCAL), |_| {
        panic!("the other handler ran")
    });
    for key in ["operation", "capability_id", "tool", "name", "driver_id"] {
        let asked = Asked::new("a.read").with(json!({ key: "b.delete_all" }));
        let done = world.call(&world.run(), &ana(), &asked);
        assert!(succeeded(&done), "{key}");
        assert_eq!(frame(&done).capability_id.as_str(), "a.read");
        let intent = log(world.ledger.as_ref()).into_iter().rfind(|e| e.kind == "call.intent");
        assert_eq!(intent.unwrap().payload["capability"], "a.read");
    }
}

/// Cases: HOLE-02.
#[test]
fn a_forged_handle_opens_nothing() {
    let stored = stored();
    // All that a caller can bring is the id: who may, how many rows and which fields is stored.
    let other = stored.view(&principal("bob", &["admin"]), &json!({}));
    assert_eq!(other.decision.primary_reason(), ReasonCode::HandleNotFound);
    let own = stored.view(&ana(), &json!({}));
    assert_eq!(frame(&own).table.len(), 10, "the row cap of the first call");
    assert!(!text(&own).contains("salary"), "its list of fields too");
    let more = stored.view(&ana(), &json!({ "limit": 150 }));
    assert_eq!(more.decision.primary_reason(), ReasonCode::HandleConstraintViolation);
}

/// Cases: HOLE-03.
#[test]
fn a_filter_is_no_oracle() {
    let stored = stored();
    let asked = |salary: u32| stored.view(&ana(), &json!({ "filter": { "salary": salary } }));
    let (hit, miss) = (asked(1_007), asked(7));
    assert_eq!(hit.decision.primary_reason(), ReasonCode::HandleConstraintViolation);
    assert_eq!(hit.decision.detail(), miss.decision.detail(), "a hit looks like a miss");
    for query in [json!({ "sort": "salary" }), json!({ "aggregate": ["sum(salary)"] })] {
        let done = stored.view(&ana(), &query);
        assert_eq!(
            done.decision.primary_reason(),
            ReasonCode::HandleConstraintViolation,
            "{query}"
        );
    }
    let row = json!([{ "id": 1, "contact": "jane.roe@corp.example.com" }]);
    let world = answering(draft("db.rows", Effects::READ_LOCAL), RawResult::json(row));
    let run = world.run();
    let done = world.call(&run, &ana(), &Asked::new("db.rows"));
    let handle = frame(&done).handle.as_ref().unwrap().handle_id.clone();
    let found = |filter: Value| {
        let query = HandleQuery::parse(&json!({ "filter": { "contact": filter } })).unwrap();
        let who = ana();
        let view = world.kernel.expand(Caller { run: &run, principal: &who }, &handle, &query);
        frame(&block_on(view)).table.len()
    };
    assert_eq!(found(json!("jane.roe@corp.example.com")), 0, "what is masked is compared masked");
    assert_eq!(found(json!({ "contains": "jane" })), 0);
}

/// Cases: HOLE-04.
#[test]
fn a_stream_is_not_severed() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    // Wherever the border between two chunks falls in it.
    for cut in 1..secret.len() {
        let (head, tail) = secret.split_at(cut);
        let chunks = [format!("{} token {head}", "x".repeat(300)), format!("{tail} end")];
        let world = World::new(open_policy());
        world.driven(
            draft("log.tail", Effects::READ_LOCAL),
            FnDriver::streaming(move |_, sender| {
                chunks.iter().try_for_each(|chunk| sender.send(RawChunk::Text(chunk.clone())))
            }),
        );
        let (run, who, asked) = (world.run(), ana(), Asked::new("log.tail"));
        let caller = Caller { run: &run, principal: &who };
        let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
        let mut stream =
            world.kernel.invoke_stream(caller, &token, &asked.arguments, ResponseMode::Table);
        let mut seen = String::new();
        while let Some(item) = block_on(stream.next()) {
            seen.push_str(&format!("{item:?}"));
        }
        assert!(seen.contains("token [API_KEY_1] end"), "{cut}: {seen}");
        for piece in [head, tail].into_iter().filter(|piece| piece.len() > 8) {
            assert!(!seen.contains(piece), "cut at {cut}: {seen}");
        }
    }
}

/// Cases: HOLE-05.
#[test]
fn errors_leak_nothing() {
    let world = World::new(open_policy());
    let said = "https://svc:s3cretpw@db.internal refused jane.roe@corp.example.com";
    world.answering(draft("db.rows", Effects::READ_LOCAL), move |_| {
        Err(DriverError::Failed(said.to_owned()))
    });
    let done = world.call(&world.run(), &ana(), &Asked::new("db.rows"));
    let log = format!("{:?}", log(world.ledger.as_ref()));
    for seen in [text(&done), log] {
        assert!(!seen.contains("s3cretpw") && !seen.contains("jane.roe"), "{seen}");
    }
    assert!(done.result.unwrap().error_message.contains("refused"));
}

/// Cases: HOLE-06.
#[test]
fn roles_are_those_of_the_moment_and_of_the_token() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let (run, plain, admin) = (world.run(), ana(), principal("ana", &["admin"]));
    let asked = Asked::new("fs.read").with(json!({ "password": "hunter2" }));
    let grant = |who: &Principal, mode: ResponseMode| {
        let caller = Caller { run: &run, principal: who };
        block_on(world.kernel.grant(caller, asked.clone().mode(mode).call())).token
    };
    assert!(grant(&plain, ResponseMode::Raw).is_none());
    let token = grant(&plain, ResponseMode::Summary).unwrap();
    let caller = Caller { run: &run, principal: &admin };
    let raw = world.kernel.invoke(caller, &token, &asked.arguments, ResponseMode::Raw);
    assert_eq!(block_on(raw).decision.primary_reason(), ReasonCode::TokenScope);
    let token = grant(&admin, ResponseMode::Raw).unwrap();
    let caller = Caller { run: &run, principal: &plain };
    let raw = world.kernel.invoke(caller, &token, &asked.arguments, ResponseMode::Raw);
    assert_eq!(block_on(raw).decision.primary_reason(), ReasonCode::MissingRole);
    assert_eq!(world.executed(), 0);
}

/// Cases: HOLE-07.
#[test]
fn a_view_is_revoked_charged_and_capped_and_calls_are_limited() {
    let first = stored();
    // No page is longer than the cap of the first call, wherever it begins; and each is decided.
    let page = |query: Value| first.view(&ana(), &query);
    assert_eq!(frame(&page(json!({ "offset": 10 }))).table.len(), 10);
    let beyond = page(json!({ "offset": 10, "limit": 11 }));
    assert_eq!(beyond.decision.primary_reason(), ReasonCode::HandleConstraintViolation);
    let by = ana().id;
    let subject = RevocationSubject::Principal(by.clone());
    block_on(first.world.kernel.void_grants(subject, &by)).unwrap();
    let revoked = first.view(&ana(), &json!({}));
    assert_eq!(revoked.decision.primary_reason(), ReasonCode::HandleRevoked);

    let mut second = stored();
    second.run.settings.budget =
        RunBudget { max_prompt_tokens: Some(2_000), ..RunBudget::unlimited() };
    let mut views = 0;
    while second.view(&ana(), &json!({})).decision.is_allowed() {
        views += 1;
        assert!(views < 100, "views are charged");
    }
    let used = snapshot(second.world.ledger.as_ref(), &second.run.run_id).unwrap().meters;
    assert!(used.prompt_tokens > 0 && used.prompt_tokens <= 2_000, "{used:?}");

    // A limit counts calls, not grants: one more grant is no way around it.
    let limits = "[[rules]]\nname = \"all\"\nmatch = {}\neffect = \"allow\"\n\n[[limits]]\nname = \
                  \"few\"\nmatch = {}\nmax_calls = 3\nwindow_s = 60\n";
    let desk = Desk::under(memory(), documents(limits, ""), Ports::default());
    let caller = Caller { run: &desk.run, principal: &desk.who };
    let asked = Asked::new("fs.read");
    let tokens: Vec<_> = (0..6)
        .filter_map(|_| block_on(desk.world.kernel.grant(caller, asked.call())).token)
        .collect();
    assert_eq!(tokens.len(), 6);
    let went = tokens.iter().filter(|token| {
        let mode = ResponseMode::Summary;
        succeeded(&block_on(desk.world.kernel.invoke(caller, token, &asked.arguments, mode)))
    });
    assert_eq!(went.count(), 3);
}

/// What a result costs grows with its length and no faster, and no text costs much more than another.
///
/// Cases: HOLE-08.
#[test]
fn hostile_text_costs_linear_time() {
    let cost = |unit: &str, bytes: usize| {
        let world = answering(
            draft("db.rows", Effects::READ_LOCAL),
            RawResult::text(unit.repeat(bytes / unit.len())),
        );
        let (run, asked) = (world.run(), Asked::new("db.rows").mode(ResponseMode::Summary));
        let mut done = None;
        let work = weaver_firewall::scanned_bytes(|| done = Some(world.call(&run, &ana(), &asked)));
        assert!(!frame(&done.unwrap()).facts.is_empty());
        work
    };
    for unit in [
        "a",
        "eyJ",
        "eyJa.",
        "1 ",
        "://a:",
        "sk-",
        "password=",
        "a@b.",
        "-----BEGIN PRIVATE KEY-----!",
    ] {
        let (small, large) = (cost(unit, 1 << 16), cost(unit, 1 << 18));
        assert!(small > 1 << 16, "{unit:?}: the text is looked at, {small}");
        assert!(large <= small * 5, "{unit:?}: {small} bytes of work, then {large}");
        assert!(large <= (1 << 18) * 400, "{unit:?}: {large} bytes of work");
    }
}

/// Cases: HOLE-09.
#[test]
fn a_frame_is_bounded_as_a_whole() {
    let wide = |n: usize| -> Value {
        (0..20)
            .map(|f| (format!("field{f}"), json!(format!("{n} {}", "x".repeat(5_000)))))
            .collect()
    };
    let rows: Vec<Value> = (0..50).map(wide).collect();
    for mode in [ResponseMode::Table, ResponseMode::Summary, ResponseMode::HandleOnly] {
        let size = json_of(&shown(RawResult::json(json!(rows)), mode)).len();
        assert!(size <= 4_000, "{mode:?}: {size}");
    }
    let sensitive = |n: usize| json!({ "email": format!("p{n}@corp.example.com"), "password": "hunter2!", "ssn": "123-45-6789" });
    let rows: Vec<Value> = (0..1_000).map(sensitive).collect();
    let frame = shown(RawResult::json(json!(rows)), ResponseMode::Table);
    let masked = frame.warnings.iter().find(|warning| warning.kind == "redacted_field");
    assert!(masked.unwrap().count > 20 && frame.warnings.len() < 20, "{:?}", frame.warnings);
    assert!(!frame.table.is_empty(), "what is said of them leaves room for rows");
    assert!(json_of(&frame).len() <= 4_000);
}

/// Cases: HOLE-10.
#[test]
fn what_the_patterns_missed() {
    let secrets = [
        "hunter2hunter2",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "DE89370400440532013000",
        "+14155552123",
        "k3y-under-a-key@corp.example.com",
        "4539148803436467",
        "plain words here",
    ];
    let row = json!([{
        "user_email": "jane@corp.example.com", "token": secrets[0], "api_key": secrets[0],
        "authorization": secrets[0],
        "note": format!("{} and {} or password={}", secrets[1], secrets[2], secrets[0]),
        "pay": format!("to {} now", secrets[3]), "call": format!("at {}", secrets[4]),
        "client_secret": { "inner": secrets[7] },
        "nested": { secrets[5]: 1 }, "card": 4_539_148_803_436_467_u64,
    }]);
    for mode in [ResponseMode::Table, ResponseMode::Summary] {
        let seen = json_of(&shown(RawResult::json(row.clone()), mode));
        for secret in secrets.iter().chain(&["jane@corp"]) {
            assert!(!seen.contains(secret), "{mode:?}: {secret} in {seen}");
        }
    }
    let grouped = shown(RawResult::text("card 4539 1488 0343 6467 ok"), ResponseMode::Summary);
    // Not the whole frame: ids and times may have any digits.
    let facts = grouped.facts.concat();
    assert!(facts.contains("card") && !facts.contains("6467"), "no last four digits: {facts}");
    let plain =
        shown(RawResult::json(json!([{ "at_ms": 1_767_323_045_000_u64 }])), ResponseMode::Table);
    assert!(json_of(&plain).contains("1767323045000"), "a time is no card");
}

/// Cases: HOLE-11.
#[test]
fn a_misspelt_key_is_an_error_and_a_rule_only_tightens() {
    let head = |kind: &str| format!("kind = \"{kind}\"\nformat = 1\nid = \"t\"\nversion = 1\n");
    let loads = |matching: &str| {
        let rule = format!("[[rules]]\nname = \"r\"\nmatch = {matching}\neffect = \"allow\"\n");
        let texts = [head("policy") + &rule, head("contracts"), head("keys")];
        let sources = DocumentSources {
            policy: DocumentSource::unsigned("policy.toml", &texts[0]),
            contracts: DocumentSource::unsigned("contracts.toml", &texts[1]),
            keys: DocumentSource::unsigned("keys.toml", &texts[2]),
        };
        PolicySet::load_unsigned_development(&sources, START).map(drop).map_err(|e| e.to_string())
    };
    let roles = "{ any = [\"admin\"] }";
    assert_eq!(loads(&format!("{{ roles = {roles} }}")), Ok(()));
    for misspelt in [
        format!("{{ role = {roles} }}"),
        format!("{{ roels = {roles} }}"),
        "{ roles = { anny = [\"admin\"] } }".to_owned(),
        "{ safetyclass = [\"ReadOnly\"] }".to_owned(),
    ] {
        let misspelt = misspelt.as_str();
        assert!(loads(misspelt).is_err(), "{misspelt}");
    }
    let loose = Constraints { max_rows: Some(500), ..Constraints::default() };
    let rule = Rule { constraints: loose, ..Rule::new("all", Effect::Allow) };
    let world = World::new(Policy::new("loose").with_rule(rule));
    let rows: Value = (0..40).map(|n| json!({ "id": n })).collect();
    world.answering(draft("db.rows", Effects::READ_LOCAL), move |_| {
        Ok(RawResult::json(rows.clone()))
    });
    let mut asked = Asked::new("db.rows");
    asked.request.constraints = Constraints { max_rows: Some(2), ..Constraints::default() };
    assert_eq!(frame(&world.call(&world.run(), &ana(), &asked)).table.len(), 2);
}

/// What discovery makes of a server's names and schemas is tested beside the MCP driver.
///
/// Cases: HOLE-12.
#[test]
fn nothing_is_added_to_the_arguments_and_no_schema_is_lost() {
    let schema = json!({
        "type": "object", "properties": { "q": { "type": "string" } }, "additionalProperties": false
    });
    let spec = CapabilityDraft {
        input_schema: Some(schema.clone().into()),
        ..draft("docs.search", Effects::READ_LOCAL)
    };
    let world = World::new(open_policy());
    world.answering(spec, |arguments| {
        assert_eq!(arguments, json!({ "q": "x" }), "exactly what was decided on");
        Ok(RawResult::text("found"))
    });
    let mut asked = Asked::new("docs.search").with(json!({ "q": "x" }));
    asked.request.constraints = Constraints { max_rows: Some(5), ..Constraints::default() };
    assert!(succeeded(&world.call(&world.run(), &ana(), &asked)));
    let kept = world.kernel.registry().get(&asked.request.capability_id).unwrap();
    assert_eq!(kept.capability().spec().input_schema, Some(schema.into()));
}

/// Cases: HOLE-13.
#[test]
fn odd_values_fail_nothing_and_handlers_are_awaited() {
    let odd = json!([1, "two", null, [3], { "four": 4 }, { "four": "x" }, true, 1.5]);
    for raw in [odd.clone(), json!({ "list": odd }), json!([[], {}, null]), json!(null)] {
        for mode in [ResponseMode::Table, ResponseMode::Summary] {
            let frame = shown(RawResult::json(raw.clone()), mode);
            assert!(!frame.facts.is_empty() || !frame.table.is_empty(), "{raw} {mode:?}");
        }
    }
    let world = World::new(open_policy());
    let slow = FnDriver::asynchronous(|_| async {
        std::future::ready(()).await;
        Ok(RawResult::text("awaited"))
    });
    world.driven(draft("fs.slow", Effects::READ_LOCAL), slow);
    let done = world.call(&world.run(), &ana(), &Asked::new("fs.slow"));
    assert!(text(&done).contains("awaited"));
}

/// Cases: HOLE-14.
#[test]
fn failed_tokens_and_empty_budgets_leave_a_trace_and_results_are_copies() {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL);
    let (who, asked) = (ana(), Asked::new("fs.read"));
    let run = world.run_with(
        RunBudget { max_tool_calls: Some(1), ..RunBudget::unlimited() },
        SafetyMode::Normal,
    );
    let caller = Caller { run: &run, principal: &who };
    let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
    let again = || block_on(world.kernel.invoke(caller, &token, &asked.arguments, asked.mode));
    assert!(succeeded(&again()));
    assert!(!succeeded(&again()), "the token is used up");
    assert!(!succeeded(&world.call(&run, &who, &asked)), "and so is the budget");
    let reasons: Vec<Value> = log(world.ledger.as_ref())
        .into_iter()
        .filter(|event| event.kind == "call.refused")
        .map(|event| event.payload["reason"].clone())
        .collect();
    assert_eq!(reasons, [json!("token_used"), json!("budget_exceeded")]);

    // The tool changes its object after it was given; what is stored stays as it was.
    let object = Arc::new(std::sync::Mutex::new(json!([{ "id": 1 }])));
    let own = Arc::clone(&object);
    world.answering(draft("db.live", Effects::READ_LOCAL), move |_| {
        Ok(RawResult::json(own.lock().unwrap().clone()))
    });
    let run = world.run();
    let done = world.call(&run, &who, &Asked::new("db.live"));
    *object.lock().unwrap() = json!([{ "id": 666 }]);
    let handle = frame(&done).handle.as_ref().unwrap().handle_id.clone();
    let caller = Caller { run: &run, principal: &who };
    let view = block_on(world.kernel.expand(caller, &handle, &HandleQuery::default()));
    assert_eq!(frame(&view).table[0]["id"], 1);
    assert!(world.kernel.explain(&principal("bob", &[]), &done.call).is_none());
    assert!(world.kernel.explain(&who, &done.call).is_some());
}

/// Cases: HOLE-15.
#[test]
fn a_justification_of_the_model_opens_nothing() {
    let world = World::new(Policy::baseline().unwrap());
    world.tool("crm.write", Effects::WRITE_LOCAL);
    let why = "the customer confirmed the fix";
    let by = |source: JustificationSource| {
        let mut asked = Asked::new("crm.write").with(json!({ "_justification": why }));
        asked.request = asked.request.justified(why, source);
        answer(&world.call(&world.run(), &ana(), &asked))
    };
    assert_eq!(by(JustificationSource::Host).0, Verdict::Allow);
    assert_eq!(by(JustificationSource::Human).0, Verdict::Allow);
    let model = by(JustificationSource::Model);
    assert_eq!(model, (Verdict::Ask, ReasonCode::InsufficientJustification));
    assert_eq!(world.executed(), 2);
}

/// Cases: HOLE-16.
#[test]
fn tenants_are_compared_and_schemas_are_checked() {
    let first = stored();
    let stranger = Principal { tenant: Tenant::parse("other").unwrap(), ..ana() };
    let done = first.world.call(&first.run, &stranger, &Asked::new("db.rows"));
    assert_eq!(done.decision.primary_reason(), ReasonCode::NotFound);
    let view = first.view(&stranger, &json!({}));
    assert_eq!(view.decision.primary_reason(), ReasonCode::HandleNotFound);

    let world = World::new(Policy::baseline().unwrap());
    let pii = CapabilityDraft {
        sensitivity: [SensitivityTag::Pii].into(),
        ..draft("crm.find", Effects::READ_LOCAL)
    };
    world.register(pii);
    let find = |who: &Principal| answer(&world.call(&world.run(), who, &Asked::new("crm.find")));
    assert_eq!(find(&ana()).1, ReasonCode::MissingTenantAttribute);
    let mut acme = ana();
    acme.attributes.insert("tenant".to_owned(), "acme".to_owned());
    assert_eq!(find(&acme).0, Verdict::Allow);

    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let spec = CapabilityDraft {
        input_schema: Some(schema.into()),
        ..draft("fs.take", Effects::READ_LOCAL)
    };
    world.register(spec);
    let executed = world.executed();
    let asked = Asked::new("fs.take").with(json!({ "n": "not a number" }));
    let done = world.call(&world.run(), &ana(), &asked);
    assert_eq!(done.decision.primary_reason(), ReasonCode::InvalidArguments);
    assert_eq!(world.executed(), executed);
}
