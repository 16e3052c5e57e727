//! Rates: the allowed calls of late, which the limits of the policy count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};

use weaver_policy::{Limit, PolicySet, Query, RuleEnforcement, Windows};
use weaver_types::ledger::Ledger;
use weaver_types::{
    AgentId, CapabilityId, CapabilityRequest, Contribution, EventKind, Principal, PrincipalId,
    RunId, Tenant, Timestamp,
};

use crate::error::KernelError;
use crate::log_tail::{LogEvent, scan, text};
use crate::registry::Registry;
use crate::run_state;

/// The longest window of a limit, in microseconds.
const SPAN_MICROS: i64 = 3_600_000_000;

/// A call before this kernel was opened.
#[derive(Debug, Clone)]
struct PastCall {
    at: Timestamp,
    principal: PrincipalId,
    agent: Option<AgentId>,
    run: RunId,
}

/// The allowed calls of late. Calls from before the kernel was opened are counted as soon as their
/// capability is known again.
pub(crate) struct Rates {
    windows: RwLock<Windows>,
    past: Mutex<BTreeMap<CapabilityId, Vec<PastCall>>>,
    /// Whether nothing of before is left to count.
    caught_up: AtomicBool,
}

impl Rates {
    /// Reads the calls of a tenant in the last hour from the end of the log.
    pub(crate) fn load(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        now: Timestamp,
    ) -> Result<Self, KernelError> {
        let mut past: BTreeMap<CapabilityId, Vec<PastCall>> = BTreeMap::new();
        let since = Timestamp::from_micros(now.micros().saturating_sub(SPAN_MICROS));
        scan(ledger, since, |event| {
            if event.kind == Some(EventKind::Intent)
                && let Some((capability, one)) = call(event)
            {
                past.entry(capability).or_default().push(one);
            }
        })?;
        // A ledger may hold the calls of several tenants, and events do not name theirs.
        let runs: BTreeSet<RunId> = past.values().flatten().map(|call| call.run.clone()).collect();
        let mut foreign = BTreeSet::new();
        for run in runs {
            if ledger.read(&run_state::key(tenant, &run))?.is_none() {
                foreign.insert(run);
            }
        }
        past.retain(|_, calls| {
            calls.retain(|call| !foreign.contains(&call.run));
            !calls.is_empty()
        });
        Ok(Self {
            windows: RwLock::new(Windows::new()),
            caught_up: AtomicBool::new(past.is_empty()),
            past: Mutex::new(past),
        })
    }

    /// What the limits say against one more call.
    pub(crate) fn check(
        &self,
        policy: &PolicySet,
        registry: &Registry,
        query: &Query<'_>,
    ) -> Vec<Contribution> {
        if policy.limits().is_empty() {
            return Vec::new();
        }
        if self.catch_up(policy, registry, &query.principal.tenant).is_none() {
            return vec![unusable()];
        }
        match self.windows.read() {
            Ok(windows) => windows.check(query, policy.limits()),
            Err(_) => vec![unusable()],
        }
    }

    /// Counts a call that is about to be made, unless a limit is used up by now: checked and
    /// counted under one lock. A call whose intent then cannot be committed stays counted: that is
    /// a race or a failing ledger, and the strict side.
    pub(crate) fn reserve(
        &self,
        policy: &PolicySet,
        query: &Query<'_>,
    ) -> Result<(), Box<Contribution>> {
        if policy.limits().is_empty() {
            return Ok(());
        }
        let Ok(mut windows) = self.windows.write() else { return Err(Box::new(unusable())) };
        match windows.take(query, policy.limits()) {
            // Recorded with the decision, and not enforced.
            Err(_) if policy.policy().enforcement == RuleEnforcement::Observe => Ok(()),
            taken => taken,
        }
    }

    /// Forgets what limits counted that are gone.
    pub(crate) fn keep(&self, policy: &PolicySet) {
        if let Ok(mut windows) = self.windows.write() {
            windows.keep(policy.limits());
        }
    }

    /// Counts the calls of before whose capability is known by now.
    fn catch_up(&self, policy: &PolicySet, registry: &Registry, tenant: &Tenant) -> Option<()> {
        if self.caught_up.load(Ordering::Acquire) {
            return Some(());
        }
        let mut past = self.past.lock().ok()?;
        let mut windows = self.windows.write().ok()?;
        // What the log does not say of a call may have been as a limit has it: a limit only tightens.
        let logged = |roles_are_known: bool| -> Vec<Limit> {
            policy.limits().iter().map(|limit| limit.as_far_as_logged(roles_are_known)).collect()
        };
        let (of_named, of_others) = (logged(true), logged(false));
        past.retain(|id, calls| {
            let Some(entry) = registry.get(id) else { return true };
            let Ok(capability) = entry.effective(policy) else { return true };
            for call in std::mem::take(calls) {
                let named = policy.principal(&call.principal);
                let limits = if named.is_some() { &of_named } else { &of_others };
                let principal = Principal {
                    tenant: tenant.clone(),
                    agent: call.agent,
                    ..named.unwrap_or_else(|| Principal::new(call.principal))
                };
                let request = CapabilityRequest::new(id.clone(), "");
                let query = Query {
                    now: call.at,
                    run: Some(&call.run),
                    ..Query::new(&capability, &principal, &request)
                };
                windows.record(&query, limits);
            }
            false
        });
        self.caught_up.store(past.is_empty(), Ordering::Release);
        Some(())
    }
}

/// Why a call is refused when the windows are unusable.
fn unusable() -> Contribution {
    let detail = "the rates are unusable: a thread died while it changed them";
    Contribution::new(
        weaver_types::Check::System,
        weaver_types::Verdict::Deny,
        weaver_types::ReasonCode::InternalError,
        detail,
    )
}

/// What the log says of a call. One that cannot be read is passed over: the log is checked
/// elsewhere, and a pruned payload is older than any window.
fn call(event: &LogEvent<'_>) -> Option<(CapabilityId, PastCall)> {
    let payload = event.payload();
    let capability = CapabilityId::parse(text(&payload, "capability")?).ok()?;
    let principal = PrincipalId::parse(text(&payload, "principal")?).ok()?;
    let agent = text(&payload, "agent").and_then(|id| AgentId::parse(id).ok());
    Some((capability, PastCall { at: event.at, principal, agent, run: event.run.clone()? }))
}
