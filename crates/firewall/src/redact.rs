//! Redaction: what is masked, and where.

pub(crate) mod anchor_matcher;
mod builtin;
mod checksum;
mod column;
mod covered_ranges;
mod cut_reason;
mod disclosure;
mod engine;
mod examples;
pub(crate) mod field;
mod file;
mod fixpoint;
mod incremental_scanner;
mod joined_text;
pub(crate) mod json_text;
mod lexicon;
mod mask_collapsed_text;
mod mask_table;
mod open_tail;
mod output;
mod pem;
mod personal;
mod plain_words;
mod rule;
mod rule_name;
mod run;
mod scan_window;
mod scanner;
mod secrets;
mod stream;
#[cfg(test)]
mod tests;
mod validate;
pub(crate) mod value;
mod work;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Weak};

use serde_json::{Number, Value};
use weaver_types::ValueFamily;

pub(crate) use engine::Detection;
use engine::{ActiveRules, Engine, GIVEN_OUT, HIDDEN_PERSONAL, HIDDEN_SECRET, LOOKS_LIKE_A_MASK};
use field::HiddenBy;
use incremental_scanner::IncrementalScanner;
pub(crate) use mask_table::Form;
use mask_table::{KnownValues, MaskedValue};
use output::{CollectedDetections, Output, Spans};
pub(crate) use plain_words::PlainWords;

pub(crate) use joined_text::{JoinedText, MaskedPart};

pub use disclosure::Disclosure;
pub use file::RuleFileError;
pub use mask_table::{MaskTable, ResolvedArguments, UnknownMask, ValueSource};
pub use output::Span;
pub use rule_name::RuleName;
pub use stream::StreamRedactor;

/// What stands in place of a masked value.
pub const MASK: &str = "[REDACTED]";

/// Counts of masked values, by kind.
pub type Counts = BTreeMap<Arc<str>, u64>;

/// How many bytes patterns and scanners are run over while this runs, in this thread. Each byte of a
/// text adds no more than a bounded number, whatever the text holds.
#[cfg(feature = "work-meter")]
pub fn work_of(run: impl FnOnce()) -> usize {
    work::of(run)
}

/// The engine with the built-in rules, made once.
static BUILTIN: LazyLock<Option<Arc<Engine>>> =
    LazyLock::new(|| builtin::engine(&[], &BTreeSet::new()).ok().map(Arc::new));

/// All rules, ready to run. Without rules it masks every text: better nothing than a secret.
#[derive(Debug, Clone)]
pub(crate) struct Redactor {
    engine: Option<Arc<Engine>>,
    masks: Option<RunMasks>,
    disclosure: Disclosure,
}

/// The masks of a run, as one result is masked with them.
#[derive(Debug, Clone)]
struct RunMasks {
    table: Arc<MaskTable>,
    source: Option<Arc<ValueSource>>,
    /// Values that were given out before.
    known: Option<Arc<KnownValues>>,
    /// Whether text that looks like a mask is masked. What went through once is not.
    escapes: bool,
}

/// Which masks a redactor would write: those of one table, as long as no more of its values are
/// given out.
#[derive(Debug, Clone)]
pub(crate) struct MaskState {
    table: Weak<MaskTable>,
    known: Option<Weak<KnownValues>>,
}

impl PartialEq for MaskState {
    fn eq(&self, other: &Self) -> bool {
        let known = match (&self.known, &other.known) {
            (Some(own), Some(other)) => own.ptr_eq(other),
            (own, other) => own.is_none() && other.is_none(),
        };
        known && self.table.ptr_eq(&other.table)
    }
}

impl Redactor {
    /// The built-in rules. That they compile is tested; if they did not, all text would be masked.
    pub(crate) fn builtin() -> Self {
        Self { engine: BUILTIN.clone(), masks: None, disclosure: Disclosure::Nothing }
    }

    /// The built-in rules and those of an operator's files; only these kinds, unless none is named.
    pub(crate) fn new(files: &[String], kinds: &BTreeSet<String>) -> Result<Self, RuleFileError> {
        let engine = builtin::engine(files, kinds)?;
        Ok(Self { engine: Some(Arc::new(engine)), ..Self::builtin() })
    }

    /// The same rules, with the masks of a run for values that come from there.
    pub(crate) fn with_masks(&self, table: Arc<MaskTable>, source: Option<ValueSource>) -> Self {
        let (known, source) = (table.known(), source.map(Arc::new));
        let masks = Some(RunMasks { table, source, known, escapes: true });
        Self { masks, ..self.clone() }
    }

    /// The same with a mask that says nothing in place of every value.
    pub(crate) fn without_masks(&self) -> Self {
        Self { masks: None, ..self.clone() }
    }

    /// The same for what went through once: the masks in it stay.
    pub(crate) fn again(&self) -> Self {
        let masks = self.masks.clone().map(|masks| RunMasks { escapes: false, ..masks });
        Self { masks, ..self.clone() }
    }

    /// The same rules, without those whose values may be seen.
    pub(crate) fn showing(&self, disclosure: Disclosure) -> Self {
        Self { disclosure, ..self.clone() }
    }

    /// What may be seen of personal data.
    pub(crate) fn disclosure(&self) -> &Disclosure {
        &self.disclosure
    }

    /// True when masks lead back to values, so that they differ between runs.
    pub(crate) fn has_masks(&self) -> bool {
        self.masks.is_some()
    }

    /// The masks that it would write; nothing where they say nothing, which is the same in every run.
    pub(crate) fn mask_state(&self) -> Option<MaskState> {
        let RunMasks { table, known, .. } = self.masks.as_ref()?;
        let known = known.as_ref().map(Arc::downgrade);
        Some(MaskState { table: Arc::downgrade(table), known })
    }

    fn engine(&self) -> Option<&Engine> {
        self.engine.as_deref()
    }

    /// The rules in force.
    fn active(&self) -> Option<ActiveRules<'_>> {
        let rules = self.engine()?.showing(&self.disclosure);
        Some(match &self.masks {
            Some(masks) => rules.with_masks(masks),
            None => rules,
        })
    }

    fn known(&self) -> Option<&KnownValues> {
        self.masks.as_ref().and_then(|masks| masks.known.as_deref())
    }

    /// The kind of value that a rule finds.
    fn kind(&self, rule: usize) -> &Arc<str> {
        static VALUE: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("value"));
        static FIELD_KIND: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(mask_table::FIELD));
        static LOOKALIKE_KIND: LazyLock<Arc<str>> =
            LazyLock::new(|| Arc::from(mask_table::LOOKALIKE));
        match rule {
            LOOKS_LIKE_A_MASK => &LOOKALIKE_KIND,
            HIDDEN_SECRET | HIDDEN_PERSONAL => &FIELD_KIND,
            _ => self.engine().and_then(|e| e.name(rule)).map_or(&VALUE, |name| &name.kind),
        }
    }

    /// The name of a rule.
    fn rule(&self, rule: usize) -> Arc<str> {
        self.engine()
            .and_then(|e| e.name(rule))
            .map_or_else(|| Arc::from("value"), |n| n.id.clone())
    }

    /// The mask of a value that a rule found: a numbered one where there is a table with room.
    fn mask(&self, rule: usize, form: Form, text: &str) -> Option<String> {
        let RunMasks { table, source, known, .. } = self.masks.as_ref()?;
        if rule == GIVEN_OUT {
            return table.mask_again(text, known.as_deref()?);
        }
        let family = match rule {
            HIDDEN_PERSONAL => ValueFamily::Personal,
            _ => self.engine()?.family(rule),
        };
        table.mask(&MaskedValue { kind: self.kind(rule), family, form, text }, source.as_deref())
    }

    /// The mask of a value that the name of its field hides, under the kind that a rule gives it
    /// where one does.
    pub(crate) fn mask_field(&self, value: &Value, by: HiddenBy) -> Option<String> {
        let RunMasks { table, source, .. } = self.masks.as_ref()?;
        let token;
        let (form, text) = match value {
            Value::String(text) => (Form::Text, text.as_str()),
            other => {
                token = other.to_string();
                (Form::Json, token.as_str())
            }
        };
        if form == Form::Text
            && let [span] = self.spans(text).as_slice()
            && span.range == (0..text.len())
        {
            return Some(self.text(text, &mut Counts::new()).into_owned());
        }
        let (kind, family) = (self.kind(HIDDEN_SECRET), by.family());
        table.mask(&MaskedValue { kind, family, form, text }, source.as_deref())
    }

    /// The mask of a number that stands as a value of its own.
    pub(crate) fn mask_number(&self, number: &Number) -> Option<String> {
        let text = number.to_string();
        let rule = match self.spans_by_rule(&text).as_slice() {
            [one] => one.rule,
            _ => HIDDEN_SECRET,
        };
        self.mask(rule, Form::Json, &text)
    }

    /// True for a mask of the run in what went through once.
    pub(crate) fn is_own_mask(&self, text: &str) -> bool {
        let own = |masks: &RunMasks| !masks.escapes && masks.table.holds(text);
        text.starts_with('[') && self.masks.as_ref().is_some_and(own)
    }

    /// The value of the mask that was written last goes on: the mask leads back to nothing.
    fn forget(&self, mask: &str) {
        if let Some(masks) = &self.masks {
            masks.table.forget(mask);
        }
    }

    /// Whether there are values that were given out.
    pub(crate) fn looks_for_values(&self) -> bool {
        self.known().is_some()
    }

    /// Whether a number or another short text is a value that was given out.
    pub(crate) fn is_given_out(&self, text: &str) -> bool {
        self.known().is_some_and(|known| known.is_one(text))
    }

    /// Arguments with the values in place of their masks.
    pub(crate) fn resolve(&self, arguments: &Value) -> ResolvedArguments {
        let is_kind = |kind: &[u8]| self.engine().is_some_and(|engine| engine.is_kind(kind));
        match &self.masks {
            Some(masks) => masks.table.resolve(arguments, &is_kind),
            None => MaskTable::new().resolve(arguments, &is_kind),
        }
    }

    /// Something only for a brief text.
    pub(crate) fn plain_words(&self, text: &str) -> Option<PlainWords> {
        // A value that was given out may be an ordinary word.
        if self.known().is_some() {
            return None;
        }
        self.engine()?.plain_words(text)
    }

    /// The text with every value masked.
    pub(crate) fn text<'t>(&self, text: &'t str, counts: &mut Counts) -> Cow<'t, str> {
        match self.plain_words(text) {
            Some(_) => Cow::Borrowed(text),
            None => self.long_text(text, counts),
        }
    }

    /// The same for a text that is not brief.
    fn long_text<'t>(&self, text: &'t str, counts: &mut Counts) -> Cow<'t, str> {
        self.text_with_fields(text, Vec::new(), counts)
    }

    /// The same for a text of JSON in which these values are hidden by the names of their fields.
    pub(crate) fn text_with_fields<'t>(
        &self,
        text: &'t str,
        fields: Vec<Detection>,
        counts: &mut Counts,
    ) -> Cow<'t, str> {
        let Some(rules) = self.active() else {
            if text.is_empty() {
                return Cow::Borrowed(text);
            }
            count(counts, "unscanned");
            return Cow::Borrowed(MASK);
        };
        // What is found is remembered and written at the end: most texts have nothing to mask, and
        // are not copied.
        let mut found = detections(rules, text);
        if !fields.is_empty() {
            found = json_text::with_fields(text, found, fields);
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let numbers = json_text::bare_numbers(text, &mut found);
        let mut sink = Output::new(self, counts, &mut out).with_numbers(numbers);
        incremental_scanner::write(text, 0..text.len(), 0, &found, &mut sink);
        Cow::Owned(out)
    }

    /// Where the values of a text stand, by the number of their rules.
    pub(crate) fn detections(&self, text: &str) -> Vec<Detection> {
        self.active().map_or_else(Vec::new, |rules| detections(rules, text))
    }

    /// Where the values of a short text stand, by the number of their rules.
    fn spans_by_rule(&self, text: &str) -> Vec<Detection> {
        self.active().map_or_else(Vec::new, |rules| fixpoint::find_values(rules, text, &[]))
    }

    /// Where the values of a text stand.
    pub(crate) fn spans(&self, text: &str) -> Vec<Span> {
        let mut spans = Spans::new(self);
        match self.active() {
            Some(rules) => IncrementalScanner::whole(rules, text, &mut spans),
            None => incremental_scanner::Sink::mask(&mut spans, 0, text, usize::MAX),
        }
        spans.found
    }

    /// Every rule's name, kind and examples.
    pub(crate) fn rules(&self) -> Vec<RuleName> {
        let Some(engine) = self.engine() else { return Vec::new() };
        let named = engine.names().iter().enumerate();
        let rules = named.map(|(rule, name)| RuleName {
            id: Arc::clone(&name.id),
            kind: Arc::clone(&name.kind),
            family: name.family,
            masks: engine.examples(rule),
        });
        rules.collect()
    }

    /// The literals that every search begins with.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let anchors = self.engine().map(Engine::anchors).unwrap_or_default();
        anchors.into_iter().map(str::to_owned).collect()
    }
}

fn detections(rules: ActiveRules<'_>, text: &str) -> Vec<Detection> {
    if text.len() < incremental_scanner::WINDOW {
        return fixpoint::find_values(rules, text, &[]);
    }
    let mut places = CollectedDetections::default();
    IncrementalScanner::whole(rules, text, &mut places);
    places.found
}

pub(crate) fn count(counts: &mut Counts, kind: &str) {
    match counts.get_mut(kind) {
        Some(count) => *count = count.saturating_add(1),
        None => {
            counts.insert(Arc::from(kind), 1);
        }
    }
}
