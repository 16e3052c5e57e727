//! Renders items as the messages of a provider.
//!
//! Policy, plan and memory become the system prompt. Messages and calls of the agent get the
//! assistant's role, everything else the user's. A message of the user or the agent that is alone in
//! its turn has no heading. Where several items share a turn, each keeps its heading, so that none
//! can pass itself off as another. Calls are text, or native if the request asks for that.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::compile::native_calls::{MessagePart, NativeCalls};
use crate::compile::ranked_candidates::RankedCandidates;
use crate::compile::rendered_item::RenderedItem;
use crate::compile::{CallStyle, ContextItemKind, ContextLog, PromptFormat};

/// The first user message for providers that require the user to begin.
const OPENING: &str = "(Earlier messages are left out.)";

/// The text of a message of the user or the agent without its heading, if any text remains; else the
/// whole block.
fn without_heading(section: &RenderedItem) -> &str {
    let is_said = matches!(section.kind, ContextItemKind::UserTurn | ContextItemKind::AgentMessage);
    let said = section.text.split_once("]\n").map(|(_, said)| said.trim_end());
    said.filter(|said| is_said && !said.is_empty()).unwrap_or(with_heading(section))
}

/// The block of an item, without the empty line at its end.
pub(super) fn with_heading(section: &RenderedItem) -> &str {
    section.text.trim_end()
}

/// Consecutive parts with the same role.
struct Turn<'a> {
    is_assistant: bool,
    parts: Vec<MessagePart<'a>>,
}

impl Turn<'_> {
    /// Renders each part for a provider. A text that is alone in its turn needs no heading.
    fn contents(&self, render_part: impl Fn(&MessagePart<'_>, &str) -> Value) -> Vec<Value> {
        let texts = self.parts.iter().filter(|part| matches!(part, MessagePart::Text(_))).count();
        let text = |part: &MessagePart<'_>| match part {
            MessagePart::Text(section) if texts == 1 => without_heading(section).to_owned(),
            MessagePart::Text(section) => with_heading(section).to_owned(),
            MessagePart::Opening => OPENING.to_owned(),
            MessagePart::Call(_) | MessagePart::CallResult(_) => String::new(),
        };
        self.parts.iter().map(|part| render_part(part, &text(part))).collect()
    }
}

fn group_by_role<'a>(parts: Vec<MessagePart<'a>>, format: PromptFormat) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    if format != PromptFormat::OpenAi && parts.first().is_some_and(MessagePart::is_assistant) {
        turns.push(Turn { is_assistant: false, parts: vec![MessagePart::Opening] });
    }
    for part in parts {
        let is_assistant = part.is_assistant();
        match turns.last_mut() {
            Some(last) if last.is_assistant == is_assistant => last.parts.push(part),
            _ => turns.push(Turn { is_assistant, parts: vec![part] }),
        }
    }
    turns
}

/// The messages, and the numbers of messages after which a cache breakpoint may be set.
pub(super) fn render_messages(
    log: &ContextLog,
    items: &[RenderedItem],
    head_count: usize,
    format: PromptFormat,
    style: CallStyle,
) -> (Value, Vec<usize>) {
    let (head, rest) = items.split_at_checked(head_count).unwrap_or((items, &[]));
    let system: Vec<&str> = head.iter().map(with_heading).collect();
    let system = (!system.is_empty()).then(|| system.join("\n\n"));
    let native = NativeCalls::from_items(log, rest, format, style);
    let parts = native.parts(rest);
    match format {
        PromptFormat::Anthropic => anthropic(system, &group_by_role(parts, format)),
        PromptFormat::Gemini => gemini(system, &group_by_role(parts, format)),
        PromptFormat::Text | PromptFormat::OpenAi => open_ai(system, &parts),
    }
}

/// One message per item, except that calls made together share one. OpenAI caches prefixes without
/// explicit breakpoints.
fn open_ai(system: Option<String>, parts: &[MessagePart<'_>]) -> (Value, Vec<usize>) {
    let head = usize::from(system.is_some());
    let system = system.map(|text| json!({ "role": "system", "content": text }));
    let mut messages: Vec<Value> = system.into_iter().collect();
    let mut calls = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let role = if part.is_assistant() { "assistant" } else { "user" };
        match part {
            MessagePart::Opening => messages.push(json!({ "role": role, "content": OPENING })),
            MessagePart::Text(section) => {
                messages.push(json!({ "role": role, "content": without_heading(section) }))
            }
            MessagePart::CallResult(answer) => messages.push(json!({
                "role": "tool", "tool_call_id": answer.id, "content": answer.text,
            })),
            MessagePart::Call(call) => {
                let arguments = call.arguments.to_string();
                let function = json!({ "name": call.name, "arguments": arguments });
                calls.push(json!({ "id": call.id, "type": "function", "function": function }));
                if !matches!(parts.get(at + 1), Some(MessagePart::Call(_))) {
                    let calls = std::mem::take(&mut calls);
                    let message = json!({ "role": role, "content": null, "tool_calls": calls });
                    messages.push(message);
                }
            }
        }
    }
    let breakpoints = vec![head, messages.len()];
    (json!({ "messages": messages }), breakpoints)
}

fn anthropic(system: Option<String>, turns: &[Turn<'_>]) -> (Value, Vec<usize>) {
    let stop = json!({ "type": "ephemeral" });
    let last = turns.len();
    let content = |part: &MessagePart<'_>, text: &str| match part {
        MessagePart::Call(call) => json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments,
        }),
        MessagePart::CallResult(answer) => json!({
            "type": "tool_result", "tool_use_id": answer.id, "content": answer.text,
        }),
        MessagePart::Text(_) | MessagePart::Opening => json!({ "type": "text", "text": text }),
    };
    let message = |(at, turn): (usize, &Turn<'_>)| {
        let role = if turn.is_assistant { "assistant" } else { "user" };
        let mut parts = turn.contents(content);
        if let Some(Value::Object(part)) = parts.last_mut().filter(|_| at + 1 == last) {
            part.insert("cache_control".to_owned(), stop.clone());
        }
        json!({ "role": role, "content": parts })
    };
    let messages: Vec<Value> = turns.iter().enumerate().map(message).collect();
    let mut out = json!({ "messages": messages });
    if let (Some(text), Value::Object(map)) = (system, &mut out) {
        let block = json!([{ "type": "text", "text": text, "cache_control": stop }]);
        map.insert("system".to_owned(), block);
    }
    (out, vec![0, last])
}

/// Gemini caches prefixes without explicit breakpoints.
fn gemini(system: Option<String>, turns: &[Turn<'_>]) -> (Value, Vec<usize>) {
    let last = turns.len();
    let part = |part: &MessagePart<'_>, text: &str| match part {
        MessagePart::Call(call) => {
            json!({ "functionCall": { "name": call.name, "args": call.arguments } })
        }
        MessagePart::CallResult(answer) => {
            let response = json!({ "output": answer.text });
            json!({ "functionResponse": { "name": answer.name, "response": response } })
        }
        MessagePart::Text(_) | MessagePart::Opening => json!({ "text": text }),
    };
    let content = |turn: &Turn<'_>| {
        let role = if turn.is_assistant { "model" } else { "user" };
        json!({ "role": role, "parts": turn.contents(part) })
    };
    let contents: Vec<Value> = turns.iter().map(content).collect();
    let mut out = json!({ "contents": contents });
    if let (Some(text), Value::Object(map)) = (system, &mut out) {
        map.insert("systemInstruction".to_owned(), json!({ "parts": [{ "text": text }] }));
    }
    (out, vec![0, last])
}

/// The token costs of groups in a format.
pub(super) struct GroupCosts<'a> {
    log: &'a ContextLog,
    ranked: &'a RankedCandidates,
    format: PromptFormat,
    style: CallStyle,
    cache: BTreeMap<usize, Option<usize>>,
}

impl<'a> GroupCosts<'a> {
    pub(super) fn new(
        log: &'a ContextLog,
        ranked: &'a RankedCandidates,
        format: PromptFormat,
        style: CallStyle,
    ) -> Self {
        Self { log, ranked, format, style, cache: BTreeMap::new() }
    }

    /// The tokens of a group. In a text, these were counted when its items were added; for messages,
    /// the group is rendered by itself and counted. `None` if they cannot be counted.
    pub(super) fn tokens(&mut self, group: usize) -> Option<usize> {
        let found = self.ranked.groups.get(group)?;
        if self.format == PromptFormat::Text {
            return usize::try_from(found.tokens).ok();
        }
        if let Some(known) = self.cache.get(&group) {
            return *known;
        }
        let cost = self.message_tokens(group, found.kind);
        self.cache.insert(group, cost);
        cost
    }

    fn message_tokens(&self, group: usize, kind: ContextItemKind) -> Option<usize> {
        let mut indices: Vec<usize> = self.ranked.groups.members(group).collect();
        indices.sort_unstable();
        let section =
            |index: &usize| RenderedItem::render(self.log, *index, self.ranked.blocks.get(index));
        let items: Vec<RenderedItem> = indices.iter().filter_map(section).collect();
        let head = if kind.is_head() { items.len() } else { 0 };
        let (messages, _) = render_messages(self.log, &items, head, self.format, self.style);
        self.log.counter().count(&messages.to_string()).tokens()
    }
}
