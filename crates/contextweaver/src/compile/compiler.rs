//! A compiler that reuses the work of its previous build.

use std::sync::Arc;

use serde_json::Value;
use weaver_types::{Confidentiality, Label};

use crate::compile::accounting::OutcomeResolver;
use crate::compile::explain::{self, Explanation};
use crate::compile::log::LogIdentity;
use crate::compile::phase::Priorities;
use crate::compile::previous_build::{self, PreviousBuild};
use crate::compile::ranked_candidates::RankedCandidates;
use crate::compile::render::RenderedContext;
use crate::compile::rendered_item::RenderedItem;
use crate::compile::stats::BuildStats;
use crate::compile::{CompileRequest, ContextLog, SensitivityAction, accounting, select};
use crate::error::BuildError;

/// A compiled context.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextPack {
    /// The payload whose tokens were counted: a text, or the JSON of the messages. It never exceeds
    /// the budget, and is empty if nothing fits.
    pub text: String,
    /// The messages, if they were requested and any item fits.
    pub messages: Option<Value>,
    /// Cache breakpoints, as numbers of messages: after the head, and at the end.
    pub breakpoints: Vec<usize>,
    /// The ids of the included items, in the order in which the model sees them.
    pub item_ids: Vec<Arc<str>>,
    /// The included items as they are rendered, in the same order.
    pub items: Arc<Vec<RenderedItem>>,
    /// The bytes of the stable head of a text: policy, plan and memory.
    pub head_bytes: usize,
    /// The join of the labels of the included items.
    pub label: Label,
    /// What was included, what was left out, and why.
    pub stats: BuildStats,
    /// The outcome of every candidate, if it was requested.
    pub explanations: Vec<Explanation>,
}

/// Compiles contexts from a log that grows. The work for a request is kept, and the next build
/// repeats only what new items change. The result is always that of a build from scratch.
#[derive(Debug, Default)]
pub struct Compiler {
    cached: Option<CachedBuild>,
}

/// The state of the last build, with the request that it was for.
#[derive(Debug)]
struct CachedBuild {
    key: CandidatesKey,
    ranked: RankedCandidates,
    previous: PreviousBuild,
}

/// The inputs of ranked candidates, which are reused only for an equal key.
#[derive(Debug, PartialEq, Eq)]
struct CandidatesKey {
    log: LogIdentity,
    priorities: Priorities,
    query: String,
    tags: Vec<String>,
    sensitivity_floor: Confidentiality,
}

impl Compiler {
    /// A compiler without a previous build.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Compiles a context; see [`build`](crate::compile::build).
    ///
    /// # Errors
    /// [`BuildError::Overflow`] if an item does not fit that the request does not allow to be left
    /// out.
    pub fn build(
        &mut self,
        log: &ContextLog,
        request: &CompileRequest<'_>,
    ) -> Result<ContextPack, BuildError> {
        // A redaction hook may answer differently in the next build, so nothing is reused.
        if let SensitivityAction::Redact(_) = request.sensitivity_action {
            return CachedBuild::new(log, request).build(log, request);
        }
        let key = CandidatesKey::of(log, request);
        let cached = self.cached.take().filter(|cached| cached.key == key);
        let cached = cached.filter(|cached| cached.ranked.len() <= log.len());
        let cached = cached.and_then(|cached| cached.extended(log, request));
        let mut build = cached.unwrap_or_else(|| CachedBuild::new(log, request));
        let pack = build.build(log, request);
        self.cached = Some(build);
        pack
    }
}

impl CandidatesKey {
    fn of(log: &ContextLog, request: &CompileRequest<'_>) -> Self {
        Self {
            log: log.id(),
            priorities: request.phase.priorities(),
            query: request.query.to_owned(),
            tags: request.tags.to_vec(),
            sensitivity_floor: request.sensitivity_floor,
        }
    }
}

impl CachedBuild {
    fn new(log: &ContextLog, request: &CompileRequest<'_>) -> Self {
        let (key, ranked) = (CandidatesKey::of(log, request), RankedCandidates::new(log, request));
        Self { key, ranked, previous: PreviousBuild::default() }
    }

    fn extended(self, log: &ContextLog, request: &CompileRequest<'_>) -> Option<Self> {
        let Self { key, ranked, previous: kept } = self;
        Some(Self { key, ranked: ranked.extended(log, request)?, previous: kept })
    }

    fn build(
        &mut self,
        log: &ContextLog,
        request: &CompileRequest<'_>,
    ) -> Result<ContextPack, BuildError> {
        let Self { ranked, previous: kept, .. } = self;
        let selection = select::select(log, ranked, request, &mut kept.rendering);
        let budget = request.phase.budget;
        let selected = &selection.selected;
        let blocked = previous_build::blocked_by_parent(
            ranked,
            selected,
            budget.saturating_sub(selection.tokens),
        );
        let outcomes =
            OutcomeResolver { log, ranked, budget, selected, blocked_by_parent: &blocked };
        let dropped = kept.update_dropped(&outcomes);
        let mut stats = accounting::build_stats(log, ranked, &selection, dropped, request);
        let explanations = match request.explain {
            true => explain::explain(&outcomes, &selection, request),
            false => Vec::new(),
        };
        accounting::check_overflow(&mut stats, request)?;
        Ok(context_pack(log, selection.rendered, stats, explanations))
    }
}

fn context_pack(
    log: &ContextLog,
    rendered: RenderedContext,
    stats: BuildStats,
    explanations: Vec<Explanation>,
) -> ContextPack {
    let label = joined_label(log, &rendered);
    ContextPack {
        item_ids: rendered.items.iter().map(|section| Arc::clone(&section.id)).collect(),
        head_bytes: rendered.head_bytes(),
        text: rendered.payload,
        messages: rendered.messages,
        breakpoints: rendered.breakpoints,
        items: rendered.items,
        label,
        stats,
        explanations,
    }
}

/// The join of the labels of all rendered items. The totals know all but the taints, so full labels
/// are looked up only for items that have some.
fn joined_label(log: &ContextLog, rendered: &RenderedContext) -> Label {
    let label = rendered.totals.label();
    if !rendered.totals.is_tainted() {
        return label;
    }
    let tainted = rendered.items.iter().filter(|section| section.is_tainted);
    let items = tainted.filter_map(|section| log.item_at(section.index));
    items.fold(label, |label, item| label.join(item.label()))
}
