//! Renders items as one text, or as the messages of a provider.

use std::sync::Arc;

use serde_json::Value;

use crate::compile::render_cache::RenderCache;
use crate::compile::rendered_item::RenderedItem;
use crate::compile::rendered_totals::RenderedTotals;
use crate::compile::{CallStyle, ContextLog, PromptFormat, messages};

/// The items in the order in which they are shown, and the payload for the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RenderedContext {
    /// Policy, plan and memory first, then the conversation, each oldest first.
    pub(super) items: Arc<Vec<RenderedItem>>,
    pub(super) totals: RenderedTotals,
    /// The text or JSON that is sent, and whose tokens are counted.
    pub(super) payload: String,
    pub(super) messages: Option<Value>,
    /// The numbers of messages after which a cache breakpoint may be set.
    pub(super) breakpoints: Vec<usize>,
}

impl RenderedContext {
    /// Renders the items as a text, or as messages of a provider.
    pub(super) fn new(
        log: &ContextLog,
        shown: &RenderCache,
        format: PromptFormat,
        calls: CallStyle,
    ) -> Self {
        let (items, totals) = (shown.items(), shown.totals().clone());
        if format == PromptFormat::Text {
            let (sent, breakpoints) = (shown.text().to_owned(), Vec::new());
            return Self { items, totals, payload: sent, messages: None, breakpoints };
        }
        if items.is_empty() {
            // Even an empty list of messages has tokens, so nothing at all is sent.
            let (sent, breakpoints) = (String::new(), Vec::new());
            return Self { items, totals, payload: sent, messages: None, breakpoints };
        }
        let (messages, breakpoints) =
            messages::render_messages(log, &items, totals.head_count(), format, calls);
        let sent = messages.to_string();
        Self { items, totals, payload: sent, messages: Some(messages), breakpoints }
    }

    /// The bytes of the head of a text; 0 for messages.
    pub(super) fn head_bytes(&self) -> usize {
        match self.messages {
            None => self.items.iter().take(self.totals.head_count()).map(|s| s.text.len()).sum(),
            Some(_) => 0,
        }
    }
}
