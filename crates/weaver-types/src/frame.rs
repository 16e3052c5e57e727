//! Frames and handles: what a model may see of a result, and the reference to the rest.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{CallId, CapabilityId, HandleId};
use crate::label::Label;
use crate::result::ToolProvenance;
use crate::time::Timestamp;

/// How much of a result a frame shows, from most to least; joining takes the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseMode {
    /// Everything, unredacted: needs a token that permits it, is for administrators, and is
    /// audited.
    Raw,
    /// The masked result if it fits the budget; otherwise its most useful part.
    Auto,
    /// Rows and a handle.
    Table,
    /// Facts and a handle.
    Summary,
    /// A handle alone.
    HandleOnly,
}

crate::words! { ResponseMode: "Its name on the wire.";
    Raw = "raw", Auto = "auto", Table = "table", Summary = "summary", HandleOnly = "handle_only",
}

/// A warning of the firewall: one per kind, with a count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// How many times.
    pub count: u64,
    /// A stable word, for example `redacted_email` or `rows_omitted`.
    pub kind: String,
}

/// A reference to a stored result. Knowing its id gives no access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handle {
    /// The size of what is stored, in bytes.
    pub byte_size: u64,
    /// What produced the result.
    pub capability_id: CapabilityId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// Its name.
    pub handle_id: HandleId,
    /// The media type of what is stored.
    pub media_type: Cow<'static, str>,
    /// How many rows the whole result has, where it has rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_rows: Option<u64>,
    /// The names of the views that an expansion can ask for.
    #[serde(default, skip_serializing_if = "no_views")]
    pub views: Cow<'static, [Cow<'static, str>]>,
}

fn no_views(views: &[Cow<'static, str>]) -> bool {
    views.is_empty()
}

/// What a model may see of one result: bounded, redacted, labelled.
///
/// The serialised form is what the model gets; `max_chars` of a frame budget bounds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The call that produced it.
    pub call_id: CallId,
    /// The capability that produced it.
    pub capability_id: CapabilityId,
    /// Content blocks in the form of MCP, in their order: in mode `auto`, the result itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Value>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Facts, most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// The handle of the stored rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Handle>,
    /// False for all but the last frame of a stream.
    #[serde(default = "last")]
    pub is_final: bool,
    /// How confidential and how trustworthy it is.
    pub label: Label,
    /// How much it shows.
    pub mode: ResponseMode,
    /// The query that would show what was cut, without its handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Value>,
    /// Where several parts were cut, the queries for the others, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_parts: Vec<Value>,
    /// Short lines for the model: what was masked, cut or refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where the data came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<ToolProvenance>,
    /// The whole result, only in raw mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// Whether the result was a success, an error, or incomplete.
    pub status: ResultStatus,
    /// The structured value that accompanies the content, in mode `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<Map<String, Value>>,
    /// What was redacted or left out, counted by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

fn last() -> bool {
    true
}

/// The outcome of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It succeeded; `ok` is read as the same.
    #[serde(alias = "ok")]
    Success,
    /// It failed.
    Error,
    /// It is incomplete.
    Partial,
}

/// A reference to a stored artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactRef {
    /// Its size in bytes.
    pub byte_size: u64,
    /// The handle behind it.
    pub handle_id: HandleId,
    /// Its media type.
    pub media_type: String,
}

/// A processed tool result as the context engine takes it: a projection of a [`Frame`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultEnvelope {
    /// Where the raw data is.
    #[serde(default)]
    pub artifacts: Vec<ArtifactRef>,
    /// Extracted facts.
    #[serde(default)]
    pub facts: Vec<String>,
    /// How confidential and how trustworthy it is.
    pub label: Label,
    /// Where the data came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<ToolProvenance>,
    /// How it ended.
    pub status: ResultStatus,
    /// A compact summary.
    pub summary: String,
    /// Names of the views that can be asked for.
    #[serde(default)]
    pub views: Vec<String>,
}

impl From<&Frame> for ResultEnvelope {
    fn from(frame: &Frame) -> Self {
        let artifact = frame.handle.as_ref().map(|handle| ArtifactRef {
            handle_id: handle.handle_id.clone(),
            media_type: handle.media_type.clone().into_owned(),
            byte_size: handle.byte_size,
        });
        let views = frame.handle.as_ref().map(|handle| handle.views.as_ref());
        Self {
            summary: summary(frame),
            facts: frame.facts.clone(),
            artifacts: artifact.into_iter().collect(),
            views: views.into_iter().flatten().map(|view| view.clone().into_owned()).collect(),
            status: frame.status,
            label: frame.label.clone(),
            provenance: frame.provenance.clone(),
        }
    }
}

/// The facts in one line; without facts, how many rows the frame shows.
fn summary(frame: &Frame) -> String {
    if !frame.facts.is_empty() {
        return frame.facts.join("; ");
    }
    let total = frame.handle.as_ref().and_then(|handle| handle.total_rows);
    match (frame.table.len(), total) {
        (0, None) if frame.handle.is_some() => "full data via handle".to_owned(),
        (0, None) => String::new(),
        (0, Some(total)) => format!("{total} rows via handle"),
        (shown, Some(total)) if total > shown as u64 => format!("{shown} of {total} rows"),
        (shown, _) => format!("{shown} rows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_writes_success_and_reads_ok() {
        assert_eq!(serde_json::to_string(&ResultStatus::Success).unwrap(), "\"success\"");
        assert_eq!(serde_json::from_str::<ResultStatus>("\"ok\"").unwrap(), ResultStatus::Success);
    }

    #[test]
    fn the_stricter_mode_is_the_greater() {
        assert!(ResponseMode::Raw < ResponseMode::Table);
        assert!(ResponseMode::Summary < ResponseMode::HandleOnly);
    }
}
