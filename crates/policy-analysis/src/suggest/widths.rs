//! Rules that would let one stopped call through, at three widths.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::{
    ArgumentPredicate, Effect, Match, Pattern, PolicySet, Rule, TrustedDestination,
};
use weaver_types::{Check, Contribution, Impact, ReasonCode, SinkKind, Verdict};

use super::folders;
use super::pattern::{PatternPlace, SeenValues, constrain};
use super::values::{DecidingValue, ValueKind, ValueShape, deciding};
use crate::history::{RecordedArguments, RecordedCall};
use crate::replay;

/// How much like the call another one must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllowWidth {
    /// It goes to the same place: the same paths, hosts, receivers, amounts.
    Same,
    /// It goes to a place like it: the same folder, the same host, the same domain.
    Similar,
    /// It is of the same tool.
    Tool,
}

impl AllowWidth {
    /// Every width, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Same, Self::Similar, Self::Tool];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Similar => "similar",
            Self::Tool => "tool",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|width| width.as_str() == word)
    }
}

/// What would let a stopped call through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowProposal {
    /// The rules, the narrowest first; two widths that come to the same are one.
    pub rules: Vec<(AllowWidth, Rule)>,
    /// The rules of the policy that stop the call, which need an exception.
    pub stopped_by: Vec<String>,
    /// The host at which the call was stopped, as one from which the policy lets a run read after
    /// untrusted input; then no rule is about it.
    pub destination: Option<TrustedDestination>,
    /// Whether the floor holds it too, so that no rule lets it through: an approval in advance does.
    pub needs_standing_approval: bool,
}

/// Why no rule lets a call through.
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
    /// Another check stopped it.
    #[error("what stopped it is no matter of rules: {0}")]
    OtherCheck(String),
    /// The log does not hold its arguments.
    #[error(
        "the log does not hold its exact arguments, so no rule can be as narrow as it should be"
    )]
    ArgumentsUnknown,
    /// Nothing of that name is known.
    #[error("no tool of that name is known")]
    UnknownTool,
}

/// Proposes rules that would let a stopped call through.
///
/// # Errors
/// [`NotAllowable`], where no rule would.
pub fn allow(set: &PolicySet, call: &RecordedCall) -> Result<AllowProposal, NotAllowable> {
    let stood = |said: &&Contribution| said.verdict > Verdict::Allow || said.reason.is_release();
    let stops: Vec<&Contribution> = call.policy_decision().checks.iter().filter(stood).collect();
    if stops.is_empty() {
        return Err(NotAllowable::NotStopped);
    }
    if call.violated_flow() {
        let destination = destination(set, call, &stops).ok_or(NotAllowable::Tainted)?;
        return Ok(AllowProposal {
            rules: Vec::new(),
            stopped_by: Vec::new(),
            destination: Some(destination),
            needs_standing_approval: false,
        });
    }
    if let Some(other) = stops.iter().find(|said| !is_of_rules(said)) {
        return Err(NotAllowable::OtherCheck(other.detail.clone()));
    }
    let capability = replay::capability(set, call).map_err(|_| NotAllowable::UnknownTool)?;
    let RecordedArguments::Exact(arguments) = &call.arguments else {
        return Err(NotAllowable::ArgumentsUnknown);
    };
    // What decides where it goes counts at every tool here: one call is little to go by.
    let sink = match capability.sink() {
        SinkKind::None => SinkKind::ExternalSend,
        sink => sink,
    };
    let values = deciding(arguments, sink, capability.spec().effects);
    let mut rules: Vec<(AllowWidth, Rule)> = Vec::new();
    // Where nothing decides where the call goes, the narrowest rule is already about every call.
    let widths = AllowWidth::ALL.into_iter();
    for width in widths.filter(|width| !values.is_empty() || *width == AllowWidth::Tool) {
        let Some(matches) = matching(call, &values, width) else { continue };
        if rules.iter().all(|(_, rule)| rule.matches != matches) {
            let mut rule = Rule::new(name(call, width), Effect::Allow);
            rule.reason = "allowed after a call like it was stopped".to_owned();
            rule.matches = matches;
            rules.push((width, rule));
        }
    }
    let stopped_by = replay::stopping_rules(set, call).map_err(|_| NotAllowable::UnknownTool)?;
    let needs_standing_approval = stops.iter().any(|said| said.check == Check::Floor);
    Ok(AllowProposal { rules, stopped_by, destination: None, needs_standing_approval })
}

/// The host of a read that untrusted input alone stopped, where all its addresses are of one host.
fn destination(
    set: &PolicySet,
    call: &RecordedCall,
    stops: &[&Contribution],
) -> Option<TrustedDestination> {
    let capability = replay::capability(set, call).ok()?;
    let reads = capability.spec().effects.impact == Impact::Read
        && capability.sink() == SinkKind::ExternalSend;
    let influence_alone = stops.iter().all(|said| {
        let influence = said.check == Check::Flow && said.reason == ReasonCode::UntrustedInfluence;
        influence || said.reason.is_release()
    });
    let RecordedArguments::Exact(arguments) = &call.arguments else { return None };
    TrustedDestination::of_arguments(arguments).filter(|_| reads && influence_alone)
}

/// Whether a rule, or an approval in advance, could let it through.
fn is_of_rules(said: &Contribution) -> bool {
    match said.check {
        Check::Rule
        | Check::Role
        | Check::Permission
        | Check::Attribute
        | Check::Sensitivity
        | Check::Floor => true,
        Check::Justification => said.reason == ReasonCode::InsufficientJustification,
        Check::Mode
        | Check::Prohibited
        | Check::Signal
        | Check::Flow
        | Check::Limit
        | Check::Contract
        | Check::Precondition
        | Check::System => false,
    }
}

fn name(call: &RecordedCall, width: AllowWidth) -> String {
    let id: String = call.capability.as_str().chars().take(80).collect();
    let digits: String =
        call.id.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    format!("allow-{id}-{}-{digits}", width.as_str())
}

/// The match of a width; `None` where nothing is as wide and no wider.
fn matching(call: &RecordedCall, values: &[DecidingValue], width: AllowWidth) -> Option<Match> {
    let mut matches = Match {
        capability: vec![Pattern::parse(call.capability.as_str()).ok()?],
        ..Match::default()
    };
    for value in values {
        match width {
            AllowWidth::Same => matches.arguments.push(same(value)),
            AllowWidth::Similar => similar(&mut matches, value)?,
            AllowWidth::Tool => {}
        }
    }
    Some(matches)
}

fn same(value: &DecidingValue) -> ArgumentPredicate {
    let equals = match (value.shape, value.values.first()) {
        (ValueShape::One, Some(one)) => one.clone(),
        _ => Value::Array(value.values.clone()),
    };
    ArgumentPredicate { equals: Some(equals), ..ArgumentPredicate::at(value.at.clone()) }
}

/// A place like this one. Nothing like it is proposed for keys and start-up files.
fn similar(matches: &mut Match, value: &DecidingValue) -> Option<()> {
    let texts = || value.values.iter().filter_map(Value::as_str);
    if value.kind == ValueKind::Path && texts().any(folders::is_sensitive) {
        return None;
    }
    if value.kind == ValueKind::OneOf && value.shape == ValueShape::One {
        // A receiver: others at the same domain.
        let domains: BTreeSet<&str> =
            texts().filter_map(|text| text.find('@').and_then(|at| text.get(at..))).collect();
        if let (1, Some(domain)) = (domains.len(), domains.first()) {
            let suffix = vec![(*domain).to_owned()];
            matches
                .arguments
                .push(ArgumentPredicate { suffix, ..ArgumentPredicate::at(value.at.clone()) });
            return Some(());
        }
    }
    if value.kind == ValueKind::Number {
        let max = value.values.first().and_then(Value::as_number).cloned();
        matches
            .arguments
            .push(ArgumentPredicate { max, ..ArgumentPredicate::at(value.at.clone()) });
        return Some(());
    }
    let mut seen = SeenValues::default();
    seen.add(value);
    let place =
        PatternPlace { at: value.at.as_str().to_owned(), kind: value.kind, shape: value.shape };
    constrain(matches, &place, &seen)
}
