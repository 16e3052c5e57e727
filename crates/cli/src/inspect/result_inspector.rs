//! Frames one result as a gateway would.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use weaver_firewall::{Firewall, FrameBudget, FrameSpec};
use weaver_text::token::TokenCounter;
use weaver_types::{
    AllowedAgents, CallId, Capability, CapabilityDraft, CapabilityId, Clock as _, Constraints,
    Effects, Frame, Handle, HandleId, Label, RawContent, RawResult, ResponseMode, SystemClock,
    Timestamp,
};

use crate::{Exit, Failure};

/// How long a gateway keeps a result.
const HANDLE_LIFETIME: Duration = Duration::from_secs(86_400);

/// One result, and how to frame it.
pub(super) struct ResultInspector<'a> {
    pub(super) firewall: Firewall,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) budget: FrameBudget,
    pub(super) goal: Option<&'a str>,
    pub(super) raw: &'a RawResult,
}

/// A frame, and how much of a context it takes.
pub(super) struct MeasuredFrame {
    pub(super) frame: Frame,
    pub(super) size: ContextSize,
}

/// How much of a context a text takes.
pub(super) struct ContextSize {
    pub(super) chars: usize,
    /// `None` if there are too many to count.
    pub(super) tokens: Option<usize>,
}

impl ResultInspector<'_> {
    /// The frame in a mode, with its size.
    pub(super) fn frame(&self, mode: ResponseMode) -> Result<MeasuredFrame, Failure> {
        let call = CallId::parse("call_0000000000000000").map_err(internal_failure)?;
        let capability = result_capability().map_err(internal_failure)?;
        let now = SystemClock::default().now();
        let handle = self.handle(&capability, now)?;
        let spec = FrameSpec {
            call: &call,
            capability: &capability,
            mode,
            budget: self.budget,
            constraints: &Constraints::default(),
            pii_reader: false,
            handle: Some(&handle),
            label: Label::undeclared_output(),
            now,
            strict: false,
            goal: self.goal,
        };
        let frame = self.firewall.frame(self.raw, &spec);
        let text = match mode {
            ResponseMode::Auto => {
                let text =
                    |block: &serde_json::Value| block.get("text")?.as_str().map(str::to_owned);
                let shown =
                    frame.content.iter().filter_map(text).chain(frame.notes.iter().cloned());
                shown.collect::<Vec<_>>().join("\n")
            }
            _ => serde_json::to_string(&frame).map_err(internal_failure)?,
        };
        let size = self.size(&text);
        Ok(MeasuredFrame { frame, size })
    }

    pub(super) fn size(&self, text: &str) -> ContextSize {
        ContextSize { chars: text.chars().count(), tokens: self.counter.count(text).tokens() }
    }

    /// A handle like that of a gateway, with nothing behind it.
    fn handle(&self, capability: &Capability, now: Timestamp) -> Result<Handle, Failure> {
        let (media_type, size) = match &self.raw.content {
            RawContent::Json(value) => ("application/json", value.to_string().len()),
            RawContent::Rows(rows) => ("application/json", rows.text().len()),
            RawContent::Text(text) => ("text/plain", text.len()),
            RawContent::Binary { media_type, bytes } => (media_type.as_str(), bytes.len()),
        };
        let rows = match &self.raw.content {
            RawContent::Json(serde_json::Value::Array(rows)) => Some(rows.len() as u64),
            RawContent::Rows(rows) if rows.key().is_none() => Some(rows.len() as u64),
            _ => None,
        };
        Ok(Handle {
            handle_id: HandleId::parse("hdl_0000000000000000").map_err(internal_failure)?,
            capability_id: capability.id().clone(),
            media_type: media_type.to_owned().into(),
            created_at: now,
            expires_at: now.after(HANDLE_LIFETIME),
            total_rows: rows,
            byte_size: size as u64,
            views: Cow::default(),
        })
    }
}

fn result_capability() -> Result<Capability, Box<dyn std::error::Error>> {
    let id = CapabilityId::parse("inspect.result")?;
    let draft = CapabilityDraft {
        description: "A result under inspection.".to_owned(),
        idempotent: true,
        timeout_ms: 1_000,
        ..CapabilityDraft::new(id, "result", Effects::READ_OPEN, AllowedAgents::Any)
    };
    Ok(draft.build()?)
}

fn internal_failure(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, "inspect.frame", error)
}
