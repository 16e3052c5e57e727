//! Reports how contracts compare, and approves baselines.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use weaver_policy::PolicySet;
use weaver_types::{Capability, CapabilityId};

use super::PolicyDecisionPoint;
use crate::context::KernelContext;
use crate::contract_check::{
    self, BaselineApproval, ContractComparison, KERNEL_TOOL_SURFACE, load,
};
use crate::error::KernelError;
use crate::registry::RegisteredCapability;

impl PolicyDecisionPoint {
    /// How a capability compares with its registered and approved versions.
    pub(crate) fn compare_contract(&self, id: &CapabilityId) -> Option<ContractComparison> {
        let (entry, policy) = (self.context.registry.get(id)?, self.context.policy());
        let effective = entry.effective(&policy).ok()?;
        Some(self.compare_with_baseline(&policy, &entry, &effective))
    }

    /// Every capability that differs from its registered or approved version, by id.
    pub(crate) fn contract_mismatches(&self) -> BTreeMap<CapabilityId, ContractComparison> {
        let ids = self.context.registry.list_ids().into_iter();
        let all = ids.filter_map(|id| Some((self.compare_contract(&id)?, id)));
        all.filter(|(contract, _)| contract.is_mismatch()).map(|(one, id)| (id, one)).collect()
    }

    /// Approves the live versions of these capabilities.
    pub(crate) async fn approve_contracts(
        &self,
        ids: &[CapabilityId],
        by: &str,
    ) -> Result<(), KernelError> {
        let registered = ids.iter().map(|id| self.registered(id)).collect::<Result<Vec<_>, _>>()?;
        self.approve_baselines(&registered, None, by).await
    }

    /// Approves everything that is registered. Returns how many capabilities were approved.
    pub(crate) async fn snapshot_contracts(&self, by: &str) -> Result<usize, KernelError> {
        let all = self.context.registry.list_all();
        self.approve_baselines(&all, Some(KERNEL_TOOL_SURFACE), by).await?;
        Ok(all.len())
    }

    fn registered(&self, id: &CapabilityId) -> Result<Arc<RegisteredCapability>, KernelError> {
        self.context.registry.get(id).ok_or_else(|| KernelError::StoredRecord {
            what: "an approval",
            problem: format!("capability `{id}` is not registered"),
        })
    }

    async fn approve_baselines(
        &self,
        entries: &[Arc<RegisteredCapability>],
        surface: Option<&str>,
        by: &str,
    ) -> Result<(), KernelError> {
        let (tenant, ledger) = (&self.context.settings.tenant, self.context.ledger.as_ref());
        let baselines = load(tenant, ledger);
        let tools: Vec<&Capability> = entries.iter().map(|entry| entry.capability()).collect();
        let approval =
            BaselineApproval { tenant, tool_surface: surface, by, at: self.context.now() };
        let batches = baselines.approval_batches(&tools, approval).map_err(|error| {
            KernelError::StoredRecord { what: "an approval", problem: error.to_string() }
        })?;
        let mut committed = Ok(());
        for batch in batches {
            if committed.is_ok() {
                committed = self.context.ledger.commit(batch).await.map(drop);
            }
        }
        for tool in tools.iter().filter(|_| committed.is_ok()) {
            // A capability that changed in the meantime is not approved.
            let _ = self.context.registry.approve_version(tool.id(), tool.fingerprint());
        }
        // Read again even after an error: earlier batches may be committed although a later one was
        // refused.
        let reloaded = load(tenant, ledger).without_contracts();
        *self.baselines.write().unwrap_or_else(PoisonError::into_inner) = reloaded;
        Ok(committed?)
    }

    /// Compares the live version with its baseline; `effective` is the live version with its signed
    /// contract applied.
    pub(super) fn compare_with_baseline(
        &self,
        policy: &PolicySet,
        entry: &RegisteredCapability,
        effective: &Capability,
    ) -> ContractComparison {
        let older = |id: &CapabilityId| {
            // Rare, and only needed to say what changed: the record is read again.
            approved_version(&self.context, id).map(|contract| *contract)
        };
        let baselines = self.baselines.read();
        let baselines = baselines.as_deref().ok();
        contract_check::compare_contract(policy, baselines, entry, effective, &older)
    }
}

fn approved_version(context: &KernelContext, id: &CapabilityId) -> Option<Box<Capability>> {
    let key = contract_check::tool_key(&context.settings.tenant, id);
    let record = context.ledger.read(&key).ok()??;
    contract_check::read_baseline(id.as_str(), &record.value).ok()?.contract
}
