//! What changed between two versions of a contract, and how much that matters.
//!
//! | class | the change |
//! |---|---|
//! | documentation | texts alone: what is read, not what is checked |
//! | compatible | every call that was possible is possible and means the same; no more is |
//! | breaking | calls that were possible are not any more, or results look different |
//! | authority widening | under the same policy more can be done, passed or reached, or that cannot be known |
//!
//! Effects that are claimed to be lower than before count as widening too: whoever is held to less
//! may do more under the same policy.

mod field;
mod keyword;
mod schema;

use serde::{Deserialize, Serialize};
use weaver_types::Capability;

/// The most changes that are listed.
const MAX_CHANGES: usize = 200;
/// The longest place, in characters.
const MAX_PLACE: usize = 200;

/// How much a change matters, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftClass {
    /// Texts alone.
    Documentation,
    /// What was possible is possible and means the same; no more is.
    Compatible,
    /// What was possible is not any more, or means something else.
    Breaking,
    /// More is possible under the same policy, or whether it is cannot be known.
    AuthorityWidening,
}

impl DriftClass {
    /// The stable text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Documentation => "documentation",
            Self::Compatible => "compatible",
            Self::Breaking => "breaking",
            Self::AuthorityWidening => "authority_widening",
        }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriftChange {
    /// Where, as a path: `description`, `input/properties/amount/maximum`. It quotes names from
    /// the contracts, so it is for operators and the log, not for a model.
    pub place: String,
    /// What, in words that quote nothing.
    pub what: &'static str,
    /// How much it matters.
    pub class: DriftClass,
}

/// Everything that changed from one version of a contract to another.
///
/// ```
/// use weaver_policy::{Drift, DriftClass};
/// use weaver_types::ToolSpec;
///
/// let before = ToolSpec::new("mail.send", "Send").arg("to", "string", true);
/// let after = before.clone().describe("Sends a mail.");
/// let drift = Drift::between(&before.build()?, &after.build()?);
/// assert_eq!(drift.class(), Some(DriftClass::Documentation));
/// assert_eq!(drift.summary(), "documentation: description changed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Drift {
    changes: Vec<DriftChange>,
    /// Whether there were more than are listed.
    more: bool,
}

impl Drift {
    /// What changed from `before` to `after`, in the order of the fields. Their rungs, sinks,
    /// labels and critical arguments are not compared: they stand in signed documents.
    #[must_use]
    pub fn between(before: &Capability, after: &Capability) -> Self {
        let mut drift = Self::default();
        field::compare(before, after, &mut drift);
        drift
    }

    /// The class of the change that matters most; `None` when nothing changed.
    #[must_use]
    pub fn class(&self) -> Option<DriftClass> {
        if self.more {
            return Some(DriftClass::AuthorityWidening);
        }
        self.changes.iter().map(|change| change.class).max()
    }

    /// True when nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes, at most 200.
    #[must_use]
    pub fn changes(&self) -> &[DriftChange] {
        &self.changes
    }

    /// Class and changes in one line, which quotes nothing from either contract: a model may read
    /// it. Empty when nothing changed.
    #[must_use]
    pub fn summary(&self) -> String {
        let Some(class) = self.class() else { return String::new() };
        let mut counted: Vec<(&str, DriftClass, usize)> = Vec::new();
        for change in &self.changes {
            match counted.iter_mut().find(|(what, ..)| *what == change.what) {
                Some((_, _, count)) => *count += 1,
                None => counted.push((change.what, change.class, 1)),
            }
        }
        counted.sort_by_key(|(_, class, _)| std::cmp::Reverse(*class));
        let told = counted.iter().map(|(what, _, count)| match count {
            1 => (*what).to_owned(),
            many => format!("{what} ({many} times)"),
        });
        let told: Vec<String> = told.collect();
        let more = if self.more { ", and more" } else { "" };
        format!("{}: {}{more}", class.as_str().replace('_', " "), told.join(", "))
    }

    fn add(&mut self, place: &str, what: &'static str, class: DriftClass) {
        if self.changes.len() >= MAX_CHANGES {
            self.more = true;
            return;
        }
        let place = place.chars().take(MAX_PLACE).collect();
        self.changes.push(DriftChange { place, what, class });
    }
}
