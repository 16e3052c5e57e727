//! Redaction: what is masked, and where.

mod brief;
mod builtin;
mod checksum;
mod covered;
mod disclosure;
mod engine;
mod examples;
pub(crate) mod field;
mod file;
pub(crate) mod json_text;
mod lexicon;
mod machine;
mod output;
mod page;
mod pem;
mod personal;
mod placeholders;
mod plain;
mod rule;
mod run;
mod scanner;
mod secrets;
mod settle;
pub(crate) mod sieve;
mod stream;
#[cfg(test)]
mod tests;
mod validate;
pub(crate) mod value;
mod work;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use crate::firewall::RuleName;

pub(crate) use brief::Brief;
use engine::{ActiveRules, Engine};
use machine::Machine;
use output::{Output, Places, Spans};

pub use disclosure::Disclosure;
pub use file::RuleFileError;
pub use output::Span;
pub use placeholders::Placeholders;
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
    placeholders: Option<Arc<Placeholders>>,
    disclosure: Disclosure,
}

impl Redactor {
    /// The built-in rules. That they compile is tested; if they did not, all text would be masked.
    pub(crate) fn builtin() -> Self {
        Self { engine: BUILTIN.clone(), placeholders: None, disclosure: Disclosure::Nothing }
    }

    /// The built-in rules and those of an operator's files; only these kinds, unless none is named.
    pub(crate) fn new(files: &[String], kinds: &BTreeSet<String>) -> Result<Self, RuleFileError> {
        let engine = builtin::engine(files, kinds)?;
        Ok(Self { engine: Some(Arc::new(engine)), ..Self::builtin() })
    }

    /// The same rules, with placeholders for masks.
    pub(crate) fn with_placeholders(&self, held: Arc<Placeholders>) -> Self {
        Self { placeholders: Some(held), ..self.clone() }
    }

    /// The same rules, without those whose values may be seen.
    pub(crate) fn showing(&self, disclosure: Disclosure) -> Self {
        Self { disclosure, ..self.clone() }
    }

    /// What may be seen of personal data.
    pub(crate) fn disclosure(&self) -> &Disclosure {
        &self.disclosure
    }

    /// True when masks are numbered in a table, so that they differ between runs.
    pub(crate) fn has_placeholders(&self) -> bool {
        self.placeholders.is_some()
    }

    fn engine(&self) -> Option<&Engine> {
        self.engine.as_deref()
    }

    /// The rules in force.
    fn active(&self) -> Option<ActiveRules<'_>> {
        self.engine().map(|engine| engine.showing(&self.disclosure))
    }

    /// The kind of value that a rule finds.
    fn kind(&self, rule: usize) -> &Arc<str> {
        static VALUE: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("value"));
        self.engine().and_then(|e| e.name(rule)).map_or(&VALUE, |name| &name.kind)
    }

    /// The name of a rule.
    fn rule(&self, rule: usize) -> Arc<str> {
        self.engine()
            .and_then(|e| e.name(rule))
            .map_or_else(|| Arc::from("value"), |n| n.id.clone())
    }

    fn write_mask(&self, kind: &str, value: &str, out: &mut String) {
        let name = self.placeholders.as_ref().and_then(|held| held.of(kind, value));
        out.push_str(name.as_deref().unwrap_or(MASK));
    }

    /// Something only for a brief text.
    pub(crate) fn brief(&self, text: &str) -> Option<Brief> {
        self.engine()?.brief(text)
    }

    /// The text with every value masked.
    pub(crate) fn text<'t>(&self, text: &'t str, counts: &mut Counts) -> Cow<'t, str> {
        match self.brief(text) {
            Some(_) => Cow::Borrowed(text),
            None => self.long_text(text, counts),
        }
    }

    /// The same for a text that is not brief.
    fn long_text<'t>(&self, text: &'t str, counts: &mut Counts) -> Cow<'t, str> {
        let Some(rules) = self.active() else {
            if text.is_empty() {
                return Cow::Borrowed(text);
            }
            count(counts, "unscanned");
            return Cow::Borrowed(MASK);
        };
        // What is found is remembered and written at the end: most texts have nothing to mask, and
        // are not copied.
        let found = if text.len() < machine::WINDOW {
            settle::masks(rules, text, &[])
        } else {
            let mut places = Places::default();
            Machine::whole(rules, text, &mut places);
            places.found
        };
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut sink = Output::new(self, counts, &mut out);
        machine::write(text, 0..text.len(), 0, &found, &mut sink);
        Cow::Owned(out)
    }

    /// The first mask of ours in a text.
    pub(crate) fn mask_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        // Most texts have no bracket, and need no look at each of them.
        if !text.contains('[') {
            return None;
        }
        let is_kind = |kind: &[u8]| self.engine().is_some_and(|engine| engine.is_kind(kind));
        let first = plain::standing(text, is_kind).into_iter().next()?;
        text.get(first)
    }

    /// Where the values of a text stand.
    pub(crate) fn spans(&self, text: &str) -> Vec<Span> {
        let mut spans = Spans::new(self);
        match self.active() {
            Some(rules) => Machine::whole(rules, text, &mut spans),
            None => machine::Sink::mask(&mut spans, 0, text, usize::MAX),
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

pub(crate) fn count(counts: &mut Counts, kind: &str) {
    match counts.get_mut(kind) {
        Some(count) => *count = count.saturating_add(1),
        None => {
            counts.insert(Arc::from(kind), 1);
        }
    }
}
