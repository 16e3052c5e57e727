//! Counts recent allowed calls for the rate limits of the policy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};

use weaver_policy::{PolicyQuery, PolicySet, RateLimit, RateLimitWindows, RuleEnforcement};
use weaver_types::ledger::Ledger;
use weaver_types::{
    AgentId, AllowedAgents, Capability, CapabilityDraft, CapabilityId, CapabilityRequest,
    CheckResult, Effects, EventKind, Principal, PrincipalId, RunId, Tenant, Timestamp,
};

use crate::error::KernelError;
use crate::log_tail::{LogEvent, scan_backwards, str_field};
use crate::registry::Registry;
use crate::run_state;

/// The longest window of a limit, in microseconds.
const MAX_WINDOW_MICROS: i64 = 3_600_000_000;

/// A call from before this kernel was opened.
#[derive(Debug, Clone)]
struct PastCall {
    at: Timestamp,
    principal: PrincipalId,
    agent: Option<AgentId>,
    run: RunId,
}

/// The calls from before this kernel was opened that are not counted against all limits yet.
struct UncountedCalls {
    by_capability: BTreeMap<CapabilityId, Vec<PastCall>>,
    /// Whether the limits that need only the id of a capability count them.
    counted_by_id: bool,
}

/// The counters of recent allowed calls. Calls from before the kernel was opened are counted with
/// the first check; limits that depend on more than the id of their capability count them as soon
/// as it is registered again.
pub(crate) struct RateCounters {
    windows: RwLock<RateLimitWindows>,
    uncounted_calls: Mutex<UncountedCalls>,
    /// Whether all earlier calls are counted.
    all_past_counted: AtomicBool,
}

impl RateCounters {
    /// Reads the calls of a tenant in the last hour from the end of the log.
    pub(crate) fn load(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        now: Timestamp,
    ) -> Result<Self, KernelError> {
        let mut past: BTreeMap<CapabilityId, Vec<PastCall>> = BTreeMap::new();
        let since = Timestamp::from_micros(now.micros().saturating_sub(MAX_WINDOW_MICROS));
        scan_backwards(ledger, since, |event| {
            if event.kind == Some(EventKind::Intent)
                && let Some((capability, one)) = parse_past_call(event)
            {
                past.entry(capability).or_default().push(one);
            }
        })?;
        // A ledger may hold the calls of several tenants, and events do not name theirs.
        let runs: BTreeSet<RunId> = past.values().flatten().map(|call| call.run.clone()).collect();
        let mut foreign = BTreeSet::new();
        for run in runs {
            if ledger.read(&run_state::state_key(tenant, &run))?.is_none() {
                foreign.insert(run);
            }
        }
        past.retain(|_, calls| {
            calls.retain(|call| !foreign.contains(&call.run));
            !calls.is_empty()
        });
        Ok(Self {
            windows: RwLock::new(RateLimitWindows::new()),
            all_past_counted: AtomicBool::new(past.is_empty()),
            uncounted_calls: Mutex::new(UncountedCalls {
                by_capability: past,
                counted_by_id: false,
            }),
        })
    }

    /// The denials of the limits that one more call would exceed.
    pub(crate) fn check(
        &self,
        policy: &PolicySet,
        registry: &Registry,
        query: &PolicyQuery<'_>,
    ) -> Vec<CheckResult> {
        if policy.limits().is_empty() {
            return Vec::new();
        }
        if self.count_past_calls(policy, registry, &query.principal.tenant).is_none() {
            return vec![poisoned_counters_denial()];
        }
        match self.windows.read() {
            Ok(windows) => windows.check(query, policy.limits()),
            Err(_) => vec![poisoned_counters_denial()],
        }
    }

    /// Counts a call that is about to be made, unless a limit is used up by now. Check and count
    /// happen under one lock. A call whose intent cannot be committed afterwards stays counted,
    /// which is the strict side.
    pub(crate) fn count(
        &self,
        policy: &PolicySet,
        query: &PolicyQuery<'_>,
    ) -> Result<(), Box<CheckResult>> {
        if policy.limits().is_empty() {
            return Ok(());
        }
        let Ok(mut windows) = self.windows.write() else {
            return Err(Box::new(poisoned_counters_denial()));
        };
        match windows.try_record(query, policy.limits()) {
            // Only recorded with the decision: the policy does not enforce.
            Err(_) if policy.policy().enforcement == RuleEnforcement::Observe => Ok(()),
            taken => taken,
        }
    }

    /// Drops the counters of limits that no longer exist.
    pub(crate) fn drop_removed_limits(&self, policy: &PolicySet) {
        if let Ok(mut windows) = self.windows.write() {
            windows.retain_limits(policy.limits());
        }
    }

    /// Counts earlier calls, as far as their capability is known by now.
    fn count_past_calls(
        &self,
        policy: &PolicySet,
        registry: &Registry,
        tenant: &Tenant,
    ) -> Option<()> {
        if self.all_past_counted.load(Ordering::Acquire) {
            return Some(());
        }
        let mut past = self.uncounted_calls.lock().ok()?;
        let mut windows = self.windows.write().ok()?;
        let by_id = LoggedLimits::of(policy, |limit| !limit.reads_capability());
        let by_capability = LoggedLimits::of(policy, RateLimit::reads_capability);
        if !past.counted_by_id {
            for (id, calls) in &past.by_capability {
                // The limits that count here read nothing but its id.
                let mut draft = CapabilityDraft::new(
                    id.clone(),
                    "past call",
                    Effects::UNDECLARED,
                    AllowedAgents::Any,
                );
                draft.description = "a call from before the start".to_owned();
                let Ok(capability) = draft.build() else { continue };
                for call in calls {
                    by_id.record(&mut windows, policy, tenant, &capability, call);
                }
            }
            past.counted_by_id = true;
        }
        past.by_capability.retain(|id, calls| {
            let Some(entry) = registry.get(id) else { return true };
            let Ok(capability) = entry.effective(policy) else { return true };
            for call in std::mem::take(calls) {
                by_capability.record(&mut windows, policy, tenant, &capability, &call);
            }
            false
        });
        self.all_past_counted.store(past.by_capability.is_empty(), Ordering::Release);
        Some(())
    }
}

/// Limits with the conditions that the log can answer. What is missing in it counts as a match,
/// since a limit only tightens.
struct LoggedLimits {
    /// For principals that the policy names, whose roles are known.
    of_named: Vec<RateLimit>,
    of_others: Vec<RateLimit>,
}

impl LoggedLimits {
    fn of(policy: &PolicySet, accepts: impl Fn(&RateLimit) -> bool) -> Self {
        let logged = |roles_are_known: bool| -> Vec<RateLimit> {
            let limits = policy.limits().iter().filter(|limit| accepts(limit));
            limits.map(|limit| limit.restricted_to_logged_fields(roles_are_known)).collect()
        };
        Self { of_named: logged(true), of_others: logged(false) }
    }

    fn record(
        &self,
        windows: &mut RateLimitWindows,
        policy: &PolicySet,
        tenant: &Tenant,
        capability: &Capability,
        call: &PastCall,
    ) {
        let named = policy.principal(&call.principal);
        let limits = if named.is_some() { &self.of_named } else { &self.of_others };
        let principal = Principal {
            tenant: tenant.clone(),
            agent: call.agent.clone(),
            ..named.unwrap_or_else(|| Principal::new(call.principal.clone()))
        };
        let request = CapabilityRequest::new(capability.id().clone(), "");
        let query = PolicyQuery {
            now: call.at,
            run: Some(&call.run),
            ..PolicyQuery::new(capability, &principal, &request)
        };
        windows.record(&query, limits);
    }
}

/// The denial of a call when the counters are poisoned.
fn poisoned_counters_denial() -> CheckResult {
    let detail = "internal error: the lock of the rate counters is poisoned";
    CheckResult::new(
        weaver_types::CheckKind::System,
        weaver_types::Verdict::Deny,
        weaver_types::ReasonCode::InternalError,
        detail,
    )
}

/// Reads an earlier call from its event. An unreadable event is skipped: the log is verified
/// elsewhere, and a pruned payload is older than any window.
fn parse_past_call(event: &LogEvent<'_>) -> Option<(CapabilityId, PastCall)> {
    let payload = event.payload();
    let capability = CapabilityId::parse(str_field(&payload, "capability")?).ok()?;
    let principal = PrincipalId::parse(str_field(&payload, "principal")?).ok()?;
    let agent = str_field(&payload, "agent").and_then(|id| AgentId::parse(id).ok());
    Some((capability, PastCall { at: event.at, principal, agent, run: event.run.clone()? }))
}
