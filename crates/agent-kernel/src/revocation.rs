//! Revocations: everything granted before a moment to a principal, a run or a token is void.

use std::collections::BTreeMap;
use std::sync::RwLock;

use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace, Put, RecordKey};
use weaver_types::{PrincipalId, RunId, Tenant, Timestamp, TokenId};

use crate::error::KernelError;

/// What is revoked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RevocationSubject {
    /// One token.
    Token(TokenId),
    /// All that a principal was granted so far.
    Principal(PrincipalId),
    /// All that was granted in a run so far.
    Run(RunId),
}

impl RevocationSubject {
    pub(crate) fn record_id(&self) -> String {
        match self {
            Self::Token(id) => format!("token:{id}"),
            Self::Principal(id) => format!("principal:{id}"),
            Self::Run(id) => format!("run:{id}"),
        }
    }
}

/// What a grant belongs to, for the question whether it was revoked.
pub(crate) struct Granted<'a> {
    pub(crate) principal: &'a PrincipalId,
    pub(crate) run: &'a RunId,
    pub(crate) token: Option<&'a TokenId>,
    pub(crate) at: Timestamp,
}

/// The revocations in force, in memory, read once from the ledger.
pub(crate) struct Revocations(RwLock<BTreeMap<String, Timestamp>>);

impl Revocations {
    pub(crate) fn load(tenant: &Tenant, ledger: &dyn Ledger) -> Result<Self, KernelError> {
        let mut all = BTreeMap::new();
        let mut after: Option<String> = None;
        loop {
            let page = ledger.list(tenant, Namespace::Revocation, after.as_deref(), MAX_PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (id, record) in page {
                let at = std::str::from_utf8(&record.value)
                    .ok()
                    .and_then(|t| t.parse::<i64>().ok())
                    .ok_or_else(|| KernelError::Stored {
                        what: "a revocation",
                        problem: format!("`{id}` holds no time"),
                    })?;
                all.insert(id, Timestamp::from_micros(at));
            }
        }
        Ok(Self(RwLock::new(all)))
    }

    /// True when the grant is void. An unusable table voids every grant.
    pub(crate) fn covers(&self, grant: &Granted<'_>) -> bool {
        let Ok(all) = self.0.read() else { return true };
        if all.is_empty() {
            return false;
        }
        // A token is void for good; a principal and a run only up to the moment.
        let token = grant.token.map(|token| RevocationSubject::Token(token.clone()));
        let principal = RevocationSubject::Principal(grant.principal.clone());
        let run = RevocationSubject::Run(grant.run.clone());
        token.is_some_and(|token| all.contains_key(&token.record_id()))
            || [principal, run]
                .iter()
                .any(|subject| all.get(&subject.record_id()).is_some_and(|at| grant.at <= *at))
    }

    pub(crate) fn insert(&self, subject: &RevocationSubject, at: Timestamp) {
        if let Ok(mut all) = self.0.write() {
            all.insert(subject.record_id(), at);
        }
    }
}

/// The ledger's record of a revocation.
pub(crate) fn put(tenant: &Tenant, subject: &RevocationSubject, at: Timestamp) -> Put {
    Put {
        key: RecordKey::new(tenant.clone(), Namespace::Revocation, subject.record_id()),
        value: at.micros().to_string().into_bytes(),
        expires_at: None,
    }
}
