//! What an agent reads of a call that was not made: the verdict, why, and what to do next.

use serde_json::{Value, json};
use weaver_agent_kernel::Invocation;
use weaver_types::{
    ApprovalAuthority, ApprovalRequestId, CheckKind, CheckResult, Decision, Impact, ReasonCode,
    Remedy, Verdict,
};

use super::call::CallOutcome;
use super::client::Client;

/// The body of a refusal.
pub(super) fn refusal_body(client: &Client, outcome: &CallOutcome) -> Value {
    let (invocation, decision) = (&outcome.invocation, &outcome.invocation.decision);
    let (reason, message) = match &invocation.request {
        Some(request) => {
            let reason = if outcome.approval_timed_out {
                ReasonCode::ApprovalTimeout
            } else {
                ReasonCode::ApprovalRequired
            };
            let mut message = held_message(decision, request, reason);
            if is_steered_read(client, invocation) {
                message.push_str(&format!(
                    " If reads like it should go through from now on, the user can say so with `weaver allow {}`.",
                    invocation.call
                ));
            }
            (reason, message)
        }
        None => (decision.primary_reason(), refusal_message(decision)),
    };
    let obstacles: Vec<Value> =
        decision.obstacles().take(8).map(|result| obstacle(result, &message)).collect();
    let mut body = json!({
        "verdict": decision.verdict(),
        "reason": reason,
        "message": message,
        "obstacles": obstacles,
        "call": invocation.call,
    });
    if let (Some(request), Some(fields)) = (&invocation.request, body.as_object_mut()) {
        fields.insert("approval".to_owned(), json!({ "request": request }));
    }
    body
}

/// One obstacle. Its detail is left out where the message says it: a model reads both.
fn obstacle(result: &CheckResult, message: &str) -> Value {
    let mut obstacle = json!({
        "check": check_name(result),
        "verdict": result.verdict,
        "reason": result.reason,
        "discharged_by": result.discharge,
    });
    if let Some(fields) = obstacle.as_object_mut()
        && !message.contains(result.detail.as_str())
    {
        fields.insert("detail".to_owned(), json!(result.detail));
    }
    obstacle
}

/// The check of an obstacle. Where the arguments are at fault, no justification would help.
fn check_name(result: &CheckResult) -> Value {
    match (result.check, &result.discharge) {
        (CheckKind::Justification, Remedy::Arguments) => json!("arguments"),
        (check, _) => json!(check),
    }
}

/// The message for a call that waits for approval.
fn held_message(decision: &Decision, request: &ApprovalRequestId, reason: ReasonCode) -> String {
    let so_far = match reason == ReasonCode::ApprovalTimeout {
        true => {
            format!("{}, which has not happened yet", who_must_release(decision.authority()))
        }
        false => who_must_release(decision.authority()),
    };
    format!(
        "{}: {}. Nothing was executed: {so_far}. Tell the user to run `weaver approve grant {request}`, go on \
         with other work, and make the same call again as soon as it is granted, before anything else is written.",
        decision.primary_reason(),
        decision.detail()
    )
}

/// Whether the call only reads, and nothing holds it but that untrusted data may have chosen where. An
/// agent that looks something up makes many such calls.
fn is_steered_read(client: &Client, invocation: &Invocation) -> bool {
    let is_influence = |result: &CheckResult| {
        result.check == CheckKind::Flow && result.reason == ReasonCode::UntrustedInfluence
    };
    let tool = invocation.result.as_ref().map(|result| &result.tool_id);
    let spec = tool.and_then(|tool| client.gateway.registry.get(tool));
    let effective = spec.and_then(|spec| spec.effective(&client.gateway.kernel.policy()).ok());
    invocation.decision.obstacles().all(is_influence)
        && effective.is_some_and(|spec| spec.spec().effects.impact == Impact::Read)
}

/// Who must release a call, such as `2 people, with the role cfo among them, must release it`.
fn who_must_release(authority: &ApprovalAuthority) -> String {
    match (authority.quorum, authority.roles_in_words()) {
        (0 | 1, None) => "a person must release it".to_owned(),
        (0 | 1, Some(role)) => format!("a person with the role {role} must release it"),
        (many, None) => format!("{many} people must release it"),
        (many, Some(role)) => {
            format!("{many} people, with the role {role} among them, must release it")
        }
    }
}

/// One sentence on what happened and one on what to do.
fn refusal_message(decision: &Decision) -> String {
    let what = decision.detail();
    let next = match decision.verdict() {
        Verdict::Allow => "It was executed.",
        Verdict::Ask if is_about_arguments(decision) => {
            "Nothing was executed. Correct the call and make it again."
        }
        Verdict::Ask => "Nothing was executed. Supply what is missing and call again.",
        Verdict::Hold => {
            let who = who_must_release(decision.authority());
            match decision.obstacles().find(|result| result.verdict == Verdict::Ask) {
                // Nobody is asked about a call that is not complete.
                Some(ask) => &format!(
                    "Nothing was executed, and nobody was asked: first, {}. Then {who}.",
                    ask.detail
                ),
                None => {
                    &format!("Nothing was executed: {who}. Go on with other work or tell the user.")
                }
            }
        }
        Verdict::Deny if is_retryable(decision, |wait| wait == 0) => {
            "Nothing was executed. Make the same call again, which asks a person anew."
        }
        Verdict::Deny if is_retryable(decision, |_| true) => {
            "Nothing was executed. Try again later."
        }
        Verdict::Deny => {
            "Nothing was executed. The same call will be denied again: use another tool or other arguments, or tell the user."
        }
    };
    if what.is_empty() {
        format!("{}. {next}", decision.primary_reason())
    } else {
        format!("{}: {what}. {next}", decision.primary_reason())
    }
}

/// Whether nothing but the call itself is at fault.
fn is_about_arguments(decision: &Decision) -> bool {
    decision
        .obstacles()
        .filter(|result| result.verdict == Verdict::Ask)
        .all(|result| result.discharge == Remedy::Arguments)
}

/// Whether time alone removes every denial, and so much of it.
fn is_retryable(decision: &Decision, holds_for: impl Fn(u64) -> bool) -> bool {
    let mut denials = decision.obstacles().filter(|result| result.verdict == Verdict::Deny);
    denials.all(|result| {
        matches!(result.discharge, Remedy::Wait { retry_after_ms } if holds_for(retry_after_ms))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weaver_types::{DecisionBasis, Digest, PolicyOrigin};

    use super::*;

    fn decision(results: Vec<CheckResult>) -> Decision {
        let none = Digest::from_bytes([0; 32]);
        let basis = DecisionBasis { policy: none, contracts: none, origin: PolicyOrigin::Code };
        Decision::join(results, basis)
    }

    fn hold() -> CheckResult {
        let (check, reason) = (CheckKind::Rule, ReasonCode::ApprovalRequired);
        CheckResult::new(check, Verdict::Hold, reason, "rule `writes`")
    }

    fn wrong_arguments() -> CheckResult {
        let (check, reason) = (CheckKind::Justification, ReasonCode::InvalidArguments);
        CheckResult::new(check, Verdict::Ask, reason, "`/to` is missing")
            .with_remedy(Remedy::Arguments)
    }

    #[test]
    fn an_obstacle_repeats_nothing_that_the_message_says() {
        let decision = decision(vec![hold(), wrong_arguments()]);
        let message = "approval_required: rule `writes`. Nothing was executed.";
        let details = decision.obstacles().map(|result| obstacle(result, message));
        let details: Vec<_> = details
            .map(|one| one.get("detail").and_then(Value::as_str).map(str::to_owned))
            .collect();
        assert!(details.contains(&None), "{details:?}");
        assert!(details.contains(&Some("`/to` is missing".to_owned())), "{details:?}");
    }

    #[test]
    fn a_call_that_is_wrong_is_to_be_corrected_and_one_without_a_reason_to_be_supplied_with_it() {
        let message = refusal_message(&decision(vec![wrong_arguments()]));
        assert!(message.ends_with("Correct the call and make it again."), "{message}");
        let why = CheckResult { discharge: Remedy::Nothing, ..wrong_arguments() };
        let message = refusal_message(&decision(vec![why]));
        assert!(message.ends_with("Supply what is missing and call again."), "{message}");
    }

    #[test]
    fn a_denial_says_whether_the_same_call_may_be_made_again() {
        let denied = |discharge| {
            let (check, reason) = (CheckKind::System, ReasonCode::PolicyChanged);
            let denial = CheckResult::new(check, Verdict::Deny, reason, "the policy has changed");
            refusal_message(&decision(vec![denial.with_remedy(discharge), hold()]))
        };
        let message = denied(Remedy::Wait { retry_after_ms: 0 });
        assert!(
            message.ends_with("Make the same call again, which asks a person anew."),
            "{message}"
        );
        let message = denied(Remedy::Wait { retry_after_ms: 500 });
        assert!(message.ends_with("Try again later."), "{message}");
        assert!(denied(Remedy::Nothing).contains("will be denied again"));
    }

    #[test]
    fn a_held_call_says_who_is_asked_and_how_it_is_released() {
        let request = ApprovalRequestId::parse("apr_00000000000000000000000000000001").unwrap();
        let message = held_message(&decision(vec![hold()]), &request, ReasonCode::ApprovalRequired);
        assert!(message.contains(&format!("`weaver approve grant {request}`")), "{message}");
        // Of a call that is not complete, nobody is asked.
        let message = refusal_message(&decision(vec![hold(), wrong_arguments()]));
        assert!(message.contains("nobody was asked: first, `/to` is missing"), "{message}");
        let message = refusal_message(&decision(vec![hold()]));
        assert!(message.ends_with("Go on with other work or tell the user."), "{message}");
    }

    #[test]
    fn wrong_arguments_are_no_matter_of_a_justification() {
        assert_eq!(check_name(&wrong_arguments()), "arguments");
        let why = CheckResult { discharge: Remedy::Nothing, ..wrong_arguments() };
        assert_eq!(check_name(&why), "justification");
        assert_eq!(check_name(&hold()), "rule");
    }

    #[test]
    fn a_model_reads_how_many_people_must_release_a_call() {
        let roles = BTreeSet::from([BTreeSet::from(["cfo".to_owned()])]);
        for (quorum, roles, who) in [
            (1, BTreeSet::new(), "a person must release it"),
            (1, roles.clone(), "a person with the role cfo must release it"),
            (2, BTreeSet::new(), "2 people must release it"),
            (2, roles, "2 people, with the role cfo among them, must release it"),
        ] {
            let authority = ApprovalAuthority { quorum, roles, ..ApprovalAuthority::default() };
            assert_eq!(who_must_release(&authority), who);
        }
    }
}
