//! Finds the words that say what a name or a number names.

use super::word::Word;
use crate::stop;

/// Words between a cue and a name.
const ARTICLES: [&str; 24] = [
    "the", "a", "an", "my", "our", "your", "their", "his", "her", "its", "this", "that", "le",
    "la", "el", "los", "las", "der", "die", "das", "den", "dem", "un", "una",
];
/// Words between the items of a list.
const JOINERS: [&str; 10] = ["and", "or", "&", "und", "oder", "y", "e", "et", "into", "with"];
/// Abbreviations that a full stop follows.
const ABBREVIATIONS: [&str; 5] = ["no", "nr", "num", "nº", "núm"];
/// Words that say that a number follows.
pub(super) const NUMBER_CUES: [&str; 15] = [
    "id", "ids", "id_", "#", "no", "nr", "number", "num", "identifier", "uuid", "numbers",
    "nummer", "nº", "núm", "número",
];
/// Names of branches that people write without saying so, and the words before them.
const BRANCHES: [&str; 5] = ["main", "master", "develop", "trunk", "staging"];
const TO_BRANCHES: [&str; 6] = ["on", "to", "into", "onto", "from", "against"];
/// The second words of verbs: `turn on the lamp`.
const PARTICLES: [&str; 5] = ["on", "off", "up", "down", "out"];
/// How many articles and counts are between a cue and what it names.
const MAX_ARTICLES: usize = 4;
/// The maximum number of items of a list.
const MAX_ITEMS: usize = 32;
/// The fewest digits of numbers that are of one kind if they have as many.
const MIN_ALIKE_DIGITS: usize = 3;
/// Short forms of what a forge calls its requests.
const SHORT_FORMS: [(&str, &str); 4] =
    [("pr", "pull"), ("prs", "pull"), ("mr", "merge"), ("mrs", "merge")];

/// The cues before a word, also where it is an item of a list.
pub(super) fn before<'w>(words: &'w [Word<'_>], at: usize) -> Vec<&'w str> {
    let mut here = at;
    for _ in 0..MAX_ITEMS {
        let found = adjacent(words, here);
        match item_before(words, here) {
            Some(earlier) => here = earlier,
            None if here == at && found.first().is_none_or(|cue| stop::is_stop_word(cue)) => {
                let alike = number_alike(words, at);
                return alike.map_or(found, |earlier| adjacent(words, earlier));
            }
            None => return found,
        }
    }
    Vec::new()
}

/// An earlier number of the sentence with as many digits: the second of `ticket 883 is a duplicate
/// of 881` is a ticket too.
fn number_alike(words: &[Word<'_>], at: usize) -> Option<usize> {
    let digits = |word: &Word<'_>| word.text.bytes().all(|b| b.is_ascii_digit());
    let word = words.get(at).filter(|word| digits(word) && word.text.len() >= MIN_ALIKE_DIGITS)?;
    let mut here = at;
    for _ in 0..MAX_ITEMS {
        if words.get(here)?.starts_sentence {
            return None;
        }
        here = here.checked_sub(1)?;
        let earlier = words.get(here)?;
        if digits(earlier) && earlier.text.len() == word.text.len() {
            return Some(here);
        }
    }
    None
}

/// The cues next to a word: the word before it, or before its article, and for a number also the
/// word before that (`pull request 21`, `order no. 1182`).
pub(super) fn adjacent<'w>(words: &'w [Word<'_>], at: usize) -> Vec<&'w str> {
    let mut out = Vec::new();
    let Some(word) = words.get(at) else { return out };
    let Some(mut cue_at) = at.checked_sub(1) else { return out };
    if word.follows_break && !word.follows_colon && !follows_abbreviation(words, at) {
        return out;
    }
    let is_article = |one: &Word<'_>| {
        ARTICLES.contains(&one.lower.as_str()) || is_count(one) && !word.has_digit()
    };
    for _ in 0..MAX_ARTICLES {
        match (words.get(cue_at).filter(|one| is_article(one)), cue_at.checked_sub(1)) {
            (None, _) => break,
            (Some(article), Some(earlier)) if !article.follows_break => cue_at = earlier,
            _ => return out,
        }
    }
    let Some(cue) = words.get(cue_at).filter(|cue| !is_article(cue)) else { return out };
    out.push(cue.lower.as_str());
    if PARTICLES.contains(&cue.lower.as_str()) && !cue.follows_break {
        let verb = cue_at.checked_sub(1).and_then(|at| words.get(at));
        out.extend(verb.map(|verb| verb.lower.as_str()));
    }
    if BRANCHES.contains(&word.lower.as_str()) && TO_BRANCHES.contains(&cue.lower.as_str()) {
        out.extend(["branch", "base", "head"]);
    }
    out.extend(SHORT_FORMS.iter().find(|(short, _)| *short == cue.lower).map(|(_, long)| *long));
    if word.has_digit() && !cue.follows_break {
        let earlier = cue_at.checked_sub(1).and_then(|at| words.get(at));
        out.extend(earlier.filter(|word| !word.has_digit()).map(|word| word.lower.as_str()));
    }
    out
}

/// Whether a word is a number of things: `2 milk`.
fn is_count(word: &Word<'_>) -> bool {
    word.text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether the full stop before a word is that of an abbreviation: `no. 1182`, but not `No. 20 came`.
fn follows_abbreviation(words: &[Word<'_>], at: usize) -> bool {
    let (Some(word), Some(cue)) = (words.get(at), at.checked_sub(1).and_then(|at| words.get(at)))
    else {
        return false;
    };
    let known = ABBREVIATIONS.contains(&cue.lower.as_str());
    known && word.has_digit() && !(cue.lower == "no" && cue.starts_sentence)
}

/// The item of a list before this item: `1182, 1183 and 1184`, `jo and kai`.
fn item_before(words: &[Word<'_>], at: usize) -> Option<usize> {
    let word = words.get(at)?;
    let mut before = at.checked_sub(1)?;
    let mut previous = words.get(before)?;
    if is_count(previous) && !word.has_digit() && !word.follows_break {
        before = before.checked_sub(1)?;
        previous = words.get(before)?;
    }
    if !word.follows_break && JOINERS.contains(&previous.lower.as_str()) {
        let item =
            before.checked_sub(1).filter(|_| !previous.follows_break || previous.has_digit())?;
        let like = words.get(item)?;
        let alike = like.has_digit() == word.has_digit();
        return (alike && !stop::is_stop_word(&like.lower)).then_some(item);
    }
    if !word.follows_break || word.follows_colon {
        return None;
    }
    let numbers = word.has_digit() && previous.has_digit();
    let names = || !word.starts_sentence && word.is_name_like() && previous.is_name_like();
    let listed = numbers || names();
    listed.then_some(before)
}
