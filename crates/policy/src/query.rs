//! The query: one request with everything that its decision depends on, apart from the documents.

use serde_json::Value;
use weaver_types::{
    Capability, CapabilityRequest, Confidentiality, Integrity, Label, MaskedValue, Operation,
    Principal, RunId, SafetyMode, Taints, Timestamp,
};

use crate::approval::ReleaseProof;
use crate::provenance::ValueOrigins;
use crate::rate_limit_windows::RateLimitWindows;
use crate::signal::SignalReport;

static CLEAN: Label = Label {
    confidentiality: Confidentiality::Public,
    integrity: Integrity::Trusted,
    taints: Taints::none(),
};
static NO_SIGNALS: SignalReport = SignalReport::none();

/// Everything that a decision depends on besides the documents.
///
/// ```
/// use weaver_policy::{Contracts, Policy, PolicySet, PolicyQuery};
/// use weaver_types::{CapabilityRequest, Effects, Principal, PrincipalId, ToolSpec, Verdict};
///
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let tool = ToolSpec::new("docs.read", "Reads").with_effects(Effects::READ_LOCAL).build()?;
/// let (who, what) = (
///     Principal::new(PrincipalId::parse("ana")?),
///     CapabilityRequest::new(tool.id().clone(), "to read"),
/// );
/// let query = PolicyQuery { human_channel: true, ..PolicyQuery::new(&tool, &who, &what) };
/// assert_eq!(set.decide(&query).verdict(), Verdict::Allow);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PolicyQuery<'a> {
    /// The capability with its contract applied by
    /// [`PolicySet::apply_contract`](crate::PolicySet::apply_contract).
    pub capability: &'a Capability,
    /// The requester.
    pub principal: &'a Principal,
    /// The request.
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
    /// Whether a person can be asked for a justification.
    pub human_channel: bool,
    /// The proof that holds of this call are released, if there is one.
    pub release: Option<&'a ReleaseProof>,
    /// The signals about this call.
    pub signals: &'a SignalReport,
    /// The recent calls, for rate limits; without them, no limit is checked.
    pub windows: Option<&'a RateLimitWindows>,
    /// The origins of the argument values; without them, provenance is unknown.
    pub origins: Option<&'a dyn ValueOrigins>,
    /// The masked values in the arguments.
    pub masked: &'a [MaskedValue],
    /// The arguments as the model wrote them, with masks; without them, what is around a mask is
    /// looked for in [`arguments`](Self::arguments).
    pub as_written: Option<&'a Value>,
    /// The server of the capability, as named in [`MaskedValue::origins`]. Without it, no masked
    /// value counts as coming from this server.
    pub origin: Option<&'a str>,
    /// The run, for limits by run. Calls without a run are counted together.
    pub run: Option<&'a RunId>,
    /// The folder in which the call works, where that decides what its arguments mean.
    pub folder: Option<&'a str>,
}

impl<'a> PolicyQuery<'a> {
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
            as_written: None,
            origin: None,
            run: None,
            folder: None,
        }
    }
}
