//! Classifies field names: whether a name marks its value as sensitive, and what kind of value it
//! suggests.

mod name_lists;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use weaver_text::split;
use weaver_types::{SensitivityTag, ValueFamily};

use super::disclosure::Disclosure;
use super::secrets::name_words;
use super::secrets::secret_name::{self, SecretKind};
use super::word_ending_trie::WordEndingTrie;

/// How much of a name is examined, from its end, in bytes.
const MAX_NAME: usize = 256;
/// The most words of one list entry.
const MAX_WORDS: usize = 5;
/// How many names are cached.
const MAX_KNOWN: usize = 4_096;

/// What a field name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FieldMeaning {
    /// Why the value is never shown; `None` if it may be.
    pub(crate) hidden_by: Option<HiddenBy>,
    /// The kind of secret that the name announces in a text, as in `name: value`.
    pub(crate) secret_kind: Option<SecretKind>,
    /// The name contains a word that rules look for near a value.
    pub(crate) has_context_word: bool,
    /// No rule matches in the name itself.
    pub(crate) has_no_detections: bool,
    /// Moreover, the name is shown unchanged and has no findings.
    pub(crate) shown_unchanged: bool,
}

/// Why a name hides its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenBy {
    /// It names a secret.
    Secret,
    /// It names personal data, of this kind if the name says so.
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

/// Classifies field names for results with certain tags. Caches names, so that each row of a table
/// costs one lookup per field.
#[derive(Debug, Default)]
pub(crate) struct FieldNameClassifier {
    tags: BTreeSet<SensitivityTag>,
    /// Names that are classified as if the result had no tags.
    operator_allowed: BTreeSet<String>,
    disclosure: Disclosure,
    cache: BTreeMap<String, FieldMeaning>,
}

impl FieldNameClassifier {
    /// A classifier for results with these tags.
    pub(crate) fn with_tags(tags: BTreeSet<SensitivityTag>) -> Self {
        Self { tags, ..Self::default() }
    }

    /// Exempts names that an operator listed as allowed from the stricter rules of the tags.
    pub(crate) fn with_operator_allowed<'n>(
        mut self,
        names: impl IntoIterator<Item = &'n String>,
    ) -> Self {
        self.operator_allowed.extend(names.into_iter().take(MAX_KNOWN).cloned());
        self.cache.clear();
        self
    }

    /// Names of personal data that the reader may see hide nothing.
    pub(crate) fn with_disclosure(mut self, disclosure: &Disclosure) -> Self {
        if self.disclosure != *disclosure {
            self.disclosure = disclosure.clone();
            self.cache.clear();
        }
        self
    }

    /// Caches what was learned about a name, if there is room.
    pub(crate) fn remember(&mut self, name: &str, meaning: FieldMeaning) {
        if let Some(known) = self.cache.get_mut(name) {
            *known = meaning;
        } else if self.cache.len() < MAX_KNOWN && name.len() <= MAX_NAME {
            self.cache.insert(name.to_owned(), meaning);
        }
    }

    pub(crate) fn classify(&mut self, name: &str) -> FieldMeaning {
        if let Some(known) = self.cache.get(name) {
            return *known;
        }
        let tags = if self.operator_allowed.contains(name) { &NO_TAGS } else { &self.tags };
        // Classifying a single word is as fast as a cache lookup.
        if is_lowercase_word(name) {
            return classify_word(name, tags, &self.disclosure);
        }
        let meaning = classify_name(name, tags, &self.disclosure);
        self.remember(name, meaning);
        meaning
    }
}

static NO_TAGS: BTreeSet<SensitivityTag> = BTreeSet::new();

/// True if a value under this name is never shown.
///
/// Compares the last words of the name: `user_email` and `apiKey` are sensitive, `token_count`,
/// `max_tokens`, `email_verified` and `next_page_token` are not.
#[cfg(test)]
pub(crate) fn is_sensitive(name: &str) -> bool {
    classify_name(name, &NO_TAGS, &Disclosure::Nothing).hidden_by.is_some()
}

fn classify_name(
    name: &str,
    tags: &BTreeSet<SensitivityTag>,
    disclosure: &Disclosure,
) -> FieldMeaning {
    let name = name_tail(name);
    // Most names are a single word and need no splitting.
    if is_lowercase_word(name) {
        return classify_word(name, tags, disclosure);
    }
    let mut words = split::identifier(name);
    while words.last().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
        words.pop();
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    FieldMeaning {
        secret_kind: secret_name::secret_kind(name.as_bytes()),
        ..classify_words(&words, tags, disclosure)
    }
}

/// True for a name of lower-case letters only.
fn is_lowercase_word(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The lists that a single word can be on, as bits of [`WORD_LEXICON`].
const CONTEXT_WORD: u8 = 1;
const SENSITIVE_ENDING: u8 = 2;
const GLUED_ENDING: u8 = 4;
const HARMLESS: u8 = 8;

/// The words of all lists.
static WORD_LEXICON: LazyLock<WordEndingTrie> = LazyLock::new(|| {
    let mut lexicon = WordEndingTrie::default();
    name_lists::PERSONAL_ENDINGS.iter().for_each(|(word, _)| lexicon.add(word, SENSITIVE_ENDING));
    name_lists::PERSONAL_GLUED.iter().for_each(|(word, _)| lexicon.add(word, GLUED_ENDING));
    for (words, bit) in [
        (name_lists::CONTEXT_WORDS, CONTEXT_WORD),
        (name_lists::SECRET_ENDINGS, SENSITIVE_ENDING),
        (name_lists::SECRET_GLUED, GLUED_ENDING),
        (name_words::PASSWORD_ENDINGS, GLUED_ENDING),
        (name_lists::HARMLESS_ENDINGS, HARMLESS),
        (name_lists::PII_ENDINGS, tag_bit(SensitivityTag::Pii)),
        (name_lists::PCI_ENDINGS, tag_bit(SensitivityTag::Pci)),
        (name_lists::SECRETS_TAG_ENDINGS, tag_bit(SensitivityTag::Secrets)),
    ] {
        words.iter().for_each(|word| lexicon.add(word, bit));
    }
    lexicon
});

/// The bit of a tag's list.
fn tag_bit(tag: SensitivityTag) -> u8 {
    match tag {
        SensitivityTag::Memory => 0,
        SensitivityTag::Pii => 16,
        SensitivityTag::Pci => 32,
        SensitivityTag::Secrets => 64,
    }
}

/// Like [`classify_words`] for one lower-case word, in one walk over it.
fn classify_word(
    word: &str,
    tags: &BTreeSet<SensitivityTag>,
    disclosure: &Disclosure,
) -> FieldMeaning {
    let found = WORD_LEXICON.lookup(word.as_bytes());
    let sensitive = tags.iter().fold(SENSITIVE_ENDING, |bits, tag| bits | tag_bit(*tag));
    let ends = found.of_word & sensitive != 0 || found.of_endings & GLUED_ENDING != 0;
    // Few words hide anything; only for those is the disclosure checked.
    let may = ends && found.of_word & HARMLESS == 0;
    let hidden = if may { hidden_after_disclosure(&[word], tags, disclosure) } else { None };
    FieldMeaning {
        hidden_by: hidden,
        secret_kind: secret_name::secret_kind(word.as_bytes()),
        has_context_word: found.of_word & CONTEXT_WORD != 0,
        ..FieldMeaning::default()
    }
}

fn classify_words(
    words: &[&str],
    tags: &BTreeSet<SensitivityTag>,
    disclosure: &Disclosure,
) -> FieldMeaning {
    let context = words.iter().any(|word| name_lists::CONTEXT_WORDS.binary_search(word).is_ok());
    FieldMeaning {
        hidden_by: hidden_after_disclosure(words, tags, disclosure),
        secret_kind: secret_name::secret_kind(joined(words, " ").as_bytes()),
        has_context_word: context,
        ..FieldMeaning::default()
    }
}

fn hidden_after_disclosure(
    words: &[&str],
    tags: &BTreeSet<SensitivityTag>,
    disclosure: &Disclosure,
) -> Option<HiddenBy> {
    hidden_by(words, tags).filter(|by| !disclosure.may_show_field(*by))
}

/// Why the value under a name is hidden, if it is.
///
/// Exceptions come first, then secrets, then personal data: a name on both lists counts as a
/// secret, which no contract can disclose.
fn hidden_by(words: &[&str], tags: &BTreeSet<SensitivityTag>) -> Option<HiddenBy> {
    let asks = words.first().is_some_and(|word| name_lists::QUESTION_WORDS.contains(word));
    if asks && words.len() > 1 || ends_with_entry(words, name_lists::HARMLESS_ENDINGS) {
        return None;
    }
    let glued = joined(words, "");
    let tagged =
        |tag: SensitivityTag| tags.contains(&tag) && ends_with_entry(words, tagged_names(tag));
    if ends_with_secret(words, &glued)
        || tagged(SensitivityTag::Secrets)
        || words.split_last().is_some_and(|(last, rest)| is_qualified_secret(rest, last))
    {
        return Some(HiddenBy::Secret);
    }
    let personal = kind_by_ending(words, name_lists::PERSONAL_ENDINGS).or_else(|| {
        let ending = name_lists::PERSONAL_GLUED.iter().find(|(ending, _)| glued.ends_with(ending));
        ending.map(|(_, kind)| *kind)
    });
    if personal.is_some() {
        return Some(HiddenBy::Personal(personal));
    }
    let is_tagged = tagged(SensitivityTag::Pii) || tagged(SensitivityTag::Pci);
    is_tagged.then(|| HiddenBy::Personal(kind_by_ending(words, name_lists::TAGGED_KINDS)))
}

/// True for words that end in the name of a secret, in any language; `glued` are the words without
/// blanks.
fn ends_with_secret(words: &[&str], glued: &str) -> bool {
    ends_with_entry(words, name_lists::SECRET_ENDINGS)
        || name_lists::SECRET_GLUED.iter().any(|ending| glued.ends_with(ending))
        || secret_name::ends_with_password(glued.as_bytes())
}

/// True for the name of a secret before a word that says which of several it is: `password_prod`,
/// `secretValue`, `secret_key_base`.
fn is_qualified_secret(words: &[&str], qualifier: &str) -> bool {
    secret_name::is_qualifier(qualifier.as_bytes())
        && !ends_with_entry(words, name_lists::HARMLESS_ENDINGS)
        && !secret_name::is_public(joined(words, " ").as_bytes())
        && ends_with_secret(words, &joined(words, ""))
        || qualifier == "base" && words.ends_with(&["secret", "key"])
}

/// The words joined by a separator; a single word unchanged.
fn joined<'w>(words: &[&'w str], between: &str) -> Cow<'w, str> {
    match words {
        [word] => Cow::Borrowed(word),
        words => Cow::Owned(words.join(between)),
    }
}

/// The endings that are sensitive only in results with this tag.
fn tagged_names(tag: SensitivityTag) -> &'static [&'static str] {
    match tag {
        SensitivityTag::Memory => &[],
        SensitivityTag::Pii => name_lists::PII_ENDINGS,
        SensitivityTag::Pci => name_lists::PCI_ENDINGS,
        SensitivityTag::Secrets => name_lists::SECRETS_TAG_ENDINGS,
    }
}

/// True if the last words are an entry of the sorted list.
fn ends_with_entry(words: &[&str], list: &[&str]) -> bool {
    endings(words).any(|last| list.binary_search(&&*last).is_ok())
}

/// The kind of the sorted list's entry for the last words, if there is one.
fn kind_by_ending(words: &[&str], list: &[(&'static str, &'static str)]) -> Option<&'static str> {
    endings(words).find_map(|last| {
        let at = list.binary_search_by_key(&&*last, |(name, _)| *name).ok()?;
        list.get(at).map(|(_, kind)| *kind)
    })
}

/// The last word, the last two words, and so on.
fn endings<'w>(words: &'w [&'w str]) -> impl Iterator<Item = Cow<'w, str>> {
    (1..=MAX_WORDS.min(words.len()))
        .map(|count| joined(words.get(words.len() - count..).unwrap_or_default(), " "))
}

/// The end of a name, cut at a character boundary.
fn name_tail(name: &str) -> &str {
    let from = name.len().saturating_sub(MAX_NAME);
    (from..name.len()).find_map(|at| name.get(at..)).unwrap_or(name)
}
