//! The items that a context is made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::{
    ArtifactRef, CallId, CapabilityId, Confidentiality, Frame, HandleId, Integrity, Label,
};

use crate::compile::{ItemKind, frame_text, text_equivalence};

/// One item of a context.
///
/// The text of a tool result comes from a [`Frame`], or it is a stub that names where the result
/// lies. There is no way to make one from raw output but through a
/// [`ResultFirewall`](crate::compile::ResultFirewall).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextItem {
    id: Arc<str>,
    kind: ItemKind,
    text: String,
    parent: Option<String>,
    handle: Option<HandleId>,
    label: Label,
    metadata: BTreeMap<String, Value>,
    tags: Vec<String>,
    pinned: bool,
    dedup_key: DedupKey,
    call: Option<Arc<CallMade>>,
}

/// A call as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallMade {
    /// Its id.
    pub id: CallId,
    /// What was called.
    pub capability: CapabilityId,
    /// With what.
    pub arguments: Value,
}

/// What counts as a duplicate of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DedupKey {
    /// Another with the same text.
    Text,
    /// Another with the same output, of which the text shows a part: the digest of all of it.
    Digest(u64),
    /// Nothing: not all of it is known.
    Unique,
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

    /// A piece of documentation: public and untrusted.
    pub fn doc(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::Doc, id, text, written_elsewhere())
    }

    /// A document that a search found: public and untrusted.
    pub fn retrieved_doc(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::RetrievedDoc, id, text, written_elsewhere())
    }

    /// The card of a tool on the shortlist: public and untrusted, since a server wrote it.
    pub fn tool_card(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::ToolCard, id, text, written_elsewhere())
    }

    /// A call as a text of the host's: public and untrusted.
    pub fn call_text(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ItemKind::ToolCall, id, text, written_elsewhere())
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
        let made = CallMade {
            id: call.clone(),
            capability: capability.clone(),
            arguments: arguments.clone(),
        };
        Self::call_text(call_item(call), format!("{capability} {arguments}")).with_call(made)
    }

    /// What the firewall let through of a result, under the label of the frame. It hangs on the
    /// item of its call. Its id is `result:` and the id of the call.
    ///
    /// Of a frame in raw mode only the handle is shown.
    #[must_use]
    pub fn tool_result(frame: &Frame) -> Self {
        let mut item =
            Self::result(&frame.call_id, frame_text::frame_text(frame), frame.label.clone());
        item.handle = frame.handle.as_ref().map(|handle| handle.handle_id.clone());
        if !frame.warnings.is_empty() || item.handle.is_some() {
            item.dedup_key = DedupKey::Unique;
        }
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
        item.dedup_key = DedupKey::Unique;
        item
    }

    /// With another id, for example where a call has several results.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into().into();
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

    /// With the call itself beside its text, for providers that want it so. Nothing else has one.
    #[must_use]
    pub fn with_call(mut self, call: CallMade) -> Self {
        if self.kind == ItemKind::ToolCall {
            self.call = Some(Arc::new(call));
        }
        self
    }

    /// With one more entry of metadata, any JSON: it is kept, and never shown to the model.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Ranked before everything that is not pinned.
    #[must_use]
    pub fn pin(mut self) -> Self {
        self.pinned = true;
        self
    }

    /// With words that say what it is about, beside its text.
    #[must_use]
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = String>) -> Self {
        self.tags = tags.into_iter().collect();
        self
    }

    /// Its id within the log.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its id, shared.
    #[must_use]
    pub fn shared_id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

    /// Words that say what it is about.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// Whether it is ranked before everything that is not.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.pinned
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

    /// The call that it is, where that is known.
    #[must_use]
    pub fn call(&self) -> Option<&CallMade> {
        self.call.as_deref()
    }

    /// Its metadata.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.metadata
    }

    /// Its size in memory, in bytes, without overheads.
    pub(super) fn bytes(&self) -> usize {
        let size = |value: &Value| value.as_str().map_or_else(|| value.to_string().len(), str::len);
        let metadata: usize = self.metadata.iter().map(|(k, v)| k.len() + size(v)).sum();
        let metadata = metadata + self.tags.iter().map(String::len).sum::<usize>();
        let call = self.call.as_ref().map_or(0, |call| call.arguments.to_string().len());
        let metadata = metadata + call;
        self.id.len() + self.text.len() + self.parent.as_ref().map_or(0, String::len) + metadata
    }

    /// The result of something other than a call of the kernel, for the firewall stage.
    pub(super) fn output(
        id: impl Into<String>,
        text: String,
        label: Label,
        dedup_key: DedupKey,
    ) -> Self {
        let mut item = Self::new(ItemKind::ToolResult, id, text, label);
        item.dedup_key = dedup_key;
        item
    }

    pub(super) fn with_parent_if(mut self, parent: Option<String>) -> Self {
        self.parent = parent;
        self
    }

    pub(super) fn with_handle(mut self, handle: Option<HandleId>) -> Self {
        self.handle = handle;
        self
    }

    /// As it was stored.
    pub(super) fn restored(kind: ItemKind, id: String, text: String, label: Label) -> Self {
        Self::new(kind, id, text, label)
    }

    pub(super) fn with_dedup_key(mut self, dedup_key: DedupKey) -> Self {
        self.dedup_key = dedup_key;
        self
    }

    pub(super) fn dedup_key(&self) -> DedupKey {
        self.dedup_key
    }

    /// What its words come to, where another that says the same may stand for it: never for what
    /// the user said, for what is pinned, and for output that is not known as a whole.
    pub(super) fn fingerprint(&self) -> Option<u64> {
        match self.dedup_key {
            _ if self.pinned || self.kind == ItemKind::UserTurn => None,
            DedupKey::Text => text_equivalence::fingerprint(&self.text),
            DedupKey::Digest(print) => Some(print),
            DedupKey::Unique => None,
        }
    }

    fn result(call: &CallId, text: String, label: Label) -> Self {
        let mut item = Self::new(ItemKind::ToolResult, format!("result:{call}"), text, label);
        item.parent = Some(call_item(call));
        item
    }

    fn new(kind: ItemKind, id: impl Into<String>, text: impl Into<String>, label: Label) -> Self {
        Self {
            id: id.into().into(),
            kind,
            text: text.into(),
            parent: None,
            handle: None,
            label,
            metadata: BTreeMap::new(),
            tags: Vec::new(),
            pinned: false,
            dedup_key: DedupKey::Text,
            call: None,
        }
    }
}

fn call_item(call: &CallId) -> String {
    format!("call:{call}")
}

fn written_elsewhere() -> Label {
    Label::of(Confidentiality::Public, Integrity::Untrusted)
}
