//! One step of the demo, as it is printed.

use weaver_types::Verdict;

/// The outcome of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Its stable name.
    pub(super) name: &'static str,
    /// The tool that was called, or the capability behind it; `None` for a check of the demo.
    pub(super) tool: Option<&'static str>,
    /// What the agent tries to do, or what is checked.
    pub(super) wants: &'static str,
    /// What Weaver decided; `None` for a check.
    pub(super) verdict: Option<Verdict>,
    /// The reason codes, the primary one first.
    pub(super) reasons: Vec<String>,
    /// What was returned, or what the check found.
    pub(super) summary: String,
}

impl Step {
    /// A check of the demo itself, which passed.
    pub(super) fn check(name: &'static str, wants: &'static str, summary: String) -> Self {
        Self { name, tool: None, wants, verdict: None, reasons: Vec::new(), summary }
    }
}
