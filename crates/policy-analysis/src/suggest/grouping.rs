//! Rules for groups of tools: those with the same pattern of arguments share one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_policy::{Effect, Match, Pattern, Rule};
use weaver_types::{CapabilityId, World};

use super::evidence::{Evidence, Example, ToolEvidence, leave_out};
use super::folders;
use super::pattern::{PatternPlace, SeenValues, constrain, support_words};
use super::values::{DecidingValue, ValueKind, deciding};
use super::{ExcludedCalls, ExclusionReason, MAX_NAMED, SuggestedRule, Suggestions};

type LeftOutByReason = BTreeMap<ExclusionReason, ExcludedCalls>;

/// What tools of one rule have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    asks: bool,
    writes: bool,
    open: bool,
    /// The server, where arguments count: its paths mean what they mean there.
    namespace: String,
    places: Vec<PatternPlace>,
}

/// The calls of one rule.
#[derive(Debug, Default)]
struct Group {
    examples: Vec<GroupExample>,
}

/// A call of a group.
#[derive(Debug)]
struct GroupExample {
    tool: CapabilityId,
    example: Example,
    values: Vec<DecidingValue>,
}

impl GroupExample {
    /// What another call must have in common with it to support it: what decides where it goes, and
    /// where nothing does, the tool.
    fn support(&self) -> String {
        match support_words(&self.values) {
            words if words.is_empty() => self.tool.to_string(),
            words => words,
        }
    }
}

pub(super) fn suggestions(evidence: Evidence, mut left_out: LeftOutByReason) -> Suggestions {
    let mut groups: BTreeMap<GroupKey, Group> = BTreeMap::new();
    for (id, tool) in evidence.tools {
        for example in &tool.examples {
            match grouped(&id, &tool, example) {
                Err(reason) => leave_out(&mut left_out, reason, &example.id),
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
        let group = supported(&key, group, &mut left_out);
        if !group.examples.is_empty() {
            rules.extend(rule(&key, &group, &mut names, &mut left_out));
        }
    }
    Suggestions { rules, left_out }
}

/// The group that a call belongs to.
fn grouped(
    id: &CapabilityId,
    tool: &ToolEvidence,
    example: &Example,
) -> Result<(GroupKey, Vec<DecidingValue>), ExclusionReason> {
    let asks = !tool.may_be_allowed();
    let spec = tool.capability.spec();
    // Where a person looks at each call, nothing has to be narrowed.
    let values = match asks {
        true => Vec::new(),
        false => deciding(&example.arguments, tool.capability.sink(), spec.effects),
    };
    if !example.has_exact_destination && !values.is_empty() {
        return Err(ExclusionReason::ArgumentsUnknown);
    }
    let paths = values.iter().filter(|value| value.kind == ValueKind::Path);
    let mut texts = paths.flat_map(|value| value.values.iter().filter_map(Value::as_str));
    if texts.any(folders::is_sensitive) {
        return Err(ExclusionReason::SensitivePlace);
    }
    let place = |value: &DecidingValue| PatternPlace {
        at: value.at.as_str().to_owned(),
        kind: value.kind,
        shape: value.shape,
    };
    let places: Vec<PatternPlace> = values.iter().map(place).collect();
    let namespace = id.as_str().split_once('.').map_or("", |(namespace, _)| namespace);
    let key = GroupKey {
        asks,
        writes: tool.writes(),
        open: spec.effects.world == World::Open,
        namespace: if places.is_empty() { String::new() } else { namespace.to_owned() },
        places,
    };
    Ok((key, values))
}

/// Takes out what was written after untrusted data, unless the same was done in another run, or
/// before any such data: one injected call must not become a rule.
fn supported(key: &GroupKey, group: Group, left_out: &mut LeftOutByReason) -> Group {
    if !key.writes || key.asks {
        return group;
    }
    let mut runs: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut clean: BTreeSet<String> = BTreeSet::new();
    for one in &group.examples {
        let words = one.support();
        if !one.example.after_untrusted {
            clean.insert(words.clone());
        }
        runs.entry(words).or_default().insert(&one.example.run);
    }
    let counts: BTreeMap<String, usize> =
        runs.iter().map(|(words, runs)| (words.clone(), runs.len())).collect();
    let mut out = Group::default();
    for one in group.examples {
        let words = one.support();
        let again = counts.get(&words).is_some_and(|runs| *runs > 1);
        if !one.example.after_untrusted || again || clean.contains(&words) {
            out.examples.push(one);
        } else {
            leave_out(left_out, ExclusionReason::OnceAfterUntrusted, &one.example.id);
        }
    }
    out
}

fn rule(
    key: &GroupKey,
    group: &Group,
    names: &mut BTreeMap<String, usize>,
    left_out: &mut LeftOutByReason,
) -> Option<SuggestedRule> {
    let mut matches = Match::default();
    let tools: BTreeSet<&str> = group.examples.iter().map(|one| one.tool.as_str()).collect();
    let tools = tools.into_iter().filter_map(|id| Pattern::parse(id).ok());
    matches.capability = tools.collect();
    for (number, place) in key.places.iter().enumerate() {
        let mut seen = SeenValues::default();
        for value in group.examples.iter().filter_map(|one| one.values.get(number)) {
            seen.add(value);
        }
        if constrain(&mut matches, place, &seen).is_none() {
            for one in &group.examples {
                leave_out(left_out, ExclusionReason::NoPattern, &one.example.id);
            }
            return None;
        }
    }
    let base = name(key);
    let number = names.entry(base.clone()).and_modify(|many| *many += 1).or_insert(1);
    let name = if *number == 1 { base } else { format!("{base}-{number}") };
    let effect = if key.asks { Effect::RequireApproval } else { Effect::Allow };
    let mut rule = Rule::new(name, effect);
    rule.matches = matches;
    rule.reason = reason(key).to_owned();
    let after_untrusted = group.examples.iter().filter(|one| one.example.after_untrusted).count();
    let named = group.examples.iter().take(MAX_NAMED).map(|one| one.example.id.clone());
    Some(SuggestedRule {
        rule,
        calls: group.examples.len(),
        after_untrusted,
        named: named.collect(),
        not_covered: not_covered(key),
        uncalled: BTreeSet::new(),
    })
}

fn name(key: &GroupKey) -> String {
    let what = match (key.asks, key.writes, key.open) {
        (true, ..) => "asks",
        (false, true, _) => "writes",
        (false, false, true) => "web-reads",
        (false, false, false) => "reads",
    };
    let server = if key.namespace.is_empty() { "" } else { "-" };
    format!("suggested{server}{}-{what}", key.namespace)
}

fn reason(key: &GroupKey) -> &'static str {
    match (key.asks, key.writes) {
        (true, _) => "a person looks at each call, as before",
        (false, true) => "the agent wrote like this while it was observed",
        (false, false) => "the agent read like this while it was observed",
    }
}

/// What a call must not be, for the rule to say nothing of it.
fn not_covered(key: &GroupKey) -> String {
    if key.asks {
        return "nothing: each call is held until somebody releases it".to_owned();
    }
    let other = |place: &PatternPlace| {
        let at = place.at.trim_start_matches('/').replace('/', ".");
        match place.kind {
            ValueKind::Path => format!("`{at}` outside of these folders"),
            ValueKind::Host => format!("another host in `{at}`"),
            ValueKind::Number => format!("`{at}` outside of this range"),
            ValueKind::Statement => {
                format!("a statement in `{at}` that drops, deletes, or changes every row")
            }
            ValueKind::OneOf => format!("another `{at}`"),
        }
    };
    let others: Vec<String> = key.places.iter().map(other).collect();
    if others.is_empty() {
        return "other tools, and other places in the arguments are free".to_owned();
    }
    format!("other tools; {}; a call without these arguments", others.join("; "))
}
