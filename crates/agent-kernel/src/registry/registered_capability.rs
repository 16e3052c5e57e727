//! One registered capability: its driver, its schemas, and its first version.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use serde_json::Value;
use weaver_policy::{ContractError, PolicySet};
use weaver_types::{Capability, Digest};

use super::search::BagOfWords;
use super::state_changes::StateChanges;
use super::suspicion::suspicions;
use crate::driver::Driver;
use crate::error::RegistryError;
use crate::schema_check::SchemaCheck;

/// A registered capability.
pub struct RegisteredCapability {
    pub(crate) capability: Arc<Capability>,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) arguments: SchemaCheck,
    pub(crate) results: SchemaCheck,
    /// Where its results come from: the server of its driver, or the namespace of its id if the
    /// driver has no server.
    pub(crate) origin: Arc<str>,
    /// The capability with its signed contract, for the contracts document used last.
    effective: Mutex<Option<(Digest, Arc<Capability>)>>,
    /// The version that was registered first under its id.
    first_version: RwLock<Arc<Capability>>,
    /// Whether it appeared after the first listing of its namespace, and was not approved since.
    is_late: AtomicBool,
    /// The suspicious passages in its server's description.
    suspicions: BTreeSet<String>,
    /// What its calls change although it reads.
    state_changes: OnceLock<StateChanges>,
    /// Its words, for a search.
    bag: OnceLock<BagOfWords>,
}

impl RegisteredCapability {
    pub(super) fn new(
        capability: Capability,
        driver: Arc<dyn Driver>,
    ) -> Result<Self, RegistryError> {
        let capability = Arc::new(capability);
        let arguments = SchemaCheck::of_arguments(&capability)?;
        let results = SchemaCheck::of_results(&capability)?;
        let (effective, bag) = (Mutex::new(None), OnceLock::new());
        let first = RwLock::new(Arc::clone(&capability));
        let origin = origin_of(capability.id().as_str(), driver.name());
        let (late, suspicions) = (AtomicBool::new(false), suspicions(&capability));
        Ok(Self {
            capability,
            driver,
            arguments,
            results,
            origin,
            effective,
            first_version: first,
            is_late: late,
            suspicions,
            state_changes: OnceLock::new(),
            bag,
        })
    }

    /// Whether a call with these arguments changes what later calls work on, although it reads.
    pub(crate) fn changes_state(&self, arguments: &Value) -> bool {
        let changes = self.state_changes.get_or_init(|| StateChanges::of(&self.capability));
        changes.are_made_with(arguments)
    }

    pub(super) fn bag_of_words(&self) -> &BagOfWords {
        self.bag.get_or_init(|| BagOfWords::new(&self.capability))
    }

    /// The capability with its signed contract applied; computed once for each contracts document.
    ///
    /// # Errors
    /// [`ContractError`]; the capability must then not be offered.
    pub fn effective(&self, policy: &PolicySet) -> Result<Arc<Capability>, ContractError> {
        let contracts = policy.basis().contracts;
        let Ok(mut cached) = self.effective.lock() else {
            return policy.apply_contract(&self.capability).map(Arc::new);
        };
        if let Some((of, capability)) = cached.as_ref()
            && *of == contracts
        {
            return Ok(Arc::clone(capability));
        }
        let capability = Arc::new(policy.apply_contract(&self.capability)?);
        *cached = Some((contracts, Arc::clone(&capability)));
        Ok(capability)
    }

    /// The live version of the capability, before the signed contracts are applied to it.
    #[must_use]
    pub fn capability(&self) -> &Capability {
        &self.capability
    }

    /// The version that was registered first under this id, or approved since. Every call is
    /// compared with it.
    #[must_use]
    pub fn registered(&self) -> Arc<Capability> {
        Arc::clone(&self.first_version())
    }

    /// The first version, borrowed under its lock.
    pub(crate) fn first_version(&self) -> RwLockReadGuard<'_, Arc<Capability>> {
        self.first_version.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The suspicious passages in its server's description, each as `kind in place`.
    pub(crate) fn suspicions(&self) -> &BTreeSet<String> {
        &self.suspicions
    }

    /// True when it appeared after the first listing of its namespace, and was not approved since.
    pub(crate) fn is_late(&self) -> bool {
        self.is_late.load(Ordering::Acquire)
    }

    pub(super) fn set_late(&self, late: bool) {
        self.is_late.store(late, Ordering::Release);
    }

    pub(super) fn set_registered(&self, first: Arc<Capability>) {
        match self.first_version.write() {
            Ok(mut slot) => *slot = first,
            Err(poisoned) => *poisoned.into_inner() = first,
        }
    }

    /// The fingerprint at registration.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        self.first_version().fingerprint()
    }
}

fn origin_of(id: &str, driver: &str) -> Arc<str> {
    match driver.contains(':') {
        true => Arc::from(driver),
        false => Arc::from(format!("{driver}:{}", id.split('.').next().unwrap_or(id))),
    }
}
