//! What the sections that are shown come to. It is carried along as they come and go.

use weaver_types::{Confidentiality, Integrity, Label};

use crate::compile::ItemKind;
use crate::compile::render::{Form, Section};

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

/// Counts of sections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tally {
    kinds: [Sum; ItemKind::ALL.len()],
    levels: [usize; LEVELS.len()],
    untrusted: usize,
    tainted: usize,
    redacted: usize,
}

impl Tally {
    /// One more, or one less.
    pub(super) fn count(&mut self, section: &Section, is_more: bool) {
        let change = |count: &mut usize, is: bool| match is_more {
            true => *count += usize::from(is),
            false => *count -= usize::from(is),
        };
        if let Some(sum) = self.kinds.get_mut(section.kind as usize) {
            change(&mut sum.count, true);
            match is_more {
                true => sum.tokens += u64::from(section.tokens),
                false => sum.tokens -= u64::from(section.tokens),
            }
        }
        if let Some(count) = self.levels.get_mut(section.level as usize) {
            change(count, true);
        }
        change(&mut self.untrusted, section.integrity == Integrity::Untrusted);
        change(&mut self.tainted, section.is_tainted);
        change(&mut self.redacted, section.form == Form::Redacted);
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
