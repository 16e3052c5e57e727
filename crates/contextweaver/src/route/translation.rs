//! Translates requests in other languages word by word into the English that tools are described in.
//!
//! A built-in table has the most common words of requests. Other words in Cyrillic or Greek script are
//! transliterated, so that names and loan words match.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use weaver_text::{split, stem, stop};

use super::hashing::KeyMap;
use super::term_key;
use super::thesaurus::Thesaurus;

const BUILT_IN: &str = include_str!("../../assets/languages.txt");
/// The shortest prefix entry, in letters.
const MIN_PREFIX: usize = 2;
/// The longest prefix of a word that is looked up, in letters.
const MAX_PREFIX: usize = 16;
/// The fewest words of a language by which a text in Latin letters is recognised as being in it.
pub(super) const MIN_WORDS: usize = 2;

/// The index of a language.
type Language = usize;

/// One entry of one language.
#[derive(Debug)]
struct Entry {
    language: Language,
    /// The words after the first; the flag says whether any ending may follow.
    rest: Vec<(Box<str>, bool)>,
    /// The English words; empty for a function word.
    english: Vec<Box<str>>,
}

/// A table of translations.
#[derive(Debug, Default)]
pub(super) struct TranslationTable {
    /// Entries by their first word.
    exact_entries: KeyMap<Vec<Entry>>,
    /// Entries by the prefix of their first word, which may have any ending.
    prefix_entries: KeyMap<Vec<Entry>>,
    languages: usize,
}

/// How much of a text belongs to one language.
#[derive(Debug, Clone, Default)]
struct LanguageCounts {
    /// Words of this language that are not English as well.
    words: usize,
    /// The function words among them.
    function: usize,
    /// Words of this language that are English stop words as well.
    shared: usize,
    other_script: bool,
}

/// The translation of some words of a request.
#[derive(Debug, PartialEq, Eq)]
struct EntryMatch<'a> {
    length: usize,
    english: &'a [Box<str>],
}

impl TranslationTable {
    /// The built-in table.
    pub(super) fn built_in() -> &'static Self {
        static READ: LazyLock<TranslationTable> =
            LazyLock::new(|| TranslationTable::parse(BUILT_IN));
        &READ
    }

    fn parse(text: &str) -> Self {
        let mut this = Self::default();
        let mut languages: BTreeMap<String, Language> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((english, lists)) = line.split_once(" = ") else { continue };
            let english: Vec<&str> =
                english.split_whitespace().filter(|word| *word != "-").collect();
            for list in lists.split('|') {
                let mut words = list.split_whitespace();
                let Some(language) = words.next() else { continue };
                let next = languages.len();
                let language = *languages.entry(language.to_owned()).or_insert(next);
                for word in words {
                    let english = english.iter().map(|word| Box::from(*word)).collect();
                    this.add(word, language, english);
                }
            }
        }
        this.languages = languages.len();
        this
    }

    fn add(&mut self, phrase: &str, language: Language, english: Vec<Box<str>>) {
        let mut words: Vec<(Box<str>, bool)> = Vec::new();
        for part in phrase.split('_') {
            let open = part.ends_with('*');
            words.extend(split::words(part).into_iter().map(|word| (word.into(), false)));
            if let Some(last) = words.last_mut() {
                last.1 = open;
            }
        }
        let Some(((first, open), rest)) = words.split_first() else { return };
        let entries = if *open { &mut self.prefix_entries } else { &mut self.exact_entries };
        let entry = Entry { language, rest: rest.to_vec(), english };
        entries.entry(term_key::of_term(first)).or_default().push(entry);
    }

    /// The request in English; `None` if it is not in another language. Values that are recognised by
    /// their form and unknown words stay, the latter transliterated if possible. A word for which `has`
    /// is true, because items contain it, is kept in addition to its translation.
    pub(super) fn translate(&self, text: &str, has: impl Fn(&str) -> bool) -> Option<String> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let words: Vec<Vec<String>> = parts.iter().map(|part| translatable_words(part)).collect();
        let flat: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
        let language = self.detect_language(&flat)?;
        let mut out = String::new();
        let (mut at, mut end) = (0, 0);
        for (part, words) in parts.iter().zip(&words) {
            end += words.len();
            if words.is_empty() {
                out.push_str(part);
                out.push(' ');
            }
            while at < end {
                let after = flat.get(at..).unwrap_or_default();
                let met = self.longest_match(after, language);
                let length = met.as_ref().map_or(1, |met| met.length);
                let own = after.iter().take(length);
                own.filter(|word| has(word)).for_each(|word| push_word(&mut out, word));
                match met {
                    Some(met) => met.english.iter().for_each(|word| push_word(&mut out, word)),
                    None => push_word(
                        &mut out,
                        &transliterate(after.first().copied().unwrap_or_default()),
                    ),
                }
                at += length;
            }
        }
        Some(out)
    }

    /// Detects the language of a text: the one with the most of its words, not counting words that are
    /// English as well. Words in other scripts count twice, because no English request has them. A text
    /// in Latin letters must contain function words of that language, or consist mostly of its words.
    fn detect_language(&self, words: &[&str]) -> Option<Language> {
        let mut counts = vec![LanguageCounts::default(); self.languages];
        for at in 0..words.len() {
            let Some(after) = words.get(at..) else { break };
            let word = after.first().copied().unwrap_or_default();
            let (stop, known) = (stop::is_stop_word(word), is_english(word));
            let mut seen = BTreeMap::new();
            self.for_each_match(after, |entry, _| {
                *seen.entry(entry.language).or_insert(false) |= entry.english.is_empty();
            });
            for (language, is_function) in seen {
                let Some(count) = counts.get_mut(language) else { continue };
                count.shared += usize::from(stop);
                if !known {
                    count.words += if is_latin(word) { 1 } else { 2 };
                    count.function += usize::from(is_function);
                    count.other_script |= !is_latin(word);
                }
            }
        }
        let stops = words.iter().filter(|word| stop::is_stop_word(word)).count();
        let (language, most) = counts
            .iter()
            .enumerate()
            .rev()
            .max_by_key(|(_, count)| (count.words, count.function))?;
        let english = stops.saturating_sub(most.shared);
        let latin = most.words >= MIN_WORDS
            && most.words > english
            && (most.function > 0 || english == 0 && most.words * 3 >= words.len() * 2);
        (most.other_script || latin).then_some(language)
    }

    /// An upper bound on how strongly a word suggests another language: 0 if no entry starts with it,
    /// or if it is a known English word.
    pub(super) fn foreign_weight(&self, word: &str) -> usize {
        if is_english(word) {
            return 0;
        }
        if !is_latin(word) {
            return MIN_WORDS;
        }
        let letters = weaver_text::escape::truncate(word, 4 * MAX_PREFIX);
        let prefix_entries = || {
            prefixes(letters)
                .any(|begin| self.prefix_entries.contains_key(&term_key::of_term(begin)))
        };
        usize::from(
            self.exact_entries.contains_key(&term_key::of_term(letters)) || prefix_entries(),
        )
    }

    /// The longest entry of a language that matches at the beginning of the words.
    fn longest_match(&self, words: &[&str], language: Language) -> Option<EntryMatch<'_>> {
        let mut best: Option<EntryMatch<'_>> = None;
        self.for_each_match(words, |entry, length| {
            let longer = best.as_ref().is_none_or(|best| length > best.length);
            if entry.language == language && longer {
                best = Some(EntryMatch { length, english: &entry.english });
            }
        });
        best
    }

    /// Calls `each` with every entry that matches at the beginning of the words, and its length in
    /// words.
    fn for_each_match<'a>(&'a self, words: &[&str], mut each: impl FnMut(&'a Entry, usize)) {
        let Some((first, after)) = words.split_first() else { return };
        let mut all = |entries: &'a [Entry]| {
            for entry in entries {
                let same = |((word, open), other): (&(Box<str>, bool), &&str)| {
                    if *open { other.starts_with(&**word) } else { **word == **other }
                };
                if after.len() >= entry.rest.len() && entry.rest.iter().zip(after).all(same) {
                    each(entry, 1 + entry.rest.len());
                }
            }
        };
        let get = |table: &'a KeyMap<Vec<Entry>>, word: &str| -> &'a [Entry] {
            table.get(&term_key::of_term(word)).map(Vec::as_slice).unwrap_or_default()
        };
        all(get(&self.exact_entries, first));
        prefixes(first).for_each(|begin| all(get(&self.prefix_entries, begin)));
    }
}

/// The prefixes of a word that may be prefix entries.
fn prefixes(word: &str) -> impl Iterator<Item = &str> {
    let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.take(MAX_PREFIX).skip(MIN_PREFIX - 1).filter_map(|end| word.get(..end))
}

/// Whether the word is a known English word.
fn is_english(word: &str) -> bool {
    stop::is_stop_word(word) || Thesaurus::built_in().contains(term_key::of_term(&stem::stem(word)))
}

/// The words of a whitespace-separated part; none if it is a value recognised by its form.
fn translatable_words(part: &str) -> Vec<String> {
    let types = super::argument_type::ArgumentTypes::classify(part);
    if types.is_empty() { split::words(part) } else { Vec::new() }
}

fn push_word(out: &mut String, word: &str) {
    out.push_str(word);
    out.push(' ');
}

fn is_latin(word: &str) -> bool {
    word.chars().all(|c| u32::from(c) < 0x250)
}

/// Transliterates Cyrillic and Greek letters, so that names and loan words match: `сервер` becomes
/// `server`. Other letters stay.
fn transliterate(word: &str) -> String {
    const CYRILLIC: [&str; 32] = [
        "a", "b", "v", "g", "d", "e", "zh", "z", "i", "y", "k", "l", "m", "n", "o", "p", "r", "s",
        "t", "u", "f", "h", "ts", "ch", "sh", "sch", "", "y", "", "e", "yu", "ya",
    ];
    const GREEK: [&str; 25] = [
        "a", "b", "g", "d", "e", "z", "i", "th", "i", "k", "l", "m", "n", "x", "o", "p", "r", "s",
        "s", "t", "y", "f", "ch", "ps", "o",
    ];
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        let at = |from: char| usize::try_from(u32::from(c).wrapping_sub(u32::from(from))).ok();
        let of = |table: &'static [&str], from| at(from).and_then(|at| table.get(at).copied());
        match of(&CYRILLIC, 'а').or_else(|| of(&GREEK, 'α')) {
            Some(letters) => out.push_str(letters),
            None if c == 'ё' => out.push('e'),
            None => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_other_languages_become_english_words() {
        let english = |text| {
            TranslationTable::built_in()
                .translate(text, |_| false)
                .map(|text| text.trim().to_owned())
        };
        for (text, words) in [
            ("crea una carpeta para las fotos", "create new folder directory image picture"),
            ("创建一个新文件夹", "create new create new folder directory"),
            ("переименуй файл main.rs", "rename move file main.rs"),
            ("wie spät ist es in Tokio", "current time in tokio"),
        ] {
            assert_eq!(english(text).as_deref(), Some(words), "{text}");
        }
        let own =
            TranslationTable::built_in().translate("busca la carpeta", |word| word == "carpeta");
        assert_eq!(own.as_deref().map(str::trim), Some("find search carpeta folder directory"));
        assert_eq!(
            (transliterate("сервер"), transliterate("σερβερ")),
            ("server".into(), "serber".into())
        );
    }

    #[test]
    fn what_is_read_as_another_language_has_words_that_look_like_it() {
        let lexicon = TranslationTable::built_in();
        let weight = |text: &str| {
            split::words(text).iter().map(|word| lexicon.foreign_weight(word)).sum::<usize>()
        };
        for text in ["crea una carpeta para las fotos", "暂停音乐", "baisse le son", "включи свет"]
        {
            assert!(lexicon.translate(text, |_| false).is_some(), "{text}");
            assert!(weight(text) >= MIN_WORDS, "{text}");
        }
        assert_eq!(weight("show me the page and read it"), 0);
    }

    #[test]
    fn english_stays_as_it_is() {
        for text in [
            "show me what is in main.rs",
            "the main crew can come to a sale on the die",
            "send an email to Maria de la Cruz",
            "book a table in El Paso",
            "Los Angeles weather",
            "",
        ] {
            assert_eq!(TranslationTable::built_in().translate(text, |_| false), None, "{text}");
        }
    }
}
