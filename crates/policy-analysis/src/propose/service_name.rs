//! Finds the service that a description names.

/// What a capitalised word names if one of these follows: a method or a part of a document, and no
/// service (`the Luhn algorithm`, `the Recently Completed section`).
const KINDS: [&str; 12] = [
    "algorithm", "algorithms", "section", "format", "notation", "syntax", "encoding", "distance",
    "style", "case", "block", "heading",
];
/// Endings of names of files: `TODO.md`.
const FILE_ENDINGS: [&str; 10] =
    ["md", "txt", "json", "jsonl", "yaml", "yml", "toml", "csv", "org", "bib"];
/// Formats and programs that run on this machine.
const LOCAL: [&str; 24] = [
    "git", "sqlite", "json", "markdown", "python", "javascript", "docker", "excel", "duckdb",
    "unix", "linux", "windows", "base64", "utf", "word", "powerpoint", "libreoffice", "office",
    "latex", "bibtex", "pandoc", "eslint", "typescript", "unicode",
];
/// Words that only begin a sentence.
const OPENERS: [&str; 7] = ["all", "each", "every", "this", "the", "returns", "use"];
/// Databases that people run themselves as well.
const DATABASES: [&str; 8] =
    ["redis", "valkey", "postgres", "postgresql", "mysql", "mariadb", "mongodb", "clickhouse"];

/// Whether a service is a database that may run on this machine.
pub(super) fn is_database(name: &str) -> bool {
    DATABASES.contains(&name.to_lowercase().as_str())
}

/// The name of a file that a word of a description is, in lower case: `TODO.md`.
pub(super) fn file_name(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let word = word.split("'s").next().unwrap_or(word);
    let (stem, ending) = word.rsplit_once('.')?;
    let is_file = FILE_ENDINGS.contains(&ending.to_lowercase().as_str())
        && stem.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        && stem.chars().any(char::is_alphabetic);
    is_file.then(|| word.to_lowercase())
}

/// A proper name within the first sentence that is no file, format, method or local program.
pub(super) fn named_service(text: &str) -> Option<String> {
    let words: Vec<&str> = first_sentence(text).split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let is_known = |word: &str| {
        let lower = word.to_lowercase();
        LOCAL.contains(&lower.as_str()) || OPENERS.contains(&lower.as_str())
    };
    let mut places = words.iter().enumerate().skip(1);
    let (_, found) = places.find(|(at, word)| {
        let before = words.get(at.saturating_sub(1)).copied().unwrap_or_default();
        let name = bare(word);
        is_name(&name)
            && !is_known(&name)
            && file_name(word).is_none()
            && !begins_clause(before, word)
            && words.get(at.saturating_add(1)).is_none_or(|next| *next != "of")
            && !names_kind(words.iter().skip(at.saturating_add(1)))
    })?;
    Some(bare(found))
}

/// The text up to its first full stop or line end; the dot of a file's name ends nothing.
fn first_sentence(text: &str) -> &str {
    let text = text.trim_start();
    let line = text.split('\n').next().unwrap_or(text);
    let ends = |(at, _): &(usize, &str)| {
        let rest = line.get(at.saturating_add(1)..).unwrap_or_default();
        let word_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let start = line.get(..*at).and_then(|text| text.rfind(char::is_whitespace));
        let start = start.map_or(0, |at| at.saturating_add(1));
        let end = at.saturating_add(1).saturating_add(word_end);
        line.get(start..end).and_then(file_name).is_none()
    };
    let end = line.match_indices('.').find(ends).map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or(line)
}

/// Whether a word is written like a name: with a capital first, and small letters. `IDs` and `URLs`
/// are plurals, `Deleted` and `Recently` say how something is.
fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    let is_plural = word
        .strip_suffix('s')
        .is_some_and(|stem| stem.chars().count() > 1 && stem.chars().all(char::is_uppercase));
    letters.next().is_some_and(char::is_uppercase)
        && letters.any(char::is_lowercase)
        && !is_plural
        && !word.ends_with("ed")
        && !word.ends_with("ly")
}

fn is_capitalised(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_uppercase)
}

/// Whether a word is the first behind a colon, a parenthesis or a quotation mark.
fn begins_clause(before: &str, word: &str) -> bool {
    before.ends_with([':', ';', '!', '?']) || word.starts_with(['(', '"', '`', '[', '“', '‘'])
}

/// Whether the next word, or one behind further capitalised ones, is the kind of thing that is named.
fn names_kind<'t>(words: impl Iterator<Item = &'t &'t str>) -> bool {
    let letters = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let mut rest = words.take(3).map(|word| letters(word)).skip_while(|word| is_capitalised(word));
    rest.next().is_some_and(|word| KINDS.contains(&word.to_lowercase().as_str()))
}
