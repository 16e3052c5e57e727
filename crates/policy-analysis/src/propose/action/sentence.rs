//! Classifies a tool by the sentences of its description.

use super::meaning::{refine_action, sets_state};
use super::{Classification, Evidence, ToolAction, strictest};
use crate::propose::tool_text::ToolText;
use crate::propose::verb::{self, Sense};

/// Classifies by the main verb of the first sentence.
pub(super) fn classify_first_sentence(text: &ToolText) -> Option<Classification> {
    const OPENERS: [&str; 22] = [
        "this", "tool", "a", "an", "to", "the", "for", "used", "use", "allows", "you", "lets",
        "function", "it", "can", "will", "recursively", "securely", "quickly", "safely", "simply",
        "directly",
    ];
    let sentence = text.sentences.first()?;
    let start = sentence.iter().position(|word| !OPENERS.contains(&word.as_str()))?;
    let word = sentence.get(start)?;
    let next = sentence.get(start.saturating_add(1));
    match verb::description_sense(word, next)? {
        Sense::Verb(action) => {
            Some(Classification::new(refine_action(action, word, text), word, "description"))
        }
        Sense::VerbOrNoun(action) => {
            let object = verb::takes_object(next)
                || verb::is_unambiguous_third_person(word)
                || sentence.len() > 1;
            object.then(|| {
                Classification::new(refine_action(action, word, text), word, "description")
            })
        }
        Sense::VagueVerb(action) => {
            Some(Classification { vague: true, ..Classification::new(action, word, "description") })
        }
    }
}

/// The strictest of the further actions that sentences mention.
pub(super) fn classify_later_sentences(
    text: &ToolText,
    evidence: Evidence,
) -> Option<Classification> {
    let mut out: Option<Classification> = None;
    for (number, sentence) in text.sentences.iter().enumerate() {
        for (position, word) in sentence.iter().enumerate() {
            let action = match evidence {
                Evidence::Stated => stated_action(sentence, number, position),
                Evidence::Introduced | Evidence::NotForCaller => {
                    let is_for_caller = evidence == Evidence::NotForCaller && number > 0;
                    introduced_action(sentence, position, is_for_caller)
                }
            };
            let Some(action) = action else { continue };
            let object = sentence.iter().skip(position).skip(1);
            let is_state = action == ToolAction::Destroy && sets_state(word, object);
            let action = if is_state { ToolAction::Write } else { action };
            if action > ToolAction::Read {
                let action = refine_action(action, word, text);
                out = strictest(out, Some(Classification::new(action, word, "description")));
            }
        }
    }
    out
}

/// What the word at this place says is done, after a word that introduces a verb.
fn introduced_action(
    sentence: &[String],
    position: usize,
    is_for_caller: bool,
) -> Option<ToolAction> {
    let word = sentence.get(position)?;
    let before = verb::word_before(sentence, position, 1);
    let next = sentence.get(position.saturating_add(1));
    let active = || match verb::description_sense(word, next)? {
        Sense::Verb(action) if !verb::is_noun(sentence, position) => Some(action),
        Sense::VerbOrNoun(action) if verb::takes_object(next) => Some(action),
        _ => None,
    };
    let is_imperative = || verb::name_sense(word, next).is_some();
    // `Warning: …` is no verb.
    let is_gerund = before.is_none() && word.ends_with("ing");
    let counts = verb::introduces_verb(before) && !is_gerund && !(is_for_caller && is_imperative());
    let counts = counts && !is_denied(sentence, position) && !is_asked(sentence, position);
    let active = counts.then(active).flatten().or_else(|| means(before, word, next));
    active.or_else(|| verb::passive_action(sentence, position))
}

/// Whether a word stands in what is denied: `not append or send`.
fn is_denied(sentence: &[String], position: usize) -> bool {
    let before = |count| verb::word_before(sentence, position, count);
    matches!(before(1), Some("or" | "and"))
        && (2..=3).any(|count| {
            matches!(before(count), Some("not" | "never" | "without"))
                && before(count - 1) != Some("only")
        })
}

/// Whether a word says what the tool finds out and does not do: `whether each can log in`.
fn is_asked(sentence: &[String], position: usize) -> bool {
    let before = |count| verb::word_before(sentence, position, count);
    before(1) == Some("can") && (2..=5).any(|count| before(count) == Some("whether"))
}

/// Whether a word says what a form of the answer leaves out: `format="plain" to also remove signatures`.
fn shapes_answer(sentence: &[String], position: usize) -> bool {
    const FORMS: [&str; 5] = ["format", "output", "style", "view", "verbosity"];
    let leaves_out = sentence.get(position).is_some_and(|word| word == "remove" || word == "strip");
    let earlier = || sentence.iter().take(position);
    leaves_out
        && earlier().any(|word| FORMS.contains(&word.as_str()))
        && earlier().any(|word| word == "to")
}

/// What the word at this place plainly says is done by the tool: a verb in the third person with an
/// object, what it will do, a passive, or a means. An imperative counts in the first sentence, where
/// it is what the tool is for.
fn stated_action(sentence: &[String], number: usize, position: usize) -> Option<ToolAction> {
    // What tools say of how they read: `accepts a list`, `applies the filter`, `calls the API`.
    const OF_READS: [&str; 7] =
        ["accepts", "applies", "calls", "reports", "starts", "stops", "truncates"];
    const TELLS: [&str; 8] =
        ["post", "share", "email", "mail", "message", "tweet", "comment", "fax"];
    let word = sentence.get(position)?;
    let before = verb::word_before(sentence, position, 1);
    let next = sentence.get(position.saturating_add(1));
    let earlier = |known: &str| sentence.iter().take(position).any(|word| word == known);
    let done = means(before, word, next).or_else(|| {
        let is_of_reads = verb::is_passive_of_reads(word) && !earlier("will");
        verb::passive_action(sentence, position).filter(|_| !is_of_reads)
    });
    if done.is_some() || word.ends_with("ing") || OF_READS.contains(&word.as_str()) {
        return done;
    }
    let object = verb::takes_object(next);
    let action = match verb::description_sense(word, next)? {
        Sense::Verb(action) => action,
        Sense::VerbOrNoun(action) => {
            let tells = TELLS.contains(&word.strip_suffix('s').unwrap_or(word));
            (object && (tells || action == ToolAction::Pay)).then_some(action)?
        }
        Sense::VagueVerb(_) => return None,
    };
    let is_base = verb::name_sense(word, next).is_some();
    if is_asked(sentence, position) || shapes_answer(sentence, position) {
        return None;
    }
    let counts = if is_base {
        let promised = matches!(before, Some("will" | "can" | "also" | "automatically"));
        let joined = number == 0 && matches!(before, Some("and" | "or" | "then")) && object;
        let is_purpose = earlier("to") && !REACHES.contains(&action);
        promised && !earlier("you") || joined && !is_purpose
    } else {
        let is_joined = matches!(before, Some("and" | "or" | "then"));
        let has_more = !verb::begins_adverbial(next);
        let has_object =
            object || (is_joined || verb::is_unambiguous_third_person(word)) && has_more;
        verb::introduces_verb(before) && has_object && !verb::is_noun(sentence, position)
    };
    counts.then_some(action)
}

/// What reaches others or is lost.
const REACHES: [ToolAction; 4] =
    [ToolAction::Send, ToolAction::Pay, ToolAction::GrantAccess, ToolAction::Destroy];

/// What the tool does in order to do what it says: `by sending it`, `by deleting the rest`.
fn means(before: Option<&str>, word: &str, next: Option<&String>) -> Option<ToolAction> {
    match verb::description_sense(word, next)? {
        // Filters are applied, to what is looked at.
        Sense::Verb(action)
            if before == Some("by")
                && word.ends_with("ing")
                && word != "applying"
                && REACHES.contains(&action) =>
        {
            Some(action)
        }
        _ => None,
    }
}
