//! Field names that say something of their value: that it is sensitive, or what it is.

mod names;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use weaver_text::split;
use weaver_types::SensitivityTag;

use super::lexicon::Lexicon;

/// The part of a name that is looked at, from its end, in bytes.
const MAX_NAME: usize = 256;
/// The most words of one entry in the lists.
const MAX_WORDS: usize = 5;
/// How many names are remembered.
const MAX_KNOWN: usize = 4_096;

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Meaning {
    /// The value is never shown, whatever it is.
    pub(crate) hidden: bool,
    /// The name holds a word that rules look for near a value.
    pub(crate) context: bool,
    /// Nothing in the name itself is masked.
    pub(crate) clean: bool,
    /// Nor is anything found in it where it is shown, and it is shown as it is.
    pub(crate) plain: bool,
}

/// What names mean, for results with certain tags. Remembers names, so that the rows of a table
/// cost one look-up a field.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tags: BTreeSet<SensitivityTag>,
    known: BTreeMap<String, Meaning>,
}

impl Names {
    /// Names in a result with these tags.
    pub(crate) fn tagged(tags: BTreeSet<SensitivityTag>) -> Self {
        Self { tags, known: BTreeMap::new() }
    }

    /// Names that an operator listed as allowed mean no more than they do without a tag.
    pub(crate) fn listed<'n>(mut self, names: impl IntoIterator<Item = &'n String>) -> Self {
        for name in names.into_iter().take(MAX_KNOWN) {
            self.known.insert(name.clone(), meaning(name, &BTreeSet::new()));
        }
        self
    }

    /// Remembers what was learned of a name, if the name is remembered.
    pub(crate) fn remember(&mut self, name: &str, meaning: Meaning) {
        if let Some(known) = self.known.get_mut(name) {
            *known = meaning;
        } else if self.known.len() < MAX_KNOWN && name.len() <= MAX_NAME {
            self.known.insert(name.to_owned(), meaning);
        }
    }

    pub(crate) fn of(&mut self, name: &str) -> Meaning {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        // What one word means is told as fast as it is remembered.
        if is_word(name) {
            return meaning_of_word(name, &self.tags);
        }
        let meaning = meaning(name, &self.tags);
        self.remember(name, meaning);
        meaning
    }
}

/// True when a value under this name is never shown, whatever it is.
///
/// Matches by the end of the name, split into words: `user_email` and `apiKey` are sensitive,
/// `token_count`, `max_tokens`, `email_verified` and `next_page_token` are not.
#[cfg(test)]
pub(crate) fn is_sensitive(name: &str) -> bool {
    meaning(name, &BTreeSet::new()).hidden
}

fn meaning(name: &str, tags: &BTreeSet<SensitivityTag>) -> Meaning {
    let name = tail(name);
    // Most names are one word, which need not be split.
    if is_word(name) {
        return meaning_of_word(name, tags);
    }
    let mut words = split::identifier(name);
    while words.last().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
        words.pop();
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    meaning_of(&words, tags)
}

/// True for a name of lower-case letters alone.
fn is_word(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The lists that a single word can be on, as bits of [`WORDS`].
const CONTEXT: u8 = 1;
const ENDING: u8 = 2;
const GLUED: u8 = 4;
const PLAIN: u8 = 8;

/// The words of all lists.
static WORDS: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut lexicon = Lexicon::default();
    for (words, bit) in [
        (names::CONTEXT, CONTEXT),
        (names::ENDINGS, ENDING),
        (names::GLUED, GLUED),
        (names::PLAIN, PLAIN),
        (names::PII, bit(SensitivityTag::Pii)),
        (names::PCI, bit(SensitivityTag::Pci)),
        (names::SECRETS, bit(SensitivityTag::Secrets)),
    ] {
        words.iter().for_each(|word| lexicon.add(word, bit));
    }
    lexicon
});

/// The list of a tag, as a bit.
fn bit(tag: SensitivityTag) -> u8 {
    match tag {
        SensitivityTag::Memory => 0,
        SensitivityTag::Pii => 16,
        SensitivityTag::Pci => 32,
        SensitivityTag::Secrets => 64,
    }
}

/// What [`meaning_of`] says of one word of lower-case letters, in one walk over it.
fn meaning_of_word(word: &str, tags: &BTreeSet<SensitivityTag>) -> Meaning {
    let found = WORDS.look(word.as_bytes());
    let sensitive = tags.iter().fold(ENDING, |bits, tag| bits | bit(*tag));
    let ends = found.whole & sensitive != 0 || found.ends & GLUED != 0;
    let hidden = ends && found.whole & PLAIN == 0;
    Meaning { hidden, context: found.whole & CONTEXT != 0, ..Meaning::default() }
}

fn meaning_of(words: &[&str], tags: &BTreeSet<SensitivityTag>) -> Meaning {
    let context = words.iter().any(|word| names::CONTEXT.binary_search(word).is_ok());
    Meaning { hidden: hidden(words, tags), context, ..Meaning::default() }
}

fn hidden(words: &[&str], tags: &BTreeSet<SensitivityTag>) -> bool {
    let asks = words.first().is_some_and(|word| names::QUESTIONS.contains(word));
    if asks && words.len() > 1 || ends_in(words, names::PLAIN) {
        return false;
    }
    let glued = glued(words, "");
    ends_in(words, names::ENDINGS)
        || names::GLUED.iter().any(|ending| glued.ends_with(ending))
        || tags.iter().any(|tag| ends_in(words, more(*tag)))
}

/// The words with something between them; a single one as it is.
fn glued<'w>(words: &[&'w str], between: &str) -> Cow<'w, str> {
    match words {
        [word] => Cow::Borrowed(word),
        words => Cow::Owned(words.join(between)),
    }
}

/// What is sensitive beyond the ordinary in results with this tag.
fn more(tag: SensitivityTag) -> &'static [&'static str] {
    match tag {
        SensitivityTag::Memory => &[],
        SensitivityTag::Pii => names::PII,
        SensitivityTag::Pci => names::PCI,
        SensitivityTag::Secrets => names::SECRETS,
    }
}

/// True when the last words are an entry of the sorted list.
fn ends_in(words: &[&str], list: &[&str]) -> bool {
    (1..=MAX_WORDS.min(words.len())).any(|count| {
        let last = glued(words.get(words.len() - count..).unwrap_or_default(), " ");
        list.binary_search(&&*last).is_ok()
    })
}

/// The end of a name, at a character's border.
fn tail(name: &str) -> &str {
    let from = name.len().saturating_sub(MAX_NAME);
    (from..name.len()).find_map(|at| name.get(at..)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_matched_by_their_end() {
        for name in [
            "email",
            "user_email",
            "userEmail",
            "useremail",
            "Email-Address",
            "E-Mail",
            "apiKey",
            "API_KEY",
            "x-api-key",
            "Authorization",
            "Proxy-Authorization",
            "password",
            "userPassword",
            "userpassword",
            "password_hash",
            "DB_PASSWORD",
            "passwd",
            "card_number",
            "cardNumber",
            "ssn",
            "SSN",
            "cvv",
            "cvv2",
            "token",
            "access_token",
            "accesstoken",
            "aws_secret_access_key",
            "secret",
            "client_secret",
            "phone1",
            "email_2",
            "set-cookie",
            "sessionId",
            "pass\u{200b}word",
            "ｐａｓｓｗｏｒｄ",
            &format!("{}.password", "x".repeat(5_000)),
        ] {
            assert!(is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_speak_of_it_are_shown() {
        for name in [
            "token_count",
            "max_tokens",
            "total_tokens",
            "total tokens",
            "tokens",
            "next_page_token",
            "nextPageToken",
            "pageToken",
            "email_verified",
            "has_password",
            "is_secret",
            "password_length",
            "phone_type",
            "secretary",
            "id",
            "name",
            "compass",
            "author",
            "",
            "card",
            "key",
            "value",
            "address",
            "price_per_token",
        ] {
            assert!(!is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn a_tag_makes_more_names_sensitive_unless_they_are_listed() {
        let mut plain = Names::default();
        for (tag, name) in [
            (SensitivityTag::Pii, "first_name"),
            (SensitivityTag::Pii, "home_address"),
            (SensitivityTag::Pci, "expiryDate"),
            (SensitivityTag::Pci, "PAN"),
            (SensitivityTag::Secrets, "SecretString"),
            (SensitivityTag::Secrets, "value"),
        ] {
            assert!(!plain.of(name).hidden, "{name}");
            assert!(Names::tagged(BTreeSet::from([tag])).of(name).hidden, "{name}");
            let listed = [name.to_owned(), "email".to_owned()];
            let mut names = Names::tagged(BTreeSet::from([tag])).listed(&listed);
            assert!(!names.of(name).hidden, "{name}");
            assert!(names.of("email").hidden);
        }
        let mut memory = Names::tagged(BTreeSet::from([SensitivityTag::Memory]));
        assert!(!memory.of("value").hidden && memory.of("token").hidden);
    }

    #[test]
    fn some_names_say_what_their_value_is() {
        let mut names = Names::default();
        for name in ["passport", "taxReference", "nhs_no", "account_ref"] {
            assert!(names.of(name).context, "{name}");
        }
        for name in ["title", "status", "created_at", "keyboard"] {
            assert!(!names.of(name).context, "{name}");
        }
    }

    proptest! {
        #[test]
        fn one_word_means_what_it_means_among_words(
            (before, word) in ("[a-z]{0,3}", 0..all().len()),
            after in "|[a-z]",
            tags: [bool; 4],
        ) {
            use SensitivityTag::{Memory, Pci, Pii, Secrets};
            let word = all().get(word).copied().unwrap_or_default();
            let name = format!("{before}{word}{after}");
            let tags = [Memory, Pii, Pci, Secrets].into_iter().zip(tags);
            let tags = tags.filter(|(_, with)| *with).map(|(tag, _)| tag).collect();
            prop_assert_eq!(meaning_of_word(&name, &tags), meaning_of(&[&name], &tags));
        }
    }

    /// The single words of all lists, and no word.
    fn all() -> Vec<&'static str> {
        let lists = [
            names::ENDINGS,
            names::GLUED,
            names::PLAIN,
            names::QUESTIONS,
            names::CONTEXT,
            names::PII,
            names::PCI,
            names::SECRETS,
        ];
        let words = lists.concat().into_iter().filter(|word| !word.contains(' '));
        std::iter::once("").chain(words).collect()
    }

    #[test]
    fn the_lists_are_sorted() {
        for list in
            [names::ENDINGS, names::PLAIN, names::CONTEXT, names::PII, names::PCI, names::SECRETS]
        {
            assert!(list.is_sorted(), "{list:?}");
            assert!(list.iter().all(|name| name.split(' ').count() <= MAX_WORDS));
        }
    }
}
