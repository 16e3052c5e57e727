//! Groups calls into suggested rules: tools with the same pattern of arguments share a rule.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_policy::{Effect, MatchConditions, Pattern, Rule};
use weaver_types::{CapabilityId, JsonPointer, World};

use super::absent_arguments::{DestinationArguments, require_absent};
use super::argument_pattern::{ArgumentSlot, ObservedValues, constrain, support_key};
use super::destination_values::{DestinationValue, ValueKind, destination_values};
use super::evidence::{Evidence, ExampleCall, ToolEvidence, exclude_call};
use super::folders;
use super::{ExcludedCalls, ExclusionReason, MAX_EXAMPLE_CALLS, SuggestedRule, Suggestions};

type ExcludedByReason = BTreeMap<ExclusionReason, ExcludedCalls>;

/// What the calls of one rule have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    requires_approval: bool,
    writes: bool,
    open: bool,
    /// The server, if arguments matter: paths can mean different things at another server.
    namespace: String,
    slots: Vec<ArgumentSlot>,
}

/// The calls behind one rule.
#[derive(Debug, Default)]
struct Group {
    examples: Vec<GroupExample>,
}

/// A call of a group.
#[derive(Debug)]
struct GroupExample {
    tool: CapabilityId,
    example: ExampleCall,
    values: Vec<DestinationValue>,
}

impl GroupExample {
    /// The key that another call must share to support this one: the values that decide where it
    /// goes or, if there are none, the tool.
    fn support_key(&self) -> String {
        match support_key(&self.values) {
            words if words.is_empty() => self.tool.to_string(),
            words => words,
        }
    }
}

pub(super) fn suggestions(evidence: Evidence, mut excluded: ExcludedByReason) -> Suggestions {
    let mut groups: BTreeMap<GroupKey, Group> = BTreeMap::new();
    let known_arguments = DestinationArguments::of_tools(&evidence.tools);
    for (id, tool) in evidence.tools {
        for example in &tool.examples {
            match group_of(&id, &tool, example) {
                Err(reason) => exclude_call(&mut excluded, reason, &example.id),
                Ok((key, values)) => {
                    let group = groups.entry(key).or_default();
                    let (tool, example) = (id.clone(), example.clone());
                    group.examples.push(GroupExample { tool, example, values });
                }
            }
        }
    }
    let mut names = BTreeMap::new();
    let mut rules = Vec::new();
    for (key, group) in groups {
        let group = drop_unsupported(&key, group, &mut excluded);
        if group.examples.is_empty() {
            continue;
        }
        let calls = group.examples.iter().map(|one| (&one.tool, &one.example.arguments));
        let absent = known_arguments.absent_from(calls);
        match conditions(&key, &group, &absent) {
            Some(matches) => {
                let name = rule_name(&key, &mut names);
                rules.push(build_rule(&key, &group, name, matches, &absent));
            }
            None => {
                for one in &group.examples {
                    exclude_call(&mut excluded, ExclusionReason::NoPattern, &one.example.id);
                }
            }
        }
    }
    Suggestions { rules, excluded }
}

/// The group key of a call, and its destination values.
fn group_of(
    id: &CapabilityId,
    tool: &ToolEvidence,
    example: &ExampleCall,
) -> Result<(GroupKey, Vec<DestinationValue>), ExclusionReason> {
    let requires_approval = !tool.may_be_allowed();
    let spec = tool.capability.spec();
    // A rule that requires approval for each call need not be narrow.
    let values = match requires_approval {
        true => Vec::new(),
        false => destination_values(&example.arguments, tool.capability.sink(), spec.effects),
    };
    if !example.has_exact_destination && !values.is_empty() {
        return Err(ExclusionReason::ArgumentsUnknown);
    }
    let paths = values.iter().filter(|value| value.kind == ValueKind::Path);
    let mut texts = paths.flat_map(|value| value.values.iter().filter_map(Value::as_str));
    if texts.any(folders::is_sensitive) {
        return Err(ExclusionReason::SensitivePlace);
    }
    let slot = |value: &DestinationValue| ArgumentSlot {
        at: value.at.as_str().to_owned(),
        kind: value.kind,
        shape: value.shape,
    };
    let slots: Vec<ArgumentSlot> = values.iter().map(slot).collect();
    let namespace = id.as_str().split_once('.').map_or("", |(namespace, _)| namespace);
    let key = GroupKey {
        requires_approval,
        writes: tool.writes(),
        open: spec.effects.world == World::Open,
        namespace: if slots.is_empty() { String::new() } else { namespace.to_owned() },
        slots,
    };
    Ok((key, values))
}

/// Excludes writes after untrusted data, unless the same was done in another run or before any such
/// data. A single injected call must not become a rule.
fn drop_unsupported(key: &GroupKey, group: Group, excluded: &mut ExcludedByReason) -> Group {
    if !key.writes || key.requires_approval {
        return group;
    }
    let mut runs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut clean: BTreeSet<String> = BTreeSet::new();
    for one in &group.examples {
        let words = one.support_key();
        if !one.example.after_untrusted {
            clean.insert(words.clone());
        }
        runs.entry(words).or_default().insert(&one.example.run);
    }
    let counts: BTreeMap<String, usize> =
        runs.iter().map(|(words, runs)| (words.clone(), runs.len())).collect();
    let mut out = Group::default();
    for one in group.examples {
        let words = one.support_key();
        let again = counts.get(&words).is_some_and(|runs| *runs > 1);
        if !one.example.after_untrusted || again || clean.contains(&words) {
            out.examples.push(one);
        } else {
            exclude_call(excluded, ExclusionReason::OnceAfterUntrusted, &one.example.id);
        }
    }
    out
}

/// The conditions that the calls of a group have in common; `None` if their values have no
/// pattern.
fn conditions(
    key: &GroupKey,
    group: &Group,
    absent: &BTreeSet<JsonPointer>,
) -> Option<MatchConditions> {
    let mut matches = MatchConditions::default();
    let tools: BTreeSet<&str> = group.examples.iter().map(|one| one.tool.as_str()).collect();
    let tools = tools.into_iter().filter_map(|id| Pattern::parse(id).ok());
    matches.capability = tools.collect();
    for (number, slot) in key.slots.iter().enumerate() {
        let mut seen = ObservedValues::default();
        for value in group.examples.iter().filter_map(|one| one.values.get(number)) {
            seen.add(value);
        }
        constrain(&mut matches, slot, &seen)?;
    }
    require_absent(&mut matches, absent);
    Some(matches)
}

fn build_rule(
    key: &GroupKey,
    group: &Group,
    name: String,
    matches: MatchConditions,
    absent: &BTreeSet<JsonPointer>,
) -> SuggestedRule {
    let effect = if key.requires_approval { Effect::RequireApproval } else { Effect::Allow };
    let mut rule = Rule::new(name, effect);
    rule.matches = matches;
    rule.reason = rule_reason(key).to_owned();
    let after_untrusted = group.examples.iter().filter(|one| one.example.after_untrusted).count();
    let named = group.examples.iter().take(MAX_EXAMPLE_CALLS).map(|one| one.example.id.clone());
    SuggestedRule {
        rule,
        calls: group.examples.len(),
        after_untrusted,
        example_calls: named.collect(),
        not_covered: uncovered_calls_text(key, absent),
        uncalled: BTreeSet::new(),
    }
}

/// A name for the rule of a group; the second of the same name gets the number 2.
fn rule_name(key: &GroupKey, names: &mut BTreeMap<String, usize>) -> String {
    let what = match (key.requires_approval, key.writes, key.open) {
        (true, ..) => "asks",
        (false, true, _) => "writes",
        (false, false, true) => "web-reads",
        (false, false, false) => "reads",
    };
    let server = if key.namespace.is_empty() { "" } else { "-" };
    let base = format!("suggested{server}{}-{what}", key.namespace);
    let number = names.entry(base.clone()).and_modify(|many| *many += 1).or_insert(1);
    if *number == 1 { base } else { format!("{base}-{number}") }
}

fn rule_reason(key: &GroupKey) -> &'static str {
    match (key.requires_approval, key.writes) {
        (true, _) => {
            "what leaves the machine or destroys keeps asking: a person looks at each call"
        }
        (false, true) => "the agent wrote like this while it was observed",
        (false, false) => "the agent read like this while it was observed",
    }
}

/// Describes the calls that the rule does not cover, and the arguments that it leaves free.
fn uncovered_calls_text(key: &GroupKey, absent: &BTreeSet<JsonPointer>) -> String {
    if key.requires_approval {
        return "nothing: each call is held until somebody releases it".to_owned();
    }
    let name = |at: &str| at.trim_start_matches('/').replace('/', ".");
    let other = |slot: &ArgumentSlot| {
        let at = name(&slot.at);
        match slot.kind {
            ValueKind::Path => format!("`{at}` outside of these folders"),
            ValueKind::Host => format!("another host in `{at}`"),
            ValueKind::Number => format!("`{at}` outside of this range"),
            ValueKind::Statement => {
                format!("a statement in `{at}` that drops, deletes, or changes every row")
            }
            ValueKind::OneOf => format!("another `{at}`"),
        }
    };
    let mut parts = vec!["other tools".to_owned()];
    parts.extend(key.slots.iter().map(other));
    if !key.slots.is_empty() {
        parts.push("a call without these arguments".to_owned());
    }
    parts.extend(absent.iter().map(|at| format!("a call with `{}`", name(at.as_str()))));
    // Arguments that nobody declared and no call had cannot be named, so the reader must know.
    format!("{}. All other arguments are free, also those that no call had", parts.join("; "))
}
