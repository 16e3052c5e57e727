//! One step of the demo, as it is told.

use weaver_types::Verdict;

/// What happened in one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Its stable name.
    pub(super) name: &'static str,
    /// The tool that was called, or the capability behind it; none for a check of the demo.
    pub(super) tool: Option<&'static str>,
    /// What the agent wants, or what is checked.
    pub(super) wants: &'static str,
    /// What Weaver decided; none for a check.
    pub(super) verdict: Option<Verdict>,
    /// The codes of the reasons, the primary one first.
    pub(super) reasons: Vec<String>,
    /// What came back, or what the check found.
    pub(super) summary: String,
}

impl Step {
    /// A check of the demo's own, which was passed.
    pub(super) fn check(name: &'static str, wants: &'static str, summary: String) -> Self {
        Self { name, tool: None, wants, verdict: None, reasons: Vec::new(), summary }
    }
}
