//! What a kernel does about contracts beside comparing them: telling how they stand, approving.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_policy::PolicySet;
use weaver_types::{Capability, CapabilityId};

use crate::contract::{self, BaselineApproval, ContractComparison, KERNEL_SURFACE, load};
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::registry::RegisteredCapability;

impl Kernel {
    /// How a registered capability stands against what was registered and approved; `None` when
    /// there is nothing of that name, or its contract cannot be applied.
    #[must_use]
    pub fn contract(&self, id: &CapabilityId) -> Option<ContractComparison> {
        let (entry, policy) = (self.registry.get(id)?, self.policy());
        let effective = entry.effective(&policy).ok()?;
        Some(self.compare(&policy, &entry, &effective))
    }

    /// Everything that is registered and is not as it was registered and approved, by id.
    #[must_use]
    pub fn contract_mismatches(&self) -> BTreeMap<CapabilityId, ContractComparison> {
        let ids = self.registry.list_ids().into_iter();
        let all = ids.filter_map(|id| Some((self.contract(&id)?, id)));
        all.filter(|(contract, _)| contract.mismatch()).map(|(one, id)| (id, one)).collect()
    }

    /// Approves what is live of these capabilities: as the registered version, and as the baseline
    /// in the ledger, with the name of who approves. What a signed contract pins stays pinned.
    ///
    /// # Errors
    /// [`KernelError`], when one is not registered, or it could not be recorded.
    pub async fn approve_contracts(
        &self,
        ids: &[CapabilityId],
        by: &str,
    ) -> Result<(), KernelError> {
        let live = ids.iter().map(|id| self.live(id)).collect::<Result<Vec<_>, _>>()?;
        self.approve(&live, None, by).await
    }

    /// Approves everything that is registered, in place of all that was approved before: what is
    /// registered later is new. Gives how many there are.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded.
    pub async fn snapshot_contracts(&self, by: &str) -> Result<usize, KernelError> {
        let all = self.registry.list_all();
        self.approve(&all, Some(KERNEL_SURFACE), by).await?;
        Ok(all.len())
    }

    fn live(&self, id: &CapabilityId) -> Result<Arc<RegisteredCapability>, KernelError> {
        self.registry.get(id).ok_or_else(|| KernelError::Stored {
            what: "an approval",
            problem: format!("capability `{id}` is not registered"),
        })
    }

    async fn approve(
        &self,
        entries: &[Arc<RegisteredCapability>],
        surface: Option<&str>,
        by: &str,
    ) -> Result<(), KernelError> {
        let (tenant, ledger) = (&self.settings.tenant, self.ledger.as_ref());
        let known = load(tenant, ledger);
        let tools: Vec<&Capability> = entries.iter().map(|entry| entry.capability()).collect();
        let approval = BaselineApproval { tenant, surface, by, at: self.now() };
        let batches = known.approve(&tools, approval).map_err(|error| KernelError::Stored {
            what: "an approval",
            problem: error.to_string(),
        })?;
        let mut committed = Ok(());
        for batch in batches {
            if committed.is_ok() {
                committed = self.ledger.commit(batch).await.map(drop);
            }
        }
        for tool in tools.iter().filter(|_| committed.is_ok()) {
            // One that changed meanwhile was not approved.
            let _ = self.registry.approve(tool.id(), tool.fingerprint());
        }
        // Some of the batches may be taken although a later one is refused.
        let fresh = load(tenant, ledger).without_contracts();
        match self.baselines.write() {
            Ok(mut slot) => *slot = fresh,
            Err(poisoned) => *poisoned.into_inner() = fresh,
        }
        Ok(committed?)
    }

    /// Compares what is live; `effective` is it with its signed contract.
    pub(crate) fn compare(
        &self,
        policy: &PolicySet,
        entry: &RegisteredCapability,
        effective: &Capability,
    ) -> ContractComparison {
        let older = |id: &CapabilityId| {
            // Rare, and only for telling what changed: the record is read again.
            load_one(self, id).map(|contract| *contract)
        };
        let known = self.baselines.read();
        let known = known.as_deref().map_err(|_| ());
        contract::compare(policy, known, entry, effective, &older)
    }
}

fn load_one(kernel: &Kernel, id: &CapabilityId) -> Option<Box<Capability>> {
    let key = contract::tool_key(&kernel.settings.tenant, id);
    let record = kernel.ledger.read(&key).ok()??;
    contract::read_baseline(id.as_str(), &record.value).ok()?.contract
}
