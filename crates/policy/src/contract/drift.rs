//! Classifies what changed between two versions of a capability, and how serious the change is.
//!
//! | class | the change |
//! |---|---|
//! | documentation | texts alone: what is read, not what is checked |
//! | compatible | every call that was possible is possible and means the same; no more is |
//! | breaking | calls that were possible are not any more, or results look different |
//! | authority widening | under the same policy more can be done, passed or reached, or that cannot be known |
//!
//! A claim of milder effects than before counts as widening too: rules that restrict the stronger
//! effects would no longer apply, so more would be possible under the same policy.

mod field;
mod keyword;
mod schema;

use serde::{Deserialize, Serialize};
use weaver_types::Capability;

/// The maximum number of listed changes.
const MAX_CHANGES: usize = 200;
/// The maximum length of a path, in characters.
const MAX_PLACE: usize = 200;

/// How serious a change is, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftClass {
    /// Only texts changed.
    Documentation,
    /// Every call that was possible still is and means the same, and no new calls are possible.
    Compatible,
    /// Some calls that were possible no longer are, or mean something else.
    Breaking,
    /// More is possible under the same policy, or it cannot be ruled out.
    AuthorityWidening,
}

weaver_types::words! { DriftClass: "The stable text.";
    Documentation = "documentation", Compatible = "compatible", Breaking = "breaking",
    AuthorityWidening = "authority_widening",
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriftChange {
    /// The path of the change, such as `description` or `input/properties/amount/maximum`. It
    /// quotes names from the descriptions, so it is for operators and the log, not for a model.
    pub place: String,
    /// What changed, in fixed words that quote nothing.
    pub what: &'static str,
    /// How serious it is.
    pub class: DriftClass,
}

/// All changes from one version of a capability to another.
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
    /// Whether there were more changes than are listed.
    more: bool,
}

impl Drift {
    /// Compares two versions, field by field. Rungs, sinks, labels and critical arguments are not
    /// compared: they come from the signed documents, not from the server.
    #[must_use]
    pub fn between(before: &Capability, after: &Capability) -> Self {
        let mut drift = Self::default();
        field::compare(before, after, &mut drift);
        drift
    }

    /// The class of the most serious change; `None` if nothing changed. A truncated list counts as
    /// the most serious class.
    #[must_use]
    pub fn class(&self) -> Option<DriftClass> {
        if self.more {
            return Some(DriftClass::AuthorityWidening);
        }
        self.changes.iter().map(|change| change.class).max()
    }

    /// True if nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes, at most 200.
    #[must_use]
    pub fn changes(&self) -> &[DriftChange] {
        &self.changes
    }

    /// The class and the changes in one line. It quotes nothing from either version, so a model may
    /// read it. Empty if nothing changed.
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
        let phrases = counted.iter().map(|(what, _, count)| match count {
            1 => (*what).to_owned(),
            many => format!("{what} ({many} times)"),
        });
        let phrases: Vec<String> = phrases.collect();
        let more = if self.more { ", and more" } else { "" };
        format!("{}: {}{more}", class.as_str().replace('_', " "), phrases.join(", "))
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
