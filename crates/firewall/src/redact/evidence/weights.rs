//! The weights of evidence, for each kind of label.

use std::sync::LazyLock;

use super::feature::{FEATURES, Feature, Features};

/// The table: a row for each piece of evidence, a column for each kind of label. How it was fitted is in
/// `docs/internals/measurements.md`.
const TABLE: &str = include_str!("../../../assets/evidence_weights.txt");

/// The kinds of labels.
const KINDS: usize = 7;

/// The kind of a label, which is the column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelKind {
    Password,
    Code,
    Pin,
    Login,
    Network,
    Lock,
    Key,
}

impl LabelKind {
    /// What a label of this kind says near a value.
    pub(super) const fn near(self) -> Feature {
        match self {
            Self::Password => Feature::NearPassword,
            Self::Code => Feature::NearCode,
            Self::Pin => Feature::NearPin,
            Self::Login => Feature::NearLogin,
            Self::Network => Feature::NearNetwork,
            Self::Lock => Feature::NearLock,
            Self::Key => Feature::NearKey,
        }
    }
}

/// The rows in the order of the features; the last is what every candidate has.
static WEIGHTS: LazyLock<Vec<[i32; KINDS]>> = LazyLock::new(|| {
    let row = |name: &str| {
        TABLE.lines().find_map(|line| {
            let mut cells = line.split_whitespace();
            (cells.next() == Some(name)).then(|| {
                let mut row = [0; KINDS];
                for (weight, cell) in row.iter_mut().zip(cells) {
                    *weight = cell.parse().unwrap_or_default();
                }
                row
            })
        })
    };
    let names = FEATURES.iter().map(|(_, name)| *name).chain(["any"]);
    names.map(|name| row(name).unwrap_or_default()).collect()
});

/// True if the weights of the evidence add up to a value.
pub(super) fn decides(features: Features, kind: LabelKind) -> bool {
    sum(features, kind) >= 0
}

fn sum(features: Features, kind: LabelKind) -> i32 {
    let weight = |row: &[i32; KINDS]| row.get(kind as usize).copied().unwrap_or_default();
    let rows = FEATURES.iter().zip(WEIGHTS.iter());
    let counted = rows.filter(|((feature, _), _)| features.has(*feature));
    counted.map(|(_, row)| weight(row)).sum::<i32>() + WEIGHTS.last().map_or(0, weight)
}

/// True if the table has a row of this name.
#[cfg(test)]
pub(super) fn has_row(name: &str) -> bool {
    TABLE.lines().any(|line| line.split_whitespace().next() == Some(name))
}
