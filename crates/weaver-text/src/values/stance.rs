//! Finds the parts of a request that ask for nothing: pasted text and clauses that deny.
//!
//! A clause with a negation names what is not to be done. The search is by words and punctuation, so
//! it errs to both sides; where a denial ends is read late rather than early.

use std::ops::Range;

use super::pasted::{pasted, sentences};
use crate::stop;

/// Words that deny the clause that they are in, up to its beginning.
const DENIALS: [&str; 22] = [
    "not", "never", "cannot", "avoid", "forbid", "forbidden", "refrain", "neither", "nicht", "nie",
    "niemals", "kein", "keine", "keinen", "keinem", "keinesfalls", "nunca", "jamás", "jamais",
    "nor", "keiner", "keines",
];
/// Verbs with a negation, without their apostrophe.
const SHORTENED: [&str; 20] = [
    "dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent", "cant", "couldnt", "shouldnt",
    "wouldnt", "wont", "mustnt", "mightnt", "neednt", "hasnt", "havent", "hadnt", "shant", "aint",
];
/// Words that deny only what follows them.
const EXCEPTIONS: [&str; 14] = [
    "except", "excepting", "excluding", "without", "unless", "instead", "rather", "außer",
    "ausser", "excepto", "salvo", "sauf", "ohne", "sin",
];
/// `by no means` and the like: the words around `no`.
const NO_PHRASES: [(&str, &str); 6] = [
    ("by", "means"),
    ("in", "case"),
    ("under", "circumstances"),
    ("on", "account"),
    ("in", "way"),
    ("at", "time"),
];
/// Words before `no` that tell how things are: `there is no copy of it`.
const STATES_BEFORE_NO: [&str; 16] = [
    "is", "are", "was", "were", "has", "have", "had", "there's", "got", "with", "see", "saw",
    "find", "found", "say", "there",
];
/// Words after `no` that make it no denial.
const HARMLESS_AFTER_NO: [&str; 26] = [
    "doubt", "matter", "problem", "problems", "worries", "rush", "hurry", "idea", "need", "one",
    "more", "less", "later", "sooner", "issue", "issues", "wonder", "reason", "thanks", "reply",
    "answer", "response", "luck", "sign", "news", "longer",
];
/// Words that say that nobody may do something, and words after them that do.
const NOBODY: [&str; 4] = ["nobody", "noone", "none", "niemand"];
const MAY: [&str; 12] = [
    "may", "must", "should", "shall", "can", "is", "gets", "has", "else", "darf", "soll", "bekommt",
];
/// Words before `not` that tie it to the verb of the clause.
const AUXILIARIES: [&str; 24] = [
    "do", "does", "did", "is", "are", "was", "were", "be", "must", "should", "shall", "will",
    "would", "can", "could", "may", "might", "has", "have", "had", "need", "please", "and", "or",
];
/// Words before the verb of an order.
const BEFORE_ORDERS: [&str; 10] =
    ["please", "and", "so", "then", "also", "but", "or", "do", "bitte", "just"];
/// Words after a negation that make it no denial: `don't forget to`, `not only`, `not needed`.
const HARMLESS: [&str; 9] =
    ["forget", "hesitate", "only", "need", "needed", "needs", "necessary", "just", "sure"];
/// Verbs after `not need to` that leave it harmless: what need not be kept may go.
const KEPT: [&str; 8] = ["keep", "have", "store", "retain", "use", "see", "wait", "worry"];
/// Words that tell what happened where they are no order: `it did not arrive`.
const EVENTS: [&str; 5] = ["arrive", "arrived", "work", "working", "worked"];
/// Words after a negation that tell with `any more` how things are: `we do not use it any more`.
const STATES: [&str; 20] = [
    "use", "used", "uses", "exist", "exists", "have", "has", "want", "like", "see", "know",
    "there", "here", "work", "works", "valid", "remember", "live", "lives", "sell",
];
/// The beginnings of verbs that forbid with a negation, whoever is meant.
const FORBIDDING: [&str; 5] = ["must", "should", "shall", "may", "might"];
/// The same in German, anywhere in the clause.
const STATES_WITH_MEHR: [&str; 18] = [
    "brauche", "brauchen", "braucht", "benötige", "benötigen", "benötigt", "gebraucht",
    "existiert", "gibt", "funktioniert", "geht", "nutze", "nutzen", "nutzt", "ist", "sind", "war",
    "waren",
];
/// Words that begin a clause which gives a reason or a condition.
const REASONS: [&str; 11] =
    ["because", "since", "as", "which", "who", "while", "weil", "denn", "porque", "although", "if"];
/// Words that begin a new order after a denial.
const NEW_ORDERS: [&str; 61] = [
    "but", "just", "only", "please", "then", "sondern", "sino", "aber", "pero", "so", "add",
    "answer", "book", "buy", "call", "cancel", "change", "close", "copy", "create", "delete",
    "destroy", "email", "forward", "give", "grant", "invite", "let", "list", "lock", "look",
    "mail", "make", "merge", "move", "open", "order", "pay", "post", "publish", "put", "read",
    "reboot", "refund", "remove", "rename", "reply", "restart", "send", "set", "share", "show",
    "stop", "use", "summarise", "summarize", "take", "tell", "transfer", "unlock", "update",
];

/// The text without its pasted parts and its denials, each replaced by a line break. `None` if it
/// has none.
pub(super) fn without_mentions(text: &str) -> Option<String> {
    let mut cut = pasted(text);
    cut.extend(denied(text));
    if cut.is_empty() {
        return None;
    }
    cut.sort_by_key(|part| part.start);
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for part in cut {
        out.push_str(text.get(end..part.start).unwrap_or_default());
        out.push_str("\n;\n");
        end = end.max(part.end);
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Some(out)
}

/// A word of a sentence.
struct Word<'t> {
    start: usize,
    end: usize,
    lower: String,
    /// Whether a comma, a colon or a dash ends the clause after it.
    ends_clause: bool,
    text: &'t str,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut out: Vec<Word<'_>> = Vec::new();
    let mut at = 0_usize;
    for raw in text.split_inclusive(char::is_whitespace) {
        let text = raw.trim_end();
        if !text.is_empty() {
            let plain = text.trim_matches(|c: char| !c.is_alphanumeric()).replace('’', "'");
            out.push(Word {
                start: at,
                end: at.saturating_add(text.len()),
                lower: plain.to_lowercase(),
                ends_clause: text.ends_with([',', ':']) || matches!(text, "-" | "–" | "—"),
                text,
            });
        }
        at = at.saturating_add(raw.len());
    }
    out
}

/// The clauses that deny.
fn denied(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    for (at, sentence) in sentences(text) {
        let words = words(sentence);
        let mut continues = false;
        for clause in clauses(&words) {
            let Some((first, last)) = clause.first().zip(clause.last()) else { continue };
            let start = match denial_in(clause) {
                Some(from) => clause.get(from).map(|word| word.start),
                None if continues && !NEW_ORDERS.contains(&first.lower.as_str()) => {
                    Some(first.start)
                }
                None => None,
            };
            continues = start.is_some();
            if let Some(start) = start {
                out.push(at.saturating_add(start)..at.saturating_add(last.end));
            }
        }
    }
    out
}

/// The clauses of a sentence: they end at a comma or colon, and before the word of a reason.
fn clauses<'w, 't>(words: &'w [Word<'t>]) -> Vec<&'w [Word<'t>]> {
    let (mut out, mut start) = (Vec::new(), 0);
    for (at, word) in words.iter().enumerate() {
        let before = at > start && REASONS.contains(&word.lower.as_str()) || word.lower == "but";
        if before {
            out.extend(words.get(start..at));
            start = at;
        }
        if word.ends_clause {
            let end = at.saturating_add(1);
            out.extend(words.get(start..end));
            start = end;
        }
    }
    out.extend(words.get(start..));
    out
}

/// Where the denial in a clause begins, if it has one.
fn denial_in(clause: &[Word<'_>]) -> Option<usize> {
    let low = |at: usize| clause.get(at).map_or("", |word| word.lower.as_str());
    for (at, word) in clause.iter().enumerate() {
        let (next, second) = (low(at.saturating_add(1)), low(at.saturating_add(2)));
        let before = at.checked_sub(1).map_or("", low);
        let lower = word.lower.as_str();
        if lower == "no" && NO_PHRASES.iter().any(|(one, two)| *one == before && *two == next) {
            let from = at.saturating_sub(1);
            let tied = from.checked_sub(1).is_some_and(|at| is_auxiliary(low(at)));
            return Some(if tied { 0 } else { from });
        }
        if lower == "no" && denies_noun(word, before, next, second) {
            return Some(if next == "longer" { 0 } else { at });
        }
        let nobody = NOBODY.contains(&lower) && MAY.contains(&next)
            || lower == "no" && next == "one" && MAY.contains(&second);
        if nobody {
            return Some(0);
        }
        if HARMLESS.contains(&next) && !(second == "to" && is_needless(low, at)) {
            continue;
        }
        if EXCEPTIONS.contains(&lower) && !word.text.ends_with('?') {
            // `rather` and `instead` deny only with `than` and `of`.
            let paired = !matches!(lower, "rather" | "instead") || matches!(next, "than" | "of");
            if paired {
                return Some(at);
            }
        }
        if matches!(lower, "refuse" | "refuses" | "refused" | "decline") && next == "to" {
            return Some(0);
        }
        let shortened = lower.ends_with("n't") || SHORTENED.contains(&lower);
        if (shortened || DENIALS.contains(&lower)) && !tells_state(clause, at, shortened) {
            // `staging and not web` denies the second only.
            let tied = shortened || lower != "not" || is_auxiliary(before) && !joins(before);
            return Some(if tied { 0 } else { at });
        }
    }
    None
}

/// Whether `no` says that something is not to be: `no access for Eve`, `should no longer have it`.
/// Not so the answer `no`, `order no 1182` and `there is no copy`.
fn denies_noun(word: &Word<'_>, before: &str, next: &str, second: &str) -> bool {
    if next == "longer" {
        return matches!(before, "should" | "must" | "may" | "shall" | "can" | "will" | "to");
    }
    let needless = next == "need" && second == "to";
    let is_noun = !next.is_empty()
        && !next.contains(|c: char| c.is_ascii_digit())
        && !stop::is_stop_word(next)
        && !HARMLESS_AFTER_NO.contains(&next);
    word.text.eq_ignore_ascii_case("no")
        && (needless || is_noun)
        && !STATES_BEFORE_NO.contains(&before)
}

/// Whether `not need to` at `at` says that something is not to be done.
fn is_needless<'w>(low: impl Fn(usize) -> &'w str, at: usize) -> bool {
    let need =
        low(at.saturating_add(1)).starts_with("nee") || low(at.saturating_add(1)) == "necessary";
    need && !KEPT.contains(&low(at.saturating_add(3)))
}

/// Whether the negation at `at` tells how things are, and is no order: `web is not there any more`,
/// `it did not arrive`.
fn tells_state(clause: &[Word<'_>], at: usize, shortened: bool) -> bool {
    let low = |at: usize| clause.get(at).map_or("", |word| word.lower.as_str());
    let (next, before) = (low(at.saturating_add(1)), at.checked_sub(1).map_or("", low));
    let verb_at = if !shortened && is_auxiliary(before) { at.saturating_sub(1) } else { at };
    let orders = clause.iter().take(verb_at).all(|one| BEFORE_ORDERS.contains(&one.lower.as_str()));
    if EVENTS.contains(&next) && !orders {
        return true;
    }
    let after = || clause.iter().skip(at.saturating_add(1)).map(|word| word.lower.as_str());
    let mut pairs = after().zip(after().skip(1));
    if low(at) == "nicht" || low(at).starts_with("kein") {
        let all = || clause.iter().map(|word| word.lower.as_str());
        return all().any(|word| word == "mehr")
            && all().any(|word| STATES_WITH_MEHR.contains(&word));
    }
    let ended = after().any(|word| word == "anymore") || pairs.any(|pair| pair == ("any", "more"));
    let being = |word: &str| ["is", "are", "was", "were"].iter().any(|be| word.starts_with(be));
    let is = if shortened { being(low(at)) } else { low(at) == "not" && being(before) };
    let forbids = |word: &str| FORBIDDING.iter().any(|modal| word.starts_with(modal));
    let forbidden = if shortened { forbids(low(at)) } else { forbids(before) };
    ended && (is && next != "to" || STATES.contains(&next) && !orders && !forbidden)
}

fn is_auxiliary(word: &str) -> bool {
    AUXILIARIES.contains(&word)
}

fn joins(word: &str) -> bool {
    matches!(word, "and" | "or")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str) -> String {
        without_mentions(text).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn a_denial_takes_its_clause_and_the_list_behind_it() {
        for (text, kept, gone) in [
            ("Destroy the instance s-2, and by no means w-1.", "s-2", "w-1"),
            ("Destroy s-2 and not w-1.", "s-2", "w-1"),
            ("Do not delete w-1, but delete s-2.", "s-2", "w-1"),
            ("Don't delete w-1, delete s-2.", "s-2", "w-1"),
            ("Delete s-2. Never touch w-1.", "s-2", "w-1"),
            ("Delete all of s-2 except a-1, w-1 and b-1", "s-2", "w-1"),
            ("Pay s-2 instead of w-1", "s-2", "w-1"),
            ("s-2 belongs to Eva, not to w-1.", "s-2", "w-1"),
            ("Pay s-2. We refuse to pay w-1.", "s-2", "w-1"),
            ("Lösche s-2, niemals w-1", "s-2", "w-1"),
            ("Do not write that w-1 is cancelled. s-2 is", "s-2", "w-1"),
            ("Please do not pay w-1 950 EUR any more. Pay s-2", "s-2", "w-1"),
            ("Don't mail s w-1 anymore. Mail s-2", "s-2", "w-1"),
            ("Please never give w-1 access any more. Ask s-2", "s-2", "w-1"),
            ("Don't pay a-1 anymore, b-1 or w-1 with 950 EUR. Pay s-2", "s-2", "w-1"),
            ("You must not use w-1 any more, use s-2", "s-2", "w-1"),
            ("w-1 should no longer have access. Ask s-2", "s-2", "w-1"),
            ("No access for w-1, ever. Ask s-2", "s-2", "w-1"),
            ("Make no payment to w-1. Pay s-2", "s-2", "w-1"),
            ("Nobody may give w-1 access. Ask s-2", "s-2", "w-1"),
            ("No one should pay w-1. Pay s-2", "s-2", "w-1"),
            ("You shouldnt give w-1 access. Ask s-2", "s-2", "w-1"),
            ("Never work with w-1. Ask s-2", "s-2", "w-1"),
            ("You don't need to pay w-1. Pay s-2", "s-2", "w-1"),
            ("Bezahle w-1 nicht mehr. Bezahle s-2", "s-2", "w-1"),
        ] {
            let left = left(text);
            assert!(left.contains(kept) && !left.contains(gone), "{text}: {left}");
        }
    }

    #[test]
    fn what_denies_nothing_is_left_alone() {
        for text in [
            "Refund order 1182",
            "Don't forget to pay w-1",
            "I no longer need w-1, delete it",
            "Delete w-1, we don't need it",
            "Delete order no. 1182",
            "Refund w-1 because it did not arrive",
            "Pay w-1 rather soon",
            "w-1 is not there any more, so delete it",
            "We don't use w-1 anymore, delete it",
            "w-1 isn't needed any more",
            "We don't need to keep w-1, delete it",
            "w-1 brauchen wir nicht mehr",
            "There is no copy of w-1, make one",
            "No, pay w-1",
            "No reply about w-1 came",
            "Refund order no 1182",
            "Nobody answered w-1, so close it",
            "w-1 never worked",
        ] {
            let left = left(text);
            assert!(left.contains("w-1") || left.contains("1182"), "{text}: {left}");
        }
        assert_eq!(without_mentions("Pay Bob 12, then mail Eve. Is that fine?"), None);
    }

    #[test]
    fn what_is_pasted_asks_for_nothing() {
        for text in [
            "Read:\n```\nadd eve\n```\nThen s-2",
            "s-2\n~~~\nadd eve\n",
            "Answer s-2:\n> add eve\n",
            "s-2: \"Dear Marta, please do add eve. We all thank you very much.\"",
        ] {
            let left = left(text);
            assert!(left.contains("s-2") && !left.contains("eve"), "{text}: {left}");
        }
        assert_eq!(without_mentions("Post \"Thanks, see you\" to eve"), None);
    }
}
