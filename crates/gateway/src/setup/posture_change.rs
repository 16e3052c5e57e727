//! Changes the posture of an existing policy by its text: rules that a person wrote stay.

use weaver_policy::{Contract, Effect, PolicySet, Rule, RuleEnforcement};
use weaver_types::{Effects, Impact, Rung};

use super::documents::{self, ToolRule};
use super::local_writes::{self, KnownNames};
use super::policy_text;
use super::posture::Posture;
use super::review::CHOSEN;

/// The rule that lets local writes through.
const LOCAL_WRITES: &str = "local-writes";
/// The rule under which every call waits.
const EVERYTHING_WAITS: &str = "everything-waits";
/// The rule about writers whose contracts were made without bounds.
const NOT_BOUNDED: &str = "not-bounded";
const NOT_BOUNDED_REASON: &str =
    "set up under `locked`, without bounds on what it writes: `weaver review` sets them";

impl Posture {
    /// The posture of a policy; the strictest if it cannot be told.
    #[must_use]
    pub fn of(set: &PolicySet) -> Self {
        let policy = set.policy();
        let has = |name: &str, effect| {
            policy.rules.iter().any(|rule| rule.name == name && rule.effect == effect)
        };
        if !has(LOCAL_WRITES, Effect::Allow) || has(EVERYTHING_WAITS, Effect::RequireApproval) {
            Self::Locked
        } else if policy.enforcement == RuleEnforcement::Observe {
            Self::Observe
        } else {
            Self::Careful
        }
    }
}

/// The text of the policy under another posture; `None` if it is written so that this cannot be
/// changed here.
pub(super) fn with_posture(text: &str, set: &PolicySet, target: Posture) -> Option<String> {
    let mut text = without_observation(text);
    if target == Posture::Locked {
        if !has_rule(set, EVERYTHING_WAITS) {
            text = joined(text, Posture::Locked.rules());
        }
        return Some(text);
    }
    if has_rule(set, EVERYTHING_WAITS) {
        text = policy_text::without_rule(&text, EVERYTHING_WAITS)?;
    }
    if !has_rule(set, LOCAL_WRITES) {
        text = with_careful_rules(text, set)?;
    }
    match target {
        Posture::Observe => with_observation(text, set),
        Posture::Careful | Posture::Locked => Some(text),
    }
}

fn has_rule(set: &PolicySet, name: &str) -> bool {
    set.policy().rules.iter().any(|rule| rule.name == name)
}

fn joined(mut text: String, more: &str) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push('\n');
    text.push_str(more.trim_start_matches('\n'));
    text
}

/// A policy that was made under `locked` gets the rules of `careful`. Its contracts were made
/// without bounds, so tools that write wait until somebody reviews them.
fn with_careful_rules(text: String, set: &PolicySet) -> Option<String> {
    let mut text = text;
    if set.policy().trusted_destinations.is_empty() {
        let lines = Posture::Careful.trusted_destinations();
        text = policy_text::below_version(&text, lines)?;
    }
    text = joined(text, Posture::Careful.rules());
    let known = KnownNames::of(set, &text);
    let bounds = local_writes::rule_texts(&[], &known);
    text = policy_text::with_rules(text, &bounds);
    let writes = |contract: &Contract| {
        let effects = contract.effects.unwrap_or(Effects::UNDECLARED);
        effects.impact == Impact::Write && effects.rung() < Rung::L4
    };
    let writers = set.contracts().capabilities.iter().filter(|(_, contract)| writes(contract));
    let writers: Vec<&str> = writers.map(|(pattern, _)| pattern.as_str()).collect();
    if !writers.is_empty() {
        let rule = ToolRule { name: NOT_BOUNDED, effect: "require_approval", extra_lines: "" };
        text.push_str(&documents::tool_rule_text(&rule, &writers, NOT_BOUNDED_REASON));
    }
    Some(text)
}

/// The text without the line that makes every rule one that observes.
fn without_observation(text: &str) -> String {
    let text = text.replace(include_str!("templates/observe.toml").trim_start_matches('\n'), "");
    let mut is_root = true;
    let lines = text.split_inclusive('\n').filter(|line| {
        is_root &= !line.trim_start().starts_with('[');
        let rest = line.trim_start().strip_prefix("enforcement");
        let is_setting = rest.is_some_and(|rest| rest.trim_start().starts_with('='));
        !(is_root && (is_setting || line.starts_with("# Nothing is held or denied yet")))
    });
    lines.collect()
}

/// The text in which nothing but what a person chose is enforced.
fn with_observation(text: String, set: &PolicySet) -> Option<String> {
    let head = Posture::Observe.policy_head();
    let mut text = policy_text::below_version(&text, head.enforcement_line)?;
    let is_chosen = |rule: &&Rule| rule.reason == CHOSEN && rule.enforcement.is_none();
    for rule in set.policy().rules.iter().filter(is_chosen) {
        text = policy_text::below_name(&text, &rule.name, head.enforce_line.trim_start())?;
    }
    Some(text)
}
