//! Raw results enter through a firewall, and only through one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};

use serde_json::Value;
use weaver_types::{Frame, HandleId, Label, RawContent, RawResult};

use crate::compile::item::DedupKey;
use crate::compile::{ContextItem, ItemKind, frame_text};
use crate::error::ViewError;

/// What makes frames of results. The host plugs it in; without one, nothing of a result is shown
/// but its size and type.
pub trait ResultFirewall {
    /// What may be seen of a result, bounded and redacted; `None` where it cannot be told, and
    /// then nothing is shown.
    fn frame(&self, result: &ToolOutput) -> Option<Frame>;

    /// A look at a stored result, decided anew by the host.
    ///
    /// # Errors
    /// [`ViewError`], when there is no such result or view, or the look is not allowed.
    fn view(&self, handle: &HandleId, view: &View) -> Result<Frame, ViewError>;
}

/// A result that no firewall has seen. Its `Debug` shows sizes only.
#[derive(Debug)]
pub struct ToolOutput {
    /// The id of the item that it becomes.
    pub id: String,
    /// The item of its call.
    pub call: Option<String>,
    /// The result itself.
    pub result: RawResult,
    /// The least that it is labelled with.
    pub label: Label,
    /// Kept with the item, never shown.
    pub metadata: BTreeMap<String, Value>,
}

/// Another way to look at a stored result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// A part of a JSON value: these keys of what lies at the path. An empty path is the whole,
    /// no keys are all of them.
    JsonSubset {
        /// Keys joined by full stops; `[]` stands for every element of a list.
        path: String,
        /// The keys.
        keys: Vec<String>,
    },
    /// What the columns of a table come to.
    CsvSummary,
    /// The names of the columns.
    Columns,
    /// Lines of a text, numbered from nought; the end is outside.
    Lines {
        /// The first.
        start: u64,
        /// The one behind the last.
        end: u64,
    },
}

impl View {
    /// The word for it.
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

/// A result as an item, under at least its label. What was written in it is untrusted whatever the
/// frame says.
#[must_use]
pub fn admit(output: ToolOutput, firewall: Option<&dyn ResultFirewall>) -> ContextItem {
    let print = DedupKey::Digest(print(&output.result));
    let frame = firewall.and_then(|firewall| firewall.frame(&output));
    let (text, label, handle) = match &frame {
        Some(frame) => (frame_text::frame_body(frame), frame.label.clone(), handle_of(frame)),
        None => (stub(&output.result), Label::undeclared_output(), None),
    };
    let label = label.join(&output.label);
    let item = ContextItem::output(output.id, text, label, print).with_handle(handle);
    let item = item.with_parent_if(output.call);
    output.metadata.into_iter().fold(item, |item, (key, value)| item.with_metadata(key, value))
}

/// A look at what lies behind an item, as an item that hangs on it and has at least its label.
///
/// # Errors
/// [`ViewError`], when the item has nothing behind it, or the firewall refuses. Without a firewall
/// the item says that nothing is shown.
pub fn look(
    id: impl Into<String>,
    source: &ContextItem,
    view: &View,
    firewall: Option<&dyn ResultFirewall>,
) -> Result<ContextItem, ViewError> {
    let Some(handle) = source.handle().filter(|_| source.kind() == ItemKind::ToolResult) else {
        return Err(ViewError::Nothing { id: crate::catalog::shown(source.id()) });
    };
    let (text, label) = match firewall {
        Some(firewall) => {
            let frame = firewall.view(handle, view)?;
            (frame_text::frame_body(&frame), frame.label)
        }
        None => (format!("not shown: view {}", view.as_str()), Label::undeclared_output()),
    };
    let item = ContextItem::output(id, text, label.join(source.label()), DedupKey::Unique);
    let item = item.with_handle(Some(handle.clone())).with_parent_if(Some(source.id().to_owned()));
    Ok(item.with_metadata("view", view.as_str()))
}

fn handle_of(frame: &Frame) -> Option<HandleId> {
    frame.handle.as_ref().map(|handle| handle.handle_id.clone())
}

fn stub(result: &RawResult) -> String {
    let (bytes, media) = match &result.content {
        RawContent::Json(value) => (value.to_string().len(), "application/json"),
        RawContent::Rows(rows) => (rows.text().len(), "application/json"),
        RawContent::Text(text) => (text.len(), "text/plain"),
        RawContent::Binary { bytes, media_type } => (bytes.len(), media_type.as_str()),
    };
    format!("not shown: {bytes} bytes of {}", weaver_text::escape::truncate(media, 128))
}

fn print(result: &RawResult) -> u64 {
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
