//! The words that announce a value or tell what it belongs to, in groups.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, Anchored, Input, MatchKind, StartKind};

use super::candidate::is_unspaced;
use super::feature::{Feature, Features};

/// The words of each group; a star is before those that only count as a whole.
const LABELS: &str = include_str!("../../../assets/evidence_labels.txt");

/// The longest ending of a label, in letters.
const MAX_ENDING: usize = 12;
/// The longest ending of a label that is not a word for a password.
const MAX_SHORT_ENDING: usize = 5;

/// The groups, by their names in the list, and what their words say near a value.
const GROUPS: [(&str, Feature); 9] = [
    ("password", Feature::NearPassword),
    ("code", Feature::NearCode),
    ("pin", Feature::NearPin),
    ("login", Feature::NearLogin),
    ("network", Feature::NearNetwork),
    ("lock", Feature::NearLock),
    ("key", Feature::NearKey),
    ("thing", Feature::NearThing),
    ("other", Feature::OtherThing),
];

/// The number of the group of labels for keys and tokens.
pub(crate) const KEY_GROUP: usize = 6;

/// A word of the list.
struct Label {
    near: Feature,
    is_whole: bool,
}

struct Labels {
    search: AhoCorasick,
    labels: Vec<Label>,
}

static ALL: LazyLock<Option<Labels>> = LazyLock::new(|| {
    let (mut words, mut labels) = (Vec::new(), Vec::new());
    for (group, word) in listed() {
        let near = GROUPS.iter().find(|(name, _)| *name == group)?.1;
        let is_whole = word.starts_with('*');
        words.extend(cases(word.trim_start_matches('*')));
        labels.resize_with(words.len(), || Label { near, is_whole });
    }
    let search = AhoCorasickBuilder::new()
        .match_kind(MatchKind::LeftmostLongest)
        .start_kind(StartKind::Both)
        .ascii_case_insensitive(true)
        .build(words)
        .ok()?;
    Some(Labels { search, labels })
});

/// The words of the list with their groups.
pub(super) fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    LABELS
        .lines()
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(group, words)| words.split(", ").map(move |word| (group, word)))
}

/// A word, and with a capital if its first letter is not of ASCII.
pub(super) fn cases(word: &str) -> Vec<String> {
    let mut cases = vec![word.to_owned()];
    if let Some(first) = word.chars().next().filter(|c| !c.is_ascii() && c.is_lowercase()) {
        let rest = word.get(first.len_utf8()..).unwrap_or_default();
        cases.push(first.to_uppercase().chain(rest.chars()).collect());
    }
    cases
}

/// The label of a group that begins at a position, with the ending of its word; `None` if it is a part of
/// another word or of a longer label.
pub(super) fn label_at(text: &str, at: usize, group: Feature) -> Option<Range<usize>> {
    const MAX_LABEL_BYTES: usize = 40;
    let labels = ALL.as_ref()?;
    let end = text.floor_char_boundary((at + MAX_LABEL_BYTES).min(text.len()));
    let found = labels.search.find(Input::new(text).range(at..end).anchored(Anchored::Yes))?;
    let label = labels.labels.get(found.pattern().as_usize())?;
    if label.near != group || group == Feature::NearKey && !is_in_sentence(text, found.range()) {
        return None;
    }
    word_of(text, found.range(), label)
}

/// The words that announce a value, as anchors have them.
#[cfg(test)]
pub(crate) fn label_words() -> Vec<String> {
    let announcing = listed().filter(|(group, _)| !matches!(*group, "thing" | "other"));
    announcing.flat_map(|(_, word)| cases(word.trim_start_matches('*'))).collect()
}

/// A word of the list in a text.
#[derive(Debug)]
pub(crate) struct ListedLabel {
    pub(crate) range: Range<usize>,
    /// The number of its group.
    pub(crate) group: usize,
    /// Whether it announces a value. Others say what a value belongs to, or that it is no secret.
    pub(crate) announces: bool,
    /// Whether it only counts as a whole word.
    pub(crate) is_whole: bool,
}

/// The words of the list in a part of a text, or only the one that the part begins with.
pub(crate) fn listed_labels(
    text: &str,
    part: Range<usize>,
    is_first: bool,
) -> impl Iterator<Item = ListedLabel> {
    let anchored = if is_first { Anchored::Yes } else { Anchored::No };
    let input = Input::new(text).range(part).anchored(anchored);
    let found = ALL.as_ref().map(|labels| (labels, labels.search.find_iter(input)));
    found.into_iter().flat_map(|(labels, found)| {
        found.filter_map(|found| {
            let label = labels.labels.get(found.pattern().as_usize())?;
            let group = GROUPS.iter().position(|(_, near)| *near == label.near)?;
            let announces = !matches!(label.near, Feature::NearThing | Feature::OtherThing);
            Some(ListedLabel { range: found.range(), group, announces, is_whole: label.is_whole })
        })
    })
}

/// True for a word of a sentence. Names of program text are read by other rules.
fn is_in_sentence(text: &str, word: Range<usize>) -> bool {
    let before = text.get(..word.start).and_then(|text| text.chars().next_back()).unwrap_or(' ');
    let behind = text.get(word.end..).and_then(|text| text.chars().next()).unwrap_or(' ');
    (before.is_whitespace() || "(„“«-".contains(before)) && !"-_\".=(['".contains(behind)
}

/// True where a name in quotation marks goes on to its end and a colon follows: `_old": `.
pub(crate) fn names_field(text: &str, at: usize) -> bool {
    const MAX_NAME: usize = 24;
    let rest = text.get(at..).unwrap_or_default();
    let len = rest.chars().take(MAX_NAME).take_while(|c| c.is_alphanumeric() || "_-.".contains(*c));
    let rest = rest.get(len.map(char::len_utf8).sum()..).unwrap_or_default();
    let behind = rest.trim_start_matches('\\').strip_prefix('"');
    behind.is_some_and(|rest| rest.trim_ascii_start().starts_with(':'))
}

/// The same for a field with a text. Whether a number is one, the text around it says.
pub(super) fn names_text_field(text: &str, at: usize) -> bool {
    let is_text = |(_, value): (&str, &str)| {
        value.trim_ascii_start().trim_start_matches('\\').starts_with('"')
    };
    names_field(text, at)
        && text.get(at..).and_then(|rest| rest.split_once(':')).is_some_and(is_text)
}

/// Where the first label of a group begins in a part of a text, or its end. So the words of a text are
/// looked at once, however close to one another its labels are.
pub(super) fn next_of_group(text: &str, part: Range<usize>, group: Feature) -> usize {
    let end = text.floor_char_boundary(part.end);
    let part = part.start..end.max(part.start);
    let Some(labels) = ALL.as_ref() else { return part.end };
    let found = labels.search.find_iter(Input::new(text).range(part.clone()));
    let mut of_group = found.filter_map(|found| {
        let label = labels.labels.get(found.pattern().as_usize())?;
        (label.near == group).then(|| word_of(text, found.range(), label))?
    });
    of_group.next().map_or(part.end, |label| label.start)
}

/// Adds what the labels in a part of a text say.
pub(super) fn add_near(text: &str, part: Range<usize>, features: &mut Features) {
    let (Some(labels), Some(words)) = (ALL.as_ref(), text.get(part.clone())) else { return };
    for found in labels.search.find_iter(words) {
        let Some(label) = labels.labels.get(found.pattern().as_usize()) else { continue };
        let range = part.start + found.start()..part.start + found.end();
        if word_of(text, range, label).is_some() {
            features.add(label.near);
        }
    }
}

/// True for a text that holds the word for a password or another label.
pub(super) fn has_label(text: &str) -> bool {
    let Some(labels) = ALL.as_ref() else { return false };
    labels.search.find_iter(text).any(|found| {
        let near = labels.labels.get(found.pattern().as_usize()).map(|label| label.near);
        !matches!(near, None | Some(Feature::NearThing | Feature::OtherThing))
    })
}

/// The range with the ending of its word, if a label may be there.
fn word_of(text: &str, range: Range<usize>, label: &Label) -> Option<Range<usize>> {
    let word = text.get(range.clone())?;
    let first = word.chars().next()?;
    if is_unspaced(first) || matches!(label.near, Feature::NearThing | Feature::OtherThing) {
        return Some(range);
    }
    let before = text.get(..range.start)?.chars().next_back().unwrap_or(' ');
    let behind = text.get(range.end..)?;
    // A part of a name of program text: `access_token`.
    if behind.starts_with('_') && label.near != Feature::NearPassword {
        return None;
    }
    let is_inside = before.is_alphabetic() && !is_unspaced(before);
    let is_hump = first.is_uppercase() && before.is_lowercase();
    if label.is_whole {
        let rest = behind.strip_prefix('s').unwrap_or(behind);
        let goes_on = rest.starts_with(char::is_alphabetic);
        if is_inside && !is_hump || goes_on {
            return None;
        }
    } else if is_inside
        && !matches!(label.near, Feature::NearPassword | Feature::NearCode | Feature::NearPin)
    {
        return None;
    }
    let is_letter = |c: &char| c.is_alphabetic() && !is_unspaced(*c);
    let ending = behind.chars().take(MAX_ENDING + 1).take_while(is_letter);
    let (mut letters, mut len) = (0, 0);
    for c in ending {
        (letters, len) = (letters + 1, len + c.len_utf8());
    }
    let most = match label.near {
        Feature::NearPassword => MAX_ENDING,
        _ => MAX_SHORT_ENDING,
    };
    (letters <= most).then_some(range.start..range.end + len)
}
