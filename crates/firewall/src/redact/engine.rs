//! The detection engine: one pass finds literal anchors, each match is verified where it is, and
//! scanners find what has no anchor.
//!
//! What is found at a position depends only on the text within [`CONTEXT_BYTES`] of it. Therefore a
//! text can be scanned in parts that overlap by that much, with the same result.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use weaver_text::suggest::nearest;
use weaver_types::ValueFamily;

use super::anchor_matcher::AnchorMatcher;
use super::disclosure::Disclosure;
use super::mask_table::{DisclosedValues, FIELD_KIND, LOOKALIKE_KIND};
use super::plain_words::{PlainWordFilter, PlainWords};
use super::rule::{MAX_REACH, Rule};
use super::rule_file::RuleFileError;
use super::scan_window::ScanWindow;
use super::scanner::{ScanHit, ScanRule, Scanner};
use super::text_cache::TextCache;
use super::work_meter;
use super::{Lookalikes, RunMasks};
use crate::injection;

/// How far from a value the text can influence whether it is found, in bytes; except for values
/// that extend to the end of their token run.
pub(crate) const CONTEXT_BYTES: usize = MAX_REACH;

/// A range of text to mask, and the rule that found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detection {
    pub(crate) range: Range<usize>,
    /// The number of the rule.
    pub(crate) rule: usize,
}

/// Where an anchor of a rule is. After values near it are masked, the rule may find another value
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AnchorHit {
    pub(crate) at: usize,
    pub(crate) rule: usize,
}

/// The id, kind and family of a rule, whether it is data or code.
#[derive(Debug, Clone)]
pub(crate) struct RuleIdentity {
    pub(crate) id: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) family: ValueFamily,
}

/// Compiled rules, numbered: rules from files first, then those of the scanners.
#[derive(Debug)]
pub(crate) struct DetectionEngine {
    rules: Vec<Rule>,
    identities: Vec<RuleIdentity>,
    /// All kinds of values, in upper case as in masks.
    kinds: BTreeSet<Vec<u8>>,
    anchors: AnchorMatcher,
    /// Recognises texts in which no rule can match.
    plain_word_filter: PlainWordFilter,
    /// For each anchor, the rules to verify.
    rules_by_anchor: Vec<Vec<usize>>,
    /// Each scanner with the number of its first rule.
    scanners: Vec<(usize, Scanner)>,
    /// For each rule, whether it is disabled.
    disabled: Vec<bool>,
}

/// Rule numbers for detections that no listed rule makes: a value disclosed before, a secret or
/// personal value hidden by its field name, and text that looks like a mask.
pub(crate) const DISCLOSED_VALUE_RULE: usize = usize::MAX - 3;
pub(crate) const SECRET_FIELD_RULE: usize = usize::MAX - 2;
pub(crate) const PERSONAL_FIELD_RULE: usize = usize::MAX - 1;
pub(crate) const MASK_LOOKALIKE_RULE: usize = usize::MAX;

/// Compiled rules without those whose values the reader may see.
///
/// What such a rule finds is dropped immediately, before detections are merged or counted as
/// covered. So the outcome is as if the rule did not exist: a value that is shown cannot hide part
/// of a secret that overlaps it or lies within it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActiveRules<'e> {
    pub(crate) engine: &'e DetectionEngine,
    disclosure: &'e Disclosure,
    /// Values that were disclosed to calls.
    disclosed_values: Option<&'e DisclosedValues>,
    /// Which text that looks like a mask is masked.
    pub(crate) lookalikes: Lookalikes,
}

/// The pseudo-rule for text that is masked unread, because it has more encodings than can be decoded.
const UNREAD: ScanRule = ScanRule { id: "unread", kind: "unread", masks: &[], keeps: &[] };

impl DetectionEngine {
    /// Compiles rules. Only values of these kinds are detected, unless none is named.
    pub(crate) fn new(
        mut rules: Vec<Rule>,
        scanners: &[Scanner],
        kinds: &BTreeSet<String>,
    ) -> Result<Self, RuleFileError> {
        // These are for the tests of the rules, and as large as all their patterns.
        rules.iter_mut().for_each(|rule| rule.keeps = Vec::new());
        let mut literals = BTreeMap::<&str, Vec<usize>>::new();
        for (index, rule) in rules.iter().enumerate() {
            for anchor in &rule.anchors {
                literals.entry(anchor).or_default().push(index);
            }
        }
        let anchors = AnchorMatcher::new(literals.keys().copied());
        let plain_word_filter =
            PlainWordFilter::new(literals.keys().copied().collect(), injection::anchors());
        let rules_by_anchor = literals.into_values().collect();
        let mut identities: Vec<RuleIdentity> = rules.iter().map(RuleIdentity::from_rule).collect();
        let mut numbered = Vec::new();
        for scanner in scanners {
            numbered.push((identities.len(), *scanner));
            identities.extend(scanner.rules.iter().map(scan_rule_identity));
        }
        identities.push(scan_rule_identity(&UNREAD));
        if let Some(unknown) = kinds.iter().find(|k| !identities.iter().any(|n| *n.kind == ***k)) {
            let hint = nearest(unknown, identities.iter().map(|n| &*n.kind))
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(RuleFileError::Kind(format!("`{unknown}`{hint}")));
        }
        let disabled: Vec<bool> =
            identities.iter().map(|n| !kinds.is_empty() && !kinds.contains(&*n.kind)).collect();
        let mask_only_kinds = [FIELD_KIND, LOOKALIKE_KIND];
        let kinds = identities.iter().map(|n| &*n.kind).chain(mask_only_kinds);
        let kinds = kinds.map(|kind| kind.to_ascii_uppercase().into_bytes()).collect();
        Ok(Self {
            rules,
            identities,
            kinds,
            anchors,
            plain_word_filter,
            rules_by_anchor,
            scanners: numbered,
            disabled,
        })
    }

    /// These rules without those whose values the reader may see.
    pub(crate) fn with_disclosure<'e>(&'e self, disclosure: &'e Disclosure) -> ActiveRules<'e> {
        let lookalikes = Lookalikes::None;
        ActiveRules { engine: self, disclosure, disclosed_values: None, lookalikes }
    }

    /// All rules.
    pub(crate) fn all_rules(&self) -> ActiveRules<'_> {
        self.with_disclosure(&Disclosure::Nothing)
    }

    /// The number of the pseudo-rule for text that hides more than can be decoded.
    pub(crate) fn unread_rule(&self) -> usize {
        self.identities.len().saturating_sub(1)
    }

    /// True if the rule finds PEM blocks.
    pub(crate) fn is_pem_rule(&self, rule: usize) -> bool {
        self.identities.get(rule).is_some_and(|name| &*name.id == "private-key")
    }

    /// True if this upper-case kind is one that masks use.
    pub(crate) fn is_known_kind(&self, kind: &[u8]) -> bool {
        self.kinds.contains(kind)
    }

    /// The family of the values that a rule finds.
    pub(crate) fn family(&self, rule: usize) -> ValueFamily {
        self.identity(rule).map_or(ValueFamily::Secret, |name| name.family)
    }

    /// Every rule's identity, in order.
    pub(crate) fn identities(&self) -> &[RuleIdentity] {
        &self.identities
    }

    /// The identity of a rule.
    pub(crate) fn identity(&self, rule: usize) -> Option<&RuleIdentity> {
        self.identities.get(rule)
    }

    /// The examples of a rule: texts, and what is masked in each.
    pub(crate) fn examples(&self, rule: usize) -> Vec<(String, String)> {
        if let Some(rule) = self.rules.get(rule) {
            return rule.masks.clone();
        }
        let scanned = self.scanners.iter().rev().find(|(first, _)| *first <= rule);
        let found = scanned.and_then(|(first, scanner)| scanner.rules.get(rule - first));
        let masks = found.map_or(&[][..], |rule| rule.masks);
        masks.iter().map(|(text, value)| ((*text).to_owned(), (*value).to_owned())).collect()
    }

    /// `Some` only for a short text in which no rule can match.
    pub(crate) fn plain_words(&self, text: &str) -> Option<PlainWords> {
        self.plain_word_filter.plain_words(text)
    }

    /// All anchors, each once.
    pub(crate) fn anchors(&self) -> BTreeSet<&str> {
        self.rules.iter().flat_map(|rule| rule.anchors.iter().map(String::as_str)).collect()
    }
}

impl RuleIdentity {
    fn from_rule(rule: &Rule) -> Self {
        Self { id: rule.id.clone(), kind: rule.kind.clone(), family: rule.family }
    }
}

fn scan_rule_identity(rule: &ScanRule) -> RuleIdentity {
    let family = ValueFamily::of(rule.kind);
    RuleIdentity { id: Arc::from(rule.id), kind: Arc::from(rule.kind), family }
}

impl<'e> ActiveRules<'e> {
    /// These rules with the masks of a run and the values it disclosed.
    pub(crate) fn with_masks(self, masks: &'e RunMasks) -> Self {
        Self {
            disclosed_values: masks.disclosed_values.as_deref(),
            lookalikes: masks.lookalikes,
            ..self
        }
    }

    /// Finds every value of the text, unordered and possibly overlapping, on character boundaries.
    /// `anchors` is called for every anchor.
    pub(crate) fn find_all(
        &self,
        window: &mut ScanWindow<'_>,
        found: &mut Vec<Detection>,
        mut anchors: impl FnMut(AnchorHit),
    ) {
        let text = window.text;
        work_meter::add_bytes(text.len());
        let mut runs = TextCache::default();
        self.engine.anchors.for_each_match(text.as_bytes(), |at, literal| {
            for rule in self.engine.rules_by_anchor.get(literal).into_iter().flatten() {
                let anchor = AnchorHit { at, rule: *rule };
                self.verify(text, anchor, &mut runs, found);
                anchors(anchor);
            }
        });
        if let Some(known) = self.disclosed_values {
            found.extend(
                known.find(text).map(|range| Detection { range, rule: DISCLOSED_VALUE_RULE }),
            );
        }
        self.run_scanners(window, found);
    }

    /// Like [`Self::find_all`], for a text whose anchors are known.
    pub(crate) fn find_at_anchors(
        &self,
        window: &mut ScanWindow<'_>,
        anchors: impl Iterator<Item = AnchorHit>,
        found: &mut Vec<Detection>,
    ) {
        let mut runs = TextCache::default();
        anchors.for_each(|anchor| self.verify(window.text, anchor, &mut runs, found));
        self.run_scanners(window, found);
    }

    fn verify(
        &self,
        text: &str,
        anchor: AnchorHit,
        runs: &mut TextCache,
        found: &mut Vec<Detection>,
    ) {
        let Some(rule) = self.engine.rules.get(anchor.rule) else { return };
        rule.find(text, anchor.at, runs, |range| {
            if self.is_masked(anchor.rule) {
                found.push(Detection { range, rule: anchor.rule });
            }
        });
    }

    /// True if disclosed values are searched for.
    pub(crate) fn has_disclosed_values(&self) -> bool {
        self.disclosed_values.is_some()
    }

    /// The first anchor near the end of the text whose rule could read beyond the end, unless it
    /// lies in a value that was found. To a rule, such a value is one byte.
    pub(crate) fn first_unfinished_anchor(&self, text: &str, found: &[Detection]) -> Option<usize> {
        let from = text.floor_char_boundary(text.len().saturating_sub(2 * CONTEXT_BYTES));
        let bytes = text.as_bytes();
        let hidden = |at: usize| -> usize {
            let behind = found.iter().rev().take_while(|found| found.range.start > at);
            behind.map(|found| found.range.len().saturating_sub(1)).sum()
        };
        let mut first: Option<usize> = None;
        let part = bytes.get(from..).unwrap_or_default();
        self.engine.anchors.for_each_match(part, |at, literal| {
            let at = from + at;
            let rules = self.engine.rules_by_anchor.get(literal).into_iter().flatten();
            let end = bytes.len() - hidden(at);
            let waiting = rules
                .filter_map(|rule| self.engine.rules.get(*rule))
                .filter(|rule| rule.may_read_beyond(bytes, at, end));
            let starts = waiting.map(|rule| at.saturating_sub(rule.lookbehind));
            let Some(start) = starts.min() else { return };
            let is_found = || found.iter().any(|found| found.range.contains(&at));
            if first.is_none_or(|first| start < first) && !is_found() {
                first = Some(start);
            }
        });
        first
    }

    /// Runs the scanners on what is not covered yet.
    fn run_scanners(&self, window: &mut ScanWindow<'_>, found: &mut Vec<Detection>) {
        work_meter::add_bytes(window.text.len() * self.engine.scanners.len());
        // What is found already is covered, so no scanner spends time on it.
        window.covered.add(found.iter().map(|known| known.range.clone()));
        let mut hits: Vec<ScanHit> = Vec::new();
        for (first, scanner) in &self.engine.scanners {
            (scanner.scan)(window, &mut hits);
            hits.retain(|hit| self.is_masked(first + hit.rule));
            window.covered.add(hits.iter().map(|hit| hit.range.clone()));
            found
                .extend(hits.drain(..).map(|h| Detection { range: h.range, rule: first + h.rule }));
        }
    }

    /// True if what a rule finds is masked.
    fn is_masked(&self, rule: usize) -> bool {
        let shows = |name: &RuleIdentity| self.disclosure.may_show(name.family, &name.kind);
        self.engine.disabled.get(rule) != Some(&true)
            && !self.engine.identity(rule).is_some_and(shows)
    }
}

/// Merges overlapping detections and sorts them. The widest one determines the rule.
pub(crate) fn merge_detections(mut found: Vec<Detection>) -> Vec<Detection> {
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
