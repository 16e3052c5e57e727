//! Renders sections as one text, or as the messages of a provider.

use std::sync::Arc;

use serde_json::Value;

use crate::compile::section::Section;
use crate::compile::section_totals::SectionTotals;
use crate::compile::shown_sections::ShownSections;
use crate::compile::{CallStyle, ContextLog, Format, messages};

/// Items in the order in which they are shown, and what is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RenderedContext {
    /// First policy, plan and memory, then the conversation, each oldest first.
    pub(super) sections: Arc<Vec<Section>>,
    pub(super) tally: SectionTotals,
    /// The bytes that are counted.
    pub(super) sent: String,
    pub(super) messages: Option<Value>,
    /// How many messages there are where what was the same the last time may be cached.
    pub(super) breakpoints: Vec<usize>,
}

impl RenderedContext {
    /// What is shown as a text, or as messages of a provider.
    pub(super) fn new(
        log: &ContextLog,
        shown: &ShownSections,
        format: Format,
        calls: CallStyle,
    ) -> Self {
        let (sections, tally) = (shown.sections(), shown.tally().clone());
        if format == Format::Text {
            let (sent, breakpoints) = (shown.text().to_owned(), Vec::new());
            return Self { sections, tally, sent, messages: None, breakpoints };
        }
        if sections.is_empty() {
            // Not even the envelope of no message: it has tokens too.
            let (sent, breakpoints) = (String::new(), Vec::new());
            return Self { sections, tally, sent, messages: None, breakpoints };
        }
        let (messages, breakpoints) = messages::of(log, &sections, tally.head(), format, calls);
        let sent = messages.to_string();
        Self { sections, tally, sent, messages: Some(messages), breakpoints }
    }

    /// The bytes of the head in a text; none in messages.
    pub(super) fn head_bytes(&self) -> usize {
        match self.messages {
            None => self.sections.iter().take(self.tally.head()).map(|s| s.text.len()).sum(),
            Some(_) => 0,
        }
    }
}
