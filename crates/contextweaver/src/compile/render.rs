//! Items as text.
//!
//! Each item is a heading in brackets at the start of a line, then its text. No line of a text
//! begins with a bracket, so that nothing inside an item can pass for another one.

use std::sync::Arc;

use serde_json::Value;
use weaver_text::escape;
use weaver_types::{Confidentiality, Frame, Integrity, ResponseMode, Status};

use crate::compile::sensitivity::Block;
use crate::compile::shown::Shown;
use crate::compile::tally::Tally;
use crate::compile::{CallStyle, ContextItem, ContextLog, Format, ItemKind, messages};

/// Where an item stands in a rendering: policy, plan and memory come first, then the conversation,
/// each oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order(u64);

impl Order {
    /// Set for what does not stand at the head.
    const REST: u64 = 1 << 63;

    /// The order of an item of this kind, or of one that goes with such an item.
    pub(super) fn of(kind: ItemKind, place: usize) -> Self {
        let place = place as u64;
        Self(if kind.is_head() { place } else { place | Self::REST })
    }

    /// The place in the log.
    pub(super) fn place(self) -> usize {
        usize::try_from(self.0 & !Self::REST).unwrap_or(usize::MAX)
    }
}

/// What the model gets of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The id of the item.
    pub id: Arc<str>,
    /// Its kind.
    pub kind: ItemKind,
    /// Its block, heading and empty line included.
    pub text: Arc<str>,
    pub(super) place: usize,
    /// Its tokens, as counted by themselves.
    pub(super) tokens: u32,
    pub(super) form: Form,
    /// The label of the item, but for the calls that it names, if it does.
    pub(super) level: Confidentiality,
    pub(super) integrity: Integrity,
    pub(super) is_tainted: bool,
}

/// In which form an item is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    Own,
    Redacted,
    Shortened,
}

/// Items in the order in which they are shown, and what is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rendered {
    /// First policy, plan and memory, then the conversation, each oldest first.
    pub(super) sections: Arc<Vec<Section>>,
    pub(super) tally: Tally,
    /// The bytes that are counted.
    pub(super) sent: String,
    pub(super) messages: Option<Value>,
    /// How many messages there are where what was the same the last time may be cached.
    pub(super) breakpoints: Vec<usize>,
}

impl Section {
    /// An item with its own block, or with another one in its place.
    pub(super) fn of(log: &ContextLog, place: usize, other: Option<&Block>) -> Option<Self> {
        let (item, analysis) = (log.at(place)?, log.analysis(place)?);
        let (text, tokens, form) = match other {
            Some(Block { text, tokens, form }) => (Arc::clone(text), *tokens, *form),
            None => (log.block(place)?, analysis.tokens, Form::Own),
        };
        Some(Self {
            id: item.shared_id(),
            kind: analysis.kind,
            text,
            place,
            tokens,
            form,
            level: analysis.level,
            integrity: analysis.integrity,
            is_tainted: analysis.is_tainted,
        })
    }

    pub(super) fn order(&self) -> Order {
        Order::of(self.kind, self.place)
    }
}

impl Rendered {
    /// What is shown as a text, or as messages of a provider.
    pub(super) fn new(
        log: &ContextLog,
        shown: &Shown,
        (format, calls): (Format, CallStyle),
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
        let (messages, breakpoints) = messages::of(log, &sections, tally.head(), (format, calls));
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

/// One item with its heading, ending in an empty line.
pub(super) fn block(item: &ContextItem) -> String {
    block_of(item, item.text())
}

/// The same with another text in place of its own.
pub(super) fn block_of(item: &ContextItem, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 24);
    out.push('[');
    out.push_str(item.kind().heading());
    if item.kind().marks_trust() && item.label().integrity == Integrity::Untrusted {
        out.push_str(" untrusted");
    }
    if let Some(handle) = item.handle() {
        out.push_str(&format!(" handle={handle}"));
    }
    out.push_str("]\n");
    for line in escape::block(text).split('\n') {
        if line.starts_with('[') {
            out.push(' ');
        }
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
    out
}

/// What a frame shows, under the name of what made it.
pub(super) fn frame_text(frame: &Frame) -> String {
    format!("{}\n{}", frame.capability_id, frame_body(frame)).trim_end().to_owned()
}

/// What a frame shows: status where it is not success, facts, rows, warnings. Never raw output.
pub(super) fn frame_body(frame: &Frame) -> String {
    let mut lines = Vec::new();
    match frame.status {
        Status::Success => {}
        Status::Error => lines.push("status: error".to_owned()),
        Status::Partial => lines.push("status: partial".to_owned()),
    }
    match frame.mode {
        ResponseMode::Raw => lines.push("not shown: the result is raw".to_owned()),
        ResponseMode::HandleOnly => {}
        ResponseMode::Auto | ResponseMode::Table | ResponseMode::Summary => {
            lines.extend(frame.facts.iter().map(|fact| format!("- {fact}")));
            lines.extend(frame.table.iter().map(|row| Value::Object(row.clone()).to_string()));
        }
    }
    lines.extend(frame.warnings.iter().map(|w| format!("warning: {} x{}", w.kind, w.count)));
    lines.join("\n")
}
