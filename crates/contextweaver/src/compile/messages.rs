//! Items as messages of a provider.
//!
//! Policy, plan and memory are the system's words; what the agent said and called is the
//! assistant's, all else the user's. What the user or the agent said stands alone in its message
//! without a heading; where several texts share one, each has its heading, so that nothing in one
//! passes for another. Calls are text, or the provider's own where the request asks for that.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::compile::native::{Native, Part};
use crate::compile::plan::Plan;
use crate::compile::section::Section;
use crate::compile::{CallStyle, ContextLog, Format, ItemKind};

/// Stands first where a provider wants the user to begin.
const OPENING: &str = "(Earlier messages are left out.)";

/// What was said, without heading, where that leaves something.
fn bare(section: &Section) -> &str {
    let is_said = matches!(section.kind, ItemKind::UserTurn | ItemKind::AgentMessage);
    let said = section.text.split_once("]\n").map(|(_, said)| said.trim_end());
    said.filter(|said| is_said && !said.is_empty()).unwrap_or(headed(section))
}

/// The block of an item, without the empty line at its end.
pub(super) fn headed(section: &Section) -> &str {
    section.text.trim_end()
}

/// Neighbours of one role.
struct Turn<'a> {
    is_assistant: bool,
    parts: Vec<Part<'a>>,
}

impl Turn<'_> {
    /// What each part is for a provider; a text that stands alone needs no heading.
    fn contents(&self, of: impl Fn(&Part<'_>, &str) -> Value) -> Vec<Value> {
        let texts = self.parts.iter().filter(|part| matches!(part, Part::Text(_))).count();
        let text = |part: &Part<'_>| match part {
            Part::Text(section) if texts == 1 => bare(section).to_owned(),
            Part::Text(section) => headed(section).to_owned(),
            Part::Opening => OPENING.to_owned(),
            Part::Call(_) | Part::Answer(_) => String::new(),
        };
        self.parts.iter().map(|part| of(part, &text(part))).collect()
    }
}

fn turns<'a>(parts: Vec<Part<'a>>, format: Format) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    if format != Format::OpenAi && parts.first().is_some_and(Part::is_assistant) {
        turns.push(Turn { is_assistant: false, parts: vec![Part::Opening] });
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

/// The messages, and after how many of them a cache may stop.
pub(super) fn of(
    log: &ContextLog,
    sections: &[Section],
    head: usize,
    format: Format,
    style: CallStyle,
) -> (Value, Vec<usize>) {
    let (head, rest) = sections.split_at_checked(head).unwrap_or((sections, &[]));
    let system: Vec<&str> = head.iter().map(headed).collect();
    let system = (!system.is_empty()).then(|| system.join("\n\n"));
    let native = Native::of(log, rest, format, style);
    let parts = native.parts(rest);
    match format {
        Format::Anthropic => anthropic(system, &turns(parts, format)),
        Format::Gemini => gemini(system, &turns(parts, format)),
        Format::Text | Format::OpenAi => open_ai(system, &parts),
    }
}

/// One message an item, but one for calls that were made together. Prefixes are cached by
/// themselves.
fn open_ai(system: Option<String>, parts: &[Part<'_>]) -> (Value, Vec<usize>) {
    let head = usize::from(system.is_some());
    let system = system.map(|text| json!({ "role": "system", "content": text }));
    let mut messages: Vec<Value> = system.into_iter().collect();
    let mut calls = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let role = if part.is_assistant() { "assistant" } else { "user" };
        match part {
            Part::Opening => messages.push(json!({ "role": role, "content": OPENING })),
            Part::Text(section) => messages.push(json!({ "role": role, "content": bare(section) })),
            Part::Answer(answer) => messages.push(json!({
                "role": "tool", "tool_call_id": answer.id, "content": answer.text,
            })),
            Part::Call(call) => {
                let arguments = call.arguments.to_string();
                let function = json!({ "name": call.name, "arguments": arguments });
                calls.push(json!({ "id": call.id, "type": "function", "function": function }));
                if !matches!(parts.get(at + 1), Some(Part::Call(_))) {
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
    let content = |part: &Part<'_>, text: &str| match part {
        Part::Call(call) => json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments,
        }),
        Part::Answer(answer) => json!({
            "type": "tool_result", "tool_use_id": answer.id, "content": answer.text,
        }),
        Part::Text(_) | Part::Opening => json!({ "type": "text", "text": text }),
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

/// Prefixes are cached by themselves.
fn gemini(system: Option<String>, turns: &[Turn<'_>]) -> (Value, Vec<usize>) {
    let last = turns.len();
    let part = |part: &Part<'_>, text: &str| match part {
        Part::Call(call) => {
            json!({ "functionCall": { "name": call.name, "args": call.arguments } })
        }
        Part::Answer(answer) => {
            let response = json!({ "output": answer.text });
            json!({ "functionResponse": { "name": answer.name, "response": response } })
        }
        Part::Text(_) | Part::Opening => json!({ "text": text }),
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

/// What groups cost in a format.
pub(super) struct Costs<'a> {
    log: &'a ContextLog,
    plan: &'a Plan,
    format: Format,
    style: CallStyle,
    known: BTreeMap<usize, Option<usize>>,
}

impl<'a> Costs<'a> {
    pub(super) fn new(
        log: &'a ContextLog,
        plan: &'a Plan,
        format: Format,
        style: CallStyle,
    ) -> Self {
        Self { log, plan, format, style, known: BTreeMap::new() }
    }

    /// The tokens of a group: in a text those that were counted when its items came, in messages
    /// those of messages of its own. `None` where they cannot be counted.
    pub(super) fn of(&mut self, group: usize) -> Option<usize> {
        let found = self.plan.groups.get(group)?;
        if self.format == Format::Text {
            return usize::try_from(found.tokens).ok();
        }
        if let Some(known) = self.known.get(&group) {
            return *known;
        }
        let cost = self.messages(group, found.kind);
        self.known.insert(group, cost);
        cost
    }

    fn messages(&self, group: usize, kind: ItemKind) -> Option<usize> {
        let mut places: Vec<usize> = self.plan.groups.members(group).collect();
        places.sort_unstable();
        let section = |place: &usize| Section::of(self.log, *place, self.plan.blocks.get(place));
        let sections: Vec<Section> = places.iter().filter_map(section).collect();
        let head = if kind.is_head() { sections.len() } else { 0 };
        let (messages, _) = of(self.log, &sections, head, self.format, self.style);
        self.log.counter().count(&messages.to_string()).tokens()
    }
}
