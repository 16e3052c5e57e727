//! Items as messages of a provider.
//!
//! Policy, plan and memory are the system's words; what the agent said and called is the
//! assistant's, all else the user's. Calls and results are text here: native ones need the
//! definitions of their tools in the same request, which is the host's to make. What the user or
//! the agent said stands alone in its message without a heading; where several items share one,
//! each has its heading, so that nothing in one passes for another.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::compile::plan::Plan;
use crate::compile::render::{self, Section};
use crate::compile::{ContextLog, Format, ItemKind};

/// Stands first where a provider wants the user to begin.
const OPENING: &str = "(Earlier messages are left out.)";

fn is_assistant(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::AgentMessage | ItemKind::ToolCall)
}

/// What was said, without heading, where that leaves something.
fn bare(section: &Section) -> &str {
    let is_said = matches!(section.kind, ItemKind::UserTurn | ItemKind::AgentMessage);
    let said = section.text.split_once("]\n").map(|(_, said)| said.trim_end());
    said.filter(|said| is_said && !said.is_empty()).unwrap_or(headed(section))
}

fn headed(section: &Section) -> &str {
    section.text.trim_end()
}

/// Neighbours of one role.
fn turns(sections: &[Section]) -> Vec<(bool, Vec<String>)> {
    let mut turns: Vec<(bool, Vec<&Section>)> = Vec::new();
    for section in sections {
        let role = is_assistant(section.kind);
        match turns.last_mut() {
            Some((last, parts)) if *last == role => parts.push(section),
            _ => turns.push((role, vec![section])),
        }
    }
    let texts = |parts: Vec<&Section>| match parts.as_slice() {
        [one] => vec![bare(one).to_owned()],
        many => many.iter().map(|section| headed(section).to_owned()).collect(),
    };
    turns.into_iter().map(|(role, parts)| (role, texts(parts))).collect()
}

/// The messages, and after how many of them a cache may stop.
pub(super) fn of(sections: &[Section], head: usize, format: Format) -> (Value, Vec<usize>) {
    let (head, rest) = sections.split_at_checked(head).unwrap_or((sections, &[]));
    let system: Vec<&str> = head.iter().map(headed).collect();
    let system = (!system.is_empty()).then(|| system.join("\n\n"));
    let mut turns = turns(rest);
    if format != Format::OpenAi && turns.first().is_some_and(|(is_assistant, _)| *is_assistant) {
        turns.insert(0, (false, vec![OPENING.to_owned()]));
    }
    match format {
        Format::Anthropic => anthropic(system, turns),
        Format::Gemini => gemini(system, turns),
        Format::Text | Format::OpenAi => open_ai(system, rest),
    }
}

/// One message an item. Prefixes are cached by themselves.
fn open_ai(system: Option<String>, rest: &[Section]) -> (Value, Vec<usize>) {
    let head = usize::from(system.is_some());
    let system = system.map(|text| json!({ "role": "system", "content": text }));
    let rest = rest.iter().map(|section| {
        let role = if is_assistant(section.kind) { "assistant" } else { "user" };
        json!({ "role": role, "content": bare(section) })
    });
    let messages: Vec<Value> = system.into_iter().chain(rest).collect();
    let breakpoints = vec![head, messages.len()];
    (json!({ "messages": messages }), breakpoints)
}

fn anthropic(system: Option<String>, turns: Vec<(bool, Vec<String>)>) -> (Value, Vec<usize>) {
    let stop = json!({ "type": "ephemeral" });
    let last = turns.len();
    let message = |(at, (is_assistant, texts)): (usize, (bool, Vec<String>))| {
        let role = if is_assistant { "assistant" } else { "user" };
        let mut parts: Vec<Value> =
            texts.into_iter().map(|text| json!({ "type": "text", "text": text })).collect();
        if let Some(Value::Object(part)) = parts.last_mut().filter(|_| at + 1 == last) {
            part.insert("cache_control".to_owned(), stop.clone());
        }
        json!({ "role": role, "content": parts })
    };
    let messages: Vec<Value> = turns.into_iter().enumerate().map(message).collect();
    let mut out = json!({ "messages": messages });
    if let (Some(text), Value::Object(map)) = (system, &mut out) {
        let block = json!([{ "type": "text", "text": text, "cache_control": stop }]);
        map.insert("system".to_owned(), block);
    }
    (out, vec![0, last])
}

/// Prefixes are cached by themselves.
fn gemini(system: Option<String>, turns: Vec<(bool, Vec<String>)>) -> (Value, Vec<usize>) {
    let last = turns.len();
    let content = |(is_assistant, texts): (bool, Vec<String>)| {
        let role = if is_assistant { "model" } else { "user" };
        let parts: Vec<Value> = texts.into_iter().map(|text| json!({ "text": text })).collect();
        json!({ "role": role, "parts": parts })
    };
    let contents: Vec<Value> = turns.into_iter().map(content).collect();
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
    known: BTreeMap<usize, Option<usize>>,
}

impl<'a> Costs<'a> {
    pub(super) fn new(log: &'a ContextLog, plan: &'a Plan, format: Format) -> Self {
        Self { log, plan, format, known: BTreeMap::new() }
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
        let cost = self.plan.groups.members(group).map(|place| self.message(place)).sum();
        self.known.insert(group, cost);
        cost
    }

    fn message(&self, place: usize) -> Option<usize> {
        let item = self.log.at(place)?;
        let text = match self.plan.blocks.get(&place) {
            Some(block) => block.text.clone(),
            None => render::block(item),
        };
        let section = Section { id: item.shared_id(), kind: item.kind(), text, place };
        let head = usize::from(item.kind().is_head());
        let (messages, _) = of(&[section], head, self.format);
        self.log.counter().count(&messages.to_string()).tokens()
    }
}
