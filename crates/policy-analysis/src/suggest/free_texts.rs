//! Which arguments of a stopped call may differ in a call that counts as the same: texts and times of a
//! message to people, where its receivers stay as they are.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_policy::critical::TEXTS_FOR_PEOPLE;
use weaver_policy::critical::{ArgumentRole, argument_role};
use weaver_policy::{MatchConditions, PolicySet};
use weaver_text::split;
use weaver_types::{JsonPointer, SinkKind};

/// What else people read in a message. Other texts decide something, as a statement, a topic or a prompt does.
const TEXTS_OF_MESSAGES: [&str; 5] = ["text", "reply", "greeting", "signature", "agenda"];
/// Words of tools that do what a text says.
const EXECUTING_WORDS: [&str; 10] =
    ["run", "execute", "exec", "eval", "query", "ask", "prompt", "command", "publish", "delete"];

/// The members of the call's arguments that are such texts or times. None for a call that sends nothing,
/// or whose receivers no argument names, and none that one of the stopping rules looks at.
pub(super) fn free_texts(
    set: &PolicySet,
    stopped_by: &[String],
    sink: SinkKind,
    capability: &str,
    arguments: &Value,
) -> BTreeSet<JsonPointer> {
    let members = || arguments.as_object().into_iter().flatten();
    let names_receiver = |(name, value): (&String, &Value)| {
        argument_role(name) == ArgumentRole::Recipient && !value.is_null()
    };
    let executes = || {
        split::identifier(capability).iter().any(|word| EXECUTING_WORDS.contains(&word.as_str()))
    };
    if sink != SinkKind::ExternalSend || !members().any(names_receiver) || executes() {
        return BTreeSet::new();
    }
    let mut looked_at = Vec::new();
    for rule in set.policy().rules.iter().filter(|rule| stopped_by.contains(&rule.name)) {
        note_places(&rule.matches, &mut looked_at);
    }
    members()
        .filter(|(name, value)| is_for_people(name) && (value.is_string() || value.is_number()))
        .filter_map(|(name, _)| super::unchanged_arguments::pointer_to(name))
        .filter(|at| !looked_at.iter().any(|place| overlap(place, at)))
        .collect()
}

fn is_for_people(name: &str) -> bool {
    let words = split::identifier(name);
    let mut texts = TEXTS_FOR_PEOPLE.iter().chain(&TEXTS_OF_MESSAGES);
    let is_text = words.last().is_some_and(|last| texts.any(|text| text == last));
    is_text || argument_role(name) == ArgumentRole::Time
}

/// Adds the places of arguments that conditions test.
fn note_places(conditions: &MatchConditions, places: &mut Vec<JsonPointer>) {
    places.extend(conditions.arguments.iter().map(|predicate| predicate.at.clone()));
    let inner = conditions.any.iter().chain(conditions.not.as_deref());
    inner.for_each(|inner| note_places(inner, places));
}

/// Whether one of two places is in the other.
fn overlap(one: &JsonPointer, other: &JsonPointer) -> bool {
    let is_within = super::unchanged_arguments::is_within;
    is_within(one, other) || is_within(other, one)
}
