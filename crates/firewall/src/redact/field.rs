//! Field names that say something of their value: that it is sensitive, or what it is.

mod names;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use weaver_text::split;
use weaver_types::{SensitivityTag, ValueFamily};

use super::disclosure::Disclosure;
use super::lexicon::Lexicon;

/// The part of a name that is looked at, from its end, in bytes.
const MAX_NAME: usize = 256;
/// The most words of one entry in the lists.
const MAX_WORDS: usize = 5;
/// How many names are remembered.
const MAX_KNOWN: usize = 4_096;

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FieldMeaning {
    /// Why the value is never shown, whatever it is.
    pub(crate) hidden: Option<HiddenBy>,
    /// The name holds a word that rules look for near a value.
    pub(crate) context: bool,
    /// Nothing in the name itself is masked.
    pub(crate) clean: bool,
    /// Nor is anything found in it where it is shown, and it is shown as it is.
    pub(crate) shown_unchanged: bool,
}

/// Why a name hides its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenBy {
    /// It is the name of a secret.
    Secret,
    /// It is the name of personal data, of this kind where the name says so.
    Personal(Option<&'static str>),
}

impl HiddenBy {
    /// The family of the values that it hides.
    pub(crate) fn family(self) -> ValueFamily {
        match self {
            Self::Secret => ValueFamily::Secret,
            Self::Personal(_) => ValueFamily::Personal,
        }
    }
}

/// What names mean, for results with certain tags. Remembers names, so that the rows of a table
/// cost one look-up a field.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tags: BTreeSet<SensitivityTag>,
    /// Names that mean no more than they do without a tag.
    listed: BTreeSet<String>,
    disclosure: Disclosure,
    known: BTreeMap<String, FieldMeaning>,
}

impl Names {
    /// Names in a result with these tags.
    pub(crate) fn tagged(tags: BTreeSet<SensitivityTag>) -> Self {
        Self { tags, ..Self::default() }
    }

    /// Names that an operator listed as allowed mean no more than they do without a tag.
    pub(crate) fn listed<'n>(mut self, names: impl IntoIterator<Item = &'n String>) -> Self {
        self.listed.extend(names.into_iter().take(MAX_KNOWN).cloned());
        self.known.clear();
        self
    }

    /// Names of personal data that may be seen hide nothing.
    pub(crate) fn showing(mut self, disclosure: &Disclosure) -> Self {
        if self.disclosure != *disclosure {
            self.disclosure = disclosure.clone();
            self.known.clear();
        }
        self
    }

    /// Remembers what was learned of a name, if the name is remembered.
    pub(crate) fn remember(&mut self, name: &str, meaning: FieldMeaning) {
        if let Some(known) = self.known.get_mut(name) {
            *known = meaning;
        } else if self.known.len() < MAX_KNOWN && name.len() <= MAX_NAME {
            self.known.insert(name.to_owned(), meaning);
        }
    }

    pub(crate) fn of(&mut self, name: &str) -> FieldMeaning {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let tags = if self.listed.contains(name) { &NO_TAGS } else { &self.tags };
        // What one word means is told as fast as it is remembered.
        if is_word(name) {
            return meaning_of_word(name, tags, &self.disclosure);
        }
        let meaning = meaning(name, tags, &self.disclosure);
        self.remember(name, meaning);
        meaning
    }
}

static NO_TAGS: BTreeSet<SensitivityTag> = BTreeSet::new();

/// True when a value under this name is never shown, whatever it is.
///
/// Matches by the end of the name, split into words: `user_email` and `apiKey` are sensitive,
/// `token_count`, `max_tokens`, `email_verified` and `next_page_token` are not.
#[cfg(test)]
pub(crate) fn is_sensitive(name: &str) -> bool {
    meaning(name, &NO_TAGS, &Disclosure::Nothing).hidden.is_some()
}

fn meaning(name: &str, tags: &BTreeSet<SensitivityTag>, disclosure: &Disclosure) -> FieldMeaning {
    let name = tail(name);
    // Most names are one word, which need not be split.
    if is_word(name) {
        return meaning_of_word(name, tags, disclosure);
    }
    let mut words = split::identifier(name);
    while words.last().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
        words.pop();
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    meaning_of(&words, tags, disclosure)
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
    names::PERSONAL_ENDINGS.iter().for_each(|(word, _)| lexicon.add(word, ENDING));
    names::PERSONAL_GLUED.iter().for_each(|(word, _)| lexicon.add(word, GLUED));
    for (words, bit) in [
        (names::CONTEXT, CONTEXT),
        (names::SECRET_ENDINGS, ENDING),
        (names::SECRET_GLUED, GLUED),
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
fn meaning_of_word(
    word: &str,
    tags: &BTreeSet<SensitivityTag>,
    disclosure: &Disclosure,
) -> FieldMeaning {
    let found = WORDS.look(word.as_bytes());
    let sensitive = tags.iter().fold(ENDING, |bits, tag| bits | bit(*tag));
    let ends = found.whole & sensitive != 0 || found.ends & GLUED != 0;
    // Few words hide anything: only those are looked up once more, for what may be shown of them.
    let may = ends && found.whole & PLAIN == 0;
    let hidden = if may { hides(&[word], tags, disclosure) } else { None };
    FieldMeaning { hidden, context: found.whole & CONTEXT != 0, ..FieldMeaning::default() }
}

fn meaning_of(
    words: &[&str],
    tags: &BTreeSet<SensitivityTag>,
    disclosure: &Disclosure,
) -> FieldMeaning {
    let context = words.iter().any(|word| names::CONTEXT.binary_search(word).is_ok());
    FieldMeaning { hidden: hides(words, tags, disclosure), context, ..FieldMeaning::default() }
}

fn hides(
    words: &[&str],
    tags: &BTreeSet<SensitivityTag>,
    disclosure: &Disclosure,
) -> Option<HiddenBy> {
    hidden_by(words, tags).filter(|by| !disclosure.shows_named(*by))
}

/// Why the value under a name is hidden, if it is. The name of a secret goes first.
fn hidden_by(words: &[&str], tags: &BTreeSet<SensitivityTag>) -> Option<HiddenBy> {
    let asks = words.first().is_some_and(|word| names::QUESTIONS.contains(word));
    if asks && words.len() > 1 || ends_in(words, names::PLAIN) {
        return None;
    }
    let glued = glued(words, "");
    let tagged = |tag: SensitivityTag| tags.contains(&tag) && ends_in(words, more(tag));
    if ends_in(words, names::SECRET_ENDINGS)
        || names::SECRET_GLUED.iter().any(|ending| glued.ends_with(ending))
        || tagged(SensitivityTag::Secrets)
    {
        return Some(HiddenBy::Secret);
    }
    let personal = ending_of(words, names::PERSONAL_ENDINGS).or_else(|| {
        let ending = names::PERSONAL_GLUED.iter().find(|(ending, _)| glued.ends_with(ending));
        ending.map(|(_, kind)| *kind)
    });
    if personal.is_some() {
        return Some(HiddenBy::Personal(personal));
    }
    let is_tagged = tagged(SensitivityTag::Pii) || tagged(SensitivityTag::Pci);
    is_tagged.then(|| HiddenBy::Personal(ending_of(words, names::TAGGED_KINDS)))
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
    endings(words).any(|last| list.binary_search(&&*last).is_ok())
}

/// The kind that the sorted list gives to the last words, if they are an entry.
fn ending_of(words: &[&str], list: &[(&'static str, &'static str)]) -> Option<&'static str> {
    endings(words).find_map(|last| {
        let at = list.binary_search_by_key(&&*last, |(name, _)| *name).ok()?;
        list.get(at).map(|(_, kind)| *kind)
    })
}

/// The last word, the last two words, and so on.
fn endings<'w>(words: &'w [&'w str]) -> impl Iterator<Item = Cow<'w, str>> {
    (1..=MAX_WORDS.min(words.len()))
        .map(|count| glued(words.get(words.len() - count..).unwrap_or_default(), " "))
}

/// The end of a name, at a character's border.
fn tail(name: &str) -> &str {
    let from = name.len().saturating_sub(MAX_NAME);
    (from..name.len()).find_map(|at| name.get(at..)).unwrap_or(name)
}
