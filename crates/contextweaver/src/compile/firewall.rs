//! The port through which raw tool results become items: a firewall, and nothing else.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};

use serde_json::Value;
use weaver_types::{Frame, HandleId, Label, RawContent, RawResult};

use crate::compile::item::DedupKey;
use crate::compile::{ContextItem, ContextItemKind, frame_text};
use crate::error::ViewError;

/// Turns tool results into frames. The host supplies it; without one, only the size and type of a
/// result are shown.
pub trait ResultFirewall {
    /// The bounded and redacted frame of a result; `None` if it cannot be made, and then nothing is
    /// shown.
    fn frame(&self, result: &ToolOutput) -> Option<Frame>;

    /// A frame with another view of a stored result. The host decides again whether it is allowed.
    ///
    /// # Errors
    /// [`ViewError`] if there is no such result or view, or the view is not allowed.
    fn view(&self, handle: &HandleId, view: &ResultView) -> Result<Frame, ViewError>;
}

/// A raw result that has not passed a firewall. Its `Debug` form shows only sizes.
#[derive(Debug)]
pub struct ToolOutput {
    /// The id of the item that it becomes.
    pub id: String,
    /// The id of the item of the call.
    pub call: Option<String>,
    /// The raw result.
    pub result: RawResult,
    /// The minimum label of the item.
    pub label: Label,
    /// Metadata that is kept with the item and never shown.
    pub metadata: BTreeMap<String, Value>,
}

/// A view of a stored result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultView {
    /// Part of a JSON value: these keys of the value at the path. An empty path means the root, an
    /// empty list of keys all of them.
    JsonSubset {
        /// Keys separated by full stops; `[]` stands for every element of a list.
        path: String,
        /// The keys.
        keys: Vec<String>,
    },
    /// A summary of each column of a table.
    CsvSummary,
    /// The names of the columns.
    Columns,
    /// A range of lines of a text, numbered from 0; the end is exclusive.
    Lines {
        /// The first line.
        start: u64,
        /// The line after the last one.
        end: u64,
    },
}

impl ResultView {
    /// The word for the view.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::JsonSubset { .. } => "json",
            Self::CsvSummary => "csv",
            Self::Columns => "columns",
            Self::Lines { .. } => "lines",
        }
    }
}

/// Turns a result into an item whose label is at least that of the output. Its content stays
/// untrusted, whatever the frame says.
#[must_use]
pub fn item_from_output(output: ToolOutput, firewall: Option<&dyn ResultFirewall>) -> ContextItem {
    let dedup_key = DedupKey::Digest(output_fingerprint(&output.result));
    let frame = firewall.and_then(|firewall| firewall.frame(&output));
    let (text, label, handle) = match &frame {
        Some(frame) => (frame_text::frame_body(frame), frame.label.clone(), handle_id(frame)),
        None => (placeholder_text(&output.result), Label::undeclared_output(), None),
    };
    let label = label.join(&output.label);
    let item = ContextItem::tool_output(output.id, text, label, dedup_key).with_handle(handle);
    let item = item.with_optional_parent(output.call);
    output.metadata.into_iter().fold(item, |item, (key, value)| item.with_metadata(key, value))
}

/// Makes an item from a view of the stored result behind an item. The new item has that item as its
/// parent, and a label at least as strict.
///
/// # Errors
/// [`ViewError`] if the item has no stored result, or the firewall refuses. Without a firewall the
/// new item only says that nothing is shown.
pub fn item_from_view(
    id: impl Into<String>,
    source: &ContextItem,
    view: &ResultView,
    firewall: Option<&dyn ResultFirewall>,
) -> Result<ContextItem, ViewError> {
    let Some(handle) = source.handle().filter(|_| source.kind() == ContextItemKind::ToolResult)
    else {
        return Err(ViewError::NoHandle { id: crate::catalog::printable(source.id()) });
    };
    let (text, label) = match firewall {
        Some(firewall) => {
            let frame = firewall.view(handle, view)?;
            (frame_text::frame_body(&frame), frame.label)
        }
        None => (format!("not shown: view {}", view.as_str()), Label::undeclared_output()),
    };
    let item = ContextItem::tool_output(id, text, label.join(source.label()), DedupKey::Unique);
    let item =
        item.with_handle(Some(handle.clone())).with_optional_parent(Some(source.id().to_owned()));
    Ok(item.with_metadata("view", view.as_str()))
}

fn handle_id(frame: &Frame) -> Option<HandleId> {
    frame.handle.as_ref().map(|handle| handle.handle_id.clone())
}

fn placeholder_text(result: &RawResult) -> String {
    let (bytes, media) = match &result.content {
        RawContent::Json(value) => (value.to_string().len(), "application/json"),
        RawContent::Rows(rows) => (rows.text().len(), "application/json"),
        RawContent::Text(text) => (text.len(), "text/plain"),
        RawContent::Binary { bytes, media_type } => (bytes.len(), media_type.as_str()),
    };
    format!("not shown: {bytes} bytes of {}", weaver_text::escape::truncate(media, 128))
}

fn output_fingerprint(result: &RawResult) -> u64 {
    let mut hasher = DefaultHasher::new();
    match &result.content {
        RawContent::Json(value) => hasher.write(value.to_string().as_bytes()),
        RawContent::Rows(rows) => hasher.write(rows.text().as_bytes()),
        RawContent::Text(text) => hasher.write(text.as_bytes()),
        RawContent::Binary { bytes, .. } => hasher.write(bytes),
    }
    hasher.write_u8(u8::from(result.is_error));
    hasher.finish()
}
