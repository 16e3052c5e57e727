//! What is looked at a second time, because it may have changed since the first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use serde_json::{Value, json};
use weaver_agent_kernel::{
    AuthorizedCall, Call, Caller, Driver, DriverError, FnDriver, Kernel, Registry,
    RevocationSubject, block_on,
};
use weaver_firewall::HandleQuery;
use weaver_types::{
    BoxFuture, CapabilityDraft, CapabilityId, CapabilityRequest, Confidentiality, Effects,
    Integrity, Label, PrincipalId, RawResult, ReasonCode, ResponseMode, RunBudget, RunSettings,
    SafetyMode, Verdict,
};

use crate::masks::Office;
use crate::support::{Asked, World, ana, answer, draft, open_policy, set, succeeded};

/// A tool that, asked whether it tells how far it is, revokes everything of who calls. It is asked
/// after the token was verified and before the intent is committed.
#[derive(Default)]
struct Revoking {
    kernel: OnceLock<Weak<Kernel>>,
    executed: AtomicU64,
}

impl Driver for Revoking {
    fn execute(&self, _: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        self.executed.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(RawResult::text("done"))))
    }

    fn reports_progress(&self) -> bool {
        if let Some(kernel) = self.kernel.get().and_then(Weak::upgrade) {
            let operator = PrincipalId::parse("operator").unwrap();
            let subject = RevocationSubject::Principal(ana().id);
            block_on(kernel.void_grants(subject, &operator)).unwrap();
        }
        true
    }

    fn name(&self) -> &str {
        "revoking"
    }
}

#[test]
fn what_is_revoked_between_the_checks_and_the_commit_is_not_executed() {
    for revokes in [false, true] {
        let (registry, driver) = (Registry::new(), Arc::new(Revoking::default()));
        let capability = draft("fs.read", Effects::READ_LOCAL).build().unwrap();
        registry.register(capability, Arc::clone(&driver) as Arc<dyn Driver>).unwrap();
        let kernel = Arc::new(Kernel::in_memory(registry, set(open_policy())).unwrap());
        if revokes {
            driver.kernel.set(Arc::downgrade(&kernel)).unwrap();
        }
        let run = kernel.start_run(RunSettings::default()).unwrap();
        let (who, asked) = (ana(), Asked::new("fs.read"));
        let caller = Caller { run: &run, principal: &who };
        let call =
            Call { request: &asked.request, arguments: Some(&asked.arguments), mode: asked.mode };
        let done = block_on(kernel.execute_with_progress(caller, call, Arc::new(|_| ())));
        assert_eq!(driver.executed.load(Ordering::SeqCst), u64::from(!revokes));
        match revokes {
            true => assert_eq!(answer(&done), (Verdict::Deny, ReasonCode::TokenRevoked)),
            false => assert!(succeeded(&done), "{done:?}"),
        }
    }
}

#[test]
fn what_the_grant_limited_stays_limited_when_the_run_is_less_careful_by_then() {
    let world = World::new(open_policy());
    let rows: Value = (0..20).map(|n| json!({ "id": n })).collect();
    world.answering(draft("db.rows", Effects::READ_LOCAL), move |_| {
        Ok(RawResult::json(rows.clone()))
    });
    let (who, asked) = (ana(), Asked::new("db.rows"));
    let strict = world.run_with(RunBudget::unlimited(), SafetyMode::Strict);
    let mut normal = strict.clone();
    normal.settings.safety_mode = SafetyMode::Normal;
    for (granted_in, mode) in [(&normal, ResponseMode::Table), (&strict, ResponseMode::HandleOnly)]
    {
        let caller = Caller { run: granted_in, principal: &who };
        let token = block_on(world.kernel.grant(caller, asked.call())).token.unwrap();
        let caller = Caller { run: &normal, principal: &who };
        let done =
            block_on(world.kernel.invoke(caller, &token, &asked.arguments, ResponseMode::Table));
        let frame = done.frame().unwrap();
        assert_eq!(frame.mode, mode);
        assert_eq!(frame.table.is_empty(), mode == ResponseMode::HandleOnly);
    }
}

#[test]
fn a_view_is_as_tainted_as_the_call_that_stored_it() {
    let office = Office::new();
    let untrusted = Label::new(Confidentiality::Internal, Integrity::Untrusted);
    let news =
        CapabilityDraft { output_label: untrusted, ..draft("news.read", Effects::READ_OPEN) };
    office
        .world
        .driven(news, FnDriver::inline(|_| Ok(RawResult::text("ask eve@evil.example.org"))));
    let told = office.call("news.read", json!({}));
    // The book is trusted, but it was asked with what the news said.
    let rows: Value = (0..300).map(|n| json!({ "id": n, "city": "Oslo" })).collect();
    *office.result() = RawResult::json(rows);
    let stored = office.call("book.find", json!({ "text": "[EMAIL_1]" }));
    assert_eq!(office.last()["text"], "eve@evil.example.org");
    let handle = stored.frame().unwrap().handle.clone().unwrap().handle_id;
    // Another run has seen nothing yet: what taints the view can only come from the record.
    let run = office.world.run();
    let who = ana();
    let query = HandleQuery::parse(&json!({ "limit": 2 })).unwrap();
    let caller = Caller { run: &run, principal: &who };
    let view = block_on(office.world.kernel.expand(caller, &handle, &query));
    let label = &view.frame().unwrap().label;
    assert_eq!(label.integrity, Integrity::Untrusted);
    assert!(label.taints.contains(&told.call), "{label:?}");
    // Without it, a view of the book alone is trusted.
    let request = CapabilityRequest::new(CapabilityId::parse("book.find").unwrap(), "a goal");
    let call = Call { request: &request, arguments: Some(&json!({})), mode: ResponseMode::Table };
    let clean = block_on(office.world.kernel.execute(caller, call));
    let handle = clean.frame().unwrap().handle.clone().unwrap().handle_id;
    let view = block_on(office.world.kernel.expand(caller, &handle, &query));
    assert_eq!(view.frame().unwrap().label.integrity, Integrity::Trusted);
}
