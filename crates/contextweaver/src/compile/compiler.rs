//! Builds that remember the one before.

use std::sync::Arc;

use serde_json::Value;
use weaver_types::{Confidentiality, Label};

use crate::compile::account::ItemOutcomes;
use crate::compile::explain::{self, Explanation};
use crate::compile::log::LogId;
use crate::compile::phase::Priorities;
use crate::compile::plan::Plan;
use crate::compile::previous_build::{self, PreviousBuild};
use crate::compile::render::RenderedContext;
use crate::compile::section::Section;
use crate::compile::stats::BuildStats;
use crate::compile::{ContextLog, Request, SensitivityAction, account, select};
use crate::error::BuildError;

/// A compiled context.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextPack {
    /// What is sent, and what was counted: a text, or the JSON of the messages. Never more tokens
    /// than the budget. Empty where nothing fits.
    pub text: String,
    /// The messages, where these were asked for and any fits.
    pub messages: Option<Value>,
    /// After how many messages a cache may stop: after the head, and at the end.
    pub breakpoints: Vec<usize>,
    /// The ids of the items that the model is shown, in the order in which it sees them.
    pub item_ids: Vec<Arc<str>>,
    /// The items as they are shown, in the same order.
    pub sections: Arc<Vec<Section>>,
    /// How many bytes of a text are its stable head: policy, plan and memory.
    pub head_bytes: usize,
    /// The labels of these items, joined.
    pub label: Label,
    /// What was taken and what was left out, and why.
    pub stats: BuildStats,
    /// The outcome of every candidate, where that was asked for.
    pub explanations: Vec<Explanation>,
}

/// Compiles contexts of one log that grows: what was worked out for a request is carried on, and
/// only what new items change is worked out again. Each build gives what a fresh one would.
#[derive(Debug, Default)]
pub struct Compiler {
    last: Option<Session>,
}

/// The last build, and what it was for.
#[derive(Debug)]
struct Session {
    key: Key,
    plan: Plan,
    kept: PreviousBuild,
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
        // What a hook says may change from one build to the next.
        if let SensitivityAction::Redact(_) = request.action {
            return Session::new(log, request).build(log, request);
        }
        let key = Key::of(log, request);
        let known = self.last.take().filter(|known| known.key == key);
        let known = known.filter(|known| known.plan.len() <= log.len());
        let known = known.and_then(|known| known.grown(log, request));
        let mut session = known.unwrap_or_else(|| Session::new(log, request));
        let pack = session.build(log, request);
        self.last = Some(session);
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

impl Session {
    fn new(log: &ContextLog, request: &Request<'_>) -> Self {
        let (key, plan) = (Key::of(log, request), Plan::new(log, request));
        Self { key, plan, kept: PreviousBuild::default() }
    }

    fn grown(self, log: &ContextLog, request: &Request<'_>) -> Option<Self> {
        let Self { key, plan, kept } = self;
        Some(Self { key, plan: plan.grown(log, request)?, kept })
    }

    fn build(
        &mut self,
        log: &ContextLog,
        request: &Request<'_>,
    ) -> Result<ContextPack, BuildError> {
        let Self { plan, kept, .. } = self;
        let choice = select::select(log, plan, request, &mut kept.shown);
        let budget = request.phase.budget;
        let taken = &choice.taken;
        let lost = previous_build::lost(plan, taken, budget.saturating_sub(choice.tokens));
        let outcomes = ItemOutcomes { log, plan, budget, taken, lost: &lost };
        let dropped = kept.dropped(&outcomes);
        let mut stats = account::account(log, plan, &choice, dropped, request);
        let explanations = match request.explain {
            true => explain::explain(&outcomes, &choice, request),
            false => Vec::new(),
        };
        account::overflow(&mut stats, request)?;
        Ok(pack(log, choice.rendered, stats, explanations))
    }
}

fn pack(
    log: &ContextLog,
    rendered: RenderedContext,
    stats: BuildStats,
    explanations: Vec<Explanation>,
) -> ContextPack {
    let label = label(log, &rendered);
    ContextPack {
        item_ids: rendered.sections.iter().map(|section| Arc::clone(&section.id)).collect(),
        head_bytes: rendered.head_bytes(),
        text: rendered.sent,
        messages: rendered.messages,
        breakpoints: rendered.breakpoints,
        sections: rendered.sections,
        label,
        stats,
        explanations,
    }
}

/// The labels of what is shown, joined. Those of items are looked up only where they name calls.
fn label(log: &ContextLog, rendered: &RenderedContext) -> Label {
    let label = rendered.tally.label();
    if !rendered.tally.is_tainted() {
        return label;
    }
    let tainted = rendered.sections.iter().filter(|section| section.is_tainted);
    let items = tainted.filter_map(|section| log.at(section.place));
    items.fold(label, |label, item| label.join(item.label()))
}
