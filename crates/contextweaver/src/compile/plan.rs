//! All that is known of a log for one request before anything is chosen. It can be carried on when
//! the log grows.

use std::collections::BTreeMap;

use crate::compile::candidate::{self, Fate};
use crate::compile::group::{Groups, Share};
use crate::compile::score::{self, Wanted};
use crate::compile::sensitivity::{self, Block};
use crate::compile::stats::DropReason;
use crate::compile::{ContextLog, ItemKind, Request, closure, dedupe};

/// The stages up to the choice.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) fates: Vec<Fate>,
    /// Blocks in place of those of redacted items.
    pub(super) blocks: BTreeMap<usize, Block>,
    pub(super) groups: Groups,
    pub(super) total: usize,
    pub(super) closures: usize,
    wanted: Wanted,
    levels: Vec<Option<weaver_types::Confidentiality>>,
    /// Stems known when the words of the query were looked up.
    stems: usize,
    late: usize,
}

impl Plan {
    /// From the beginning.
    pub(super) fn new(log: &ContextLog, request: &Request<'_>) -> Self {
        let mut fates = candidate::candidates(log, &request.phase);
        let closures = closure::close(log, &mut fates);
        let total = fates.iter().filter(|fate| **fate != Fate::Absent).count();
        let levels = sensitivity::levels(log, &fates);
        let blocks = sensitivity::apply(log, &mut fates, &levels, request);
        for (place, fate) in fates.iter_mut().enumerate() {
            if *fate == Fate::Kept && is_without_call(log, place) {
                *fate = Fate::Dropped(DropReason::Group);
            }
        }
        let wanted = Wanted::of(log, request);
        let share = |place| share(log, place, &wanted, &blocks, request);
        let mut groups = Groups::of_all(log, &mut fates, share);
        dedupe::dedupe(log, &mut fates, &mut groups);
        let stems = log.vocabulary().len();
        let late = log.links().late();
        Self { fates, blocks, groups, total, closures, wanted, levels, stems, late }
    }

    /// Carries on with what has come since, where that changes nothing of what was before. Returns
    /// `None` where it does.
    pub(super) fn grown(mut self, log: &ContextLog, request: &Request<'_>) -> Option<Self> {
        if self.late != log.links().late() {
            return None;
        }
        if self.stems != log.vocabulary().len() {
            self.wanted = Wanted::of(log, request);
            self.stems = log.vocabulary().len();
        }
        for place in self.fates.len()..log.len() {
            self.add(log, place, request)?;
        }
        Some(self)
    }

    /// How many items it knows.
    pub(super) fn len(&self) -> usize {
        self.fates.len()
    }

    fn add(&mut self, log: &ContextLog, place: usize, request: &Request<'_>) -> Option<()> {
        let analysis = log.analysis(place)?;
        if !request.phase.takes(analysis.kind) {
            self.fates.push(Fate::Absent);
            self.levels.push(None);
            self.groups.skip(place);
            return Some(());
        }
        let mut level = analysis.level;
        if let Some(parent) = log.links().parent(place) {
            // What was no candidate would become one, and what was left out takes this with it.
            if self.fates.get(parent) != Some(&Fate::Kept) {
                return None;
            }
            level = level.max(self.levels.get(parent).copied().flatten()?);
        }
        let (fate, block) = sensitivity::judge(log, place, level, request);
        if fate != Fate::Kept || is_without_call(log, place) || log.links().repeats(place) {
            return None;
        }
        self.total += 1;
        self.fates.push(Fate::Kept);
        self.levels.push(Some(level));
        self.blocks.extend(block.map(|block| (place, block)));
        let known = self.groups.all().len();
        let share = share(log, place, &self.wanted, &self.blocks, request);
        self.groups.add(log, place, share);
        if self.groups.all().len() > known {
            self.groups.hang_one(log, known);
        } else if self.groups.get(self.groups.at(place)?)?.children > 0 {
            // What hangs on it has become dearer.
            return None;
        }
        Some(())
    }
}

/// Whether it is a result of a call that is not there.
fn is_without_call(log: &ContextLog, place: usize) -> bool {
    let is_result = log.analysis(place).is_some_and(|a| a.kind == ItemKind::ToolResult);
    is_result && log.links().is_missing(place)
}

fn share(
    log: &ContextLog,
    place: usize,
    wanted: &Wanted,
    blocks: &BTreeMap<usize, Block>,
    request: &Request<'_>,
) -> Share {
    let analysis = log.analysis(place);
    let counted = analysis.map_or(0, |analysis| analysis.tokens);
    let block = if blocks.is_empty() { None } else { blocks.get(&place) };
    Share {
        tokens: block.map_or(counted, |block| block.tokens),
        lasting: score::lasting(log, place, wanted, request).sum(),
        is_pinned: analysis.is_some_and(|analysis| analysis.is_pinned),
    }
}
