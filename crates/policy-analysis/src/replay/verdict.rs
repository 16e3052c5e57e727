//! The verdict of a draft on one recorded call.

use serde::Serialize;
use weaver_policy::{ArgumentPredicate, Effect, Match, PolicySet, Query, Rule, Truth, Windows};
use weaver_types::{
    Agents, Capability, CapabilityDraft, CapabilityRequest, Check, Contribution, Decision,
    Discharge, Effects, Label, Principal, ReasonCode, Rung, SafetyClass, Verdict,
};

use crate::history::{MaskedValue, RecordedCall};
use crate::request::proposed;

/// Why a call cannot be judged again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotJudged {
    /// The draft decides by arguments of which the log keeps the redacted form alone, or nothing.
    Arguments,
    /// The draft decides by the label of the run, and the log does not tell of the run's start.
    Label,
    /// Nothing of that name was known then.
    UnknownCapability,
    /// The draft's contract for it cannot be applied.
    ContractRefused,
    /// More checks spoke than the log records one by one.
    Checks,
}

impl NotJudged {
    /// The reason in words, after "of N calls".
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "the log does not hold the exact arguments",
            Self::Label => "the log does not tell the start of the run",
            Self::UnknownCapability => "no tool of that name was known",
            Self::ContractRefused => "the contract of the tool cannot be applied",
            Self::Checks => "more checks spoke than the log records",
        }
    }
}

/// What a draft says of a call, with the rule or reason that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DraftVerdict {
    pub(super) verdict: Verdict,
    pub(super) reason: ReasonCode,
    pub(super) source: String,
}

/// A draft with the calls that it allowed so far.
pub(super) struct Judge<'d> {
    pub(super) draft: &'d PolicySet,
    pub(super) windows: Windows,
}

/// The rules of a policy that stop a call.
pub(crate) fn stopping_rules(
    set: &PolicySet,
    call: &RecordedCall,
) -> Result<Vec<String>, NotJudged> {
    let judge = Judge { draft: set, windows: Windows::new() };
    judge.with_query(call, |query| {
        let stops = |rule: &&Rule| {
            rule.effect != Effect::Allow && rule.matches.applies_to(query) != Truth::No
        };
        let rules = set.candidate_rules(call.capability.as_str());
        Ok(rules.filter(stops).map(|rule| rule.name.clone()).collect())
    })
}

impl Judge<'_> {
    /// The draft counts as enforced, whatever it observes.
    pub(super) fn judge(&mut self, call: &RecordedCall) -> Result<DraftVerdict, NotJudged> {
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

    /// Does something with the query that the call is under the draft.
    fn with_query<T>(
        &self,
        call: &RecordedCall,
        with: impl FnOnce(&Query<'_>) -> Result<T, NotJudged>,
    ) -> Result<T, NotJudged> {
        let capability = capability(self.draft, call)?;
        let principal = self.principal(call);
        let request = CapabilityRequest {
            intent: call.intent.clone(),
            justification: call.justification.clone(),
            ..CapabilityRequest::new(call.capability.clone(), "")
        };
        let clean = Label::clean();
        with(&Query {
            arguments: call.arguments.value(),
            mode: call.mode,
            label: call.label.as_ref().unwrap_or(&clean),
            now: call.at,
            human_channel: asked_somebody(call),
            run: call.run.as_ref(),
            ..Query::new(&capability, &principal, &request)
        })
    }

    fn verdict(&self, query: &Query<'_>, call: &RecordedCall) -> Result<DraftVerdict, NotJudged> {
        let decision = self.decide(query, call)?;
        // What is not known of the arguments counts only where it makes a difference.
        let masked = call.arguments.masked();
        let unknown = |one: &ArgumentPredicate| {
            masked.as_ref().is_none_or(|all| all.iter().any(|value| reads(one, value)))
        };
        let reads_unknown = |matches: &Match| matches.arguments.iter().any(unknown);
        if self.speaks_of(call, reads_unknown) {
            let strict = self.decide(&Query { arguments: None, ..*query }, call)?;
            if strict.verdict() != decision.verdict()
                || is_for_want_of_a_rule(&strict) && self.may_be_allowed(query, &unknown)
            {
                return Err(NotJudged::Arguments);
            }
        }
        let labels =
            |matches: &Match| !matches.confidentiality.is_empty() || !matches.integrity.is_empty();
        if call.label.is_none() && self.speaks_of(call, labels) {
            return Err(NotJudged::Label);
        }
        let source = self.source(query, &decision);
        Ok(DraftVerdict { verdict: decision.verdict(), reason: decision.primary(), source })
    }

    /// What the draft decides, joined with what is carried over from the record.
    fn decide(&self, query: &Query<'_>, call: &RecordedCall) -> Result<Decision, NotJudged> {
        let decision = self.draft.decide(&Query { windows: Some(&self.windows), ..*query });
        let decision = decision.would_have().unwrap_or(&decision);
        let again = decision.contributions().iter().filter(|said| is_decided_again(said));
        let mut said: Vec<Contribution> = again.cloned().collect();
        said.extend(carried(call)?);
        released_in_advance(call, &mut said);
        Ok(Decision::join(said, decision.basis().clone()))
    }

    /// Who called, with what the draft grants.
    fn principal(&self, call: &RecordedCall) -> Principal {
        let named = self.draft.principal(&call.principal);
        let principal = named.unwrap_or_else(|| Principal::new(call.principal.clone()));
        Principal { agent: call.agent.clone().or(principal.agent), ..principal }
    }

    /// Whether a rule or limit that may be about the call has such a match in it.
    fn speaks_of(&self, call: &RecordedCall, such: impl Fn(&Match) -> bool) -> bool {
        let rules = self.draft.candidate_rules(call.capability.as_str());
        let limits = self.draft.limits().iter().map(|limit| &limit.matches);
        rules.map(|rule| &rule.matches).chain(limits).any(|matches| any_part(matches, &such))
    }

    /// Whether an allow rule would apply if what is not known were as it wants it.
    fn may_be_allowed(
        &self,
        query: &Query<'_>,
        unknown: &dyn Fn(&ArgumentPredicate) -> bool,
    ) -> bool {
        let rules = self.draft.candidate_rules(query.capability.id().as_str());
        let mut allowing = rules.filter(|rule| rule.effect == Effect::Allow);
        allowing.any(|rule| loosened(&rule.matches, unknown).applies_to(query) != Truth::No)
    }

    /// The rule that gives the verdict, or the reason where no rule does.
    fn source(&self, query: &Query<'_>, decision: &Decision) -> String {
        let (verdict, primary) = (decision.verdict(), decision.primary());
        let mut said = decision.contributions().iter();
        let leading = said.find(|said| said.verdict == verdict && said.reason == primary);
        let effect = match verdict {
            Verdict::Allow => Effect::Allow,
            Verdict::Deny => Effect::Deny,
            Verdict::Hold | Verdict::Ask => Effect::RequireApproval,
        };
        let by_rule = leading.is_some_and(|said| said.check == Check::Rule)
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

/// What is left of a match where its conditions on what is not known hold.
fn loosened(matches: &Match, unknown: &dyn Fn(&ArgumentPredicate) -> bool) -> Match {
    let mut out = matches.clone();
    out.arguments.retain(|one| !unknown(one));
    out.any = matches.any.iter().map(|one| loosened(one, unknown)).collect();
    for excluded in [&mut out.not, &mut out.unless] {
        let is_known = |one: &Match| !any_part(one, |part| part.arguments.iter().any(unknown));
        *excluded = excluded.take().filter(|one| is_known(one));
    }
    out
}

/// Whether a match, or one nested in it, is such a one.
fn any_part(matches: &Match, such: impl Fn(&Match) -> bool) -> bool {
    let mut all = vec![matches];
    while let Some(one) = all.pop() {
        if such(one) {
            return true;
        }
        all.extend(one.nested());
    }
    false
}

/// Whether nothing but the want of a rule denies the call.
fn is_for_want_of_a_rule(decision: &Decision) -> bool {
    let mut denials = decision.contributions().iter().filter(|said| said.verdict == Verdict::Deny);
    denials.all(|said| said.reason == ReasonCode::NoMatchingRule)
}

/// Whether a condition reads a value that was masked. One on paths alone reads no text for people.
fn reads(condition: &ArgumentPredicate, masked: &MaskedValue) -> bool {
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

/// The capability under the draft's contracts; where they say nothing of it, as the record has it:
/// then the host's own code registered it.
pub(crate) fn capability(set: &PolicySet, call: &RecordedCall) -> Result<Capability, NotJudged> {
    let id = &call.capability;
    if set.contracts().capabilities.keys().any(|one| one.matches(id.as_str())) {
        return proposed(set, id).map_err(|_| NotJudged::ContractRefused);
    }
    let (Some(class), Some(rung)) = (call.class, call.rung) else {
        return Err(NotJudged::UnknownCapability);
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
        ..CapabilityDraft::new(id.clone(), name, effects, Agents::Any)
    };
    draft.build().map_err(|_| NotJudged::ContractRefused)
}

/// Whether somebody could have been asked then: an unmet justification was asked for, not held.
fn asked_somebody(call: &RecordedCall) -> bool {
    let held = |said: &Contribution| {
        said.reason == ReasonCode::InsufficientJustification && said.verdict == Verdict::Hold
    };
    !call.policy_decision().checks.iter().any(held)
}

/// Whether the draft decides it again, or it is carried over from the record.
fn is_decided_again(said: &Contribution) -> bool {
    match said.check {
        Check::Rule
        | Check::Role
        | Check::Permission
        | Check::Attribute
        | Check::Sensitivity
        | Check::Floor
        | Check::Prohibited
        | Check::Mode => true,
        Check::Justification => said.reason == ReasonCode::InsufficientJustification,
        Check::Limit => said.verdict == Verdict::Allow || said.reason == ReasonCode::RateLimited,
        Check::Contract => said.reason != ReasonCode::ContractChanged,
        Check::Signal | Check::Flow | Check::Precondition | Check::System => false,
    }
}

/// What stood in the way then and does not depend on the draft. What people released stood in the
/// way too.
fn carried(call: &RecordedCall) -> Result<Vec<Contribution>, NotJudged> {
    let said = call.policy_decision();
    if said.checks_total > said.checks.len() {
        return Err(NotJudged::Checks);
    }
    let stood = |said: &&Contribution| said.verdict > Verdict::Allow || said.reason.is_release();
    let over = said.checks.iter().filter(stood).filter(|said| !is_decided_again(said));
    let as_then = |said: &Contribution| match said.reason.is_release() {
        true => {
            let reason = ReasonCode::ApprovalRequired;
            let held = Contribution::new(said.check, Verdict::Hold, reason, &said.detail);
            held.discharged_by(Discharge::Approval)
        }
        false => said.clone(),
    };
    Ok(over.map(as_then).collect())
}

/// A standing approval that released the call then releases what the draft's rules and the floor
/// hold.
fn released_in_advance(call: &RecordedCall, said: &mut [Contribution]) {
    let standing = |said: &Contribution| said.reason == ReasonCode::StandingApproval;
    if !call.decision.checks.iter().any(standing) {
        return;
    }
    let covered = |said: &Contribution| {
        matches!(said.check, Check::Rule | Check::Floor) && said.waits_for_people()
    };
    for held in said.iter_mut().filter(|said| covered(said)) {
        held.verdict = Verdict::Allow;
        held.reason = ReasonCode::StandingApproval;
        held.discharge = Discharge::Nothing;
    }
}
