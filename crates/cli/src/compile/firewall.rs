//! The firewall for tool results in a log.

use contextweaver::compile::{ResultFirewall, ResultView, ToolOutput};
use contextweaver::error::ViewError;
use weaver_firewall::{Firewall, FrameBudget, FrameSpec};
use weaver_types::{
    AllowedAgents, CallId, Capability, CapabilityDraft, CapabilityId, Constraints, Effects, Frame,
    HandleId, Label, RawContent, ResponseMode, Timestamp,
};

use crate::{Exit, Failure};

/// Frames results that are read from a log. Nothing is stored, so a frame has no handle.
pub(super) struct LogFirewall {
    firewall: Firewall,
    call: CallId,
    capability: Capability,
}

impl LogFirewall {
    pub(super) fn new() -> Result<Self, Failure> {
        let inside =
            |error: &dyn std::fmt::Display| Failure::new(Exit::Internal, "compile.firewall", error);
        let id = CapabilityId::parse("compile.result").map_err(|error| inside(&error))?;
        let draft = CapabilityDraft {
            description: "A result in a log.".to_owned(),
            timeout_ms: 1_000,
            ..CapabilityDraft::new(id, "result", Effects::READ_OPEN, AllowedAgents::Any)
        };
        Ok(Self {
            firewall: Firewall::new(),
            call: CallId::parse("compile").map_err(|error| inside(&error))?,
            capability: draft.build().map_err(|error| inside(&error))?,
        })
    }
}

impl ResultFirewall for LogFirewall {
    fn frame(&self, output: &ToolOutput) -> Option<Frame> {
        // Rows become a table; a text is summarised.
        let mode = match output.result.content {
            RawContent::Json(_) | RawContent::Rows(_) => ResponseMode::Table,
            RawContent::Text(_) | RawContent::Binary { .. } => ResponseMode::Summary,
        };
        let spec = FrameSpec {
            call: &self.call,
            capability: &self.capability,
            mode,
            budget: FrameBudget::default(),
            constraints: &Constraints::default(),
            pii_reader: false,
            handle: None,
            label: Label::undeclared_output().join(&output.label),
            now: Timestamp::from_micros(0),
            strict: false,
            goal: None,
        };
        Some(self.firewall.frame(&output.result, &spec))
    }

    fn view(&self, _: &HandleId, _: &ResultView) -> Result<Frame, ViewError> {
        Err(ViewError::Refused {
            code: "handle_not_found".to_owned(),
            message: "a log holds no results behind handles".to_owned(),
        })
    }
}
