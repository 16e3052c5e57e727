//! The policy decision point (in the words of XACML): decides on every request, and makes and
//! verifies the tokens that carry its decisions.
//!
//! ```text
//! decide_and_resolve = evaluate ─ held? open a request ─ resolver? ─ evaluate
//! evaluate           = lookup, contract, arguments, decide, budget, preconditions ─ held? resume
//! ```

mod contracts;
mod evaluate;
mod evaluation;
mod hold;
mod hypothetical_call;
mod pending_grants;
mod preconditions;
mod prepare_arguments;
mod rate_counters;
mod readable_secrets;
mod reevaluate;
mod resolve;
pub(crate) mod resume;
mod signal_report;
mod tokens;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use weaver_policy::PolicySet;
use weaver_policy::signal::SignalMonitor;
use weaver_types::ledger::{Batch, Durability};
use weaver_types::{EventKind, PrincipalId};

pub(crate) use evaluation::{
    CallTarget, Evaluation, EvaluationRequest, denied_decision, deny_raw_without_admin,
};
pub(crate) use hypothetical_call::HypotheticalCall;
pub(crate) use tokens::joined_constraints;

use crate::approval::{ApprovalRequests, TimedApprovalResolver};
use crate::context::KernelContext;
use crate::contract_check::{self, Baselines};
use crate::error::KernelError;
use crate::event_payload::EventPayload;
use crate::ports::Ports;
use crate::precondition::PreconditionChecker;
use crate::recorder::RunRecorder;
use crate::revocation::{RevocationSubject, Revocations};
use crate::token::KeyRing;
use pending_grants::PendingGrants;
use rate_counters::RateCounters;

/// Decides on requests under the policy in force.
pub(crate) struct PolicyDecisionPoint {
    context: Arc<KernelContext>,
    recorder: Arc<RunRecorder>,
    approvals: Arc<ApprovalRequests>,
    preconditions: Option<Arc<dyn PreconditionChecker>>,
    resolver: Option<TimedApprovalResolver>,
    signals: Arc<SignalMonitor>,
    keys: RwLock<Arc<KeyRing>>,
    pub(crate) pending_grants: PendingGrants,
    revocations: Arc<Revocations>,
    pub(crate) rates: RateCounters,
    /// The approved versions of capabilities that no signed contract pins.
    baselines: RwLock<Baselines>,
}

impl PolicyDecisionPoint {
    pub(crate) fn load(
        recorder: &Arc<RunRecorder>,
        approvals: &Arc<ApprovalRequests>,
        ports: &Ports,
        keys: KeyRing,
        revocations: Arc<Revocations>,
    ) -> Result<Self, KernelError> {
        let context = Arc::clone(&recorder.context);
        let (tenant, ledger) = (&context.settings.tenant, context.ledger.as_ref());
        let rates = RateCounters::load(tenant, ledger, context.now())?;
        let baselines = RwLock::new(contract_check::load(tenant, ledger).without_contracts());
        Ok(Self {
            context,
            recorder: Arc::clone(recorder),
            approvals: Arc::clone(approvals),
            preconditions: ports.preconditions.clone(),
            resolver: ports.resolver.clone(),
            signals: Arc::clone(&ports.signals),
            keys: RwLock::new(Arc::new(keys)),
            pending_grants: PendingGrants::default(),
            revocations,
            rates,
            baselines,
        })
    }

    /// The token keys in force, borrowed under their lock.
    pub(crate) fn key_ring(&self) -> RwLockReadGuard<'_, Arc<KeyRing>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn replace_keys(&self, keys: KeyRing) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Puts another policy in force, and evaluates again what is held under the old one.
    pub(crate) async fn replace_policy(&self, policy: Arc<PolicySet>) {
        self.context.replace_policy(policy);
        self.rates.drop_removed_limits(&self.context.policy());
        self.reevaluate_stale_requests().await;
    }

    /// Voids everything granted so far to a token, principal or run, and ends its requests.
    pub(crate) async fn revoke(
        &self,
        subject: &RevocationSubject,
        by: &PrincipalId,
    ) -> Result<(), KernelError> {
        let now = self.context.now();
        let put = self.revocations.revoke(&self.context.settings.tenant, subject, now);
        let event = EventPayload::new()
            .with("tenant", &self.context.settings.tenant)
            .with("subject", subject.record_id())
            .with("principal", by)
            .into_global_event(EventKind::Revoked, now)
            .ok_or_else(|| KernelError::StoredRecord {
                what: "a revocation",
                problem: "it has no recordable form".to_owned(),
            })?;
        let mut batch = Batch::new(Durability::Disk).with_event(event);
        batch.put.push(put);
        self.context.ledger.commit(batch).await?;
        self.approvals.end_requests_of(subject, by.as_str()).await;
        Ok(())
    }
}
