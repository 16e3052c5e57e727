//! The entry point of the crate: [`Firewall`] and its builder.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::{Frame, RawResult};

use crate::error::HandleError;
use crate::frame::{build, fit};
use crate::handle::OpenResult;
use crate::query::{HandleQuery, QueryCache, ResultSource, drill_down};
use crate::redact::{
    Counts, Disclosure, MaskTable, Redactor, ResolvedArguments, RuleDescription, RuleFileError,
    Span, StreamRedactor, ValueSource,
};
use crate::spec::FrameSpec;
use crate::view::ViewRegistry;

/// Text in which every value that a rule recognises is masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText {
    /// The text, with [`MASK`](crate::MASK) or a numbered mask in place of each value.
    pub text: String,
    /// How many values of each kind were masked.
    pub counts: Counts,
}

/// Builds a firewall with an operator's own rules, or for selected kinds of values only.
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
    /// Adds the rules of a file to the built-in ones. Their examples must hold.
    #[must_use]
    pub fn rules(mut self, toml: impl Into<String>) -> Self {
        self.files.push(toml.into());
        self
    }

    /// Masks values of this kind. Once one kind is selected, only selected kinds are masked.
    #[must_use]
    pub fn only_kind(mut self, kind: impl Into<String>) -> Self {
        self.kinds.insert(kind.into());
        self
    }

    /// Replaces values by numbered masks of this table, such as `[EMAIL_1]`.
    #[must_use]
    pub fn mask_table(mut self, table: Arc<MaskTable>) -> Self {
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

/// Turns raw results into frames. Cheap to clone; create it once, since that compiles the rules.
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

    /// Adds these views to the built-in ones.
    #[must_use]
    pub fn with_views(self, views: ViewRegistry) -> Self {
        Self { views: Arc::new(views), ..self }
    }

    /// The registered views.
    #[must_use]
    pub fn views(&self) -> &ViewRegistry {
        &self.views
    }

    /// A builder, for more rules or for fewer kinds of values.
    #[must_use]
    pub fn builder() -> FirewallBuilder {
        FirewallBuilder::default()
    }

    /// This firewall with the masks of a run, for values from this source. Text in a result that
    /// merely looks like a mask is masked as well.
    #[must_use]
    pub fn with_masks(&self, table: Arc<MaskTable>, source: Option<ValueSource>) -> Self {
        let views = Arc::clone(&self.views);
        Self { redactor: Arc::new(self.redactor.with_masks(table, source)), views }
    }

    /// This firewall for text that is no result of a call: it also masks the values that calls of a
    /// run received in place of their masks. Every value gets the plain mask.
    #[must_use]
    pub fn with_disclosed_values(&self, table: Arc<MaskTable>) -> Self {
        let views = Arc::clone(&self.views);
        Self { redactor: Arc::new(self.redactor.with_disclosed_values(table)), views }
    }

    /// This firewall for a reader who may see this much personal data, in texts and values. For
    /// frames, the frame's spec alone decides.
    #[must_use]
    pub fn with_disclosure(&self, disclosure: Disclosure) -> Self {
        let views = Arc::clone(&self.views);
        Self { redactor: Arc::new(self.redactor.with_disclosure(disclosure)), views }
    }

    /// The redactor for a frame: it does not mask what the capability's contract discloses to the
    /// reader.
    fn redactor_for(&self, spec: &FrameSpec<'_>) -> Redactor {
        self.redactor.with_disclosure(spec.disclosure()).with_memo()
    }

    /// Every rule's name, kind and examples.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleDescription> {
        self.redactor.rules()
    }

    /// Builds the frame that may be shown of a result. Never fails: what cannot be shown is left
    /// out, and a warning counts it.
    ///
    /// The JSON of the frame has at most `max_chars` characters, or [`Firewall::min_chars`] where
    /// that is more. The one exception is raw mode, which shows the whole value unredacted, with
    /// the warning `raw_unredacted`; the caller guarantees the authority for it.
    #[must_use]
    pub fn frame(&self, raw: &RawResult, spec: &FrameSpec<'_>) -> Frame {
        build(&self.redactor_for(spec), raw, spec)
    }

    /// A frame for a part of a stored result: a table, or a summary where strict mode or the
    /// constraints demand it. Redaction, budget and label are those of a first frame.
    ///
    /// The rows of an array are its items, those of a text its lines; an object is one row. A page
    /// never has more rows than the constraints allow. Any number of pages may be requested; each
    /// of them is decided and recorded like a call.
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
        let source = ResultSource { raw, cache: &QueryCache::default(), digest: None };
        drill_down(&self.redactor_for(spec), &self.views, &source, query, spec)
    }

    /// Like [`Firewall::expand`], for a result that stays open: intermediate results are cached for
    /// later queries.
    ///
    /// # Errors
    /// Those of [`Firewall::expand`].
    pub fn expand_open(
        &self,
        opened: &OpenResult,
        query: &HandleQuery,
        spec: &FrameSpec<'_>,
    ) -> Result<Frame, HandleError> {
        let mut source = opened.source();
        let uncached = QueryCache::default();
        // A cache filled under the masks of one run must not serve another run.
        if !source.cache.is_valid_for(spec, self.redactor.mask_table_version()) {
            source.cache = &uncached;
        }
        drill_down(&self.redactor_for(spec), &self.views, &source, query, spec)
    }

    /// The lower limit of `max_chars`: the size of the smallest frame for this spec, which has ids,
    /// handle, label, time and one warning, but no content.
    #[must_use]
    pub fn min_chars(&self, spec: &FrameSpec<'_>) -> usize {
        fit::min_frame_chars(spec)
    }

    /// Masks every value that a rule recognises. Linear time; masking the output again changes
    /// nothing.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> RedactedText {
        let mut counts = Counts::new();
        let text = self.redactor.redact_text(text, &mut counts).into_owned();
        RedactedText { text, counts }
    }

    /// Masks the text of a driver's error, like [`Self::redact_text`]. Plain masks in it are kept: a
    /// driver may have redacted what it quotes.
    #[must_use]
    pub fn redact_driver_text(&self, text: &str) -> RedactedText {
        let mut counts = Counts::new();
        let text = self.redactor.for_driver_text().redact_text(text, &mut counts).into_owned();
        RedactedText { text, counts }
    }

    /// Masks a text that continues `before`, which was already shown. This also masks the rest of a
    /// value that began there, and values that are recognisable only in that context.
    #[must_use]
    pub fn redact_continued(&self, before: &str, text: &str) -> String {
        self.redactor.redact_continued(before, text)
    }

    /// Replaces the masks of this run in arguments that a model wrote by their values. Without a
    /// mask table every mask is unknown.
    #[must_use]
    pub fn resolve_masks(&self, arguments: &Value) -> ResolvedArguments {
        self.redactor.resolve(arguments)
    }

    /// Where the values of a text are, in order and disjoint; [`Firewall::redact_text`] masks
    /// exactly these.
    #[must_use]
    pub fn value_spans(&self, text: &str) -> Vec<Span> {
        self.redactor.value_spans(text)
    }

    /// True if an address or name of a resource holds a value, perhaps only as one of its parts. It is
    /// masked like that where a result embeds the resource.
    #[must_use]
    pub fn has_value_in_address(&self, text: &str) -> bool {
        !self.redactor.detect(text).is_empty()
            || !self.redactor.detect_in_parts_of_address(text).is_empty()
    }

    /// The redactor.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The redactor, shared.
    pub(crate) fn shared_redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    /// A redactor for a text that arrives in pieces.
    #[must_use]
    pub fn stream_redactor(&self) -> StreamRedactor {
        StreamRedactor::new(Arc::clone(&self.redactor))
    }

    /// The literals at which pattern matches begin. Benchmarks compare against a bare search for
    /// them.
    #[doc(hidden)]
    #[must_use]
    pub fn anchors(&self) -> Vec<String> {
        self.redactor.anchors()
    }

    /// Masks a JSON value: keys, strings, numbers, and every value under a sensitive field name.
    /// Values nested deeper than 128 levels are replaced by a marker.
    #[must_use]
    pub fn redact_value(&self, value: &Value) -> (Value, Counts) {
        let mut counts = Counts::new();
        let value = self.redactor.redact_value(value, &mut counts);
        (value, counts)
    }
}
