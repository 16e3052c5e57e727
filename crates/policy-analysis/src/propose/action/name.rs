//! Classifies a tool by the verbs of its name and of its title.

use super::meaning::{refine_action, sets_state};
use super::{Classification, ToolAction};
use crate::propose::ToolHints;
use crate::propose::tool_text::ToolText;
use crate::propose::verb::{self, Sense};

/// A verb in the name, with its sense there.
struct NameVerb<'p> {
    position: usize,
    word: &'p str,
    sense: Sense,
    joined: bool,
}

fn name_verbs(words: &[String]) -> Vec<NameVerb<'_>> {
    let mut found = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let before = position.checked_sub(1).and_then(|at| words.get(at)).map(String::as_str);
        let joined = matches!(before, Some("and" | "or" | "then"));
        if let Some(sense) = verb::name_sense(word, words.get(position.saturating_add(1))) {
            found.push(NameVerb { position, word, sense, joined });
        }
    }
    found
}

/// Classifies by the verbs of the name. The first plain verb is the head. Another one also counts
/// if it is joined to it (`get_and_delete`), if it stands right behind it at the end (`find_replace`),
/// or if nothing says that the tool reads.
pub(super) fn classify_name(
    text: &ToolText,
    by_description: Option<&Classification>,
    hints: ToolHints,
) -> Option<Classification> {
    let all = name_verbs(&text.name);
    let reading = hints.is_read_only() || by_description.is_some_and(Classification::is_read_only);
    let last = text.name.len().saturating_sub(1);
    let make = |one: &NameVerb<'_>, action| {
        Classification::new(refine_action(action, one.word, text), one.word, "name")
    };
    let mut head: Option<Classification> = None;
    let mut head_position = 0;
    for one in &all {
        let (action, plain) = match one.sense {
            Sense::Verb(action) => (action, true),
            Sense::VerbOrNoun(action) => (action, false),
            Sense::VagueVerb(_) => continue,
        };
        let object = text.name.iter().skip(one.position).skip(1);
        let is_state = action == ToolAction::Destroy && sets_state(one.word, object);
        let next = make(one, if is_state { ToolAction::Write } else { action });
        match &head {
            None if plain => {
                head = Some(next);
                head_position = one.position;
            }
            Some(found) if next.action > found.action => {
                // `get_latest_update` gets one.
                let ends_it = one.position == last && one.position == head_position + 1;
                let beside = plain && found.is_read_only() && (ends_it || !reading);
                if one.joined || beside {
                    head = Some(next);
                }
            }
            _ => {}
        }
    }
    head.or_else(|| classify_ambiguous_name(text, &all, reading)).or_else(|| {
        all.iter().find_map(|one| match one.sense {
            Sense::VagueVerb(action) => Some(Classification { vague: true, ..make(one, action) }),
            _ => None,
        })
    })
}

/// Classifies a name without a plain verb. A leading word that can be a verb is read as a command,
/// unless the name ends with a noun for what is read. In other positions, the word may be a noun.
fn classify_ambiguous_name(
    text: &ToolText,
    all: &[NameVerb<'_>],
    reading: bool,
) -> Option<Classification> {
    let either = all.iter().find_map(|one| match one.sense {
        Sense::VerbOrNoun(action) => Some((one, action)),
        _ => None,
    });
    // `site_map` is something to read, and `map_drive` is not.
    let result = text.name.last().filter(|word| matches!(word.as_str(), "map" | "research"));
    let view = text.name.iter().rev().find(|word| verb::is_read_noun(word));
    let view = view.or_else(|| result.filter(|_| text.name.len() > 1));
    let commands = either.as_ref().is_some_and(|(one, _)| one.position == 0);
    if let Some(view) = view.filter(|_| reading || !commands) {
        return Some(Classification::new(ToolAction::Read, view, "name"));
    }
    let (one, action) = either?;
    // After a vague verb, the word is its object: `trigger_request`.
    let vague = |before: &NameVerb<'_>| matches!(before.sense, Sense::VagueVerb(_));
    let object = all.first().is_some_and(|first| first.position < one.position && vague(first));
    let stands = commands || !reading && !object;
    stands.then(|| Classification::new(refine_action(action, one.word, text), one.word, "name"))
}

/// Classifies by the first verb of the title.
pub(super) fn classify_title(text: &ToolText) -> Option<Classification> {
    let (word, next) = (text.title.first()?, text.title.get(1));
    match verb::name_sense(word, next)? {
        Sense::Verb(action) => {
            Some(Classification::new(refine_action(action, word, text), word, "title"))
        }
        _ => None,
    }
}
