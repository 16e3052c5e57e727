//! Redaction: decides what is masked and replaces it.

pub(crate) mod anchor_matcher;
mod builtin_rules;
mod checksum;
mod classifier;
mod column_headings;
mod covered_ranges;
mod cut_reason;
mod detection_memo;
mod disclosure;
mod engine;
mod evidence;
pub(crate) mod field_names;
mod fixpoint;
mod incremental_scanner;
mod joined_text;
mod json_parts;
pub(crate) mod json_text;
pub(crate) mod mask_collapsed_text;
mod mask_table;
mod mask_table_version;
mod masking_sinks;
mod open_tail;
mod pem;
mod personal;
mod plain_words;
mod provisional_masks;
mod rule;
mod rule_description;
mod rule_file;
mod rule_self_test;
mod run_masks;
mod scan_window;
mod scanner;
mod secrets;
mod spoken;
mod stream;
#[cfg(test)]
mod tests;
mod text_cache;
mod token_run;
mod validators;
pub(crate) mod value;
mod word_ending_trie;
pub(crate) mod work_meter;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use detection_memo::DetectionMemo;
pub(crate) use engine::Detection;
use engine::{
    ActiveRules, DetectionEngine, MASK_LOOKALIKE_RULE, PERSONAL_FIELD_RULE, SECRET_FIELD_RULE,
};
use incremental_scanner::{IncrementalScanner, RedactionSink as _};
use json_text::JsonStart;
pub(crate) use mask_table::ValueForm;
pub(crate) use mask_table::escaped_characters;
pub(crate) use mask_table_version::MaskTableVersion;
use masking_sinks::{DetectionCollector, MaskedOutput, SpanCollector};
pub(crate) use plain_words::PlainWords;

pub(crate) use joined_text::{JoinedText, MaskedPart};
pub(crate) use run_masks::Lookalikes;
use run_masks::RunMasks;

pub use disclosure::Disclosure;
pub use mask_table::{MaskTable, ResolvedArguments, UnknownMask, ValueSource};
pub use masking_sinks::Span;
pub use rule_description::RuleDescription;
pub use rule_file::RuleFileError;
pub use stream::StreamRedactor;

/// The plain mask for a value.
pub const MASK: &str = "[REDACTED]";

/// Characters that join the parts of an address. Each has one byte, like the line feed that
/// replaces it.
const ADDRESS_SEPARATORS: [char; 8] = ['/', '?', '#', '&', '=', ';', ',', '_'];
/// After how many underscores of an address a value is looked for.
const MAX_JOINED_PARTS: usize = 8;
/// The longest address in which that is done, in bytes.
const MAX_ADDRESS_BYTES: usize = 4 * 1024;

/// How many values of each kind were masked.
pub type Counts = BTreeMap<Arc<str>, u64>;

/// How many bytes patterns and scanners scan while `run` runs on this thread. For each byte of a
/// text this number is bounded by a constant, whatever the text contains.
#[cfg(feature = "work-meter")]
pub fn scanned_bytes(run: impl FnOnce()) -> usize {
    work_meter::measure(run)
}

/// The engine with the built-in rules, built once.
static BUILTIN_ENGINE: LazyLock<Option<Arc<DetectionEngine>>> =
    LazyLock::new(|| builtin_rules::build_engine(&[], &BTreeSet::new()).ok().map(Arc::new));

/// Compiled rules with everything that decides how values are masked. If the rules cannot be
/// compiled, every text is masked as a whole: that is the safe failure.
#[derive(Debug, Clone)]
pub(crate) struct Redactor {
    engine: Option<Arc<DetectionEngine>>,
    masks: Option<RunMasks>,
    disclosure: Disclosure,
    /// What is known of long texts, while a frame is built.
    memo: Option<DetectionMemo>,
}

impl Redactor {
    /// A redactor with the built-in rules. That they compile is tested; if they did not, every text
    /// would be masked.
    pub(crate) fn builtin() -> Self {
        Self {
            engine: BUILTIN_ENGINE.clone(),
            masks: None,
            disclosure: Disclosure::Nothing,
            memo: None,
        }
    }

    /// The built-in rules and those of an operator's files, limited to these kinds unless none is
    /// named.
    pub(crate) fn new(files: &[String], kinds: &BTreeSet<String>) -> Result<Self, RuleFileError> {
        let engine = builtin_rules::build_engine(files, kinds)?;
        Ok(Self { engine: Some(Arc::new(engine)), ..Self::builtin() })
    }

    /// This redactor without the rules whose values the reader may see.
    pub(crate) fn with_disclosure(&self, disclosure: Disclosure) -> Self {
        Self { disclosure, ..self.clone() }
    }

    /// This redactor, which scans each long text once, while a frame is built.
    pub(crate) fn with_memo(&self) -> Self {
        Self { memo: Some(DetectionMemo::default()), ..self.clone() }
    }

    /// How much personal data the reader may see.
    pub(crate) fn disclosure(&self) -> &Disclosure {
        &self.disclosure
    }

    fn engine(&self) -> Option<&DetectionEngine> {
        self.engine.as_deref()
    }

    /// The rules in force; `None` if they do not compile.
    fn active_rules(&self) -> Option<ActiveRules<'_>> {
        let rules = self.engine()?.with_disclosure(&self.disclosure);
        Some(match &self.masks {
            Some(masks) => rules.with_masks(masks),
            None => rules,
        })
    }

    /// The kind of value that a rule finds.
    fn kind_of_rule(&self, rule: usize) -> &Arc<str> {
        static VALUE: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("value"));
        static FIELD_KIND: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(mask_table::FIELD_KIND));
        static LOOKALIKE_KIND: LazyLock<Arc<str>> =
            LazyLock::new(|| Arc::from(mask_table::LOOKALIKE_KIND));
        match rule {
            MASK_LOOKALIKE_RULE => &LOOKALIKE_KIND,
            SECRET_FIELD_RULE | PERSONAL_FIELD_RULE => &FIELD_KIND,
            _ => self.engine().and_then(|e| e.identity(rule)).map_or(&VALUE, |name| &name.kind),
        }
    }

    /// The id of a rule.
    fn rule_id(&self, rule: usize) -> Arc<str> {
        self.engine()
            .and_then(|e| e.identity(rule))
            .map_or_else(|| Arc::from("value"), |n| n.id.clone())
    }

    /// `Some` only for a short text of ordinary words, in which no rule can match.
    pub(crate) fn plain_words(&self, text: &str) -> Option<PlainWords> {
        // A disclosed value may be an ordinary word, so nothing counts as plain.
        if self.disclosed_values().is_some() {
            return None;
        }
        self.engine()?.plain_words(text)
    }

    /// The text with every value masked.
    pub(crate) fn redact_text<'t>(&self, text: &'t str, counts: &mut Counts) -> Cow<'t, str> {
        match self.plain_words(text) {
            Some(_) => Cow::Borrowed(text),
            None => self.redact_long_text(text, counts),
        }
    }

    /// Like [`Self::redact_text`], without the check for plain words.
    fn redact_long_text<'t>(&self, text: &'t str, counts: &mut Counts) -> Cow<'t, str> {
        self.redact_text_with_fields(text, Vec::new(), counts)
    }

    /// Redacts a JSON text in which the values at `fields` are hidden because of their field names.
    pub(crate) fn redact_text_with_fields<'t>(
        &self,
        text: &'t str,
        fields: Vec<Detection>,
        counts: &mut Counts,
    ) -> Cow<'t, str> {
        let Some(rules) = self.active_rules() else {
            if text.is_empty() {
                return Cow::Borrowed(text);
            }
            count_kind(counts, "unscanned");
            return Cow::Borrowed(MASK);
        };
        // Detections are collected first and written at the end, because most texts have nothing to
        // mask and are then not copied.
        let mut found = match &self.memo {
            Some(memo) => memo.get_or_detect(text, || detect_with(rules, text)),
            None => detect_with(rules, text),
        };
        if !fields.is_empty() {
            found = json_text::merge_field_detections(text, found, fields);
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut sink = MaskedOutput::new(self, counts, &mut out);
        if JsonStart::default().after(text).is_json() {
            sink.expect_numbers(json_text::number_positions(text, 0, &mut found));
        }
        incremental_scanner::write_masked(text, 0..text.len(), 0, &found, &mut sink);
        Cow::Owned(out)
    }

    /// Where the values of a text are, with the numbers of their rules.
    pub(crate) fn detect(&self, text: &str) -> Vec<Detection> {
        self.active_rules().map_or_else(Vec::new, |rules| detect_with(rules, text))
    }

    /// Where the values of a short text are, with the numbers of their rules.
    fn detect_in_short_text(&self, text: &str) -> Vec<Detection> {
        self.active_rules().map_or_else(Vec::new, |rules| fixpoint::find_values(rules, text, &[]))
    }

    /// Values in an address or name of a resource that only a part of it shows. It is scanned with the
    /// characters that join its parts read as line ends, because a rule may not recognise a value
    /// between them.
    pub(crate) fn detect_in_parts_of_address(&self, text: &str) -> Vec<Detection> {
        let part = |c: char| if ADDRESS_SEPARATORS.contains(&c) { '\n' } else { c };
        let parts: String = text.chars().map(part).collect();
        let known = self.detect(text);
        let is_undetected = |one: &Detection| {
            let holds = |at: &Range<usize>| at.start <= one.range.start && one.range.end <= at.end;
            !known.iter().any(|known| holds(&known.range))
        };
        let mut found = self.detect(&parts);
        // A sign that joins parts may also be within a value: `n_ghp_…`, `ghp_…_n`.
        let parts = if text.len() <= MAX_ADDRESS_BYTES { MAX_JOINED_PARTS } else { 0 };
        let signs = text.match_indices('_').take(parts);
        for start in signs.map(|(sign, _)| sign.saturating_add(1)).chain([0]) {
            let behind = text.get(start..).unwrap_or_default();
            let before_last = behind.rsplit_once('_').map(|(before, _)| before);
            for part in [Some(behind), before_last].into_iter().flatten() {
                found.extend(self.detect(part).into_iter().map(|one| Detection {
                    range: one.range.start.saturating_add(start)
                        ..one.range.end.saturating_add(start),
                    ..one
                }));
            }
        }
        found.retain(is_undetected);
        engine::merge_detections(found)
    }

    /// Where the values of a text are, with rule ids and kinds.
    pub(crate) fn value_spans(&self, text: &str) -> Vec<Span> {
        let mut spans = SpanCollector::new(self);
        match self.active_rules() {
            Some(rules) => IncrementalScanner::scan_whole(rules, text, &mut spans),
            None => spans.mask(0, text, usize::MAX),
        }
        spans.found
    }

    /// Every rule's id, kind and examples.
    pub(crate) fn rules(&self) -> Vec<RuleDescription> {
        let Some(engine) = self.engine() else { return Vec::new() };
        let named = engine.identities().iter().enumerate();
        let rules = named.map(|(rule, name)| RuleDescription {
            id: Arc::clone(&name.id),
            kind: Arc::clone(&name.kind),
            family: name.family,
            masks: engine.examples(rule),
        });
        rules.collect()
    }

    /// The literals at which pattern matches begin.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let anchors = self.engine().map(DetectionEngine::anchors).unwrap_or_default();
        anchors.into_iter().map(str::to_owned).collect()
    }
}

fn detect_with(rules: ActiveRules<'_>, text: &str) -> Vec<Detection> {
    if text.len() < incremental_scanner::WINDOW_BYTES {
        return fixpoint::find_values(rules, text, &[]);
    }
    let mut places = DetectionCollector::default();
    IncrementalScanner::scan_whole(rules, text, &mut places);
    places.found
}

pub(crate) fn count_kind(counts: &mut Counts, kind: &str) {
    match counts.get_mut(kind) {
        Some(count) => *count = count.saturating_add(1),
        None => {
            counts.insert(Arc::from(kind), 1);
        }
    }
}
