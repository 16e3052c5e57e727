//! The query: one request with everything that its decision depends on.

use serde_json::Value;
use weaver_types::{
    Capability, CapabilityRequest, Confidentiality, Integrity, Label, MaskedValue, Operation,
    Principal, RunId, SafetyMode, Taints, Timestamp,
};

use crate::approval::Release;
use crate::provenance::ValueOrigins;
use crate::signal::SignalReport;
use crate::window::Windows;

static CLEAN: Label = Label {
    confidentiality: Confidentiality::Public,
    integrity: Integrity::Trusted,
    taints: Taints::none(),
};
static NO_SIGNALS: SignalReport = SignalReport::none();

/// Everything that a decision depends on besides the documents.
///
/// ```
/// use weaver_policy::{Contracts, Policy, PolicySet, Query};
/// use weaver_types::{CapabilityRequest, Effects, Principal, PrincipalId, ToolSpec, Verdict};
///
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let tool = ToolSpec::new("docs.read", "Reads").with_effects(Effects::READ_LOCAL).build()?;
/// let (who, what) = (
///     Principal::new(PrincipalId::parse("ana")?),
///     CapabilityRequest::new(tool.id().clone(), "to read"),
/// );
/// let query = Query { human_channel: true, ..Query::new(&tool, &who, &what) };
/// assert_eq!(set.decide(&query).verdict(), Verdict::Allow);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The capability with its contract applied: what
    /// [`PolicySet::effective`](crate::PolicySet::effective) gave.
    pub capability: &'a Capability,
    /// Who asks.
    pub principal: &'a Principal,
    /// What is asked for.
    pub request: &'a CapabilityRequest,
    /// The arguments; `None` while they are not known.
    pub arguments: Option<&'a Value>,
    /// Whether the capability is invoked or a stored result of it is viewed.
    pub operation: Operation,
    /// The mode of the run.
    pub mode: SafetyMode,
    /// The label of the run.
    pub label: &'a Label,
    /// The time.
    pub now: Timestamp,
    /// True where a person can be asked for a justification.
    pub human_channel: bool,
    /// The proof that holds of this call are released, where there is one.
    pub release: Option<&'a Release>,
    /// What the sources of signals say about this call.
    pub signals: &'a SignalReport,
    /// The recent calls, for the limits; without them no limit is checked.
    pub windows: Option<&'a Windows>,
    /// Where the values of the arguments came from; without it their provenance is unknown.
    pub origins: Option<&'a dyn ValueOrigins>,
    /// The masked values that stand in the arguments.
    pub masked: &'a [MaskedValue],
    /// The server of the capability, as [`MaskedValue::origins`] names it; none is its own.
    pub origin: Option<&'a str>,
    /// The run, for limits by run; calls without one count together.
    pub run: Option<&'a RunId>,
}

impl<'a> Query<'a> {
    /// An invocation without arguments, outside of any run: normal mode, a clean label, no
    /// signals, no windows, no human channel, at the Unix epoch.
    #[must_use]
    pub fn new(
        capability: &'a Capability,
        principal: &'a Principal,
        request: &'a CapabilityRequest,
    ) -> Self {
        Self {
            capability,
            principal,
            request,
            arguments: None,
            operation: Operation::Invoke,
            mode: SafetyMode::Normal,
            label: &CLEAN,
            now: Timestamp::default(),
            human_channel: false,
            release: None,
            signals: &NO_SIGNALS,
            windows: None,
            origins: None,
            masked: &[],
            origin: None,
            run: None,
        }
    }
}
