//! The kernel: a struct of its components, and what a host reads of them.

use std::borrow::Cow;
use std::sync::Arc;

use weaver_firewall::{Firewall, Session};
use weaver_policy::PolicySet;
use weaver_types::ledger::Ledger;
use weaver_types::{CallId, Principal, RunContext, RunError, RunSettings, Timestamp};

use crate::approval::ApprovalRequests;
use crate::cached_run::lock_run;
use crate::context::KernelContext;
use crate::decision_point::PolicyDecisionPoint;
use crate::error::KernelError;
use crate::executor::CallExecutor;
use crate::invocation::Explanation;
use crate::recorder::RunRecorder;
use crate::registry::Registry;
use crate::results::ResultPipeline;
use crate::signed_files::SignedFileReceiver;

/// The kernel. Every execution passes through it.
///
/// ```
/// use serde_json::json;
/// use weaver_agent_kernel::{Caller, Kernel, Registry, block_on};
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_types::{Principal, PrincipalId, RawResult, RunSettings, ToolSpec};
///
/// let registry = Registry::new();
/// let spec = ToolSpec::new("docs.search", "Search").arg("query", "string", true);
/// registry.register_fn(spec.build()?, |call| Ok(RawResult::json(json!([{ "hit": call.arguments()["query"] }]))))?;
///
/// let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let kernel = Kernel::in_memory(registry, policy)?;
///
/// let run = kernel.start_run(RunSettings::default())?;
/// let ana = Principal::new(PrincipalId::parse("ana")?).with_roles(["reader"]);
/// let caller = Caller { run: &run, principal: &ana };
/// let done = block_on(kernel.call(caller, "docs.search", json!({ "query": "handbook" })));
/// assert!(done.decision.is_allowed());
/// assert!(done.frame().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Kernel {
    pub(crate) context: Arc<KernelContext>,
    pub(crate) recorder: Arc<RunRecorder>,
    pub(crate) approvals: Arc<ApprovalRequests>,
    pub(crate) decision_point: Arc<PolicyDecisionPoint>,
    pub(crate) results: Arc<ResultPipeline>,
    pub(crate) executor: CallExecutor,
    pub(crate) signed_files: SignedFileReceiver,
}

weaver_types::opaque_debug!(Kernel);

impl Kernel {
    /// A kernel whose ledger and results are in memory and end with the process, on the system's
    /// clock and randomness, with new token keys. [`Kernel::builder`] takes other parts.
    ///
    /// # Errors
    /// [`KernelError`], when there is no randomness.
    pub fn in_memory(
        registry: impl Into<Arc<Registry>>,
        policy: impl Into<Arc<PolicySet>>,
    ) -> Result<Self, KernelError> {
        Self::builder(registry, policy).open()
    }

    /// Creates a run with the clock and randomness of this kernel.
    ///
    /// # Errors
    /// [`RunError`], when there is no randomness, or `dry_run` in the metadata is no boolean.
    pub fn start_run(&self, settings: RunSettings) -> Result<RunContext, RunError> {
        RunContext::create(settings, self.context.clock.unguarded(), self.context.random.as_ref())
    }

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.context.registry
    }

    /// The policy in force. If a thread panics while replacing it, the old policy stays in force.
    #[must_use]
    pub fn policy(&self) -> Arc<PolicySet> {
        self.context.policy()
    }

    /// The firewall, for text that reaches a model outside of a run.
    #[must_use]
    pub fn firewall(&self) -> &Firewall {
        &self.context.firewall
    }

    /// The firewall for text that reaches the model of a run outside of a call, such as a list of
    /// tools. It also masks the values that calls of the run received in place of their masks.
    #[must_use]
    pub fn firewall_of_run(&self, run: &RunContext) -> Cow<'_, Firewall> {
        let slot = self.recorder.slot(&run.run_id).ok();
        let table = slot.map(|slot| Arc::clone(slot.masks().table()));
        match table.filter(|table| !table.is_empty()) {
            Some(table) => Cow::Owned(self.context.firewall.with_disclosed_values(table)),
            None => Cow::Borrowed(&self.context.firewall),
        }
    }

    /// The current time; `None` while the wall clock has jumped ahead and no operator has confirmed
    /// it. Whatever else writes to the ledger uses this time, and waits while there is none.
    #[must_use]
    pub fn trusted_time(&self) -> Option<Timestamp> {
        self.context.clock.trusted_time()
    }

    /// The time against which expiry is checked. Setting the wall clock back does not set it back.
    #[must_use]
    pub fn expiry_time(&self) -> Timestamp {
        self.context.clock.read().expiry_time
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.context.ledger
    }

    /// The token session of a run: its remaining tokens, and the mode in which a call would be
    /// answered now. `None` when the settings limit no tokens and when the run cannot be read.
    #[must_use]
    pub fn token_session(&self, run: &RunContext) -> Option<Session> {
        let slot = self.recorder.slot(&run.run_id).ok()?;
        lock_run(&slot)?.session().cloned()
    }

    /// Explains a call to the principal that made it, or to an admin. The last 1,024 calls of this
    /// process are in memory; any other call, also of an earlier process, is read from the last
    /// 200,000 events of the log, where texts are redacted.
    #[must_use]
    pub fn explain(&self, principal: &Principal, call: &CallId) -> Option<Arc<Explanation>> {
        self.recorder.explain(principal, call)
    }
}
