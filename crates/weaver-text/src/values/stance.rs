//! Finds the parts of a request that ask for nothing: pasted text and clauses that deny.
//!
//! Text in a fence, behind `>`, or in a quotation of several sentences was written by somebody else.
//! A clause with a negation names what is not to be done. The search is by words and punctuation, so
//! it errs to both sides; where a denial ends is read late rather than early.

use std::ops::Range;

/// Marks that open and close a fence.
const FENCES: [&str; 2] = ["```", "~~~"];
/// Words that deny the clause that they are in, up to its beginning.
const DENIALS: [&str; 22] = [
    "not", "never", "cannot", "avoid", "forbid", "forbidden", "refrain", "neither", "nicht", "nie",
    "niemals", "kein", "keine", "keinen", "keinem", "keinesfalls", "nunca", "jamás", "jamais",
    "dont", "nor", "mustnt",
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
/// Words before `not` that tie it to the verb of the clause.
const AUXILIARIES: [&str; 24] = [
    "do", "does", "did", "is", "are", "was", "were", "be", "must", "should", "shall", "will",
    "would", "can", "could", "may", "might", "has", "have", "had", "need", "please", "and", "or",
];
/// Words after a negation that make it no denial: `don't forget to`, `not only`, `not needed`.
const HARMLESS: [&str; 16] = [
    "forget", "hesitate", "only", "need", "needed", "needs", "longer", "mehr", "necessary", "just",
    "arrive", "arrived", "work", "working", "worked", "sure",
];
/// Words that begin a clause which gives a reason or a condition.
const REASONS: [&str; 11] =
    ["because", "since", "as", "which", "who", "while", "weil", "denn", "porque", "although", "if"];
/// Words that begin a new order after a denial.
const NEW_ORDERS: [&str; 60] = [
    "but", "just", "only", "please", "then", "sondern", "sino", "aber", "pero", "so", "add",
    "answer", "book", "buy", "call", "cancel", "change", "close", "copy", "create", "delete",
    "destroy", "email", "forward", "give", "grant", "invite", "let", "list", "lock", "look",
    "mail", "make", "merge", "move", "open", "order", "pay", "post", "publish", "put", "read",
    "reboot", "refund", "remove", "rename", "reply", "restart", "send", "set", "share", "show",
    "stop", "summarise", "summarize", "take", "tell", "transfer", "unlock", "update",
];
/// The minimum number of words of a quotation of several sentences that counts as pasted.
const MIN_PASTED_WORDS: usize = 8;

/// The text without its pasted parts and its denials, each replaced by a line break. `None` if it
/// has none.
pub(super) fn without_denials(text: &str) -> Option<String> {
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

/// The lines with their places.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0_usize, |at, line| {
        let start = *at;
        *at = at.saturating_add(line.len());
        Some((start, line))
    })
}

/// The fences, quoted lines and quotations of several sentences.
fn pasted(text: &str) -> Vec<Range<usize>> {
    let (mut out, mut fence) = (Vec::new(), None);
    for (at, line) in lines(text) {
        let end = at.saturating_add(line.len());
        let trimmed = line.trim_start();
        let mark = FENCES.iter().find(|mark| trimmed.starts_with(**mark));
        match (fence, mark) {
            (Some((start, open)), Some(mark)) if open == mark => {
                out.push(start..end);
                fence = None;
            }
            (None, Some(mark)) => fence = Some((at, mark)),
            (None, None) if trimmed.starts_with('>') => out.push(at..end),
            _ => {}
        }
    }
    // A fence that nobody closes reaches to the end.
    out.extend(fence.map(|(start, _)| start..text.len()));
    for (open, close) in [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»')] {
        let mut from = 0;
        while let Some(start) = find_from(text, open, from) {
            let inner = start.saturating_add(open.len_utf8());
            let Some(end) = find_from(text, close, inner) else { break };
            let quoted = text.get(inner..end).unwrap_or_default();
            let sentences = sentences(quoted).count();
            if sentences > 1 && quoted.split_whitespace().count() >= MIN_PASTED_WORDS {
                out.push(start..end);
            }
            from = end.saturating_add(close.len_utf8());
        }
    }
    out
}

fn find_from(text: &str, mark: char, from: usize) -> Option<usize> {
    text.get(from..)?.find(mark).map(|at| at.saturating_add(from))
}

/// The sentences with their places: parts that end with a line or with `.`, `!`, `?` or `;` before
/// white space.
fn sentences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    let mut at = 0_usize;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len();
        let mut marks = rest.char_indices().peekable();
        while let Some((here, c)) = marks.next() {
            let next = marks.peek().map(|(_, next)| *next);
            let closed = |next: char| next.is_whitespace() || matches!(next, '"' | '”' | '\'');
            if c == '\n' || matches!(c, '.' | '!' | '?' | ';') && next.is_none_or(closed) {
                end = here.saturating_add(c.len_utf8());
                break;
            }
        }
        let (sentence, after) = rest.split_at_checked(end)?;
        let start = at;
        at = at.saturating_add(end);
        rest = after;
        Some((start, sentence))
    })
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
        if HARMLESS.contains(&next) {
            continue;
        }
        let lower = word.lower.as_str();
        if lower == "no" && NO_PHRASES.iter().any(|(one, two)| *one == before && *two == next) {
            let from = at.saturating_sub(1);
            let tied = from.checked_sub(1).is_some_and(|at| is_auxiliary(low(at)));
            return Some(if tied { 0 } else { from });
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
        let shortened = lower.ends_with("n't");
        let last = clause.last().map_or("", |word| word.lower.as_str());
        // `web is not there any more` tells why something is wanted, and denies nothing.
        let tells_reason =
            [next, second, last].contains(&"anymore") || lower == "not" && last == "more";
        if (shortened || DENIALS.contains(&lower)) && !tells_reason {
            // `staging and not web` denies the second only.
            let tied = shortened || lower != "not" || is_auxiliary(before) && !joins(before);
            return Some(if tied { 0 } else { at });
        }
    }
    None
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
        without_denials(text).unwrap_or_else(|| text.to_owned())
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
        ] {
            let left = left(text);
            assert!(left.contains("w-1") || left.contains("1182"), "{text}: {left}");
        }
        assert_eq!(without_denials("Pay Bob 12, then mail Eve. Is that fine?"), None);
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
        assert_eq!(without_denials("Post \"Thanks, see you\" to eve"), None);
    }
}
