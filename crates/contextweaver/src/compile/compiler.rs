//! Builds that remember the one before.

use std::sync::Arc;

use serde_json::Value;
use weaver_types::{Confidentiality, Label};

use crate::compile::explain::{self, Explanation};
use crate::compile::phase::Priorities;
use crate::compile::plan::Plan;
use crate::compile::render::Section;
use crate::compile::stats::BuildStats;
use crate::compile::{ContextLog, Request, SensitivityAction, account, select};
use crate::error::BuildError;

/// A compiled context.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextPack {
    /// What is sent, and what was counted: a text, or the JSON of the messages. Never more tokens
    /// than the budget. Empty where nothing fits.
    pub text: String,
    /// The messages, where these were asked for.
    pub messages: Option<Value>,
    /// After how many messages a cache may stop: after the head, and at the end.
    pub breakpoints: Vec<usize>,
    /// The ids of the items that the model is shown, in the order in which it sees them.
    pub item_ids: Vec<Arc<str>>,
    /// The items as they are shown, in the same order.
    pub sections: Vec<Section>,
    /// How many bytes of a text are its stable head: policy, plan and memory.
    pub head_bytes: usize,
    /// The labels of these items, joined.
    pub label: Label,
    /// What was taken and what was left out, and why.
    pub stats: BuildStats,
    /// The fate of every candidate, where that was asked for.
    pub explanations: Vec<Explanation>,
}

/// Compiles contexts of one log that grows: what was worked out for a request is carried on when
/// only new items have come. Each build gives what a fresh one would.
#[derive(Debug, Default)]
pub struct Compiler {
    last: Option<(Key, Plan)>,
}

/// What a plan was made for.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    log: LogId,
    priorities: Priorities,
    query: String,
    tags: Vec<String>,
    floor: Confidentiality,
}

/// One log; a copy of it is another one.
#[derive(Debug, Default)]
pub(super) struct LogId(Arc<()>);

impl LogId {
    pub(super) fn same(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl Clone for LogId {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for LogId {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for LogId {}

impl Compiler {
    /// A compiler that remembers nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compiles a context; see [`build`](crate::compile::build).
    ///
    /// # Errors
    /// [`BuildError::Overflow`], when the request says that something must not be left out, and it
    /// does not fit.
    pub fn build(
        &mut self,
        log: &ContextLog,
        request: &Request<'_>,
    ) -> Result<ContextPack, BuildError> {
        let key = Key::of(log, request);
        let known = self.last.take().filter(|(known, _)| *known == key).map(|(_, plan)| plan);
        let known = known.filter(|plan| plan.len() <= log.len());
        let plan = known
            .and_then(|plan| plan.grown(log, request))
            .unwrap_or_else(|| Plan::new(log, request));
        let pack = finish(log, &plan, request);
        // What a hook says may change from one build to the next.
        if matches!(request.action, SensitivityAction::Drop) {
            self.last = Some((key, plan));
        }
        pack
    }
}

impl Key {
    fn of(log: &ContextLog, request: &Request<'_>) -> Self {
        Self {
            log: log.id(),
            priorities: request.phase.priorities(),
            query: request.query.to_owned(),
            tags: request.tags.to_vec(),
            floor: request.floor,
        }
    }
}

fn finish(log: &ContextLog, plan: &Plan, request: &Request<'_>) -> Result<ContextPack, BuildError> {
    let choice = select::select(log, plan, request);
    let fates = account::fates(log, plan, &choice, request.phase.budget);
    let mut stats = account::account(log, plan, &choice, &fates, request);
    account::overflow(log, &fates, &mut stats, request)?;
    let explanations = match request.explain {
        true => explain::explain(log, plan, &choice, &fates, request),
        false => Vec::new(),
    };
    let rendered = choice.rendered;
    let items = rendered.sections.iter().filter_map(|section| log.at(section.place));
    let label = items.fold(Label::clean(), |label, item| label.join(item.label()));
    Ok(ContextPack {
        item_ids: rendered.sections.iter().map(|section| Arc::clone(&section.id)).collect(),
        head_bytes: rendered.head_bytes(),
        text: rendered.sent,
        messages: rendered.messages,
        breakpoints: rendered.breakpoints,
        sections: rendered.sections,
        label,
        stats,
        explanations,
    })
}
