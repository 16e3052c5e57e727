//! Administration: policy, keys, contracts, revocations, and signed files.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_policy::PolicySet;
use weaver_types::{CapabilityId, PrincipalId};

use crate::contract_check::ContractComparison;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::revocation::RevocationSubject;
use crate::signed_files::SignedFileOutcome;
use crate::token::KeyRing;

impl Kernel {
    /// Puts another policy in force. From now on tokens made under the old policy are refused, and
    /// so is a call that was decided under it and whose intent is not committed yet.
    /// Every open request is evaluated again: one that is still held with the same authority is
    /// superseded by a linked request, any other is closed.
    ///
    /// Before the call, the host commits [`PolicySet::high_water_batch`]. A request that cannot be ended
    /// now is handled by the next [`Kernel::sweep`]; until then it releases nothing.
    pub async fn replace_policy(&self, policy: Arc<PolicySet>) {
        self.decision_point.replace_policy(policy).await;
    }

    /// The token keys in force.
    #[must_use]
    pub fn keys(&self) -> Arc<KeyRing> {
        Arc::clone(&self.decision_point.key_ring())
    }

    /// Replaces the token keys, to rotate them or to drop retired ones. From now on, tokens of a
    /// key that is gone are refused.
    pub fn replace_keys(&self, keys: KeyRing) {
        self.decision_point.replace_keys(keys);
    }

    /// How a capability compares with its registered and approved versions; `None` when it is not
    /// registered or its contract cannot be applied.
    #[must_use]
    pub fn compare_contract(&self, id: &CapabilityId) -> Option<ContractComparison> {
        self.decision_point.compare_contract(id)
    }

    /// Every capability that differs from its registered or approved version, by id.
    #[must_use]
    pub fn contract_mismatches(&self) -> BTreeMap<CapabilityId, ContractComparison> {
        self.decision_point.contract_mismatches()
    }

    /// Approves the live versions of these capabilities: as the registered versions, and as
    /// baselines in the ledger under the approver's name. A version pinned by a signed contract
    /// stays pinned.
    ///
    /// # Errors
    /// [`KernelError`], when one is not registered, or it could not be recorded.
    pub async fn approve_contracts(
        &self,
        ids: &[CapabilityId],
        by: &str,
    ) -> Result<(), KernelError> {
        self.decision_point.approve_contracts(ids, by).await
    }

    /// Approves everything that is registered and replaces all earlier approvals; what is
    /// registered later counts as new. Returns how many capabilities were approved.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded.
    pub async fn snapshot_contracts(&self, by: &str) -> Result<usize, KernelError> {
        self.decision_point.snapshot_contracts(by).await
    }

    /// Receives a signed file: an approver's answer, a standing approval or an operator's
    /// statement. It is verified under the keys document in force and then recorded; it has no
    /// effect before that. A rejected file leaves an event, unless the same file was rejected
    /// before or there are too many; the next event counts the omitted ones.
    pub async fn receive_signed_file(&self, bytes: &[u8]) -> SignedFileOutcome {
        self.signed_files.receive(bytes).await
    }

    /// Voids everything granted so far to a token, principal or run: tokens and stored results. It
    /// survives restarts. What is asked for later is decided as ever; to stop somebody, change the
    /// policy.
    ///
    /// # Errors
    /// [`KernelError`], when it could not be recorded; it then holds until this process ends.
    pub async fn void_grants(
        &self,
        subject: RevocationSubject,
        by: &PrincipalId,
    ) -> Result<(), KernelError> {
        self.decision_point.revoke(&subject, by).await
    }
}
