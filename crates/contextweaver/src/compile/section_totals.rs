//! What the sections that are shown come to. It is carried along as they come and go.

use weaver_types::{Confidentiality, Integrity, Label};

use crate::compile::ItemKind;
use crate::compile::section::{Form, Section};

const LEVELS: [Confidentiality; 4] = [
    Confidentiality::Public,
    Confidentiality::Internal,
    Confidentiality::Confidential,
    Confidentiality::Restricted,
];

/// Sections of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    count: usize,
    tokens: u64,
}

/// Whether a section comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Removed,
}

/// Counts of sections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SectionTotals {
    kinds: [Sum; ItemKind::ALL.len()],
    levels: [usize; LEVELS.len()],
    untrusted: usize,
    tainted: usize,
    redacted: usize,
}

impl SectionTotals {
    /// Counts a section that comes or goes.
    pub(super) fn count(&mut self, section: &Section, change: Change) {
        let change_count = |count: &mut usize, is: bool| match change {
            Change::Added => *count += usize::from(is),
            Change::Removed => *count -= usize::from(is),
        };
        if let Some(sum) = self.kinds.get_mut(section.kind as usize) {
            change_count(&mut sum.count, true);
            match change {
                Change::Added => sum.tokens += u64::from(section.tokens),
                Change::Removed => sum.tokens -= u64::from(section.tokens),
            }
        }
        if let Some(count) = self.levels.get_mut(section.level as usize) {
            change_count(count, true);
        }
        change_count(&mut self.untrusted, section.integrity == Integrity::Untrusted);
        change_count(&mut self.tainted, section.is_tainted);
        change_count(&mut self.redacted, section.form == Form::Redacted);
    }

    /// How many of them stand before the conversation.
    pub(super) fn head(&self) -> usize {
        let kinds = ItemKind::ALL.into_iter().zip(&self.kinds);
        kinds.filter(|(kind, _)| kind.is_head()).map(|(_, sum)| sum.count).sum()
    }

    /// The tokens of each kind that is there.
    pub(super) fn tokens(&self) -> impl Iterator<Item = (ItemKind, usize)> {
        let there = ItemKind::ALL.into_iter().zip(self.kinds).filter(|(_, sum)| sum.count > 0);
        there.map(|(kind, sum)| (kind, usize::try_from(sum.tokens).unwrap_or(usize::MAX)))
    }

    /// How many are shown without their text.
    pub(super) fn redacted(&self) -> usize {
        self.redacted
    }

    /// Whether a label of one of them names calls.
    pub(super) fn is_tainted(&self) -> bool {
        self.tainted > 0
    }

    /// The labels of all, joined, but for the calls that they name.
    pub(super) fn label(&self) -> Label {
        let levels = LEVELS.into_iter().zip(self.levels).filter(|(_, count)| *count > 0);
        let level = levels.map(|(level, _)| level).max().unwrap_or(Confidentiality::Public);
        let is_untrusted = self.untrusted > 0;
        Label::of(level, if is_untrusted { Integrity::Untrusted } else { Integrity::Trusted })
    }
}
