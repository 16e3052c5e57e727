//! Revocations: everything granted before a moment to a principal, a run or a token is void.
//!
//! A revocation is one entry, whatever was granted before it; a grant is looked up by its token,
//! its principal and its run. An entry is forgotten when nothing it could void can be alive any
//! more. When more are in force than the table holds, they give way to one that voids everything
//! granted so far: too much is void then, never too little.

use std::collections::{HashMap, VecDeque};
use std::sync::RwLock;
use std::time::Duration;

use serde::Deserialize;
use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace, Put, RecordKey, StoredEvent};
use weaver_types::{PrincipalId, RunId, Tenant, Timestamp, TokenId};

use crate::error::KernelError;

/// How many revocations are held at once.
const MAX_REVOKED: usize = 65_536;
/// How long a revocation is kept beyond that: for requests for approvals, and for a clock that was
/// set back.
const MARGIN: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The record that voids everything granted so far.
const ALL: &str = "all";

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

    fn of_record(id: &str) -> Option<Self> {
        match id.split_once(':')? {
            ("token", id) => TokenId::parse(id).ok().map(Self::Token),
            ("principal", id) => PrincipalId::parse(id).ok().map(Self::Principal),
            ("run", id) => RunId::parse(id).ok().map(Self::Run),
            _ => None,
        }
    }
}

/// A revocation as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedRevocation {
    at: Timestamp,
    /// Whose; `None` where the log does not say it, so that it may be anybody's.
    tenant: Option<Tenant>,
    /// What was revoked; `None` where the log does not say it any more, so that it may be anything.
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
        Self { at, tenant, subject: RevocationSubject::of_record(&subject) }
    }
}

/// What a grant belongs to, for the question whether it was revoked.
pub(crate) struct RevocationScope<'a> {
    pub(crate) principal: &'a PrincipalId,
    pub(crate) run: &'a RunId,
    pub(crate) token: Option<&'a TokenId>,
    pub(crate) at: Timestamp,
}

/// How long what can be revoked lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RevocableLifetimes {
    /// The longest life of what is granted from now on.
    pub(crate) longest: Duration,
    /// When the last of what was granted before this start ends.
    pub(crate) until: Timestamp,
}

impl RevocableLifetimes {
    /// When nothing that was granted up to now is alive any more.
    fn end(&self, now: Timestamp) -> Timestamp {
        now.after(self.longest.saturating_add(MARGIN)).max(self.until)
    }
}

/// The revocations in force, in memory, read once from the ledger.
pub(crate) struct Revocations {
    table: RwLock<Table>,
    lives: RevocableLifetimes,
    limit: usize,
}

#[derive(Debug, Default)]
struct Table {
    tokens: HashMap<TokenId, Timestamp>,
    principals: HashMap<PrincipalId, Timestamp>,
    runs: HashMap<RunId, Timestamp>,
    /// Everything granted up to then is void.
    all: Option<Timestamp>,
    /// By their end, which never comes earlier for a later one.
    ends: VecDeque<(Timestamp, Timestamp, RevocationSubject)>,
}

impl Table {
    fn insert(&mut self, subject: RevocationSubject, at: Timestamp, end: Timestamp) {
        self.ends.push_back((end, at, subject.clone()));
        match subject {
            RevocationSubject::Token(id) => self.tokens.insert(id, at),
            RevocationSubject::Principal(id) => self.principals.insert(id, at),
            RevocationSubject::Run(id) => self.runs.insert(id, at),
        };
    }

    /// Forgets what has ended.
    fn sweep(&mut self, now: Timestamp) {
        while self.ends.front().is_some_and(|(end, ..)| *end < now) {
            let Some((_, at, subject)) = self.ends.pop_front() else { return };
            match subject {
                RevocationSubject::Token(id) => forget(&mut self.tokens, &id, at),
                RevocationSubject::Principal(id) => forget(&mut self.principals, &id, at),
                RevocationSubject::Run(id) => forget(&mut self.runs, &id, at),
            }
        }
    }

    /// Takes in revocations, in the order of their times.
    fn fill(
        &mut self,
        sorted: Vec<(Timestamp, RevocationSubject)>,
        lives: RevocableLifetimes,
        limit: usize,
    ) {
        for (at, subject) in sorted {
            self.insert(subject, at, lives.end(at));
            if self.ends.len() > limit {
                self.collapse(at);
            }
        }
    }

    /// Puts one for all in the place of all that are held.
    fn collapse(&mut self, at: Timestamp) {
        *self = Self { all: self.all.max(Some(at)), ..Self::default() };
    }
}

/// An entry that was made anew since stays.
fn forget<K: Eq + std::hash::Hash>(of: &mut HashMap<K, Timestamp>, id: &K, at: Timestamp) {
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
        let mut found = Vec::new();
        let mut table = Table::default();
        let mut after: Option<String> = None;
        loop {
            let page = ledger.list(tenant, Namespace::Revocation, after.as_deref(), MAX_PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (id, record) in page {
                let at = std::str::from_utf8(&record.value).ok().and_then(|t| t.parse().ok());
                let at = at.map(Timestamp::from_micros);
                match (RevocationSubject::of_record(&id), at) {
                    (Some(subject), Some(at)) => found.push((at, subject)),
                    (None, Some(at)) if id == ALL => table.all = Some(at),
                    _ => return Err(unreadable(&id)),
                }
            }
        }
        found.sort();
        table.fill(found, lives, MAX_REVOKED);
        Ok(Self { table: RwLock::new(table), lives, limit: MAX_REVOKED })
    }

    /// Takes in what the log tells of: a record that somebody removed voids all the same.
    pub(crate) fn restore(&self, tenant: &Tenant, logged: Vec<LoggedRevocation>) {
        let Ok(mut table) = self.table.write() else { return };
        let known = std::mem::take(&mut *table);
        let mut all: Vec<(Timestamp, RevocationSubject)> =
            known.ends.into_iter().map(|(_, at, subject)| (at, subject)).collect();
        table.all = known.all;
        let own = |one: &LoggedRevocation| one.tenant.as_ref().is_none_or(|of| of == tenant);
        for LoggedRevocation { at, subject, .. } in logged.into_iter().filter(own) {
            match subject {
                Some(subject) => all.push((at, subject)),
                None => table.all = table.all.max(Some(at)),
            }
        }
        all.sort();
        all.dedup();
        table.fill(all, self.lives, self.limit);
    }

    /// True when the grant is void. An unusable table voids every grant.
    pub(crate) fn covers(&self, grant: &RevocationScope<'_>) -> bool {
        let Ok(table) = self.table.read() else { return true };
        // A token is void for good; a principal and a run only up to the moment.
        let up_to = |at: Option<&Timestamp>| at.is_some_and(|at| grant.at <= *at);
        grant.token.is_some_and(|token| table.tokens.contains_key(token))
            || up_to(table.principals.get(grant.principal))
            || up_to(table.runs.get(grant.run))
            || up_to(table.all.as_ref())
    }

    /// Revokes from here on, and gives the ledger's record of it.
    pub(crate) fn revoke(
        &self,
        tenant: &Tenant,
        subject: &RevocationSubject,
        at: Timestamp,
    ) -> Put {
        let (end, mut id) = (self.lives.end(at), subject.record_id());
        if let Ok(mut table) = self.table.write() {
            table.sweep(at);
            table.insert(subject.clone(), at, end);
            if table.ends.len() > self.limit {
                table.collapse(at);
                ALL.clone_into(&mut id);
            }
        }
        Put {
            key: RecordKey::new(tenant.clone(), Namespace::Revocation, id),
            value: at.micros().to_string().into_bytes(),
            expires_at: Some(end),
        }
    }
}

fn unreadable(id: &str) -> KernelError {
    let problem = format!("`{id}` is no revocation, or holds no time");
    KernelError::Stored { what: "a revocation", problem }
}

#[cfg(test)]
mod tests;
