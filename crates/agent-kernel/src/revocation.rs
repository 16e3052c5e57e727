//! Revocations: everything that a principal or a run was granted before a moment is void, and so is
//! a revoked token.
//!
//! A revocation is a single entry, however much was granted before it; a grant is checked by its
//! token, principal and run. An entry is dropped when nothing it could void can still be valid.
//! When there are more revocations than the table may hold, they are replaced by one that voids
//! everything granted so far: too much is void then, never too little.

use std::collections::{HashMap, VecDeque};
use std::sync::RwLock;
use std::time::Duration;

use serde::Deserialize;
use weaver_types::ledger::{Ledger, Namespace, RecordKey, RecordWrite, StoredEvent};
use weaver_types::{PrincipalId, RunId, Tenant, Timestamp, TokenId};

use crate::error::KernelError;

/// How many revocations are kept at once.
const MAX_REVOCATIONS: usize = 65_536;
/// How much longer than any grant a revocation is kept: for approval requests, and for a clock that
/// was set back.
const RETENTION_MARGIN: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The id of the record that voids everything granted so far.
const REVOKE_ALL_RECORD: &str = "all";

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

    fn parse_record_id(id: &str) -> Option<Self> {
        match id.split_once(':')? {
            ("token", id) => TokenId::parse(id).ok().map(Self::Token),
            ("principal", id) => PrincipalId::parse(id).ok().map(Self::Principal),
            ("run", id) => RunId::parse(id).ok().map(Self::Run),
            _ => None,
        }
    }
}

/// A revocation from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedRevocation {
    at: Timestamp,
    /// Its tenant; `None` if the log does not say, so that it may be any tenant's.
    tenant: Option<Tenant>,
    /// What was revoked; `None` if the log no longer says, so that it may be anything.
    subject: Option<RevocationSubject>,
}

impl LoggedRevocation {
    /// Reads the event of a revocation.
    pub(crate) fn read(event: &StoredEvent, at: Timestamp) -> Self {
        #[derive(Deserialize)]
        struct Payload {
            #[serde(default)]
            tenant: Option<Tenant>,
            subject: String,
        }
        let payload = event.payload.as_deref();
        let read = payload.and_then(|bytes| serde_json::from_slice::<Payload>(bytes).ok());
        let Some(Payload { tenant, subject }) = read else {
            return Self { at, tenant: None, subject: None };
        };
        Self { at, tenant, subject: RevocationSubject::parse_record_id(&subject) }
    }
}

/// What a grant belongs to, to check whether it was revoked.
pub(crate) struct GrantScope<'a> {
    pub(crate) principal: &'a PrincipalId,
    pub(crate) run: &'a RunId,
    pub(crate) token: Option<&'a TokenId>,
    pub(crate) at: Timestamp,
}

/// How long grants can be valid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RevocableLifetimes {
    /// The longest lifetime of a grant from now on.
    pub(crate) max_lifetime: Duration,
    /// When the last grant from before this start expires.
    pub(crate) last_expiry: Timestamp,
}

impl RevocableLifetimes {
    /// When everything granted up to now has expired.
    fn expiry_of_grants(&self, now: Timestamp) -> Timestamp {
        now.after(self.max_lifetime.saturating_add(RETENTION_MARGIN)).max(self.last_expiry)
    }
}

/// The revocations in force, in memory, loaded once from the ledger.
pub(crate) struct Revocations {
    table: RwLock<RevocationTable>,
    lifetimes: RevocableLifetimes,
    limit: usize,
}

#[derive(Debug, Default)]
struct RevocationTable {
    tokens: HashMap<TokenId, Timestamp>,
    principals: HashMap<PrincipalId, Timestamp>,
    runs: HashMap<RunId, Timestamp>,
    /// Everything granted up to this time is void.
    revoked_up_to: Option<Timestamp>,
    /// The revocations in the order of their expiry, which is also that of their times.
    by_expiry: VecDeque<(Timestamp, Timestamp, RevocationSubject)>,
}

impl RevocationTable {
    fn insert(&mut self, subject: RevocationSubject, at: Timestamp, end: Timestamp) {
        self.by_expiry.push_back((end, at, subject.clone()));
        match subject {
            RevocationSubject::Token(id) => self.tokens.insert(id, at),
            RevocationSubject::Principal(id) => self.principals.insert(id, at),
            RevocationSubject::Run(id) => self.runs.insert(id, at),
        };
    }

    /// Removes expired revocations.
    fn remove_expired(&mut self, now: Timestamp) {
        while self.by_expiry.front().is_some_and(|(end, ..)| *end < now) {
            let Some((_, at, subject)) = self.by_expiry.pop_front() else { return };
            match subject {
                RevocationSubject::Token(id) => remove_if_unchanged(&mut self.tokens, &id, at),
                RevocationSubject::Principal(id) => {
                    remove_if_unchanged(&mut self.principals, &id, at)
                }
                RevocationSubject::Run(id) => remove_if_unchanged(&mut self.runs, &id, at),
            }
        }
    }

    /// Inserts revocations, in the order of their times.
    fn insert_all(
        &mut self,
        sorted: Vec<(Timestamp, RevocationSubject)>,
        lives: RevocableLifetimes,
        limit: usize,
    ) {
        for (at, subject) in sorted {
            self.insert(subject, at, lives.expiry_of_grants(at));
            if self.by_expiry.len() > limit {
                self.collapse_into_one(at);
            }
        }
    }

    /// Replaces all revocations by one for everything.
    fn collapse_into_one(&mut self, at: Timestamp) {
        *self = Self { revoked_up_to: self.revoked_up_to.max(Some(at)), ..Self::default() };
    }
}

/// Removes an entry, unless it was renewed since.
fn remove_if_unchanged<K: Eq + std::hash::Hash>(
    of: &mut HashMap<K, Timestamp>,
    id: &K,
    at: Timestamp,
) {
    if of.get(id) == Some(&at) {
        of.remove(id);
    }
}

impl Revocations {
    pub(crate) fn load(
        tenant: &Tenant,
        ledger: &dyn Ledger,
        lives: RevocableLifetimes,
    ) -> Result<Self, KernelError> {
        let mut stored = Vec::new();
        let mut table = RevocationTable::default();
        for found in ledger.all_records(tenant, Namespace::Revocation) {
            let (id, record) = found?;
            let at = std::str::from_utf8(&record.value).ok().and_then(|t| t.parse().ok());
            let at = at.map(Timestamp::from_micros);
            match (RevocationSubject::parse_record_id(&id), at) {
                (Some(subject), Some(at)) => stored.push((at, subject)),
                (None, Some(at)) if id == REVOKE_ALL_RECORD => table.revoked_up_to = Some(at),
                _ => return Err(unreadable_revocation(&id)),
            }
        }
        stored.sort();
        table.insert_all(stored, lives, MAX_REVOCATIONS);
        Ok(Self { table: RwLock::new(table), lifetimes: lives, limit: MAX_REVOCATIONS })
    }

    /// Adds the revocations from the log, so that a removed record still has its effect.
    pub(crate) fn add_logged(&self, tenant: &Tenant, logged: Vec<LoggedRevocation>) {
        let Ok(mut table) = self.table.write() else { return };
        let previous = std::mem::take(&mut *table);
        let mut all: Vec<(Timestamp, RevocationSubject)> =
            previous.by_expiry.into_iter().map(|(_, at, subject)| (at, subject)).collect();
        table.revoked_up_to = previous.revoked_up_to;
        let is_own = |one: &LoggedRevocation| one.tenant.as_ref().is_none_or(|of| of == tenant);
        for LoggedRevocation { at, subject, .. } in logged.into_iter().filter(is_own) {
            match subject {
                Some(subject) => all.push((at, subject)),
                None => table.revoked_up_to = table.revoked_up_to.max(Some(at)),
            }
        }
        all.sort();
        all.dedup();
        table.insert_all(all, self.lifetimes, self.limit);
    }

    /// True when the grant is void. A poisoned table voids every grant.
    pub(crate) fn is_revoked(&self, grant: &GrantScope<'_>) -> bool {
        let Ok(table) = self.table.read() else { return true };
        // A token is void for good; for a principal or a run only earlier grants are void.
        let up_to = |at: Option<&Timestamp>| at.is_some_and(|at| grant.at <= *at);
        grant.token.is_some_and(|token| table.tokens.contains_key(token))
            || up_to(table.principals.get(grant.principal))
            || up_to(table.runs.get(grant.run))
            || up_to(table.revoked_up_to.as_ref())
    }

    /// Revokes from now on, and returns the record for the ledger.
    pub(crate) fn revoke(
        &self,
        tenant: &Tenant,
        subject: &RevocationSubject,
        at: Timestamp,
    ) -> RecordWrite {
        let (end, mut id) = (self.lifetimes.expiry_of_grants(at), subject.record_id());
        if let Ok(mut table) = self.table.write() {
            table.remove_expired(at);
            table.insert(subject.clone(), at, end);
            if table.by_expiry.len() > self.limit {
                table.collapse_into_one(at);
                REVOKE_ALL_RECORD.clone_into(&mut id);
            }
        }
        RecordWrite {
            key: RecordKey::new(tenant.clone(), Namespace::Revocation, id),
            value: at.micros().to_string().into_bytes(),
            expires_at: Some(end),
        }
    }
}

fn unreadable_revocation(id: &str) -> KernelError {
    let problem = format!("`{id}` is not a revocation, or has no time");
    KernelError::StoredRecord { what: "a revocation", problem }
}

#[cfg(test)]
mod tests;
