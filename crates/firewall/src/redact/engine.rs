//! Finding values in a text: one pass over literal anchors, each verified where it stands, and the
//! scanners.
//!
//! What is found at a place depends only on the text within [`NEAR`] bytes of it. So a text may be
//! looked at in parts that overlap by as much, and the same values are found.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use weaver_text::suggest::nearest;
use weaver_types::ValueFamily;

use super::RunMasks;
use super::anchor_matcher::AnchorMatcher;
use super::disclosure::Disclosure;
use super::file::RuleFileError;
use super::mask_table::{FIELD, KnownValues, LOOKALIKE};
use super::plain_words::{PlainWordFilter, PlainWords};
use super::rule::{MAX_REACH, Rule};
use super::run;
use super::scan_window::ScanWindow;
use super::scanner::{Hit, ScanRule, Scanner};
use super::work;
use crate::injection;

/// How far from a value the text may matter, in bytes, but for values that go on to the end of
/// their run.
pub(crate) const NEAR: usize = MAX_REACH;

/// A stretch of text to mask, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detection {
    pub(crate) range: Range<usize>,
    /// The number of the rule.
    pub(crate) rule: usize,
}

/// An anchor of a rule. Once values near it are masked, the rule may find another one there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Anchor {
    pub(crate) at: usize,
    pub(crate) rule: usize,
}

/// A rule's name, kind and family, whichever way it finds values.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) id: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) family: ValueFamily,
}

/// Compiled rules. Rules as data come first in the numbering, then those of the scanners.
#[derive(Debug)]
pub(crate) struct Engine {
    rules: Vec<Rule>,
    names: Vec<Name>,
    /// The kinds of values, in the capitals of a placeholder.
    kinds: BTreeSet<Vec<u8>>,
    anchors: AnchorMatcher,
    /// Tells texts in which no rule finds anything.
    words: PlainWordFilter,
    /// For each anchor, the rules that it wakes.
    wakes: Vec<Vec<usize>>,
    /// Each scanner, and the number of its first rule.
    scanners: Vec<(usize, Scanner)>,
    /// For each rule, whether it is left out.
    off: Vec<bool>,
}

/// The numbers of rules that are none of the list: a value that was given out before, a secret or
/// personal data that the name of its field hides, and text that looks like a mask.
pub(crate) const GIVEN_OUT: usize = usize::MAX - 3;
pub(crate) const HIDDEN_SECRET: usize = usize::MAX - 2;
pub(crate) const HIDDEN_PERSONAL: usize = usize::MAX - 1;
pub(crate) const LOOKS_LIKE_A_MASK: usize = usize::MAX;

/// Compiled rules without those whose values may be seen.
///
/// What such a rule finds is dropped where it is found, before it is joined with anything or
/// counts as covered: so it is as if there were no such rule, and a value that is shown hides
/// nothing of a secret that overlaps it or lies in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActiveRules<'e> {
    pub(crate) engine: &'e Engine,
    disclosure: &'e Disclosure,
    /// Values that were given out.
    known: Option<&'e KnownValues>,
    /// Whether text that looks like a mask is masked.
    pub(crate) escapes: bool,
}

/// What is masked without a value: a run for its length, and what hides too much to be read.
const LIMITS: [ScanRule; 2] = [
    ScanRule { id: "unread", kind: "unread", masks: &[], keeps: &[] },
    ScanRule { id: "long-run", kind: "long_run", masks: &[], keeps: &[] },
];

impl Engine {
    /// Compiles rules. Only values of these kinds are found, unless none is named.
    pub(crate) fn new(
        rules: Vec<Rule>,
        scanners: &[Scanner],
        kinds: &BTreeSet<String>,
    ) -> Result<Self, RuleFileError> {
        let mut literals = BTreeMap::<&str, Vec<usize>>::new();
        for (index, rule) in rules.iter().enumerate() {
            for anchor in &rule.anchors {
                literals.entry(anchor).or_default().push(index);
            }
        }
        let anchors = AnchorMatcher::new(literals.keys().copied());
        let words =
            PlainWordFilter::without(literals.keys().copied().collect(), injection::anchors());
        let wakes = literals.into_values().collect();
        let mut names: Vec<Name> = rules.iter().map(Name::of).collect();
        let mut numbered = Vec::new();
        for scanner in scanners {
            numbered.push((names.len(), *scanner));
            names.extend(scanner.rules.iter().map(name));
        }
        names.extend(LIMITS.iter().map(name));
        if let Some(unknown) = kinds.iter().find(|k| !names.iter().any(|n| *n.kind == ***k)) {
            let hint = nearest(unknown, names.iter().map(|n| &*n.kind))
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(RuleFileError::Kind(format!("`{unknown}`{hint}")));
        }
        let off: Vec<bool> =
            names.iter().map(|n| !kinds.is_empty() && !kinds.contains(&*n.kind)).collect();
        let own = [FIELD, LOOKALIKE];
        let kinds = names.iter().map(|n| &*n.kind).chain(own);
        let kinds = kinds.map(|kind| kind.to_ascii_uppercase().into_bytes()).collect();
        Ok(Self { rules, names, kinds, anchors, words, wakes, scanners: numbered, off })
    }

    /// These rules without those whose values may be seen.
    pub(crate) fn showing<'e>(&'e self, disclosure: &'e Disclosure) -> ActiveRules<'e> {
        ActiveRules { engine: self, disclosure, known: None, escapes: false }
    }

    /// All of them.
    pub(crate) fn all(&self) -> ActiveRules<'_> {
        self.showing(&Disclosure::Nothing)
    }

    /// The number of the rule for runs that are masked for their length.
    pub(crate) fn long_run(&self) -> usize {
        self.names.len().saturating_sub(1)
    }

    /// The number of the rule for text that hides more than can be read.
    pub(crate) fn unread(&self) -> usize {
        self.names.len().saturating_sub(2)
    }

    /// Whether a rule finds PEM blocks.
    pub(crate) fn is_pem(&self, rule: usize) -> bool {
        self.names.get(rule).is_some_and(|name| &*name.id == "private-key")
    }

    /// Whether values of this kind are found, by its name in capitals.
    pub(crate) fn is_kind(&self, kind: &[u8]) -> bool {
        self.kinds.contains(kind)
    }

    /// The family of the values of a rule.
    pub(crate) fn family(&self, rule: usize) -> ValueFamily {
        self.name(rule).map_or(ValueFamily::Secret, |name| name.family)
    }

    /// Every rule's name, in order.
    pub(crate) fn names(&self) -> &[Name] {
        &self.names
    }

    /// The name of a rule by its number.
    pub(crate) fn name(&self, rule: usize) -> Option<&Name> {
        self.names.get(rule)
    }

    /// The examples of a rule: texts, and what of each is masked.
    pub(crate) fn examples(&self, rule: usize) -> Vec<(String, String)> {
        if let Some(rule) = self.rules.get(rule) {
            return rule.masks.clone();
        }
        let scanned = self.scanners.iter().rev().find(|(first, _)| *first <= rule);
        let found = scanned.and_then(|(first, scanner)| scanner.rules.get(rule - first));
        let masks = found.map_or(&[][..], |rule| rule.masks);
        masks.iter().map(|(text, value)| ((*text).to_owned(), (*value).to_owned())).collect()
    }

    /// Something only for a brief text, in which nothing is found.
    pub(crate) fn plain_words(&self, text: &str) -> Option<PlainWords> {
        self.words.plain_words(text)
    }

    /// All anchors, each once.
    pub(crate) fn anchors(&self) -> BTreeSet<&str> {
        self.rules.iter().flat_map(|rule| rule.anchors.iter().map(String::as_str)).collect()
    }
}

impl Name {
    fn of(rule: &Rule) -> Self {
        Self { id: rule.id.clone(), kind: rule.kind.clone(), family: rule.family }
    }
}

fn name(rule: &ScanRule) -> Name {
    let family = ValueFamily::of(rule.kind);
    Name { id: Arc::from(rule.id), kind: Arc::from(rule.kind), family }
}

impl<'e> ActiveRules<'e> {
    /// The same, and the values that a run has given out.
    pub(crate) fn with_masks(self, masks: &'e RunMasks) -> Self {
        Self { known: masks.known.as_deref(), escapes: masks.escapes, ..self }
    }

    /// Every value of the text, in no order, overlaps included, on character borders. `anchors`
    /// hears of every one.
    pub(crate) fn find(
        &self,
        window: &mut ScanWindow<'_>,
        found: &mut Vec<Detection>,
        mut anchors: impl FnMut(Anchor),
    ) {
        let text = window.text;
        work::add(text.len());
        let mut runs = run::RunEndCache::default();
        self.engine.anchors.each(text.as_bytes(), |at, literal| {
            for rule in self.engine.wakes.get(literal).into_iter().flatten() {
                let anchor = Anchor { at, rule: *rule };
                found.extend(self.verify(text, anchor, &mut runs));
                anchors(anchor);
            }
        });
        if let Some(known) = self.known {
            found.extend(known.find(text).map(|range| Detection { range, rule: GIVEN_OUT }));
        }
        self.scan(window, found);
    }

    /// The same for a text of which every anchor is known.
    pub(crate) fn find_again(
        &self,
        window: &mut ScanWindow<'_>,
        anchors: impl Iterator<Item = Anchor>,
        found: &mut Vec<Detection>,
    ) {
        let mut runs = run::RunEndCache::default();
        found.extend(anchors.filter_map(|anchor| self.verify(window.text, anchor, &mut runs)));
        self.scan(window, found);
    }

    fn verify(&self, text: &str, anchor: Anchor, runs: &mut run::RunEndCache) -> Option<Detection> {
        let range = self.engine.rules.get(anchor.rule)?.verify(text, anchor.at, runs)?;
        self.masks(anchor.rule).then_some(Detection { range, rule: anchor.rule })
    }

    /// Whether values are looked for that were given out before.
    pub(crate) fn knows_values(&self) -> bool {
        self.known.is_some()
    }

    /// The first literal near the end of the text whose rule has not seen all that it reads, and
    /// which stands in no value that was found.
    pub(crate) fn unfinished(&self, text: &str, found: &[Detection]) -> Option<usize> {
        let from = text.floor_char_boundary(text.len().saturating_sub(NEAR));
        let bytes = text.as_bytes();
        let mut first: Option<usize> = None;
        let part = bytes.get(from..).unwrap_or_default();
        self.engine.anchors.each(part, |at, literal| {
            let at = from + at;
            let mut rules = self.engine.wakes.get(literal).into_iter().flatten();
            let waits = rules.any(|rule| {
                self.engine.rules.get(*rule).is_some_and(|rule| rule.is_unfinished(bytes, at))
            });
            let is_found = || found.iter().any(|found| found.range.contains(&at));
            if waits && first.is_none_or(|first| at < first) && !is_found() {
                first = Some(at);
            }
        });
        first
    }

    /// Lets the scanners look at what is not found yet.
    fn scan(&self, window: &mut ScanWindow<'_>, found: &mut Vec<Detection>) {
        work::add(window.text.len() * self.engine.scanners.len());
        window.covered.add(found.iter().map(|known| known.range.clone()));
        let mut hits: Vec<Hit> = Vec::new();
        for (first, scanner) in &self.engine.scanners {
            (scanner.scan)(window, &mut hits);
            hits.retain(|hit| self.masks(first + hit.rule));
            window.covered.add(hits.iter().map(|hit| hit.range.clone()));
            found
                .extend(hits.drain(..).map(|h| Detection { range: h.range, rule: first + h.rule }));
        }
    }

    /// Whether what a rule finds is masked.
    fn masks(&self, rule: usize) -> bool {
        let shows = |name: &Name| self.disclosure.shows(name.family, &name.kind);
        self.engine.off.get(rule) != Some(&true) && !self.engine.name(rule).is_some_and(shows)
    }
}

/// The same stretches in order, those that overlap made one. The widest names the rule.
pub(crate) fn union(mut found: Vec<Detection>) -> Vec<Detection> {
    found.retain(|f| !f.range.is_empty());
    found.sort_by(|a, b| a.range.start.cmp(&b.range.start).then(b.range.end.cmp(&a.range.end)));
    let mut joined: Vec<Detection> = Vec::with_capacity(found.len());
    let mut widest = 0;
    for next in found {
        match joined.last_mut() {
            Some(last) if next.range.start < last.range.end => {
                last.range.end = last.range.end.max(next.range.end);
                if next.range.len() > widest {
                    widest = next.range.len();
                    last.rule = next.rule;
                }
            }
            _ => {
                widest = next.range.len();
                joined.push(next);
            }
        }
    }
    joined
}
