//! Calls and results as a provider has them.
//!
//! A provider wants each call answered, by id, right behind the message that makes it. So a call is
//! native only where a result of it is shown and where it is shown as it was made; all results of a
//! call come together in one answer, which stands behind the calls that were made together. What
//! came between them follows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weaver_types::formats;

use crate::compile::messages::headed;
use crate::compile::section::{Form, Section};
use crate::compile::{CallStyle, ContextLog, Format, ItemKind};

/// The longest id of a call that every provider takes.
const MAX_ID: usize = 40;
/// What an id begins with that stands for another.
const PLACE: &str = "at_";

/// One part of a message.
pub(super) enum Part<'a> {
    /// The user's words where a provider wants some first.
    Opening,
    /// An item as text.
    Text(&'a Section),
    /// A call.
    Call(Call<'a>),
    /// All that it came to.
    Answer(CallResult),
}

/// A call in a provider's terms.
#[derive(Clone)]
pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: &'a Value,
}

/// What a call came to.
pub(super) struct CallResult {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) text: String,
}

impl Part<'_> {
    pub(super) fn is_assistant(&self) -> bool {
        match self {
            Self::Call(_) => true,
            Self::Text(section) => {
                matches!(section.kind, ItemKind::AgentMessage | ItemKind::ToolCall)
            }
            Self::Opening | Self::Answer(_) => false,
        }
    }
}

/// The calls that are native among some items, by place, and the results of each.
pub(super) struct Native<'a> {
    calls: BTreeMap<usize, Call<'a>>,
    results: BTreeMap<usize, Vec<usize>>,
    /// The places of all these results.
    answered: BTreeSet<usize>,
}

impl<'a> Native<'a> {
    pub(super) fn of(
        log: &'a ContextLog,
        sections: &[Section],
        format: Format,
        style: CallStyle,
    ) -> Self {
        let mut native =
            Self { calls: BTreeMap::new(), results: BTreeMap::new(), answered: BTreeSet::new() };
        let Some(format) = names(format).filter(|_| style == CallStyle::Native) else {
            return native;
        };
        for section in sections.iter().filter(|section| section.kind == ItemKind::ToolResult) {
            if let Some(call) = log.links().parent(section.place) {
                native.results.entry(call).or_default().push(section.place);
            }
        }
        let is_call =
            |section: &&Section| section.kind == ItemKind::ToolCall && section.form == Form::Own;
        for section in sections.iter().filter(is_call) {
            let made = log.at(section.place).and_then(|item| item.call());
            let Some(made) = made.filter(|made| made.arguments.is_object()) else { continue };
            let Some(results) = native.results.get(&section.place) else { continue };
            native.answered.extend(results);
            let name = formats::tool_name(format, &made.capability);
            let id = id(made.id.as_str(), section.place);
            native.calls.insert(section.place, Call { id, name, arguments: &made.arguments });
        }
        native
    }

    /// The items as parts of messages, in order.
    pub(super) fn parts<'s>(&self, sections: &'s [Section]) -> Vec<Part<'s>>
    where
        'a: 's,
    {
        let mut parts = Vec::with_capacity(sections.len());
        let mut open: Vec<usize> = Vec::new();
        for section in sections {
            if let Some(call) = self.calls.get(&section.place) {
                open.push(section.place);
                parts.push(Part::Call(call.clone()));
            } else if !self.answered.contains(&section.place) {
                self.answer(&mut open, sections, &mut parts);
                parts.push(Part::Text(section));
            }
        }
        self.answer(&mut open, sections, &mut parts);
        parts
    }

    /// Answers the calls that were made together.
    fn answer(&self, open: &mut Vec<usize>, sections: &[Section], parts: &mut Vec<Part<'_>>) {
        for place in open.drain(..) {
            let Some(call) = self.calls.get(&place) else { continue };
            let results = self.results.get(&place).into_iter().flatten();
            let texts: Vec<&str> = results
                .filter_map(|place| {
                    let at = sections.binary_search_by_key(place, |section| section.place).ok()?;
                    sections.get(at).map(headed)
                })
                .collect();
            let (id, name) = (call.id.clone(), call.name.clone());
            parts.push(Part::Answer(CallResult { id, name, text: texts.join("\n\n") }));
        }
    }
}

fn names(format: Format) -> Option<formats::Format> {
    match format {
        Format::Text => None,
        Format::OpenAi => Some(formats::Format::OpenAiChat),
        Format::Anthropic => Some(formats::Format::Anthropic),
        Format::Gemini => Some(formats::Format::Gemini),
    }
}

/// The id itself where every provider takes it, or one that stands for its place.
fn id(id: &str, place: usize) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    match id.len() <= MAX_ID && id.bytes().all(is_plain) && !id.starts_with(PLACE) {
        true => id.to_owned(),
        false => format!("{PLACE}{place}"),
    }
}
