//! A stored result as queries and views read it, with cached intermediate results.

use std::sync::OnceLock;

use serde_json::Value;
use weaver_types::{Digest, JsonRows, RawContent, RawResult};

use super::column::ColumnCache;
use super::{hidden_columns, query_error, redacted_rows};
use crate::content::ValueRenderer;
use crate::error::HandleError;
use crate::redact::{Counts, Disclosure, MaskTableVersion};
use crate::spec::FrameSpec;

/// Values computed from a result, kept for later queries by a reader of the same kind.
#[derive(Debug, Default)]
pub(crate) struct QueryCache {
    /// Everything that redaction depends on: the capability, whether the reader may see personal
    /// data, what its contract discloses, and whose masks are used. The fingerprint alone does not
    /// cover what a contract discloses.
    reader_key: OnceLock<(Digest, bool, Disclosure, Option<MaskTableVersion>)>,
    pub(super) columns: ColumnCache,
    value: OnceLock<Value>,
    rows: OnceLock<Option<JsonRows>>,
    text: OnceLock<String>,
    shows_hidden_cells: OnceLock<bool>,
}

impl QueryCache {
    /// True if the cached values are valid for this spec and these masks.
    pub(crate) fn is_valid_for(
        &self,
        spec: &FrameSpec<'_>,
        masks: Option<MaskTableVersion>,
    ) -> bool {
        // The first reader fixes the key. A cache filled for one reader must never serve another:
        // it contains text that was redacted for the first.
        let fingerprint = spec.capability.fingerprint();
        let now = (fingerprint, spec.pii_reader, spec.disclosure(), masks);
        *self.reader_key.get_or_init(|| now.clone()) == now
    }
}

/// A stored result with its cache.
pub(crate) struct ResultSource<'a> {
    pub(crate) raw: &'a RawResult,
    pub(crate) cache: &'a QueryCache,
    /// The name of the stored bytes, if known.
    pub(crate) digest: Option<&'a str>,
}

impl ResultSource<'_> {
    /// The text of a result that is text.
    pub(crate) fn text(&self) -> Result<&str, HandleError> {
        match &self.raw.content {
            RawContent::Text(text) | RawContent::Json(Value::String(text)) => Some(text.as_str()),
            RawContent::Binary { bytes, .. } => crate::tabular::printable_text(bytes),
            RawContent::Json(_) | RawContent::Rows(_) => None,
        }
        .ok_or_else(|| query_error("the content is not text".to_owned()))
    }

    /// The whole text, redacted.
    pub(crate) fn redacted_text(
        &self,
        renderer: &mut ValueRenderer<'_>,
    ) -> Result<&str, HandleError> {
        let text = self.text()?;
        Ok(self.cache.text.get_or_init(|| renderer.redact(text)))
    }

    /// Whether the redacted text shows cells that its rows hide by their columns.
    pub(crate) fn shows_hidden_cells(
        &self,
        redacted: &str,
        renderer: &ValueRenderer<'_>,
    ) -> Result<bool, HandleError> {
        let (text, names) = (self.text()?, renderer.limits.field_name_classifier());
        let mut names = names.with_disclosure(renderer.redactor().disclosure());
        let shows = || hidden_columns::are_shown(text, redacted, &mut names);
        Ok(*self.cache.shows_hidden_cells.get_or_init(shows))
    }

    /// The redacted rows of a result that is stored as rows; `None` if it must be redacted as a
    /// tree.
    pub(crate) fn redacted_rows(&self, renderer: &ValueRenderer<'_>) -> Option<&JsonRows> {
        let RawContent::Rows(rows) = &self.raw.content else { return None };
        let names = || renderer.limits.field_name_classifier();
        self.cache
            .rows
            .get_or_init(|| redacted_rows::redact_rows(rows, renderer.redactor(), names))
            .as_ref()
    }

    /// The whole value, redacted.
    pub(crate) fn redacted_value(
        &self,
        renderer: &ValueRenderer<'_>,
    ) -> Result<&Value, HandleError> {
        let names = || renderer.limits.field_name_classifier();
        let redact = |value: &Value| {
            renderer.redactor().redact_value_with_names(value, names(), &mut Counts::new())
        };
        let value = match &self.raw.content {
            RawContent::Json(value) => self.cache.value.get_or_init(|| redact(value)),
            RawContent::Rows(rows) => self.cache.value.get_or_init(|| {
                let redacted = self.redacted_rows(renderer).map(JsonRows::to_value);
                redacted.unwrap_or_else(|| redact(&rows.to_value()))
            }),
            RawContent::Text(_) | RawContent::Binary { .. } => {
                if let Some(value) = self.cache.value.get() {
                    return Ok(value);
                }
                let value = serde_json::from_str(self.text()?.trim())
                    .map_err(|_| query_error("the content is not JSON".to_owned()))?;
                self.cache.value.get_or_init(|| redact(&value))
            }
        };
        Ok(value)
    }
}
