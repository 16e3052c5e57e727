//! The firewall itself.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::{Frame, RawResult};

use crate::error::HandleError;
use crate::frame::{build, fit};
use crate::handle::OpenResult;
use crate::query::{HandleQuery, QueryCache, Source, drill};
use crate::redact::{
    Counts, Disclosure, MaskTable, Redactor, ResolvedArguments, RuleFileError, RuleName, Span,
    StreamRedactor, ValueSource,
};
use crate::spec::FrameSpec;
use crate::view::ViewRegistry;

/// Text with everything masked that a rule knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText {
    /// The text, with [`MASK`](crate::MASK) in place of each value, or a mask with a number.
    pub text: String,
    /// How many values of each kind were masked.
    pub counts: Counts,
}

/// Makes a firewall with rules of an operator's own, or for some kinds of values only.
///
/// ```
/// use weaver_firewall::Firewall;
///
/// let rules = r#"
/// [[rule]]
/// id = "badge"
/// type = "badge"
/// anchors = ["badge-"]
/// pattern = 'badge-([0-9]{6})'
/// masks = [["badge-123456 in", "123456"]]
/// keeps = ["badge-12"]
/// "#;
/// let firewall = Firewall::builder().rules(rules).build()?;
/// assert_eq!(firewall.redact_text("my badge-654321").text, "my badge-[REDACTED]");
/// # Ok::<(), weaver_firewall::RuleFileError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FirewallBuilder {
    files: Vec<String>,
    kinds: BTreeSet<String>,
    masks: Option<Arc<MaskTable>>,
}

impl FirewallBuilder {
    /// Adds the rules of a file to the built-in ones. They are held to their own examples.
    #[must_use]
    pub fn rules(mut self, toml: impl Into<String>) -> Self {
        self.files.push(toml.into());
        self
    }

    /// Masks values of this kind; once one is named, only named kinds are masked.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kinds.insert(kind.into());
        self
    }

    /// Puts masks of this table in place of values: `[EMAIL_1]`.
    #[must_use]
    pub fn masks(mut self, table: Arc<MaskTable>) -> Self {
        self.masks = Some(table);
        self
    }

    /// Compiles the rules.
    ///
    /// # Errors
    /// [`RuleFileError`], naming the rule that is wrong and what it must be.
    pub fn build(self) -> Result<Firewall, RuleFileError> {
        let redactor = Redactor::new(&self.files, &self.kinds)?;
        let firewall = Firewall { redactor: Arc::new(redactor), views: Arc::default() };
        Ok(match self.masks {
            Some(table) => firewall.with_masks(table, None),
            None => firewall,
        })
    }
}

/// Turns raw results into frames. Cheap to clone; made once, since it compiles its rules.
#[derive(Debug, Clone)]
pub struct Firewall {
    redactor: Arc<Redactor>,
    views: Arc<ViewRegistry>,
}

impl Default for Firewall {
    fn default() -> Self {
        Self::new()
    }
}

impl Firewall {
    /// A firewall with the built-in rules.
    #[must_use]
    pub fn new() -> Self {
        Self { redactor: Arc::new(Redactor::builtin()), views: Arc::default() }
    }

    /// The same with these views beside the built-in ones.
    #[must_use]
    pub fn with_views(self, views: ViewRegistry) -> Self {
        Self { views: Arc::new(views), ..self }
    }

    /// The views.
    #[must_use]
    pub fn views(&self) -> &ViewRegistry {
        &self.views
    }

    /// A firewall with more rules, or with fewer kinds of values.
    #[must_use]
    pub fn builder() -> FirewallBuilder {
        FirewallBuilder::default()
    }

    /// The same firewall with the masks of a run, for values that come from this source. What looks
    /// like a mask in a result is masked too.
    #[must_use]
    pub fn with_masks(&self, table: Arc<MaskTable>, source: Option<ValueSource>) -> Self {
        let views = Arc::clone(&self.views);
        Self { redactor: Arc::new(self.redactor.with_masks(table, source)), views }
    }

    /// The same firewall for a reader who may see this much of personal data, in texts and values.
    /// What a frame shows follows from its spec alone.
    #[must_use]
    pub fn showing(&self, disclosure: Disclosure) -> Self {
        let views = Arc::clone(&self.views);
        Self { redactor: Arc::new(self.redactor.showing(disclosure)), views }
    }

    /// The rules for a frame: what the contract of its capability lets the reader see, they find
    /// no more.
    fn redactor_for(&self, spec: &FrameSpec<'_>) -> Cow<'_, Redactor> {
        let disclosure = spec.disclosure();
        if disclosure == *self.redactor.disclosure() {
            return Cow::Borrowed(&self.redactor);
        }
        Cow::Owned(self.redactor.showing(disclosure))
    }

    /// Every rule's name, kind and examples.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleName> {
        self.redactor.rules()
    }

    /// What may be seen of a result. Never fails: what cannot be shown is left out, and a warning
    /// counts it.
    ///
    /// The JSON of the frame has at most `max_chars` characters, or [`Firewall::min_chars`] where
    /// that is more. The one exception is raw mode, which shows the whole value unredacted, with
    /// the warning `raw_unredacted`; the caller guarantees the authority for it.
    #[must_use]
    pub fn frame(&self, raw: &RawResult, spec: &FrameSpec<'_>) -> Frame {
        build(&self.redactor_for(spec), raw, spec)
    }

    /// What may be seen of a part of a stored result: a table, or a summary where strict mode or
    /// the constraints ask for it. Same redaction, same budget, same label as a first frame.
    ///
    /// Rows of an array are its items; of a text, its lines; an object is one row. A page never
    /// has more rows than the constraints allow; any number of pages can be asked for, each of
    /// them decided and recorded like a call.
    ///
    /// # Errors
    /// [`HandleError::Constraint`], when the query names a field that may not be seen, or more
    /// rows or fields than the budget has; [`HandleError::Query`], when it asks for a view that
    /// the result does not have.
    pub fn expand(
        &self,
        raw: &RawResult,
        query: &HandleQuery,
        spec: &FrameSpec<'_>,
    ) -> Result<Frame, HandleError> {
        let source = Source { raw, memo: &QueryCache::default(), digest: None };
        drill(&self.redactor_for(spec), &self.views, &source, query, spec)
    }

    /// The same for a result that stays open: what one question computes, the next one finds.
    ///
    /// # Errors
    /// Those of [`Firewall::expand`].
    pub fn look(
        &self,
        opened: &OpenResult,
        query: &HandleQuery,
        spec: &FrameSpec<'_>,
    ) -> Result<Frame, HandleError> {
        let mut source = opened.source();
        let own = QueryCache::default();
        // What one run's masks made of it is not for another run.
        if !source.memo.holds_for(spec, self.redactor.mask_state()) {
            source.memo = &own;
        }
        drill(&self.redactor_for(spec), &self.views, &source, query, spec)
    }

    /// The floor of `max_chars`: the size of the smallest frame for this spec, which has ids,
    /// handle, label, time and one warning, and no content.
    #[must_use]
    pub fn min_chars(&self, spec: &FrameSpec<'_>) -> usize {
        fit::floor(spec)
    }

    /// Masks what a rule knows in a text. Linear time; doing it twice changes nothing more.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> RedactedText {
        let mut counts = Counts::new();
        let text = self.redactor.text(text, &mut counts).into_owned();
        RedactedText { text, counts }
    }

    /// Masks a text that follows on `before`, which was shown already: also what goes on with a value
    /// that began there, and what is a value for what stands there.
    #[must_use]
    pub fn redact_continued(&self, before: &str, text: &str) -> String {
        self.redactor.continued(before, text)
    }

    /// Arguments that a model wrote, with the values in place of the masks of this run. Without a
    /// table every mask is unknown.
    #[must_use]
    pub fn resolve(&self, arguments: &Value) -> ResolvedArguments {
        self.redactor.resolve(arguments)
    }

    /// Where the values of a text stand, in order and apart; [`Firewall::redact_text`] masks these.
    #[must_use]
    pub fn spans(&self, text: &str) -> Vec<Span> {
        self.redactor.spans(text)
    }

    /// The rules.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The rules, shared.
    pub(crate) fn shared_redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    /// Masks a text that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(Arc::clone(&self.redactor))
    }

    /// The literals that every search begins with. A bare pass over them is what a comparison of
    /// speed is made against.
    #[doc(hidden)]
    #[must_use]
    pub fn anchors(&self) -> Vec<String> {
        self.redactor.anchors()
    }

    /// Masks what a rule knows in a value: keys, strings, numbers, and every value under a
    /// sensitive field name. What nests deeper than 128 levels is left out, with a marker.
    #[must_use]
    pub fn redact_value(&self, value: &Value) -> (Value, Counts) {
        let mut counts = Counts::new();
        let value = self.redactor.value(value, &mut counts);
        (value, counts)
    }
}
