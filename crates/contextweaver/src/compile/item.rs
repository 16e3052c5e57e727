//! What a context is made of.

use std::collections::BTreeMap;

use serde_json::Value;
use weaver_types::{
    ArtifactRef, CallId, CapabilityId, Confidentiality, Frame, HandleId, Integrity, Label,
};

use crate::compile::render;

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// What the user said.
    UserTurn,
    /// What the agent said.
    AgentMessage,
    /// A call the agent made.
    ToolCall,
    /// What the firewall let through of a result.
    ToolResult,
    /// A document.
    Doc,
    /// Something remembered.
    MemoryFact,
    /// The state of a plan.
    PlanState,
    /// A rule the agent has to follow.
    Policy,
}

impl ItemKind {
    /// The word used in statistics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserTurn => "user_turn",
            Self::AgentMessage => "agent_message",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Doc => "doc",
            Self::MemoryFact => "memory_fact",
            Self::PlanState => "plan_state",
            Self::Policy => "policy",
        }
    }
}

/// One item of a context.
///
/// The text of a tool result comes from a [`Frame`], or it is a stub that names where the result
/// lies. There is no way to make one from raw output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextItem {
    id: String,
    kind: ItemKind,
    text: String,
    parent: Option<String>,
    handle: Option<HandleId>,
    label: Label,
    metadata: BTreeMap<String, String>,
}

impl ContextItem {
    /// What the user said: public and trusted.
    pub fn user_turn(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::UserTurn, id, text, Label::clean())
    }

    /// What the agent said: public and untrusted, since a model wrote it.
    pub fn agent_message(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::AgentMessage, id, text, written_elsewhere())
    }

    /// A document: public and untrusted.
    pub fn doc(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::Doc, id, text, written_elsewhere())
    }

    /// Something remembered: internal and untrusted.
    pub fn memory_fact(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::MemoryFact, id, text, Label::undeclared_output())
    }

    /// The state of a plan: public and untrusted, since a model wrote it.
    pub fn plan_state(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::PlanState, id, text, written_elsewhere())
    }

    /// A rule to follow: public and trusted.
    pub fn policy(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::Policy, id, text, Label::clean())
    }

    /// A call with its arguments: public and untrusted. Its id is `call:` and the id of the call.
    #[must_use]
    pub fn tool_call(call: &CallId, capability: &CapabilityId, arguments: &Value) -> Self {
        let text = format!("{capability} {arguments}");
        Self::new(ItemKind::ToolCall, call_item(call), text, written_elsewhere())
    }

    /// What the firewall let through of a result, under the label of the frame. It hangs on the
    /// item of its call. Its id is `result:` and the id of the call.
    ///
    /// Of a frame in raw mode only the handle is shown.
    #[must_use]
    pub fn tool_result(frame: &Frame) -> Self {
        let mut item = Self::result(&frame.call_id, render::frame_text(frame), frame.label.clone());
        item.handle = frame.handle.as_ref().map(|handle| handle.handle_id.clone());
        item
    }

    /// A result that no firewall has seen: only its size, type and place. Internal and untrusted.
    #[must_use]
    pub fn tool_result_stub(call: &CallId, artifact: &ArtifactRef) -> Self {
        let text = format!(
            "not shown: {} bytes of {}",
            artifact.byte_size,
            weaver_text::escape::truncate(&artifact.media_type, 128)
        );
        let mut item = Self::result(call, text, Label::undeclared_output().tainted_by(call));
        item.handle = Some(artifact.handle_id.clone());
        item
    }

    /// With another id, for example where a call has several results.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Hanging on another item: shown only together with it. A result always hangs on its call.
    #[must_use]
    pub fn with_parent(mut self, id: impl Into<String>) -> Self {
        if self.kind != ItemKind::ToolResult {
            self.parent = Some(id.into());
        }
        self
    }

    /// With another label. That of a result can only become stricter.
    #[must_use]
    pub fn with_label(mut self, label: Label) -> Self {
        self.label =
            if self.kind == ItemKind::ToolResult { self.label.join(&label) } else { label };
        self
    }

    /// With one more entry of metadata, which is kept and never shown to the model.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Its id within the log.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ItemKind {
        self.kind
    }

    /// Its text, before it is rendered.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The item it hangs on.
    #[must_use]
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// Where the rest of it lies.
    #[must_use]
    pub fn handle(&self) -> Option<&HandleId> {
        self.handle.as_ref()
    }

    /// How confidential and how trustworthy it is.
    #[must_use]
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Its metadata.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// Its size in memory, in bytes, without overheads.
    pub(super) fn bytes(&self) -> usize {
        let metadata: usize = self.metadata.iter().map(|(k, v)| k.len() + v.len()).sum();
        self.id.len() + self.text.len() + self.parent.as_ref().map_or(0, String::len) + metadata
    }

    fn result(call: &CallId, text: String, label: Label) -> Self {
        let mut item = Self::new(ItemKind::ToolResult, format!("result:{call}"), text, label);
        item.parent = Some(call_item(call));
        item
    }

    fn new(kind: ItemKind, id: impl Into<String>, text: impl Into<String>, label: Label) -> Self {
        let (id, text) = (id.into(), text.into());
        Self { id, kind, text, parent: None, handle: None, label, metadata: BTreeMap::new() }
    }
}

fn call_item(call: &CallId) -> String {
    format!("call:{call}")
}

fn written_elsewhere() -> Label {
    Label::of(Confidentiality::Public, Integrity::Untrusted)
}
