//! Facts: statements under a key, of which several may contradict each other until somebody says
//! which one stands.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::{Label, Timestamp};

use super::bounds::{MAX_CLAIMS, MAX_SOURCE, bounded, check_key, shown};
use super::entry::{EntryKind, MemoryEntry, Tier};
use super::error::MemoryError;
use super::memory_record::{MemoryRecord, StoredClaim, Supersession};
use super::put::PutOptions;
use super::tier::{Access, EntryPage, Memory};

/// One statement about a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its number within the fact, from 1.
    pub number: u32,
    /// What it says, with source, confidence and label.
    pub entry: MemoryEntry,
    /// Which claim took its place, where one did.
    pub superseded: Option<Supersession>,
}

/// All that is said about one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Its key.
    pub key: String,
    /// The claims, oldest first, with those that were superseded.
    pub claims: Vec<Claim>,
}

impl Fact {
    /// The claims that stand, oldest first.
    pub fn standing(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.superseded.is_none())
    }

    /// Whether claims that stand say different things.
    #[must_use]
    pub fn is_contradicted(&self) -> bool {
        let mut standing = self.standing().map(|claim| &claim.entry.value);
        let first = standing.next();
        standing.any(|value| Some(value) != first)
    }

    /// What it says, where all claims that stand agree.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        if self.is_contradicted() {
            return None;
        }
        self.standing().next().map(|claim| &claim.entry.value)
    }

    /// The labels of the claims that stand, joined.
    #[must_use]
    pub fn label(&self) -> Label {
        self.standing().fold(Label::clean(), |label, claim| label.join(&claim.entry.label))
    }

    pub(super) fn of(stored: MemoryRecord, tier: Tier) -> Self {
        let MemoryRecord { kind, key, claims, .. } = stored;
        let claims = claims.into_iter().map(|mut claim| {
            let (number, superseded) = (claim.number, claim.superseded.take());
            Claim { number, entry: claim.entry(tier, kind, &key), superseded }
        });
        let claims = claims.collect();
        Self { key, claims }
    }
}

/// Facts in the durable tier. What a source says anew replaces what it said before. Statements of
/// several sources that contradict each other stand side by side, each with its source, until [`FactStore::resolve`] says which one counts; the others are kept as
/// superseded.
///
/// ```
/// use std::sync::Arc;
/// use contextweaver::memory::{BundleParts, FactStore, MemoryBundle, PutOptions};
/// use serde_json::json;
/// use contextweaver::types::SystemClock;
///
/// let memory = MemoryBundle::create(BundleParts::new(Arc::new(SystemClock::default())));
/// let facts = FactStore::new(&memory.durable);
/// facts.state("user_timezone", json!("UTC"), &PutOptions::new("profile"))?;
/// let other = facts.state("user_timezone", json!("CET"), &PutOptions::new("mail of 3 May"))?;
///
/// let fact = facts.get("user_timezone")?.unwrap();
/// assert!(fact.is_contradicted() && fact.value().is_none());
/// facts.resolve("user_timezone", other, "the user confirmed it")?;
/// assert_eq!(facts.get("user_timezone")?.unwrap().value(), Some(&json!("CET")));
/// # Ok::<(), contextweaver::memory::MemoryError>(())
/// ```
#[derive(Clone)]
pub struct FactStore(Memory);

impl FactStore {
    /// The facts of a tier.
    #[must_use]
    pub fn new(memory: &Memory) -> Self {
        Self(memory.clone())
    }

    /// States a fact and gives the number of the claim. What the same source has said before in the
    /// same words is renewed, under the stricter of both labels. What it says otherwise now takes the
    /// place of what it said before, unless that is better trusted: nobody replaces a trusted claim by
    /// an untrusted one under the same name. What another source says stands beside it, disputed.
    ///
    /// # Errors
    /// [`MemoryError`]; [`MemoryError::Claims`] when [`MAX_CLAIMS`] stand already.
    pub fn state(&self, key: &str, value: Value, put: &PutOptions) -> Result<u32, MemoryError> {
        let put = self.0.complete(put);
        self.0.records.limits.check(key, &value, &put)?;
        let now = self.0.records.now()?.expiry;
        let claim = StoredClaim::new(1, value, &put, now);
        self.0.tell(Access::Put, &claim.clone().entry(self.0.tier(), EntryKind::Fact, key))?;
        self.0.records.change(EntryKind::Fact, key, |stored, now| {
            let claims = stored.map(|stored| stored.claims).unwrap_or_default();
            let claim = StoredClaim { created_at: now, ..claim.clone() };
            let (claims, number) = with_claim(key, claims, claim)?;
            Ok((Some(MemoryRecord::new(EntryKind::Fact, key, claims)), number))
        })
    }

    /// All that is said about a key.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be read or the log does not take it.
    pub fn get(&self, key: &str) -> Result<Option<Fact>, MemoryError> {
        check_key(key)?;
        let stored = self.0.records.read(EntryKind::Fact, key)?;
        let fact = stored.map(|stored| Fact::of(stored, self.0.tier()));
        for claim in fact.iter().flat_map(Fact::standing) {
            self.0.tell(Access::Get, &claim.entry)?;
        }
        Ok(fact)
    }

    /// Says that of all claims this one stands: every other one is superseded by it.
    ///
    /// # Errors
    /// [`MemoryError::NoClaim`], when there is none of that number that stands.
    pub fn resolve(&self, key: &str, keep: u32, why: &str) -> Result<(), MemoryError> {
        check_key(key)?;
        bounded("reason", key, why.len(), MAX_SOURCE)?;
        self.0.records.change(EntryKind::Fact, key, |stored, now| {
            let none = || MemoryError::NoClaim { key: shown(key), number: keep };
            let mut stored = stored.ok_or_else(none)?;
            let stands = |claim: &StoredClaim| claim.number == keep && claim.superseded.is_none();
            if !stored.claims.iter().any(stands) {
                return Err(none());
            }
            for claim in &mut stored.claims {
                if claim.number != keep && claim.superseded.is_none() {
                    let (by, at, why) = (keep, now, why.to_owned());
                    claim.superseded = Some(Supersession { by, at, why });
                }
            }
            Ok((Some(stored), ()))
        })
    }

    /// Forgets a fact with all its claims. True when there was one.
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be written.
    pub fn forget(&self, key: &str) -> Result<bool, MemoryError> {
        self.0.remove(EntryKind::Fact, key)
    }

    /// Facts after `after`, at most `limit` and [`MAX_PAGE`](super::MAX_PAGE).
    ///
    /// # Errors
    /// [`MemoryError`], when the store cannot be read.
    pub fn list(&self, after: Option<&str>, limit: usize) -> Result<EntryPage<Fact>, MemoryError> {
        let limit = limit.min(super::MAX_PAGE);
        let (found, next) = self.0.records.list(EntryKind::Fact, after, limit)?;
        let items = found.into_iter().map(|stored| Fact::of(stored, self.0.tier())).collect();
        Ok(EntryPage { items, next })
    }
}

/// The claims with one more, and its number.
fn with_claim(
    key: &str,
    mut claims: Vec<StoredClaim>,
    claim: StoredClaim,
) -> Result<(Vec<StoredClaim>, u32), MemoryError> {
    let same = |old: &&mut StoredClaim| {
        old.superseded.is_none() && old.value == claim.value && old.source == claim.source
    };
    if let Some(old) = claims.iter_mut().find(same) {
        let (number, label) = (old.number, old.label.clone().join(&claim.label));
        *old = StoredClaim { number, label, ..claim };
        return Ok((claims, number));
    }
    if claims.len() >= MAX_CLAIMS {
        // What was superseded longest ago gives way; what stands does not.
        let oldest = claims.iter().position(|claim| claim.superseded.is_some());
        let Some(oldest) = oldest else {
            return Err(MemoryError::Claims { key: shown(key), max: MAX_CLAIMS });
        };
        claims.remove(oldest);
    }
    let taken: BTreeSet<u32> = claims.iter().map(|claim| claim.number).collect();
    let superseding = claims.iter().filter_map(|c| c.superseded.as_ref()).map(|s| s.by);
    let last = superseding.chain(taken).max().unwrap_or(0);
    let number = last.saturating_add(1);
    for old in claims.iter_mut().filter(|old| old.superseded.is_none() && replaces(&claim, old)) {
        let why = "its source says otherwise now".to_owned();
        old.superseded = Some(Supersession { by: number, at: claim.created_at, why });
    }
    claims.push(StoredClaim { number, ..claim });
    Ok((claims, number))
}

/// Whether a claim takes the place of one that its source made before.
fn replaces(claim: &StoredClaim, old: &StoredClaim) -> bool {
    claim.source == old.source && claim.label.integrity <= old.label.integrity
}

/// When the newest claim that stands was written.
pub(super) fn newest(fact: &Fact) -> Timestamp {
    fact.standing().map(|claim| claim.entry.created_at).max().unwrap_or_default()
}
