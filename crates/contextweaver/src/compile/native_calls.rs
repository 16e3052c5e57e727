//! Renders calls and results in a provider's native form.
//!
//! Providers require that each call is answered, by id, directly after the message that makes it. So
//! a call is native only if it is shown unaltered and at least one of its results is shown. All
//! results of a call are joined in one, which follows the calls that were made together; items that
//! were logged between them come after.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_types::formats;

use crate::compile::messages::with_heading;
use crate::compile::rendered_item::{RenderedItem, Rendition};
use crate::compile::{CallStyle, ContextItemKind, ContextLog, PromptFormat};

/// The longest call id that every provider accepts.
const MAX_CALL_ID: usize = 40;
/// The prefix of an id that replaces an unusable one.
const INDEX_PREFIX: &str = "at_";

/// One part of a message.
pub(super) enum MessagePart<'a> {
    /// The placeholder for a user message, for providers that require one first.
    Opening,
    /// An item as text.
    Text(&'a RenderedItem),
    /// A call.
    Call(Call<'a>),
    /// All results of a call.
    CallResult(CallResult),
}

/// A call in a provider's terms.
#[derive(Clone)]
pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: &'a Value,
}

/// The joined results of a call.
pub(super) struct CallResult {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) text: String,
}

impl MessagePart<'_> {
    pub(super) fn is_assistant(&self) -> bool {
        match self {
            Self::Call(_) => true,
            Self::Text(section) => {
                matches!(section.kind, ContextItemKind::AgentMessage | ContextItemKind::ToolCall)
            }
            Self::Opening | Self::CallResult(_) => false,
        }
    }
}

/// The calls among some items that are rendered natively, by index, with the results of each.
pub(super) struct NativeCalls<'a> {
    calls: BTreeMap<usize, Call<'a>>,
    results: BTreeMap<usize, Vec<usize>>,
    /// The indices of all these results.
    shown_as_results: BTreeSet<usize>,
}

impl<'a> NativeCalls<'a> {
    pub(super) fn from_items(
        log: &'a ContextLog,
        items: &[RenderedItem],
        format: PromptFormat,
        style: CallStyle,
    ) -> Self {
        let mut native = Self {
            calls: BTreeMap::new(),
            results: BTreeMap::new(),
            shown_as_results: BTreeSet::new(),
        };
        let Some(format) = provider_format(format).filter(|_| style == CallStyle::Native) else {
            return native;
        };
        for section in items.iter().filter(|section| section.kind == ContextItemKind::ToolResult) {
            if let Some(call) = log.forest().parent(section.index) {
                native.results.entry(call).or_default().push(section.index);
            }
        }
        let is_call = |section: &&RenderedItem| {
            section.kind == ContextItemKind::ToolCall && section.rendition == Rendition::Original
        };
        for section in items.iter().filter(is_call) {
            let structured = log.item_at(section.index).and_then(|item| item.call());
            let Some(structured) = structured.filter(|structured| structured.arguments.is_object())
            else {
                continue;
            };
            let Some(results) = native.results.get(&section.index) else { continue };
            native.shown_as_results.extend(results);
            let name = formats::tool_name(format, &structured.capability);
            let id = call_id(structured.id.as_str(), section.index);
            native.calls.insert(section.index, Call { id, name, arguments: &structured.arguments });
        }
        native
    }

    /// The items as parts of messages, in order.
    pub(super) fn parts<'s>(&self, items: &'s [RenderedItem]) -> Vec<MessagePart<'s>>
    where
        'a: 's,
    {
        let mut parts = Vec::with_capacity(items.len());
        let mut open_calls: Vec<usize> = Vec::new();
        for section in items {
            if let Some(call) = self.calls.get(&section.index) {
                open_calls.push(section.index);
                parts.push(MessagePart::Call(call.clone()));
            } else if !self.shown_as_results.contains(&section.index) {
                self.push_results(&mut open_calls, items, &mut parts);
                parts.push(MessagePart::Text(section));
            }
        }
        self.push_results(&mut open_calls, items, &mut parts);
        parts
    }

    /// Adds the results of the calls that were made together.
    fn push_results(
        &self,
        open_calls: &mut Vec<usize>,
        items: &[RenderedItem],
        parts: &mut Vec<MessagePart<'_>>,
    ) {
        for index in open_calls.drain(..) {
            let Some(call) = self.calls.get(&index) else { continue };
            let results = self.results.get(&index).into_iter().flatten();
            let texts: Vec<&str> = results
                .filter_map(|index| {
                    let at = items.binary_search_by_key(index, |section| section.index).ok()?;
                    items.get(at).map(with_heading)
                })
                .collect();
            let (id, name) = (call.id.clone(), call.name.clone());
            parts.push(MessagePart::CallResult(CallResult { id, name, text: texts.join("\n\n") }));
        }
    }
}

fn provider_format(format: PromptFormat) -> Option<formats::ToolFormat> {
    match format {
        PromptFormat::Text => None,
        PromptFormat::OpenAi => Some(formats::ToolFormat::OpenAiChat),
        PromptFormat::Anthropic => Some(formats::ToolFormat::Anthropic),
        PromptFormat::Gemini => Some(formats::ToolFormat::Gemini),
    }
}

/// The id itself if every provider accepts it, else one made from the item's index.
fn call_id(id: &str, index: usize) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    match id.len() <= MAX_CALL_ID && id.bytes().all(is_plain) && !id.starts_with(INDEX_PREFIX) {
        true => id.to_owned(),
        false => format!("{INDEX_PREFIX}{index}"),
    }
}
