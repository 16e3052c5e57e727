//! The items of a context log.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::{
    ArtifactRef, CallId, CapabilityId, Confidentiality, Frame, HandleId, Integrity, Label,
};

use crate::compile::{ContextItemKind, frame_text, text_equivalence};

/// One item of a context log.
///
/// The text of a tool result comes from a [`Frame`], or is a placeholder with the handle of the stored
/// result. Raw output becomes an item only through a
/// [`ResultFirewall`](crate::compile::ResultFirewall).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextItem {
    id: Arc<str>,
    kind: ContextItemKind,
    text: String,
    parent: Option<String>,
    handle: Option<HandleId>,
    label: Label,
    metadata: BTreeMap<String, Value>,
    tags: Vec<String>,
    pinned: bool,
    dedup_key: DedupKey,
    call: Option<Arc<StructuredCall>>,
}

/// A call with its capability and arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructuredCall {
    /// The id of the call.
    pub id: CallId,
    /// The capability that was called.
    pub capability: CapabilityId,
    /// The arguments of the call.
    pub arguments: Value,
}

/// What must be equal for another item to count as a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DedupKey {
    /// An equivalent text.
    Text,
    /// The same complete output, of which the text shows only a part: the digest of the output.
    Digest(u64),
    /// Nothing is a duplicate, because the complete output is not known.
    Unique,
}

impl ContextItem {
    /// A message of the user: public and trusted.
    pub fn user_turn(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::UserTurn, id, text, Label::clean())
    }

    /// A message of the agent: public and untrusted, because a model wrote it.
    pub fn agent_message(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::AgentMessage, id, text, public_untrusted())
    }

    /// A piece of documentation: public and untrusted.
    pub fn doc(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::Doc, id, text, public_untrusted())
    }

    /// A document retrieved by a search: public and untrusted.
    pub fn retrieved_doc(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::RetrievedDoc, id, text, public_untrusted())
    }

    /// The card of a tool on the shortlist: public and untrusted, because a server wrote it.
    pub fn tool_card(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::ToolCard, id, text, public_untrusted())
    }

    /// A call in the host's own words: public and untrusted.
    pub fn call_text(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::ToolCall, id, text, public_untrusted())
    }

    /// A fact from memory: internal and untrusted.
    pub fn memory_fact(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::MemoryFact, id, text, Label::undeclared_output())
    }

    /// The state of a plan: public and untrusted, because a model wrote it.
    pub fn plan_state(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::PlanState, id, text, public_untrusted())
    }

    /// A rule for the agent: public and trusted.
    pub fn policy(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(ContextItemKind::Policy, id, text, Label::clean())
    }

    /// A call with its arguments: public and untrusted. The item's id is `call:` and the call's id.
    #[must_use]
    pub fn tool_call(call: &CallId, capability: &CapabilityId, arguments: &Value) -> Self {
        let structured = StructuredCall {
            id: call.clone(),
            capability: capability.clone(),
            arguments: arguments.clone(),
        };
        Self::call_text(call_item_id(call), format!("{capability} {arguments}"))
            .with_call(structured)
    }

    /// The frame of a result, under the frame's label. Its parent is the item of the call. Its id is
    /// `result:` and the call's id.
    ///
    /// For a frame in raw mode, only the handle is shown.
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

    /// A placeholder for a stored result: its size, type and handle. Internal and untrusted.
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

    /// Sets another id, for example because a call has several results.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into().into();
        self
    }

    /// Sets the parent: the item is shown only together with it. The parent of a result is always
    /// its call and does not change.
    #[must_use]
    pub fn with_parent(mut self, id: impl Into<String>) -> Self {
        if self.kind != ContextItemKind::ToolResult {
            self.parent = Some(id.into());
        }
        self
    }

    /// Sets the label. The label of a result can only become stricter.
    #[must_use]
    pub fn with_label(mut self, label: Label) -> Self {
        self.label =
            if self.kind == ContextItemKind::ToolResult { self.label.join(&label) } else { label };
        self
    }

    /// Attaches the structured call to a call item, for messages with native calls. Other kinds of
    /// items ignore it.
    #[must_use]
    pub fn with_call(mut self, call: StructuredCall) -> Self {
        if self.kind == ContextItemKind::ToolCall {
            self.call = Some(Arc::new(call));
        }
        self
    }

    /// Adds an entry of metadata, which is kept and never shown to the model.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Pins the item: it is ranked before everything that is not pinned.
    #[must_use]
    pub fn pin(mut self) -> Self {
        self.pinned = true;
        self
    }

    /// Sets keywords that describe the item in addition to its text.
    #[must_use]
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = String>) -> Self {
        self.tags = tags.into_iter().collect();
        self
    }

    /// The id within the log.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The id as a shared pointer.
    #[must_use]
    pub fn shared_id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

    /// Keywords that describe the item.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// Whether the item is pinned.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.pinned
    }

    /// The kind of the item.
    #[must_use]
    pub fn kind(&self) -> ContextItemKind {
        self.kind
    }

    /// The text before rendering.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The id of the parent.
    #[must_use]
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// The handle of the stored result behind the item.
    #[must_use]
    pub fn handle(&self) -> Option<&HandleId> {
        self.handle.as_ref()
    }

    /// The label: confidentiality, integrity and taints.
    #[must_use]
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The structured call, if it is known.
    #[must_use]
    pub fn call(&self) -> Option<&StructuredCall> {
        self.call.as_deref()
    }

    /// The metadata.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.metadata
    }

    /// The size of the content in memory, in bytes, without overhead.
    pub(super) fn size_bytes(&self) -> usize {
        let size = |value: &Value| value.as_str().map_or_else(|| value.to_string().len(), str::len);
        let metadata: usize = self.metadata.iter().map(|(k, v)| k.len() + size(v)).sum();
        let metadata = metadata + self.tags.iter().map(String::len).sum::<usize>();
        let call = self.call.as_ref().map_or(0, |call| call.arguments.to_string().len());
        let metadata = metadata + call;
        self.id.len() + self.text.len() + self.parent.as_ref().map_or(0, String::len) + metadata
    }

    /// A tool result that was not made by a call of the kernel; used by the firewall port.
    pub(super) fn tool_output(
        id: impl Into<String>,
        text: String,
        label: Label,
        dedup_key: DedupKey,
    ) -> Self {
        let mut item = Self::new(ContextItemKind::ToolResult, id, text, label);
        item.dedup_key = dedup_key;
        item
    }

    pub(super) fn with_optional_parent(mut self, parent: Option<String>) -> Self {
        self.parent = parent;
        self
    }

    pub(super) fn with_handle(mut self, handle: Option<HandleId>) -> Self {
        self.handle = handle;
        self
    }

    /// An item read back from a store.
    pub(super) fn from_stored(
        kind: ContextItemKind,
        id: String,
        text: String,
        label: Label,
    ) -> Self {
        Self::new(kind, id, text, label)
    }

    pub(super) fn with_dedup_key(mut self, dedup_key: DedupKey) -> Self {
        self.dedup_key = dedup_key;
        self
    }

    pub(super) fn dedup_key(&self) -> DedupKey {
        self.dedup_key
    }

    /// The fingerprint by which duplicates are found. `None` for items that are never duplicates:
    /// user turns, pinned items, and output that is not known in full.
    pub(super) fn fingerprint(&self) -> Option<u64> {
        match self.dedup_key {
            _ if self.pinned || self.kind == ContextItemKind::UserTurn => None,
            DedupKey::Text => text_equivalence::fingerprint(&self.text),
            DedupKey::Digest(digest) => Some(digest),
            DedupKey::Unique => None,
        }
    }

    fn result(call: &CallId, text: String, label: Label) -> Self {
        let mut item =
            Self::new(ContextItemKind::ToolResult, format!("result:{call}"), text, label);
        item.parent = Some(call_item_id(call));
        item
    }

    fn new(
        kind: ContextItemKind,
        id: impl Into<String>,
        text: impl Into<String>,
        label: Label,
    ) -> Self {
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

fn call_item_id(call: &CallId) -> String {
    format!("call:{call}")
}

fn public_untrusted() -> Label {
    Label::new(Confidentiality::Public, Integrity::Untrusted)
}
