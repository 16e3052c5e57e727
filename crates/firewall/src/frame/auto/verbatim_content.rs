//! Content shown verbatim except for masks and escaped hidden characters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use weaver_text::escape;
use weaver_types::ContentBlocks;

use super::blocks;
use crate::content::findings::Findings;
use crate::content::media_type;
use crate::redact::value::{OmissionCounts, Postprocess, SiblingNames, ValueRedactor, WalkBounds};
use crate::redact::{Counts, PlainWords, Redactor};
use crate::spec::EffectiveLimits;

/// The block types of MCP. Any other type is the tool's own word and is masked.
const BLOCK_TYPES: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];
/// Kinds of binary data that are passed on.
const MEDIA_KINDS: [&str; 3] = ["image", "audio", "video"];
/// The largest other blob that is passed on, in bytes.
const MAX_BLOB_BYTES: usize = 1024 * 1024;
/// A blob of at least this many characters is data, not words that are base64 too.
const MIN_DATA_LEN: usize = 1_024;
/// The fewest characters of a base64 line that is not the last one.
const MIN_BASE64_LINE: usize = 60;

/// Masks what is shown, and counts what it masked and found.
pub(crate) struct Masker<'a> {
    redactor: &'a Redactor,
    pub(super) value_redactor: ValueRedactor<'a, VerbatimPostprocess>,
    /// Whether binary data that cannot be inspected is passed on.
    may_pass_binary: bool,
}

/// Scans a redacted string for injections and escapes it, but never cuts it.
pub(super) struct VerbatimPostprocess {
    findings: Findings,
}

impl Postprocess for VerbatimPostprocess {
    fn string<'t>(&mut self, redacted: Cow<'t, str>, _: &mut OmissionCounts) -> Cow<'t, str> {
        self.findings.scan(&redacted);
        match visible(&redacted) {
            Cow::Borrowed(_) => redacted,
            Cow::Owned(text) => Cow::Owned(text),
        }
    }

    fn plain_words<'t>(
        &mut self,
        text: &'t str,
        how: PlainWords,
        _: &mut OmissionCounts,
    ) -> Cow<'t, str> {
        if Findings::may_have_findings(how) {
            self.findings.scan(text);
        }
        Cow::Borrowed(text)
    }

    fn is_plain(&self, how: PlainWords) -> bool {
        !Findings::may_have_findings(how)
    }

    fn key<'t>(&mut self, redacted: Cow<'t, str>) -> (Cow<'t, str>, bool) {
        let found = self.findings.scan(&redacted);
        match escape::line(&redacted) {
            Cow::Borrowed(_) => (redacted, !found),
            Cow::Owned(text) => (Cow::Owned(text), false),
        }
    }

    fn is_priority_field(&self, _: &str) -> bool {
        false
    }
}

/// A redacted text as it is displayed: hidden characters are escaped.
pub(super) fn visible(redacted: &str) -> Cow<'_, str> {
    escape::faithful(redacted)
}

impl<'a> Masker<'a> {
    pub(crate) fn new(redactor: &'a Redactor, limits: &EffectiveLimits) -> Self {
        let postprocess = VerbatimPostprocess { findings: Findings::default() };
        let value_redactor = ValueRedactor::new(
            redactor,
            limits.field_name_classifier(),
            WalkBounds::WHOLE_VALUE,
            postprocess,
        );
        Self { redactor, value_redactor, may_pass_binary: !limits.is_tagged() }
    }

    pub(super) fn redactor(&self) -> &'a Redactor {
        self.redactor
    }

    /// Masks a text: values under telling field names if it is JSON, then everything that a rule
    /// matches.
    pub(crate) fn text(&mut self, text: &str) -> String {
        self.value_redactor.string(text, None, 0).into_owned()
    }

    /// The text as the views of a text count its characters: redacted but not rendered. `None` if
    /// its rendering is not what [`Self::text`] shows.
    pub(super) fn redacted_text(&self, text: &str, shown: &str) -> Option<String> {
        let redacted = self.redactor.redact_text(text, &mut Counts::new()).into_owned();
        (visible(&redacted) == shown).then_some(redacted)
    }

    /// Masks a block: its texts, and binary data unless it is media.
    pub(super) fn block(&mut self, block: &Value) -> Value {
        let Some(fields) = block.as_object() else {
            return self.value_redactor.value(block, None, 0);
        };
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
        if let ("image" | "audio", Some(Value::String(data))) = (kind, fields.get("data")) {
            let declared = fields.get("mimeType").and_then(Value::as_str).unwrap_or_default();
            let declared = if is_media(declared) { declared } else { kind };
            if let ("text", text) = self.blob(data, declared) {
                return json!({ "type": "text", "text": text });
            }
        }
        let (mut out, mut others) = (Map::new(), Vec::new());
        for (key, value) in fields {
            let shown = match (key.as_str(), value) {
                ("type", Value::String(kind)) if BLOCK_TYPES.contains(&kind.as_str()) => {
                    value.clone()
                }
                ("mimeType", Value::String(declared)) => self.media_type(declared),
                ("text", Value::String(text)) => Value::String(self.text(text)),
                ("data", Value::String(data)) if matches!(kind, "image" | "audio") => {
                    Value::String(data.clone())
                }
                ("resource", Value::Object(resource)) => self.resource(resource),
                ("uri" | "name" | "title", Value::String(text)) => self.address(text),
                _ => {
                    others.push((key, value));
                    continue;
                }
            };
            out.insert(key.clone(), shown);
        }
        self.with_unknown_fields(out, others, fields)
    }

    /// Adds the fields that MCP does not define, masked like those of any object.
    fn with_unknown_fields(
        &mut self,
        known: Map<String, Value>,
        unknown_fields: Vec<(&String, &Value)>,
        all: &Map<String, Value>,
    ) -> Value {
        let mut out = self.value_redactor.fields(unknown_fields, &SiblingNames::of_object(all), 1);
        out.extend(known);
        Value::Object(out)
    }

    /// Masks the name of a field of a block.
    fn field_name(&mut self, name: &str) -> String {
        let mut named = self.value_redactor.field_name(name);
        self.value_redactor.key(&mut named).into_owned()
    }

    /// A media type; replaced by the generic one if it contains a value.
    fn media_type(&mut self, declared: &str) -> Value {
        let masked = self.value_redactor.redact(declared) != declared;
        Value::String(media_type(if masked { "" } else { declared }))
    }

    /// Masks an embedded resource. A blob that is text is shown as masked text; a blob of a kind
    /// that nobody can display is described.
    pub(super) fn resource(&mut self, resource: &Map<String, Value>) -> Value {
        let (mut out, mut others) = (Map::new(), Vec::new());
        let declared = resource.get("mimeType").and_then(Value::as_str).unwrap_or_default();
        for (key, value) in resource {
            match (key.as_str(), value) {
                ("text", Value::String(text)) => {
                    out.insert(key.clone(), Value::String(self.text(text)));
                }
                ("mimeType", Value::String(declared)) => {
                    out.insert(key.clone(), self.media_type(declared));
                }
                ("blob", Value::String(blob)) => {
                    let (key, shown) = self.blob(blob, declared);
                    out.insert(key.to_owned(), shown);
                }
                ("uri" | "name" | "title", Value::String(text)) => {
                    out.insert(key.clone(), self.address(text));
                }
                _ => others.push((key, value)),
            }
        }
        self.with_unknown_fields(out, others, resource)
    }

    fn blob(&mut self, blob: &str, declared: &str) -> (&'static str, Value) {
        let bytes = decode_base64(blob);
        if let Some(text) = bytes.as_deref().and_then(crate::tabular::printable_text) {
            return ("text", Value::String(self.text(text)));
        }
        // Words may be base64 too: a short blob is also scanned as it is.
        let is_data = blob.len() >= MIN_DATA_LEN || self.redactor.value_spans(blob).is_empty();
        match bytes {
            Some(bytes) if is_data && (is_media(declared) || self.may_pass_bytes(&bytes)) => {
                ("blob", json!(blob))
            }
            bytes => {
                self.value_redactor.omit("blob_omitted", 1);
                let size = bytes.map_or(blob.len(), |bytes| bytes.len());
                let description = format!("({}, {size} bytes, not shown)", media_type(declared));
                ("text", Value::String(description))
            }
        }
    }

    /// Whether binary data is passed on: only if no rule matches what is readable in it, and the
    /// contract says of the result that it has no sensitive data.
    fn may_pass_bytes(&self, bytes: &[u8]) -> bool {
        self.may_pass_binary
            && bytes.len() <= MAX_BLOB_BYTES
            && self.redactor.value_spans(&String::from_utf8_lossy(bytes)).is_empty()
    }

    /// Masks the structured value. If it wraps the text of the one block, or all blocks, it wraps what
    /// is shown of them.
    pub(super) fn structured(&mut self, value: &Value, blocks: &[Value], shown: &[Value]) -> Value {
        let text = shown.first().and_then(|block| block.get("text")?.as_str());
        let wrapped = text.and_then(|text| self.wrapped(value, blocks, text));
        wrapped
            .or_else(|| self.wrapped_blocks(value, blocks, shown))
            .or_else(|| self.resource_descriptions(value))
            .unwrap_or_else(|| self.value_redactor.value(value, None, 0))
    }

    /// For a structured value that only wraps the text of the one block: the same field around the
    /// shown text.
    pub(super) fn wrapped(
        &mut self,
        value: &Value,
        blocks: &[Value],
        shown: &str,
    ) -> Option<Value> {
        let [block] = blocks else { return None };
        let text = block.get("text").and_then(Value::as_str)?;
        let fields = value.as_object().filter(|_| blocks::wraps_text(value, text))?;
        let name = self.field_name(fields.keys().next()?);
        Some(Value::Object(Map::from_iter([(name, shown.into())])))
    }

    /// For a structured value that only lists the blocks: the same field around what is shown of them, so
    /// that a picture stays one.
    pub(super) fn wrapped_blocks(
        &mut self,
        value: &Value,
        blocks: &[Value],
        shown: &[Value],
    ) -> Option<Value> {
        let fields = value.as_object().filter(|_| ContentBlocks::are_listed_in(blocks, value))?;
        let name = self.field_name(fields.keys().next()?);
        Some(Value::Object(Map::from_iter([(name, shown.into())])))
    }

    /// Masks something without a trace in the counts.
    pub(super) fn without_counting<T>(&mut self, mask: impl FnOnce(&mut Self) -> T) -> T {
        let counts = self.value_redactor.masked.clone();
        let masked = mask(self);
        self.value_redactor.masked = counts;
        masked
    }

    /// Counts `by` omitted things of this kind.
    pub(crate) fn omit(&mut self, kind: &'static str, by: usize) {
        self.value_redactor.omit(kind, by);
    }

    /// Adds what another walk over the same result masked and found.
    pub(super) fn add_counts(&mut self, counts: BTreeMap<String, u64>) {
        for (kind, count) in counts {
            match kind.strip_prefix("redacted_") {
                Some(kind) => {
                    let known: &mut u64 =
                        self.value_redactor.masked.entry(kind.into()).or_default();
                    *known = known.saturating_add(count);
                }
                None => self.value_redactor.postprocess.findings.add_known_kind(&kind, count),
            }
        }
    }

    /// All counts by kind of warning, and the note that explains the masks to the model.
    pub(super) fn into_counts(self) -> (BTreeMap<String, u64>, Option<String>) {
        let meaning = match self.redactor.has_masks() {
            true if self.redactor.is_out_of_masks() => SOME_MASKS_ARE_VALUES,
            true => MASKS_ARE_VALUES,
            false => VALUES_ARE_HIDDEN,
        };
        let line = mask_summary(&self.value_redactor.masked, meaning);
        let mut counts = BTreeMap::new();
        for (kind, n) in &self.value_redactor.masked {
            counts.insert(format!("redacted_{kind}"), *n);
        }
        for (kind, n) in self.value_redactor.postprocess.findings.counts() {
            counts.insert((*kind).to_owned(), *n);
        }
        for (kind, n) in &self.value_redactor.omitted {
            counts.insert((*kind).to_owned(), *n);
        }
        (counts, line)
    }
}

/// The note for numbered masks.
const MASKS_ARE_VALUES: &str = "A mask in an argument stands for its value.";
/// The note for numbered masks once the run has no more of them.
const SOME_MASKS_ARE_VALUES: &str = "A numbered mask in an argument stands for its value; \
    `[REDACTED]` stands for none, since this run has no numbers left.";
/// The note for plain masks.
const VALUES_ARE_HIDDEN: &str = "The values are not shown.";

/// True for media types that clients can display.
fn is_media(declared: &str) -> bool {
    MEDIA_KINDS.iter().any(|kind| declared.starts_with(kind))
}

/// Decodes base64, possibly wrapped into lines as in mail.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let is_full = |line: &str| line.trim_end().len() >= MIN_BASE64_LINE;
    let mut lines = text.trim_end().lines().rev();
    lines.next();
    let is_base64 = lines.all(is_full);
    is_base64
        .then(|| text.lines().map(str::trim_end).collect::<String>())
        .and_then(|joined| STANDARD.decode(joined).ok())
}

/// The note on what was masked.
fn mask_summary(masked: &Counts, meaning: &str) -> Option<String> {
    if masked.is_empty() {
        return None;
    }
    let kinds: Vec<String> = masked.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    Some(format!("Masked: {}. {meaning}", kinds.join(", ")))
}

#[cfg(test)]
mod tests;
