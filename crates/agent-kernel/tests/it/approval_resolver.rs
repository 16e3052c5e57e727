//! Answers inside the process: every one of them leaves a last word in the log.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use weaver_agent_kernel::{
    ApprovalAnswer, ApprovalResolver, ApprovalResolverError, Ports, TimedApprovalResolver,
};
use weaver_policy::approval::{ApprovalRequest, Phase};
use weaver_types::{BoxFuture, Clock, ManualClock, ReasonCode, Verdict};

use crate::approvals::{ALICE, Desk, RULES, documents, push};
use crate::support::{answer, memory, succeeded};

type Says =
    dyn Fn(&ApprovalRequest) -> Option<Result<ApprovalAnswer, ApprovalResolverError>> + Send + Sync;

struct Fixed {
    says: Box<Says>,
    asked: AtomicU64,
}

impl ApprovalResolver for Fixed {
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<ApprovalAnswer, ApprovalResolverError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match (self.says)(request) {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }
}

fn desk(
    says: impl Fn(&ApprovalRequest) -> Option<Result<ApprovalAnswer, ApprovalResolverError>>
    + Send
    + Sync
    + 'static,
) -> (Desk, Arc<Fixed>) {
    let resolver = Arc::new(Fixed { says: Box::new(says), asked: AtomicU64::new(0) });
    let port = TimedApprovalResolver {
        resolver: Arc::clone(&resolver) as Arc<dyn ApprovalResolver>,
        timeout: Duration::from_millis(20),
    };
    let ports = Ports { resolver: Some(port), ..Ports::default() };
    (Desk::on(memory(), ports), resolver)
}

fn granted(people: &[&str]) -> Option<Result<ApprovalAnswer, ApprovalResolverError>> {
    let people: BTreeSet<String> = people.iter().map(|name| (*name).to_owned()).collect();
    Some(Ok(ApprovalAnswer::Granted { people }))
}

/// Cases: APR-01.
#[test]
fn a_grant_in_the_process_lets_the_call_go_on() {
    let (desk, resolver) = desk(|_| granted(&["alice"]));
    let done = desk.push();
    assert!(succeeded(&done), "{done:?}");
    assert_eq!(desk.world.executed(), 1);
    let kinds = ["run.started", "approval.requested", "approval.granted", "call.intent"];
    assert_eq!(desk.kinds()[..4], kinds);
    assert_eq!(desk.kinds()[4..], ["call.outcome"]);
    assert!(succeeded(&desk.push()), "each call is asked for");
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 2);
    assert_eq!(desk.world.kernel.pending_approvals(), []);
}

/// Cases: APR-02.
#[test]
fn every_other_answer_ends_the_request_and_says_so() {
    type Case =
        (&'static str, ReasonCode, fn() -> Option<Result<ApprovalAnswer, ApprovalResolverError>>);
    let denied = || {
        Some(Ok(ApprovalAnswer::Denied { by: "alice".to_owned(), reason: "not today".to_owned() }))
    };
    let cases: [Case; 6] = [
        ("approval.denied", ReasonCode::ApprovalDenied, denied),
        ("approval.revoked", ReasonCode::InternalError, || {
            Some(Err(ApprovalResolverError("no display".to_owned())))
        }),
        ("approval.revoked", ReasonCode::InternalError, || panic!("on purpose")),
        ("approval.expired", ReasonCode::ApprovalTimeout, || None),
        ("approval.revoked", ReasonCode::ApprovalRevoked, || granted(&["ana"])),
        ("approval.revoked", ReasonCode::ApprovalRevoked, || granted(&[])),
    ];
    for (kind, reason, says) in cases {
        let (desk, _) = desk(move |_| says());
        let done = desk.push();
        assert_eq!(answer(&done), (Verdict::Deny, reason), "{kind}");
        assert_eq!((desk.world.executed(), done.request), (0, None));
        let kinds = ["run.started", "approval.requested", kind, "call.refused"];
        assert_eq!(desk.kinds(), kinds);
        assert_eq!(desk.world.kernel.pending_approvals(), []);
    }
}

#[test]
fn the_error_of_a_resolver_is_redacted() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text = format!("POST https://bot:{token}@chat.example failed");
    let (desk, _) = desk(move |_| Some(Err(ApprovalResolverError(text.clone()))));
    let done = desk.push();
    let said = done.decision.detail();
    assert!(said.contains("chat.example failed") && !said.contains(&token), "{said}");
    assert!(!format!("{:?}", done.result.unwrap()).contains(&token));
}

/// Cases: APR-02.
#[test]
fn without_a_resolver_the_request_waits_for_signed_answers() {
    let (desk, _) = desk(|_| Some(Ok(ApprovalAnswer::NoAnswer)));
    let id = desk.held(&push()).request.id;
    assert_eq!(desk.world.kernel.approval_phase(&id), Some(Phase::Requested));
    desk.grant(&id, "alice", ALICE);
    assert!(succeeded(&desk.push()));
}

#[test]
fn a_grant_of_the_process_does_not_outlive_it() {
    let (desk, _) = desk(|_| granted(&["alice"]));
    // Granted, and the process dies before the call is made: the token is never used.
    let caller = weaver_agent_kernel::Caller { run: &desk.run, principal: &desk.who };
    let asked = push();
    let grant = weaver_agent_kernel::block_on(desk.world.kernel.grant(caller, asked.call()));
    assert!(grant.token.is_some());
    let id = grant
        .request
        .unwrap_or_else(|| desk.world.kernel.pending_approvals()[0].request.id.clone());
    let desk = desk.restarted(documents(RULES, ""));
    assert_eq!(desk.world.kernel.approval_phase(&id), Some(Phase::Requested));
    assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
    assert_eq!(desk.world.executed(), 0);
}

#[test]
fn a_token_lives_from_when_people_have_answered() {
    let clock: Arc<OnceLock<Arc<ManualClock>>> = Arc::default();
    let seen = Arc::clone(&clock);
    let (desk, _) = desk(move |_| {
        seen.get().unwrap().advance(Duration::from_secs(600));
        granted(&["alice"])
    });
    clock.set(Arc::clone(&desk.world.clock)).unwrap();
    let before = desk.world.clock.now();
    let caller = weaver_agent_kernel::Caller { run: &desk.run, principal: &desk.who };
    let asked = push();
    let grant = weaver_agent_kernel::block_on(desk.world.kernel.grant(caller, asked.call()));
    let claims = desk.world.kernel.keys().verify(&grant.token.unwrap()).unwrap().claims;
    let answered = before.after(Duration::from_secs(600));
    assert_eq!(claims.issued_at, answered);
    assert_eq!(claims.expires_at, answered.after(Duration::from_secs(3_600)));
}

#[test]
fn the_resolver_sees_what_will_be_done() {
    let (desk, _) = desk(|request| {
        let whole = request.arguments["remote"] == "origin" && request.arguments["force"] == true;
        assert!(whole && request.principal.as_str() == "ana");
        granted(&["bob"])
    });
    assert!(succeeded(&desk.push()));
}

#[test]
fn who_has_no_answer_is_asked_again_with_the_next_call() {
    let (desk, resolver) = desk(|_| Some(Ok(ApprovalAnswer::NoAnswer)));
    for asked in 1..=3 {
        assert_eq!(desk.push().decision.verdict(), Verdict::Hold);
        assert_eq!(resolver.asked.load(Ordering::SeqCst), asked);
    }
}
