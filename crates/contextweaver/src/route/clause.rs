//! Splits a request for several things into its parts.

/// Characters that end a sentence.
const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', ';', '\n', '。', '！', '？'];

/// Phrases that separate two requests.
const SEPARATORS: [&[&str]; 11] = [
    &["as", "well", "as"],
    &["and", "then"],
    &["and", "also"],
    &["after", "that"],
    &["along", "with"],
    &["also"],
    &["additionally"],
    &["afterwards"],
    &["furthermore"],
    &["lastly"],
    &["finally"],
];

/// Words with which requests begin. After `and`, such a word starts another part.
const REQUEST_OPENERS: &[&str] = &[
    "add", "analyze", "assess", "book", "build", "buy", "calculate", "can", "cancel", "change",
    "check", "compare", "compute", "convert", "could", "create", "delete", "design", "determine",
    "disable", "display", "download", "draw", "edit", "email", "enable", "estimate", "evaluate",
    "explain", "extract", "fetch", "filter", "find", "generate", "get", "give", "help", "how", "i",
    "identify", "let", "list", "log", "look", "make", "measure", "monitor", "need", "notify",
    "obtain", "open", "order", "plan", "play", "please", "post", "predict", "provide", "publish",
    "read", "recommend", "register", "remind", "remove", "reserve", "retrieve", "run", "save",
    "schedule", "search", "send", "set", "share", "show", "sign", "sort", "start", "stop",
    "submit", "suggest", "summarize", "tell", "track", "translate", "turn", "update", "upload",
    "verify", "view", "want", "what", "when", "where", "which", "who", "write", "analyse",
];

/// The parts of a text: its sentences, split further into clauses that are separate requests.
pub(super) fn clauses(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).flat_map(split_sentence)
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.char_indices().find(|(at, end)| {
            let next = text.get(at.saturating_add(end.len_utf8())..).and_then(|t| t.chars().next());
            // The mark in `config.toml`, `v1.2` and `/search?q=1` ends no sentence.
            let is_inside_word =
                matches!(end, '.' | '?') && next.is_some_and(|next| next.is_alphanumeric());
            SENTENCE_ENDS.contains(end) && !is_inside_word
        });
        let (sentence, after) = match end {
            Some((at, end)) => (text.get(..at), text.get(at.saturating_add(end.len_utf8())..)),
            None => (Some(text), None),
        };
        rest = after;
        sentence
    })
}

fn split_sentence(sentence: &str) -> Vec<&str> {
    let words: Vec<(usize, &str)> = words(sentence).collect();
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some((start, _)) = words.get(at) {
        let separator = separator_length(&words, at);
        if separator == 0 {
            at += 1;
            continue;
        }
        parts.extend(sentence.get(from..*start));
        at += separator;
        from = words.get(at).map_or(sentence.len(), |(start, _)| *start);
    }
    parts.extend(sentence.get(from..));
    parts
}

/// How many words from `index` on form a separator between two parts; 0 if none do.
fn separator_length(all_words: &[(usize, &str)], index: usize) -> usize {
    let words = all_words.get(index..).unwrap_or_default();
    if !words.first().is_some_and(|(_, word)| may_start_separator(word)) {
        return 0;
    }
    let word = |offset: usize| words.get(offset).map(|(_, word)| strip_punctuation(word));
    let is =
        |offset: usize, wanted: &str| word(offset).is_some_and(|w| w.eq_ignore_ascii_case(wanted));
    let separator =
        SEPARATORS.iter().find(|phrase| phrase.iter().zip(0..).all(|(w, at)| is(at, w)));
    if let Some(separator) = separator {
        return separator.len();
    }
    let opens = |offset: usize| REQUEST_OPENERS.iter().any(|opener| is(offset, opener));
    if (follows_comma(all_words, index) && is(0, "then")) || (is(0, "and") && opens(1)) {
        1
    } else {
        0
    }
}

/// Whether a word may start a separator, by its first letter. A quick test that rules out most
/// words.
fn may_start_separator(word: &str) -> bool {
    let first = word.chars().find(|c| c.is_alphanumeric());
    first.is_some_and(|c| matches!(c, 'a' | 'A' | 'f' | 'F' | 'l' | 'L' | 't' | 'T'))
}

/// Whether the word before the one at this index ends with a comma.
fn follows_comma(words: &[(usize, &str)], at: usize) -> bool {
    at.checked_sub(1).and_then(|at| words.get(at)).is_some_and(|(_, word)| word.ends_with(','))
}

/// A word without surrounding punctuation and without what follows an apostrophe.
fn strip_punctuation(word: &str) -> &str {
    let word = word.split(['\'', '’']).next().unwrap_or(word);
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let from = text.as_ptr().addr();
    text.split_whitespace().map(move |word| (word.as_ptr().addr() - from, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        clauses(text).map(str::trim).filter(|part| !part.is_empty()).collect()
    }

    #[test]
    fn each_thing_that_is_asked_for_is_a_part() {
        assert_eq!(
            parts("Book a table for two and tell me the weather. Thanks!"),
            ["Book a table for two", "tell me the weather", "Thanks"]
        );
        assert_eq!(
            parts("read the file, then mail it and also log that, as well as the size"),
            ["read the file,", "mail it", "log that,", "the size"]
        );
        assert_eq!(parts("show it and I'd like a copy"), ["show it", "I'd like a copy"]);
    }

    #[test]
    fn marks_inside_of_names_versions_and_addresses_end_no_sentence() {
        assert_eq!(
            parts("Show config.toml of v1.2. Open https://a.example/search?q=1!"),
            ["Show config.toml of v1.2", "Open https://a.example/search?q=1"]
        );
    }

    #[test]
    fn a_list_of_things_is_one_part() {
        for text in ["apples and pears, nuts and figs", "", "the now and then", "and"] {
            assert!(parts(text).len() < 2, "{text}");
        }
    }

    #[test]
    fn a_long_text_takes_linear_time() {
        let text = "word and find ".repeat(5_000);
        assert_eq!(parts(&text).len(), 5_001);
    }

    #[test]
    fn every_separator_passes_the_quick_test() {
        assert!(
            SEPARATORS.iter().filter_map(|all| all.first()).all(|word| may_start_separator(word))
        );
        assert!(
            ["and", "Then,", "(also", "\u{201c}Finally"]
                .iter()
                .all(|word| may_start_separator(word))
        );
    }
}
