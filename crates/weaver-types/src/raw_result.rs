//! What a driver hands back: raw, and only ever on its way to the firewall.

use std::fmt;

use serde_json::Value;

use crate::json_rows::JsonRows;
use crate::label::Label;
use crate::result::ToolProvenance;
use crate::run::Millicents;

/// The content of a raw result.
#[derive(Clone, PartialEq)]
pub enum RawContent {
    /// A JSON value.
    Json(Value),
    /// A JSON value that is many rows: to whoever looks at it the same as [`RawContent::Json`],
    /// without the tree.
    Rows(JsonRows),
    /// Text.
    Text(String),
    /// Anything else.
    Binary {
        /// The media type as its source declared it.
        media_type: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// What of a result its output schema speaks of.
#[derive(Clone, PartialEq, Default)]
pub enum StructuredContent {
    /// The content itself; text is a string to it, and bytes are nothing that it could speak of.
    #[default]
    Content,
    /// This value, which stands in or beside the content.
    Beside(Value),
    /// Nothing: its source gave no structure.
    Missing,
}

/// The content of a result as its source laid it out, for whom it is to be shown as it is.
#[derive(Clone, PartialEq)]
pub struct ContentBlocks {
    /// The blocks in the form of MCP, in their order.
    pub blocks: Vec<Value>,
    /// The structured value beside them.
    pub structured: Option<Value>,
}

/// A raw result. Its `Debug` shows sizes only, so that no log line can leak content.
#[derive(Clone, PartialEq)]
pub struct RawResult {
    /// The content, as questions about it see it.
    pub content: RawContent,
    /// The same content as its source laid it out; `None` where `content` alone is all there is,
    /// or where it is too large to be shown as it is.
    pub blocks: Option<ContentBlocks>,
    /// True when the tool itself says that it failed.
    pub is_error: bool,
    /// Where it came from, if known.
    pub provenance: Option<ToolProvenance>,
    /// Findings of the driver, as stable words (for example `numbers_rounded`).
    pub findings: Vec<&'static str>,
    /// Short lines of the driver for the model, shown after the content.
    pub notes: Vec<String>,
    /// What the output schema speaks of.
    pub structured: StructuredContent,
    /// What this one attempt cost, if its driver knows.
    pub cost: Option<Millicents>,
    /// What its source knows of its label. It makes the label of the capability stricter, never
    /// looser.
    pub label: Option<Label>,
}

impl RawResult {
    /// A successful result with JSON content.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self::of(RawContent::Json(value))
    }

    /// A successful result with text content.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(RawContent::Text(text.into()))
    }

    /// A successful result with this content.
    #[must_use]
    pub fn of(content: RawContent) -> Self {
        Self {
            content,
            blocks: None,
            is_error: false,
            provenance: None,
            findings: Vec::new(),
            notes: Vec::new(),
            structured: StructuredContent::Content,
            cost: None,
            label: None,
        }
    }

    /// The same, with what it cost.
    #[must_use]
    pub fn costing(mut self, cost: Millicents) -> Self {
        self.cost = Some(cost);
        self
    }

    /// The same, under this label where that is stricter than the capability's.
    #[must_use]
    pub fn labelled(mut self, label: Label) -> Self {
        self.label = Some(label);
        self
    }

    /// The same, marked as a failure of the tool.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

/// A piece of a result that comes bit by bit. Its `Debug` shows sizes only.
#[derive(Clone, PartialEq)]
pub enum RawChunk {
    /// A whole JSON value: a row, or a list of rows.
    Json(Value),
    /// A piece of a text, cut anywhere.
    Text(String),
    /// A piece of a text in UTF-8, cut anywhere, in the middle of a character too; or of bytes.
    Bytes(Vec<u8>),
}

impl fmt::Debug for RawChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(_) => f.write_str("Json(..)"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
        }
    }
}

impl fmt::Debug for RawContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(_) => f.write_str("Json(..)"),
            Self::Rows(rows) => fmt::Debug::fmt(rows, f),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Binary { media_type, bytes } => {
                write!(f, "Binary({media_type:?}, {} bytes)", bytes.len())
            }
        }
    }
}

impl fmt::Debug for RawResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawResult")
            .field("content", &self.content)
            .field("is_error", &self.is_error)
            .field("findings", &self.findings)
            .finish_non_exhaustive()
    }
}
