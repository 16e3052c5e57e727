//! Evaluates one recorded call under a draft policy.

use serde::Serialize;
use weaver_policy::{
    ArgumentPredicate, Effect, MatchConditions, PolicyQuery, PolicySet, RateLimitWindows, Rule,
    Truth,
};
use weaver_types::{
    AllowedAgents, Capability, CapabilityDraft, CapabilityRequest, CheckKind, CheckResult,
    Decision, Effects, Label, Principal, ReasonCode, Remedy, Rung, SafetyClass, Verdict,
};

use crate::history::{MaskedArgument, RecordedCall};
use crate::recorded_request::proposed_capability;

/// Why a recorded call cannot be judged under a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnjudgedReason {
    /// The draft depends on arguments that the log has only in redacted form, or not at all.
    Arguments,
    /// The draft depends on the label of the run, and the log does not contain the start of the
    /// run.
    Label,
    /// The capability was unknown when the call was made.
    UnknownCapability,
    /// The draft's contract for the capability cannot be applied.
    ContractRefused,
    /// There were more check results than the log records.
    Checks,
}

weaver_types::words! { UnjudgedReason: "The reason as text, to follow \"of N calls\".";
    Arguments = "the log does not hold the exact arguments",
    Label = "the log does not tell the start of the run",
    UnknownCapability = "no tool of that name was known",
    ContractRefused = "the contract of the tool cannot be applied",
    Checks = "more checks spoke than the log records",
}

/// The verdict of a draft on a call, with the rule or reason that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DraftVerdict {
    pub(super) verdict: Verdict,
    pub(super) reason: ReasonCode,
    pub(super) source: String,
}

/// A draft and the calls that it has allowed so far.
pub(super) struct DraftEvaluator<'d> {
    pub(super) draft: &'d PolicySet,
    pub(super) windows: RateLimitWindows,
}

/// The deny and approval rules of a policy that apply to a call.
pub(crate) fn stopping_rules(
    set: &PolicySet,
    call: &RecordedCall,
) -> Result<Vec<String>, UnjudgedReason> {
    let judge = DraftEvaluator { draft: set, windows: RateLimitWindows::new() };
    judge.with_query(call, |query| {
        let stops = |rule: &&Rule| {
            rule.effect != Effect::Allow && rule.matches.applies_to(query) != Truth::No
        };
        let rules = set.candidate_rules(call.capability.as_str());
        Ok(rules.filter(stops).map(|rule| rule.name.clone()).collect())
    })
}

impl DraftEvaluator<'_> {
    /// Evaluates a call, and counts it if it is allowed. The draft is treated as enforced, even if
    /// it only observes.
    pub(super) fn evaluate(&mut self, call: &RecordedCall) -> Result<DraftVerdict, UnjudgedReason> {
        if let Some(reason) = undecided_reason(call) {
            let source = reason.to_string();
            return Ok(DraftVerdict { verdict: Verdict::Ask, reason, source });
        }
        let verdict = self.with_query(call, |query| self.verdict(query, call))?;
        if verdict.verdict == Verdict::Allow {
            let mut windows = std::mem::take(&mut self.windows);
            self.with_query(call, |query| {
                windows.record(query, self.draft.limits());
                Ok(())
            })?;
            self.windows = windows;
        }
        Ok(verdict)
    }

    /// Calls `with` with the query that corresponds to the call under the draft.
    fn with_query<T>(
        &self,
        call: &RecordedCall,
        with: impl FnOnce(&PolicyQuery<'_>) -> Result<T, UnjudgedReason>,
    ) -> Result<T, UnjudgedReason> {
        let capability = capability_under(self.draft, call)?;
        let principal = self.principal(call);
        let request = CapabilityRequest {
            intent: call.intent.clone(),
            justification: call.justification.clone(),
            ..CapabilityRequest::new(call.capability.clone(), "")
        };
        let clean = Label::clean();
        with(&PolicyQuery {
            arguments: call.arguments.value(),
            mode: call.mode,
            label: call.label.as_ref().unwrap_or(&clean),
            now: call.at,
            human_channel: had_human_channel(call),
            run: call.run.as_ref(),
            ..PolicyQuery::new(&capability, &principal, &request)
        })
    }

    fn verdict(
        &self,
        query: &PolicyQuery<'_>,
        call: &RecordedCall,
    ) -> Result<DraftVerdict, UnjudgedReason> {
        let decision = self.decide(query, call)?;
        // Unknown argument values matter only if they can change the verdict. To find out, the call
        // is also decided without arguments, which is the strict reading of everything unknown.
        let masked = call.arguments.masked_values();
        let unknown = |one: &ArgumentPredicate| {
            masked.as_ref().is_none_or(|all| all.iter().any(|value| reads_masked_value(one, value)))
        };
        let reads_unknown = |matches: &MatchConditions| matches.arguments.iter().any(unknown);
        if self.any_condition(call, reads_unknown) {
            let strict = self.decide(&PolicyQuery { arguments: None, ..*query }, call)?;
            if strict.verdict() != decision.verdict()
                || is_denied_only_without_rule(&strict) && self.may_be_allowed(query, &unknown)
            {
                return Err(UnjudgedReason::Arguments);
            }
        }
        let labels = |matches: &MatchConditions| {
            !matches.confidentiality.is_empty() || !matches.integrity.is_empty()
        };
        if call.label.is_none() && self.any_condition(call, labels) {
            return Err(UnjudgedReason::Label);
        }
        let source = self.source(query, &decision);
        Ok(DraftVerdict { verdict: decision.verdict(), reason: decision.primary_reason(), source })
    }

    /// The decision of the draft, joined with results that are carried over from the log.
    fn decide(
        &self,
        query: &PolicyQuery<'_>,
        call: &RecordedCall,
    ) -> Result<Decision, UnjudgedReason> {
        let decision = self.draft.decide(&PolicyQuery { windows: Some(&self.windows), ..*query });
        let decision = decision.would_have().unwrap_or(&decision);
        let again = decision.check_results().iter().filter(|result| is_decided_again(result));
        let mut result: Vec<CheckResult> = again.cloned().collect();
        result.extend(carried_over_results(call)?);
        apply_standing_approval(call, &mut result);
        Ok(Decision::join(result, decision.basis().clone()))
    }

    /// The caller, with what the draft grants.
    fn principal(&self, call: &RecordedCall) -> Principal {
        let named = self.draft.principal(&call.principal);
        let principal = named.unwrap_or_else(|| Principal::new(call.principal.clone()));
        Principal { agent: call.agent.clone().or(principal.agent), ..principal }
    }

    /// Whether any rule or limit that may apply to the call contains such conditions.
    fn any_condition(&self, call: &RecordedCall, such: impl Fn(&MatchConditions) -> bool) -> bool {
        let rules = self.draft.candidate_rules(call.capability.as_str());
        let limits = self.draft.limits().iter().map(|limit| &limit.matches);
        rules.map(|rule| &rule.matches).chain(limits).any(|matches| any_nested(matches, &such))
    }

    /// Whether an allow rule would apply for some values of what is unknown.
    fn may_be_allowed(
        &self,
        query: &PolicyQuery<'_>,
        unknown: &dyn Fn(&ArgumentPredicate) -> bool,
    ) -> bool {
        let rules = self.draft.candidate_rules(query.capability.id().as_str());
        let mut allowing = rules.filter(|rule| rule.effect == Effect::Allow);
        allowing.any(|rule| loosened(&rule.matches, unknown).applies_to(query) != Truth::No)
    }

    /// The rule that the verdict comes from, or the reason if there is no rule.
    fn source(&self, query: &PolicyQuery<'_>, decision: &Decision) -> String {
        let (verdict, primary) = (decision.verdict(), decision.primary_reason());
        let mut result = decision.check_results().iter();
        let leading = result.find(|result| result.verdict == verdict && result.reason == primary);
        let effect = match verdict {
            Verdict::Allow => Effect::Allow,
            Verdict::Deny => Effect::Deny,
            Verdict::Hold | Verdict::Ask => Effect::RequireApproval,
        };
        let by_rule = leading.is_some_and(|result| result.check == CheckKind::Rule)
            && primary != ReasonCode::NoMatchingRule;
        let matching =
            |rule: &&Rule| rule.effect == effect && rule.matches.applies_to(query) == Truth::Yes;
        let mut rules = self.draft.candidate_rules(query.capability.id().as_str());
        match rules.find(matching).filter(|_| by_rule) {
            Some(rule) => format!("rule `{}`", rule.name),
            None => primary.as_str().to_owned(),
        }
    }
}

/// The conditions that remain if all conditions on unknown values are assumed to hold.
fn loosened(
    matches: &MatchConditions,
    unknown: &dyn Fn(&ArgumentPredicate) -> bool,
) -> MatchConditions {
    let mut out = matches.clone();
    out.arguments.retain(|one| !unknown(one));
    out.any = matches.any.iter().map(|one| loosened(one, unknown)).collect();
    for excluded in [&mut out.not, &mut out.unless] {
        let is_known =
            |one: &MatchConditions| !any_nested(one, |part| part.arguments.iter().any(unknown));
        *excluded = excluded.take().filter(|one| is_known(one));
    }
    out
}

/// Whether the conditions, or any nested ones, satisfy the predicate.
fn any_nested(matches: &MatchConditions, such: impl Fn(&MatchConditions) -> bool) -> bool {
    let mut all = vec![matches];
    while let Some(one) = all.pop() {
        if such(one) {
            return true;
        }
        all.extend(one.nested());
    }
    false
}

/// Whether the only reason for the denial is that no rule matches.
fn is_denied_only_without_rule(decision: &Decision) -> bool {
    let mut denials =
        decision.check_results().iter().filter(|result| result.verdict == Verdict::Deny);
    denials.all(|result| result.reason == ReasonCode::NoMatchingRule)
}

/// Whether a condition depends on a masked value. A condition on paths alone does not depend on
/// text for people.
fn reads_masked_value(condition: &ArgumentPredicate, masked: &MaskedArgument) -> bool {
    let at = condition.at.as_str();
    let within = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let others = ArgumentPredicate {
        holds_paths: None,
        paths_inside: Vec::new(),
        any_path: Vec::new(),
        ..condition.clone()
    };
    let on_paths_alone = others == ArgumentPredicate::at(condition.at.clone());
    (within(at, &masked.at) || within(&masked.at, at)) && !(on_paths_alone && masked.is_prose())
}

/// The capability under the draft's contracts. If they do not cover it, host code registered it,
/// and it is rebuilt from the record.
pub(crate) fn capability_under(
    set: &PolicySet,
    call: &RecordedCall,
) -> Result<Capability, UnjudgedReason> {
    let id = &call.capability;
    if set.contracts().capabilities.keys().any(|one| one.matches(id.as_str())) {
        return proposed_capability(set, id).map_err(|_| UnjudgedReason::ContractRefused);
    }
    let (Some(class), Some(rung)) = (call.class, call.rung) else {
        return Err(UnjudgedReason::UnknownCapability);
    };
    let effects = match class {
        SafetyClass::ReadOnly => Effects::READ_LOCAL,
        SafetyClass::LocalWrite => Effects::WRITE_LOCAL,
        SafetyClass::Network if rung <= Rung::L1 => Effects::READ_OPEN,
        SafetyClass::Network => Effects::WRITE_OPEN,
        SafetyClass::Destructive => Effects::UNDECLARED,
    };
    let name: String = id.as_str().chars().take(64).collect();
    let draft = CapabilityDraft {
        rung: Some(rung.max(effects.rung())),
        tags: call.tags.clone(),
        ..CapabilityDraft::new(id.clone(), name, effects, AllowedAgents::Any)
    };
    draft.build().map_err(|_| UnjudgedReason::ContractRefused)
}

/// Why a call was sent back before any policy was asked, as one with malformed arguments is: then no
/// draft is asked either.
fn undecided_reason(call: &RecordedCall) -> Option<ReasonCode> {
    match call.policy_decision().checks.as_slice() {
        [only] if only.verdict == Verdict::Ask && only.check == CheckKind::Justification => {
            Some(only.reason).filter(|reason| *reason == ReasonCode::InvalidArguments)
        }
        _ => None,
    }
}

/// Whether a person could be asked at that time: if not, an unmet justification would have been
/// held.
fn had_human_channel(call: &RecordedCall) -> bool {
    let held = |result: &CheckResult| {
        result.reason == ReasonCode::InsufficientJustification && result.verdict == Verdict::Hold
    };
    !call.policy_decision().checks.iter().any(held)
}

/// Whether the draft decides this result again, instead of carrying it over from the log.
fn is_decided_again(result: &CheckResult) -> bool {
    match result.check {
        CheckKind::Rule
        | CheckKind::Role
        | CheckKind::Permission
        | CheckKind::Attribute
        | CheckKind::Sensitivity
        | CheckKind::Floor
        | CheckKind::Prohibited
        | CheckKind::Mode => true,
        CheckKind::Justification => result.reason == ReasonCode::InsufficientJustification,
        CheckKind::Limit => {
            result.verdict == Verdict::Allow || result.reason == ReasonCode::RateLimited
        }
        CheckKind::Contract => result.reason != ReasonCode::ContractChanged,
        CheckKind::Signal | CheckKind::Flow | CheckKind::Precondition | CheckKind::System => false,
    }
}

/// Recorded obstacles that do not depend on the draft. Holds that people released were obstacles
/// too.
fn carried_over_results(call: &RecordedCall) -> Result<Vec<CheckResult>, UnjudgedReason> {
    let result = call.policy_decision();
    if result.checks_total > result.checks.len() {
        return Err(UnjudgedReason::Checks);
    }
    let stood =
        |result: &&CheckResult| result.verdict > Verdict::Allow || result.reason.is_release();
    let over = result.checks.iter().filter(stood).filter(|result| !is_decided_again(result));
    let as_then = |result: &CheckResult| match result.reason.is_release() {
        true => {
            let reason = ReasonCode::ApprovalRequired;
            let held = CheckResult::new(result.check, Verdict::Hold, reason, &result.detail);
            held.with_remedy(Remedy::Approval)
        }
        false => result.clone(),
    };
    Ok(over.map(as_then).collect())
}

/// A standing approval that released the recorded call also releases holds of the draft's rules and
/// of the floor.
fn apply_standing_approval(call: &RecordedCall, result: &mut [CheckResult]) {
    let standing = |result: &CheckResult| result.reason == ReasonCode::StandingApproval;
    if !call.decision.checks.iter().any(standing) {
        return;
    }
    let covered = |result: &CheckResult| {
        matches!(result.check, CheckKind::Rule | CheckKind::Floor) && result.needs_human_approval()
    };
    for held in result.iter_mut().filter(|result| covered(result)) {
        held.verdict = Verdict::Allow;
        held.reason = ReasonCode::StandingApproval;
        held.discharge = Remedy::Nothing;
    }
}
