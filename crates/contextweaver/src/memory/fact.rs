//! Facts: claims under a key, which may contradict one another until somebody resolves the dispute.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::{Label, Timestamp};

use super::bounds::{MAX_CLAIMS, MAX_SOURCE_BYTES, check_key, check_size, printable};
use super::entry::{EntryKind, MemoryEntry, Tier};
use super::error::MemoryError;
use super::memory_record::{MemoryRecord, StoredClaim, Supersession};
use super::put::PutOptions;
use super::tier::{Access, EntryPage, Memory};

/// One claim about a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The number of the claim within the fact, from 1.
    pub number: u32,
    /// The value, with source, confidence and label.
    pub entry: MemoryEntry,
    /// Which claim superseded this one, if any.
    pub superseded: Option<Supersession>,
}

/// All claims about one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The key of the fact.
    pub key: String,
    /// The claims, oldest first, including superseded ones.
    pub claims: Vec<Claim>,
}

impl Fact {
    /// The claims that are not superseded, oldest first.
    pub fn current_claims(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.superseded.is_none())
    }

    /// Whether the current claims have different values.
    #[must_use]
    pub fn is_contradicted(&self) -> bool {
        let mut current = self.current_claims().map(|claim| &claim.entry.value);
        let first = current.next();
        current.any(|value| Some(value) != first)
    }

    /// The value, if all current claims agree.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        if self.is_contradicted() {
            return None;
        }
        self.current_claims().next().map(|claim| &claim.entry.value)
    }

    /// The join of the labels of the current claims.
    #[must_use]
    pub fn label(&self) -> Label {
        self.current_claims().fold(Label::clean(), |label, claim| label.join(&claim.entry.label))
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

/// Facts in the durable tier. A new claim of a source replaces its earlier one. Contradicting claims
/// of several sources are kept side by side until [`FactStore::resolve`] selects one; the others are
/// then kept as superseded.
///
/// ```
/// use std::sync::Arc;
/// use contextweaver::memory::{BundleParts, FactStore, MemoryBundle, PutOptions};
/// use serde_json::json;
/// use contextweaver::types::SystemClock;
///
/// let memory = MemoryBundle::create(BundleParts::new(Arc::new(SystemClock::default())));
/// let facts = FactStore::new(&memory.durable);
/// facts.add_claim("user_timezone", json!("UTC"), &PutOptions::new("profile"))?;
/// let other = facts.add_claim("user_timezone", json!("CET"), &PutOptions::new("mail of 3 May"))?;
///
/// let fact = facts.get("user_timezone")?.unwrap();
/// assert!(fact.is_contradicted() && fact.value().is_none());
/// facts.resolve("user_timezone", other, "the user confirmed it")?;
/// assert_eq!(facts.get("user_timezone")?.unwrap().value(), Some(&json!("CET")));
/// # Ok::<(), contextweaver::memory::MemoryError>(())
/// ```
#[derive(Clone)]
pub struct FactStore(Memory);

weaver_types::opaque_debug!(FactStore);

impl FactStore {
    /// The facts of a tier.
    #[must_use]
    pub fn new(memory: &Memory) -> Self {
        Self(memory.clone())
    }

    /// Adds a claim and returns its number. If the same source has claimed the same value before,
    /// that claim is renewed under the join of both labels. A different value from the same source
    /// supersedes its earlier claim, unless that one has higher integrity: an untrusted claim must not
    /// replace a trusted one by using the same source name. A different value from another source
    /// makes the fact disputed.
    ///
    /// # Errors
    /// [`MemoryError`]; [`MemoryError::Claims`] if there are [`MAX_CLAIMS`] current claims already.
    pub fn add_claim(&self, key: &str, value: Value, put: &PutOptions) -> Result<u32, MemoryError> {
        let put = self.0.with_defaults(put);
        self.0.store.limits.check_put(key, &value, &put)?;
        let now = self.0.store.now()?.expiry;
        let claim = StoredClaim::new(1, value, &put, now);
        self.0.audit(Access::Put, &claim.clone().entry(self.0.tier(), EntryKind::Fact, key))?;
        self.0.store.change(EntryKind::Fact, key, |stored, now| {
            let claims = stored.map(|stored| stored.claims).unwrap_or_default();
            let claim = StoredClaim { created_at: now, ..claim.clone() };
            let (claims, number) = insert_claim(key, claims, claim)?;
            Ok((Some(MemoryRecord::new(EntryKind::Fact, key, claims)), number))
        })
    }

    /// The fact under a key, with all its claims.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be read or the audit hook refuses the access.
    pub fn get(&self, key: &str) -> Result<Option<Fact>, MemoryError> {
        check_key(key)?;
        let stored = self.0.store.read(EntryKind::Fact, key)?;
        let fact = stored.map(|stored| Fact::of(stored, self.0.tier()));
        for claim in fact.iter().flat_map(Fact::current_claims) {
            self.0.audit(Access::Get, &claim.entry)?;
        }
        Ok(fact)
    }

    /// Resolves a dispute: the claim `keep` supersedes every other current claim.
    ///
    /// # Errors
    /// [`MemoryError::NoClaim`] if there is no current claim with that number.
    pub fn resolve(&self, key: &str, keep: u32, why: &str) -> Result<(), MemoryError> {
        check_key(key)?;
        check_size("reason", key, why.len(), MAX_SOURCE_BYTES)?;
        self.0.store.change(EntryKind::Fact, key, |stored, now| {
            let no_claim = || MemoryError::NoClaim { key: printable(key), number: keep };
            let mut stored = stored.ok_or_else(no_claim)?;
            let is_current =
                |claim: &StoredClaim| claim.number == keep && claim.superseded.is_none();
            if !stored.claims.iter().any(is_current) {
                return Err(no_claim());
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

    /// Removes a fact with all its claims. Returns whether there was one.
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be written.
    pub fn forget(&self, key: &str) -> Result<bool, MemoryError> {
        self.0.remove(EntryKind::Fact, key)
    }

    /// A page of facts with keys after `after`: at most `limit` and [`MAX_PAGE`](super::MAX_PAGE).
    ///
    /// # Errors
    /// [`MemoryError`] if the store cannot be read.
    pub fn list(&self, after: Option<&str>, limit: usize) -> Result<EntryPage<Fact>, MemoryError> {
        let limit = limit.min(super::MAX_PAGE);
        let (found, next) = self.0.store.list(EntryKind::Fact, after, limit)?;
        let items = found.into_iter().map(|stored| Fact::of(stored, self.0.tier())).collect();
        Ok(EntryPage { items, next })
    }
}

/// Adds a claim to the list and returns its number.
fn insert_claim(
    key: &str,
    mut claims: Vec<StoredClaim>,
    claim: StoredClaim,
) -> Result<(Vec<StoredClaim>, u32), MemoryError> {
    let is_repetition = |old: &&mut StoredClaim| {
        old.superseded.is_none() && old.value == claim.value && old.source == claim.source
    };
    if let Some(old) = claims.iter_mut().find(is_repetition) {
        let (number, label) = (old.number, old.label.clone().join(&claim.label));
        *old = StoredClaim { number, label, ..claim };
        return Ok((claims, number));
    }
    if claims.len() >= MAX_CLAIMS {
        // The claim that was superseded longest ago is discarded; current claims never are.
        let oldest = claims.iter().position(|claim| claim.superseded.is_some());
        let Some(oldest) = oldest else {
            return Err(MemoryError::Claims { key: printable(key), max: MAX_CLAIMS });
        };
        claims.remove(oldest);
    }
    let numbers: BTreeSet<u32> = claims.iter().map(|claim| claim.number).collect();
    let superseding = claims.iter().filter_map(|c| c.superseded.as_ref()).map(|s| s.by);
    let last = superseding.chain(numbers).max().unwrap_or(0);
    let number = last.saturating_add(1);
    for old in claims.iter_mut().filter(|old| old.superseded.is_none() && supersedes(&claim, old)) {
        let why = "its source says otherwise now".to_owned();
        old.superseded = Some(Supersession { by: number, at: claim.created_at, why });
    }
    claims.push(StoredClaim { number, ..claim });
    Ok((claims, number))
}

/// Whether a claim supersedes an earlier one: it has the same source and at least its integrity.
fn supersedes(claim: &StoredClaim, old: &StoredClaim) -> bool {
    claim.source == old.source && claim.label.integrity <= old.label.integrity
}

/// When the newest current claim was written.
pub(super) fn newest_claim_time(fact: &Fact) -> Timestamp {
    fact.current_claims().map(|claim| claim.entry.created_at).max().unwrap_or_default()
}
