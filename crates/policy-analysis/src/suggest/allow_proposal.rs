//! Proposes rules that would allow one stopped call, in three scopes.

use serde_json::{Number, Value};
use weaver_policy::{
    ArgumentPredicate, Effect, MatchConditions, Pattern, PolicySet, Rule, TrustedDestination,
};
use weaver_types::{CheckKind, CheckResult, Impact, JsonPointer, ReasonCode, SinkKind, Verdict};

use super::absent_arguments::{declared_arguments, require_absent};
use super::argument_pattern::{ArgumentSlot, ObservedValues, constrain};
use super::destination_values::{DestinationValue, ValueKind, ValueShape, destination_values};
use super::folders;
use super::free_texts::free_texts;
use super::unchanged_arguments::{require_no_others, require_unchanged};
use crate::history::{RecordedArguments, RecordedCall};
use crate::replay;

/// How similar to the stopped call another call must be for the rule to allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllowScope {
    /// It has the same arguments. Of a message to people, its texts and times may differ.
    Same,
    /// It has a similar destination: the same folder, host or mail domain.
    Similar,
    /// It uses the same tool.
    Tool,
}

weaver_types::words! {
    AllowScope: "The keyword.",
    all "All scopes, the narrowest first.",
    parse "Parses the keyword.";
    Same = "same", Similar = "similar", Tool = "tool",
}

/// What would allow a stopped call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowProposal {
    /// The rules, the narrowest first. Scopes with equal rules are merged.
    pub rules: Vec<(AllowScope, Rule)>,
    /// The arguments that the rule for the same call leaves free: texts and times of a message.
    pub free: Vec<String>,
    /// The rules of the policy that stop the call and need an exception.
    pub stopped_by: Vec<String>,
    /// The host of a read that was stopped after untrusted input. Adding it to the trusted
    /// destinations would allow the call; no rule would.
    pub destination: Option<TrustedDestination>,
    /// Whether the floor holds the call too, so a standing approval is needed as well.
    pub needs_standing_approval: bool,
}

/// Why no rule would allow a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAllowable {
    /// Nothing stopped it.
    #[error("it was allowed; nothing stopped it")]
    NotStopped,
    /// Information flow stopped it.
    #[error(
        "information flow held it, since something that the run took in may have steered it; no rule \
         releases that, only a person who looks at the very call"
    )]
    Tainted,
    /// Information flow and the floor stopped it.
    #[error(
        "information flow held it, since something that the run took in may have steered it, and its \
         contract says that it may change or send something: no rule and no approval in advance releases \
         that, only a person who looks at the very call"
    )]
    TaintedEffects,
    /// Another check stopped it.
    #[error("what stopped it is not a matter of rules: {0}")]
    OtherCheck(String),
    /// The log does not contain its exact arguments.
    #[error(
        "the log does not hold its exact arguments, so no rule can be as narrow as it should be"
    )]
    ArgumentsUnknown,
    /// The tool is unknown.
    #[error("no tool of that name is known")]
    UnknownTool,
}

/// Proposes rules that would allow a stopped call.
///
/// # Errors
/// [`NotAllowable`] if no rule would.
pub fn propose_allow_rules(
    set: &PolicySet,
    call: &RecordedCall,
) -> Result<AllowProposal, NotAllowable> {
    let is_stop =
        |result: &&CheckResult| result.verdict > Verdict::Allow || result.reason.is_release();
    let stopping_results: Vec<&CheckResult> =
        call.policy_decision().checks.iter().filter(is_stop).collect();
    if stopping_results.is_empty() {
        return Err(NotAllowable::NotStopped);
    }
    if call.has_flow_violation() {
        let is_held_anyway = stopping_results.iter().any(|result| result.check == CheckKind::Floor);
        let refusal = match is_held_anyway {
            true => NotAllowable::TaintedEffects,
            false => NotAllowable::Tainted,
        };
        let destination = trusted_destination(set, call, &stopping_results).ok_or(refusal)?;
        return Ok(AllowProposal {
            rules: Vec::new(),
            free: Vec::new(),
            stopped_by: Vec::new(),
            destination: Some(destination),
            needs_standing_approval: false,
        });
    }
    if let Some(other) = stopping_results.iter().find(|result| !may_be_lifted(result)) {
        return Err(NotAllowable::OtherCheck(other.detail.clone()));
    }
    let capability = replay::capability_under(set, call).map_err(|_| NotAllowable::UnknownTool)?;
    let RecordedArguments::Exact(arguments) = &call.arguments else {
        return Err(NotAllowable::ArgumentsUnknown);
    };
    // Destination values are considered for every tool here, even without a sink, because a single
    // call is little evidence.
    let sink = match capability.sink() {
        SinkKind::None => SinkKind::ExternalSend,
        sink => sink,
    };
    let stopped_by = replay::stopping_rules(set, call).map_err(|_| NotAllowable::UnknownTool)?;
    let free = free_texts(set, &stopped_by, capability.sink(), call.capability.as_str(), arguments);
    let values = destination_values(arguments, sink, capability.spec().effects);
    let declared = declared_arguments(&capability);
    let mut absent = declared.clone();
    absent.retain(|at| at.find(arguments).is_none());
    let mut rules: Vec<(AllowScope, Rule)> = Vec::new();
    // Without destination values, nothing says what a similar call is.
    let widths = AllowScope::ALL.into_iter();
    for width in widths.filter(|width| !values.is_empty() || *width != AllowScope::Similar) {
        let Some(mut matches) = conditions_for(call, &values, width) else { continue };
        if width != AllowScope::Tool {
            require_absent(&mut matches, &absent);
            require_unchanged(&mut matches, arguments, &declared, &free, width);
            if matches.arguments.is_empty() {
                // It has no arguments: the rule would be that for the tool.
                continue;
            }
            require_no_others(&mut matches, arguments);
        }
        if rules.iter().all(|(_, rule)| rule.matches != matches) {
            let mut rule = Rule::new(rule_name(call, width), Effect::Allow);
            rule.reason = "allowed after a call like it was stopped".to_owned();
            rule.matches = matches;
            rules.push((width, rule));
        }
    }
    let needs_standing_approval =
        stopping_results.iter().any(|result| result.check == CheckKind::Floor);
    let free: Vec<String> =
        free.iter().map(|at| at.as_str().trim_start_matches('/').to_owned()).collect();
    Ok(AllowProposal { rules, free, stopped_by, destination: None, needs_standing_approval })
}

/// The host of a read that was stopped only because of untrusted input, if all of its URLs have the
/// same host.
fn trusted_destination(
    set: &PolicySet,
    call: &RecordedCall,
    stopping_results: &[&CheckResult],
) -> Option<TrustedDestination> {
    let capability = replay::capability_under(set, call).ok()?;
    let reads = capability.spec().effects.impact == Impact::Read
        && matches!(capability.sink(), SinkKind::ExternalSend | SinkKind::None);
    let influence_alone = stopping_results.iter().all(|result| {
        let influence =
            result.check == CheckKind::Flow && result.reason == ReasonCode::UntrustedInfluence;
        influence || result.reason.is_release()
    });
    let RecordedArguments::Exact(arguments) = &call.arguments else { return None };
    TrustedDestination::from_arguments(arguments).filter(|_| reads && influence_alone)
}

/// Whether a rule or a standing approval could lift this result.
fn may_be_lifted(result: &CheckResult) -> bool {
    match result.check {
        CheckKind::Rule
        | CheckKind::Role
        | CheckKind::Permission
        | CheckKind::Attribute
        | CheckKind::Sensitivity
        | CheckKind::Floor => true,
        CheckKind::Justification => result.reason == ReasonCode::InsufficientJustification,
        CheckKind::Mode
        | CheckKind::Prohibited
        | CheckKind::Signal
        | CheckKind::Flow
        | CheckKind::Limit
        | CheckKind::Contract
        | CheckKind::Precondition
        | CheckKind::System => false,
    }
}

fn rule_name(call: &RecordedCall, width: AllowScope) -> String {
    let id: String = call.capability.as_str().chars().take(80).collect();
    let digits: String =
        call.id.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    format!("allow-{id}-{}-{digits}", width.as_str())
}

/// The conditions for a scope; `None` if there are none of exactly this scope.
fn conditions_for(
    call: &RecordedCall,
    values: &[DestinationValue],
    width: AllowScope,
) -> Option<MatchConditions> {
    let mut matches = MatchConditions {
        capability: vec![Pattern::parse(call.capability.as_str()).ok()?],
        ..MatchConditions::default()
    };
    for value in values {
        match width {
            AllowScope::Same => matches.arguments.push(equality_predicate(value)),
            AllowScope::Similar => add_similar_value(&mut matches, value)?,
            AllowScope::Tool => {}
        }
    }
    Some(matches)
}

fn equality_predicate(value: &DestinationValue) -> ArgumentPredicate {
    let equals = match (value.shape, value.values.first()) {
        (ValueShape::One, Some(one)) => one.clone(),
        _ => Value::Array(value.values.clone()),
    };
    ArgumentPredicate { equals: Some(equals), ..ArgumentPredicate::at(value.at.clone()) }
}

/// Adds conditions for similar values. For keys and start-up files, nothing similar is proposed.
fn add_similar_value(matches: &mut MatchConditions, value: &DestinationValue) -> Option<()> {
    let texts = || value.values.iter().filter_map(Value::as_str);
    if value.kind == ValueKind::Path && texts().any(folders::is_sensitive) {
        return None;
    }
    if value.kind == ValueKind::OneOf && value.shape == ValueShape::One {
        // A receiver: others at the same domain are similar.
        let domain = texts().find_map(|text| text.split_once('@')).map(|(_, domain)| domain);
        let domains: Vec<String> = domain.map(str::to_ascii_lowercase).into_iter().collect();
        let root = JsonPointer::parse("").ok()?;
        let similar = ArgumentPredicate { domains, ..ArgumentPredicate::at(root) };
        // A list of addresses is at no one domain.
        if domain.is_some() && texts().all(|text| similar.holds(&Value::from(text))) {
            matches.arguments.push(ArgumentPredicate { at: value.at.clone(), ..similar });
            return Some(());
        }
    }
    if value.kind == ValueKind::Number {
        // From nothing to this amount; a negative one goes the other way.
        let amount = value.values.first().and_then(Value::as_number).cloned()?;
        let (none, amount) = (Some(Number::from(0)), Some(amount));
        let is_negative = amount.as_ref().and_then(Number::as_f64).is_some_and(|n| n < 0.0);
        let (min, max) = if is_negative { (amount, none) } else { (none, amount) };
        let between = ArgumentPredicate { min, max, ..ArgumentPredicate::at(value.at.clone()) };
        matches.arguments.push(between);
        return Some(());
    }
    let mut seen = ObservedValues::default();
    seen.add(value);
    let slot =
        ArgumentSlot { at: value.at.as_str().to_owned(), kind: value.kind, shape: value.shape };
    constrain(matches, &slot, &seen)
}
