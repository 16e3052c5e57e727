//! The most common words of requests in other languages, as the English words that tools are
//! described in. And words of other scripts letter by letter, for what is the same in both.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use weaver_text::{split, stem, stop};

use super::hashing::KeyMap;
use super::key;
use super::thesaurus::Thesaurus;

const BUILT_IN: &str = include_str!("../../assets/languages.txt");
/// Fewest letters that an entry for any ending has: shorter words are not looked for in parts.
const MIN_STEM: usize = 2;
/// Most letters of a word that are looked for as the begin of an entry.
const MAX_STEM: usize = 16;
/// Words of a language that are needed before a text in Latin letters is taken to be in it.
pub(super) const MIN_WORDS: usize = 2;

/// The number of a language.
type Language = usize;

/// One entry of one language.
#[derive(Debug)]
struct Entry {
    language: Language,
    /// The words that follow the first, each with whether it may have any ending.
    rest: Vec<(Box<str>, bool)>,
    /// The English words; none where it stands for nothing in a search.
    english: Vec<Box<str>>,
}

/// A table of words.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    /// By the first word of an entry.
    whole: KeyMap<Vec<Entry>>,
    /// The same of those whose first word may have any ending.
    begun: KeyMap<Vec<Entry>>,
    languages: usize,
}

/// What a text has of one language.
#[derive(Debug, Clone, Default)]
struct LanguageEvidence {
    /// Words that are not English too.
    words: usize,
    /// Those of them that stand for nothing in a search.
    function: usize,
    /// Words that stand for nothing in English either.
    shared: usize,
    other_script: bool,
}

/// What stands in the place of words of a request.
#[derive(Debug, PartialEq, Eq)]
struct EntryMatch<'a> {
    length: usize,
    english: &'a [Box<str>],
}

impl Lexicon {
    /// The built-in one.
    pub(super) fn built_in() -> &'static Self {
        static READ: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::parse(BUILT_IN));
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
        let entries = if *open { &mut self.begun } else { &mut self.whole };
        let entry = Entry { language, rest: rest.to_vec(), english };
        entries.entry(key::of(first)).or_default().push(entry);
    }

    /// The request in English, as far as its words are known: nothing where it is in no other
    /// language. What is known by its form stays as it is, and so do unknown words; those of other
    /// scripts that can be spelt with Latin letters are. A word that items have stays too.
    pub(super) fn english(&self, text: &str, has: impl Fn(&str) -> bool) -> Option<String> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let words: Vec<Vec<String>> = parts.iter().map(|part| self::words(part)).collect();
        let flat: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
        let language = self.language(&flat)?;
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
                let met = self.longest(after, language);
                let length = met.as_ref().map_or(1, |met| met.length);
                let own = after.iter().take(length);
                own.filter(|word| has(word)).for_each(|word| push(&mut out, word));
                match met {
                    Some(met) => met.english.iter().for_each(|word| push(&mut out, word)),
                    None => push(&mut out, &latin(after.first().copied().unwrap_or_default())),
                }
                at += length;
            }
        }
        Some(out)
    }

    /// The language of a text: the one with most of its words, not counting those that are English
    /// too. Words of other scripts count for two, as no English request has them. A text in Latin
    /// letters must have words of that language without meaning, or hardly any that it does not have.
    fn language(&self, words: &[&str]) -> Option<Language> {
        let mut counts = vec![LanguageEvidence::default(); self.languages];
        for at in 0..words.len() {
            let Some(after) = words.get(at..) else { break };
            let word = after.first().copied().unwrap_or_default();
            let (stop, known) = (stop::is_stop_word(word), is_english(word));
            let mut seen = BTreeMap::new();
            self.entries(after, |entry, _| {
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

    /// How much a word counts for a text being in another language, at the most: nothing where it
    /// begins no entry, or is an English word that requests have.
    pub(super) fn weight(&self, word: &str) -> usize {
        if is_english(word) {
            return 0;
        }
        if !is_latin(word) {
            return MIN_WORDS;
        }
        let letters = weaver_text::escape::truncate(word, 4 * MAX_STEM);
        let begun = || begins(letters).any(|begin| self.begun.contains_key(&key::of(begin)));
        usize::from(self.whole.contains_key(&key::of(letters)) || begun())
    }

    /// The longest entry of a language that the words begin with.
    fn longest(&self, words: &[&str], language: Language) -> Option<EntryMatch<'_>> {
        let mut best: Option<EntryMatch<'_>> = None;
        self.entries(words, |entry, length| {
            let longer = best.as_ref().is_none_or(|best| length > best.length);
            if entry.language == language && longer {
                best = Some(EntryMatch { length, english: &entry.english });
            }
        });
        best
    }

    /// Calls with each entry that the words begin with, and of how many words it is.
    fn entries<'a>(&'a self, words: &[&str], mut each: impl FnMut(&'a Entry, usize)) {
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
            table.get(&key::of(word)).map(Vec::as_slice).unwrap_or_default()
        };
        all(get(&self.whole, first));
        begins(first).for_each(|begin| all(get(&self.begun, begin)));
    }
}

/// What stands for the begin of an entry with any ending.
fn begins(word: &str) -> impl Iterator<Item = &str> {
    let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.take(MAX_STEM).skip(MIN_STEM - 1).filter_map(|end| word.get(..end))
}

/// Whether requests in English have the word.
fn is_english(word: &str) -> bool {
    stop::is_stop_word(word) || Thesaurus::built_in().knows(key::of(&stem::stem(word)))
}

/// The words of a part between blanks; none where it is known by its form.
fn words(part: &str) -> Vec<String> {
    let types = super::argument_type::ArgumentTypes::of_word(part);
    if types.is_none() { split::words(part) } else { Vec::new() }
}

fn push(out: &mut String, word: &str) {
    out.push_str(word);
    out.push(' ');
}

fn is_latin(word: &str) -> bool {
    word.chars().all(|c| u32::from(c) < 0x250)
}

/// A word of Cyrillic or Greek letters in Latin ones, so that names and loan words are found:
/// `сервер` is `server`. Others stay as they are.
fn latin(word: &str) -> String {
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
        let english =
            |text| Lexicon::built_in().english(text, |_| false).map(|text| text.trim().to_owned());
        for (text, words) in [
            ("crea una carpeta para las fotos", "create new folder directory image picture"),
            ("创建一个新文件夹", "create new create new folder directory"),
            ("переименуй файл main.rs", "rename move file main.rs"),
            ("wie spät ist es in Tokio", "current time in tokio"),
        ] {
            assert_eq!(english(text).as_deref(), Some(words), "{text}");
        }
        let own = Lexicon::built_in().english("busca la carpeta", |word| word == "carpeta");
        assert_eq!(own.as_deref().map(str::trim), Some("find search carpeta folder directory"));
        assert_eq!((latin("сервер"), latin("σερβερ")), ("server".into(), "serber".into()));
    }

    #[test]
    fn what_is_read_as_another_language_has_words_that_look_like_it() {
        let lexicon = Lexicon::built_in();
        let weight =
            |text: &str| split::words(text).iter().map(|word| lexicon.weight(word)).sum::<usize>();
        for text in ["crea una carpeta para las fotos", "暂停音乐", "baisse le son", "включи свет"]
        {
            assert!(lexicon.english(text, |_| false).is_some(), "{text}");
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
            assert_eq!(Lexicon::built_in().english(text, |_| false), None, "{text}");
        }
    }
}
