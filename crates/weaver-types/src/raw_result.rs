//! Raw results of drivers, which go to the firewall and nowhere else.

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
    /// A JSON value of many rows: equivalent to [`RawContent::Json`], but kept as text.
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

/// The part of a result that its output schema describes.
#[derive(Clone, PartialEq, Default)]
pub enum StructuredContent {
    /// The content itself. Text counts as a string; bytes have no structure.
    #[default]
    Content,
    /// This value, which accompanies the content.
    Beside(Value),
    /// Nothing: the source gave no structured value.
    Missing,
}

/// The content of a result as its source laid it out, for clients that show it unchanged.
#[derive(Clone, PartialEq)]
pub struct ContentBlocks {
    /// The blocks in the form of MCP, in their order.
    pub blocks: Vec<Value>,
    /// The structured value beside them.
    pub structured: Option<Value>,
}

impl ContentBlocks {
    /// Whether a structured value is an object with one field that lists these very blocks, as servers
    /// write it whose tools declare their blocks as output.
    #[must_use]
    pub fn are_listed_in(blocks: &[Value], structured: &Value) -> bool {
        structured.as_object().is_some_and(|fields| {
            fields.len() == 1
                && fields.values().all(|field| {
                    field.as_array().is_some_and(|items| !items.is_empty() && items == blocks)
                })
        })
    }
}

/// A raw result. Its `Debug` shows sizes only, so that no log line can leak content.
#[derive(Clone, PartialEq)]
pub struct RawResult {
    /// The content, for queries and filters.
    pub content: RawContent,
    /// The same content as its source laid it out; `None` when `content` is all there is, or when
    /// it is too large to be shown unchanged.
    pub blocks: Option<ContentBlocks>,
    /// True when the tool itself reported a failure.
    pub is_error: bool,
    /// Where it came from, if known.
    pub provenance: Option<ToolProvenance>,
    /// Findings of the driver, as stable words (for example `numbers_rounded`).
    pub findings: Vec<&'static str>,
    /// Short lines of the driver for the model, shown after the content.
    pub notes: Vec<String>,
    /// The part that the output schema describes.
    pub structured: StructuredContent,
    /// The cost of this attempt, if the driver knows it.
    pub cost: Option<Millicents>,
    /// The label that the source knows. It makes the capability's label stricter, never looser.
    pub label: Option<Label>,
}

impl RawResult {
    /// A successful result with JSON content.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self::new(RawContent::Json(value))
    }

    /// A successful result with text content.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(RawContent::Text(text.into()))
    }

    /// A successful result with this content.
    #[must_use]
    pub fn new(content: RawContent) -> Self {
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

    /// Sets the cost.
    #[must_use]
    pub fn with_cost(mut self, cost: Millicents) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Adds a label, which counts where it is stricter than the capability's.
    #[must_use]
    pub fn labelled(mut self, label: Label) -> Self {
        self.label = Some(label);
        self
    }

    /// Marks the result as a failure of the tool.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

/// A piece of a result that arrives in parts. Its `Debug` shows sizes only.
#[derive(Clone, PartialEq)]
pub enum RawChunk {
    /// A whole JSON value: a row, or a list of rows.
    Json(Value),
    /// A piece of text, cut at any character.
    Text(String),
    /// A piece of UTF-8 text or of bytes, cut at any byte, also inside a character.
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
