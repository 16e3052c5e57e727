//! Revocations: everything granted before a moment to a principal, a run or a token is void.
//!
//! A revocation is one entry, whatever was granted before it; a grant is looked up by its token,
//! its principal and its run. An entry is forgotten when nothing it could void can be alive any
//! more. When more are in force than the table holds, they give way to one that voids everything
//! granted so far: too much is void then, never too little.

use std::collections::{HashMap, VecDeque};
use std::sync::RwLock;
use std::time::Duration;

use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace, Put, RecordKey};
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
        for (at, subject) in found {
            table.insert(subject, at, lives.end(at));
            if table.ends.len() > MAX_REVOKED {
                table.collapse(at);
            }
        }
        Ok(Self { table: RwLock::new(table), lives, limit: MAX_REVOKED })
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
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3_600);

    fn table(limit: usize) -> Revocations {
        let lives = RevocableLifetimes { longest: DAY, until: Timestamp::from_micros(0) };
        Revocations { table: RwLock::default(), lives, limit }
    }

    fn covers(revoked: &Revocations, n: u32, at: Timestamp) -> bool {
        let run = RunId::parse("run_1").unwrap();
        let token = TokenId::parse(format!("tok_{n}")).unwrap();
        let principal = PrincipalId::parse(format!("p{n}")).unwrap();
        revoked.covers(&RevocationScope {
            principal: &principal,
            run: &run,
            token: Some(&token),
            at,
        })
    }

    fn token(n: u32) -> RevocationSubject {
        RevocationSubject::Token(TokenId::parse(format!("tok_{n}")).unwrap())
    }

    fn revoke(revoked: &Revocations, subject: &RevocationSubject, at: Timestamp) -> Put {
        revoked.revoke(&Tenant::default(), subject, at)
    }

    #[test]
    fn what_has_ended_is_forgotten_and_what_was_renewed_is_not() {
        let (revoked, start) = (table(8), Timestamp::from_micros(1_000));
        let principal = RevocationSubject::Principal(PrincipalId::parse("p2").unwrap());
        revoke(&revoked, &token(1), start);
        revoke(&revoked, &principal, start);
        let later = start.after(DAY * 20);
        revoke(&revoked, &principal, later);
        let end = start.after(DAY * 32);
        revoke(&revoked, &token(3), end);
        assert!(!covers(&revoked, 1, start), "its token ended long ago");
        assert!(covers(&revoked, 2, later), "revoked again after that");
        assert_eq!(revoked.table.read().unwrap().ends.len(), 2);
        revoke(&revoked, &token(4), end.after(DAY * 32));
        let held = revoked.table.read().unwrap();
        assert_eq!((held.tokens.len(), held.principals.len(), held.ends.len()), (1, 0, 1));
    }

    #[test]
    fn a_full_table_voids_everything_granted_so_far() {
        let (revoked, start) = (table(8), Timestamp::from_micros(1_000));
        let puts: Vec<Put> = (0..9).map(|n| revoke(&revoked, &token(n), start)).collect();
        assert_eq!(&*puts[7].key.id, "token:tok_7");
        assert_eq!(&*puts[8].key.id, ALL);
        for n in 0..20 {
            assert!(covers(&revoked, n, start), "{n}");
        }
        assert!(!covers(&revoked, 20, Timestamp::from_micros(1_001)));
        assert!(revoked.table.read().unwrap().ends.is_empty());
    }

    #[test]
    fn a_revocation_outlives_whatever_it_voids() {
        let mut revoked = table(8);
        let now = Timestamp::from_micros(1_000);
        revoked.lives.longest = DAY * 90;
        assert_eq!(revoke(&revoked, &token(1), now).expires_at, Some(now.after(DAY * 120)));
        revoked.lives.until = now.after(DAY * 400);
        assert_eq!(revoke(&revoked, &token(1), now).expires_at, Some(now.after(DAY * 400)));
    }

    fn load(records: &[(&str, &str)]) -> Result<Revocations, KernelError> {
        use weaver_types::ledger::{Batch, Durability};
        let random = std::sync::Arc::new(weaver_types::SeededRandom::new(1));
        let ledger = weaver_trace_store::MemoryLedger::fresh(random).unwrap();
        let mut batch = Batch::new(Durability::Os);
        for (id, value) in records {
            let key = RecordKey::new(Tenant::default(), Namespace::Revocation, *id);
            batch.put.push(Put { key, value: value.as_bytes().to_vec(), expires_at: None });
        }
        ledger.commit(batch).wait().unwrap();
        let lives = RevocableLifetimes { longest: DAY, until: Timestamp::from_micros(0) };
        Revocations::load(&Tenant::default(), &ledger, lives)
    }

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn what_was_revoked_is_revoked_after_a_restart() {
        let revoked = load(&[("token:tok_1", "7"), ("principal:p2", "8"), ("run:run_9", "9")]);
        let revoked = revoked.unwrap();
        assert!(covers(&revoked, 1, at(99)), "a token for good");
        assert!(covers(&revoked, 2, at(8)) && !covers(&revoked, 2, at(9)));
        assert!(!covers(&revoked, 3, at(1)));
        let run = load(&[("run:run_1", "9")]).unwrap();
        assert!(covers(&run, 3, at(9)) && !covers(&run, 3, at(10)));
        let all = load(&[("all", "5"), ("token:tok_1", "7")]).unwrap();
        assert!(covers(&all, 3, at(5)) && !covers(&all, 3, at(6)));
        assert!(covers(&all, 1, at(6)));
    }

    #[test]
    fn a_record_that_is_no_revocation_is_an_error() {
        for (id, value) in [
            ("everything", "7"),
            ("tool:x", "7"),
            ("token:tok_1", "soon"),
            ("all", "soon"),
            ("token:", "7"),
        ] {
            let error = load(&[("token:tok_9", "1"), (id, value)]).err().unwrap().to_string();
            assert!(
                error.contains(&format!("`{id}` is no revocation, or holds no time")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_revocation_covers_what_it_names_and_nothing_beside() {
        let revoked = table(8);
        let start = at(1_000);
        revoke(&revoked, &RevocationSubject::Principal(PrincipalId::parse("p1").unwrap()), start);
        assert!(covers(&revoked, 1, start) && !covers(&revoked, 1, at(1_001)));
        assert!(!covers(&revoked, 2, start));
        let put = revoke(&revoked, &RevocationSubject::Run(RunId::parse("run_1").unwrap()), start);
        assert_eq!((&*put.key.id, put.value.as_slice()), ("run:run_1", b"1000".as_slice()));
        assert!(covers(&revoked, 2, start) && !covers(&revoked, 2, at(1_001)));
    }

    #[test]
    fn what_ends_now_is_still_kept() {
        let (revoked, start) = (table(8), at(1_000));
        revoke(&revoked, &token(1), start);
        let end = start.after(DAY * 31);
        revoke(&revoked, &token(2), end);
        assert!(covers(&revoked, 1, start));
        revoke(&revoked, &token(3), end.after(Duration::from_micros(1)));
        assert!(!covers(&revoked, 1, start));
    }
}
