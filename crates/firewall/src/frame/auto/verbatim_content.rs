//! Content shown as it is: masked, hidden characters made visible, otherwise untouched.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use weaver_text::escape;

use super::blocks;
use crate::content::finding::Findings;
use crate::content::media_type;
use crate::redact::value::{Bounds, OmissionCounts, Pairing, Postprocess, ValueRedactor};
use crate::redact::{Counts, Detection, PlainWords, Redactor};
use crate::spec::Limits;

/// The types of blocks. Any other is a word of the tool.
const KINDS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];
/// The kinds of blobs that are shown to whoever can show them.
const MEDIA: [&str; 3] = ["image", "audio", "video"];
/// The largest other blob that is passed on, in bytes.
const MAX_BLOB: usize = 1024 * 1024;
/// A run of base64 of this many characters is data, not text.
const MAX_BASE64: usize = 1_024;
/// The fewest characters of a line of base64 that is not the last one.
const MIN_LINE: usize = 60;
/// What joins the parts of an address. Each has one byte, as what is read in its place.
const JOINTS: [char; 8] = ['/', '?', '#', '&', '=', ';', ',', '_'];

/// Masks what is shown, and counts what it masked and found.
pub(crate) struct Masker<'a> {
    redactor: &'a Redactor,
    walk: ValueRedactor<'a, UncutPostprocess>,
    /// Whether bytes that nobody can look into are passed on.
    passes_bytes: bool,
}

/// A redacted string is looked through for hidden instructions and escaped, never cut.
struct UncutPostprocess {
    findings: Findings,
}

impl Postprocess for UncutPostprocess {
    fn string<'t>(&mut self, redacted: Cow<'t, str>, omitted: &mut OmissionCounts) -> Cow<'t, str> {
        self.findings.look(&redacted);
        match shown(&redacted, omitted) {
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
        if Findings::may_tell(how) {
            self.findings.look(text);
        }
        Cow::Borrowed(text)
    }

    fn is_plain(&self, how: PlainWords) -> bool {
        !Findings::may_tell(how)
    }

    fn key<'t>(&mut self, redacted: Cow<'t, str>) -> (Cow<'t, str>, bool) {
        let found = self.findings.look(&redacted);
        match escape::line(&redacted) {
            Cow::Borrowed(_) => (redacted, !found),
            Cow::Owned(text) => (Cow::Owned(text), false),
        }
    }

    fn first(&self, _: &str) -> bool {
        false
    }
}

/// Hidden characters made visible, and data in base64 left out.
fn shown<'t>(text: &'t str, omitted: &mut OmissionCounts) -> Cow<'t, str> {
    let plain = without_base64(text, omitted);
    match escape::faithful(&plain) {
        Cow::Borrowed(_) => plain,
        Cow::Owned(text) => Cow::Owned(text),
    }
}

impl<'a> Masker<'a> {
    pub(crate) fn new(redactor: &'a Redactor, limits: &Limits) -> Self {
        let faithful = UncutPostprocess { findings: Findings::default() };
        let walk = ValueRedactor::new(redactor, limits.names(), Bounds::WHOLE, faithful);
        Self { redactor, walk, passes_bytes: !limits.is_tagged() }
    }

    /// A text: values in fields with telling names are masked where it is JSON, then whatever a
    /// rule finds.
    pub(crate) fn text(&mut self, text: &str) -> String {
        self.walk.string(text, None, 0).into_owned()
    }

    /// A block: its texts masked, and bytes only of kinds that are no text.
    pub(super) fn block(&mut self, block: &Value) -> Value {
        let Some(fields) = block.as_object() else { return self.walk.value(block, None, 0) };
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
                ("type", Value::String(kind)) if KINDS.contains(&kind.as_str()) => value.clone(),
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
        self.with_others(out, others, fields)
    }

    /// The fields that are no form of MCP, beside those that are: masked as in any object.
    fn with_others(
        &mut self,
        known: Map<String, Value>,
        others: Vec<(&String, &Value)>,
        all: &Map<String, Value>,
    ) -> Value {
        let mut out = self.walk.fields(others, &Pairing::of(all), 1);
        out.extend(known);
        Value::Object(out)
    }

    /// An address or the name of a resource, masked as a text is. The marks that join its parts are
    /// read as ends of lines too: between them, a rule may not take a value for one.
    fn address(&mut self, text: &str) -> Value {
        let part = |c: char| if JOINTS.contains(&c) { '\n' } else { c };
        let parts: String = text.chars().map(part).collect();
        let known = self.redactor.detections(text);
        let is_new = |one: &Detection| {
            let holds = |at: &Range<usize>| at.start <= one.range.start && one.range.end <= at.end;
            !known.iter().any(|known| holds(&known.range))
        };
        let mut found = self.redactor.detections(&parts);
        found.retain(is_new);
        if found.is_empty() {
            return Value::String(self.walk.string(text, None, 1).into_owned());
        }
        let masked = self.redactor.text_with_fields(text, found, &mut self.walk.masked);
        Value::String(self.walk.masked_string(&masked, 1).into_owned())
    }

    /// The name of a field of a block, masked as any other.
    fn name(&mut self, name: &str) -> String {
        let mut named = self.walk.named(name);
        self.walk.key(&mut named).into_owned()
    }

    /// A media type; one with a value in it is none.
    fn media_type(&mut self, declared: &str) -> Value {
        let masked = self.walk.redacted(declared) != declared;
        Value::String(media_type(if masked { "" } else { declared }))
    }

    /// An embedded resource. A blob that is text is shown as text, masked; one of a kind that
    /// nobody can show is described.
    fn resource(&mut self, resource: &Map<String, Value>) -> Value {
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
        self.with_others(out, others, resource)
    }

    fn blob(&mut self, blob: &str, declared: &str) -> (&'static str, Value) {
        let bytes = decoded(blob);
        if let Some(text) = bytes.as_deref().and_then(crate::tabular::text_of) {
            return ("text", Value::String(self.text(text)));
        }
        // Words may be base64, too: what is so short is looked at as it stands.
        let is_data = blob.len() >= MAX_BASE64 || self.redactor.spans(blob).is_empty();
        match bytes {
            Some(bytes) if is_data && (is_media(declared) || self.may_pass(&bytes)) => {
                ("blob", json!(blob))
            }
            bytes => {
                self.walk.omit("blob_omitted", 1);
                let size = bytes.map_or(blob.len(), |bytes| bytes.len());
                let said = format!("({}, {size} bytes, not shown)", media_type(declared));
                ("text", Value::String(said))
            }
        }
    }

    /// Whether bytes that are no text go on as they are: nothing that can be read in them is a
    /// value, and the result is of a kind that need not be looked into.
    fn may_pass(&self, bytes: &[u8]) -> bool {
        self.passes_bytes
            && bytes.len() <= MAX_BLOB
            && self.redactor.spans(&String::from_utf8_lossy(bytes)).is_empty()
    }

    /// The structured value. Where it wraps the text of the one block, it wraps what is shown of it.
    pub(super) fn structured(&mut self, value: &Value, blocks: &[Value], shown: &[Value]) -> Value {
        let text = shown.first().and_then(|block| block.get("text")?.as_str());
        let wrapped = text.and_then(|text| self.wrapped(value, blocks, text));
        wrapped.unwrap_or_else(|| self.walk.value(value, None, 0))
    }

    /// A structured value that only wraps the text of the one block in a field, around what is
    /// shown of the text.
    pub(super) fn wrapped(
        &mut self,
        value: &Value,
        blocks: &[Value],
        shown: &str,
    ) -> Option<Value> {
        let [block] = blocks else { return None };
        let text = block.get("text").and_then(Value::as_str)?;
        let fields = value.as_object().filter(|_| blocks::wraps(value, text))?;
        let name = self.name(fields.keys().next()?);
        Some(Value::Object(Map::from_iter([(name, shown.into())])))
    }

    /// Takes in what another walk over parts of the same result masked and found.
    pub(super) fn add(&mut self, counts: BTreeMap<String, u64>) {
        for (kind, count) in counts {
            match kind.strip_prefix("redacted_") {
                Some(kind) => {
                    let known: &mut u64 = self.walk.masked.entry(kind.into()).or_default();
                    *known = known.saturating_add(count);
                }
                None => self.walk.postprocess.findings.add_all(&kind, count),
            }
        }
    }

    /// What was counted, by the kind of warning; and the line that tells a model of masks.
    pub(super) fn counts(self) -> (BTreeMap<String, u64>, Option<String>) {
        let use_of = if self.redactor.has_masks() { MASKS_ARE_VALUES } else { VALUES_ARE_HIDDEN };
        let line = masks_line(&self.walk.masked, use_of);
        let mut counts = BTreeMap::new();
        for (kind, n) in &self.walk.masked {
            counts.insert(format!("redacted_{kind}"), *n);
        }
        for (kind, n) in self.walk.postprocess.findings.counts() {
            counts.insert((*kind).to_owned(), *n);
        }
        for (kind, n) in &self.walk.omitted {
            counts.insert((*kind).to_owned(), *n);
        }
        (counts, line)
    }
}

/// What a model is told of numbered masks.
const MASKS_ARE_VALUES: &str = "A mask in an argument stands for its value.";
/// What it is told where masks stand for nothing.
const VALUES_ARE_HIDDEN: &str = "The values are not shown.";

/// Whether bytes of this kind are shown to whoever can show them.
fn is_media(declared: &str) -> bool {
    MEDIA.iter().any(|kind| declared.starts_with(kind))
}

/// The bytes of base64, which may be in lines as mail has them.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let is_full = |line: &str| line.trim_end().len() >= MIN_LINE;
    let mut lines = text.trim_end().lines().rev();
    lines.next();
    let is_base64 = lines.all(is_full);
    is_base64
        .then(|| text.lines().map(str::trim_end).collect::<String>())
        .and_then(|joined| STANDARD.decode(joined).ok())
}

/// One line of what was masked.
fn masks_line(masked: &Counts, use_of: &str) -> Option<String> {
    if masked.is_empty() {
        return None;
    }
    let kinds: Vec<String> = masked.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    Some(format!("Masked: {}. {use_of}", kinds.join(", ")))
}

/// A text without long runs of base64 in it, each named and counted instead.
fn without_base64<'t>(text: &'t str, omitted: &mut OmissionCounts) -> Cow<'t, str> {
    if text.len() < MAX_BASE64 {
        return Cow::Borrowed(text);
    }
    let in_run = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    let bytes = text.as_bytes();
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(first) = bytes.get(at) {
        if !in_run(first) {
            at += 1;
            continue;
        }
        let run = bytes.get(at..).unwrap_or_default();
        let length = run.iter().position(|b| !in_run(b)).unwrap_or(run.len());
        if length >= MAX_BASE64 && is_mixed(run.get(..length).unwrap_or_default()) {
            out.push_str(text.get(kept..at).unwrap_or_default());
            out.push_str(&format!("(base64, {length} characters, not shown)"));
            kept = at + length;
            *omitted.entry("base64_omitted").or_default() += 1;
        }
        at += length;
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// True for bytes among which are digits and letters of both cases, as encoded data has them.
fn is_mixed(run: &[u8]) -> bool {
    let head = run.get(..run.len().min(MAX_BASE64)).unwrap_or_default();
    head.iter().any(u8::is_ascii_digit)
        && head.iter().any(u8::is_ascii_lowercase)
        && head.iter().any(u8::is_ascii_uppercase)
}
