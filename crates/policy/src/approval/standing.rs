//! Approvals given in advance.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::{Envelope, Kind, SignatureError, SigningKey};
use weaver_types::{
    Authority, Confidentiality, Digest, LogId, PrincipalId, StandingId, Tenant, Timestamp,
};

use super::person::{counts, is_requester, key_id, owner_of, quorum};
use super::proven::Proven;
use super::{APPROVAL_VERSION, Moment, Nonce, Rejection, Release, SignedStanding};
use crate::argument::ArgumentPredicate;
use crate::keys::{Approver, Keys};
use crate::query::Query;
use crate::rule::Pattern;
use crate::truth::Truth;

/// An approval for calls that have not been asked for yet. It releases what a rule or the floor
/// holds, never what flow, drift or a signal holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// The version of this form: 1.
    pub v: u64,
    /// Its name.
    pub id: StandingId,
    /// The log that it is for.
    pub log: LogId,
    /// Whose data it is about.
    #[serde(default)]
    pub tenant: Tenant,
    /// The capability's id fits one of these; at least one.
    pub capability: Vec<Pattern>,
    /// The principal's id fits one of these; at least one.
    pub principals: Vec<Pattern>,
    /// The agent's id fits one of these; empty says nothing about agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Pattern>,
    /// What must hold for the arguments, all of it; empty says nothing about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentPredicate>,
    /// From when on it releases nothing.
    pub expires: Timestamp,
    /// How many calls it releases, at least 1.
    pub uses: u32,
    /// When it was written.
    pub opened_at: Timestamp,
    /// Makes it unlike any other.
    pub nonce: Nonce,
}

impl Standing {
    /// What a signature of this covers.
    ///
    /// # Errors
    /// [`CanonicalError`], for a number that has no canonical form.
    pub fn signed_digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Kind::Standing.digest(&canonical::of(self, Profile::Foreign)?))
    }

    /// A signature of it. Everybody who is to agree signs the same standing approval.
    ///
    /// # Errors
    /// [`SignatureError`], for a number that has no canonical form.
    pub fn envelope(&self, key: &SigningKey, at: Timestamp) -> Result<Envelope, SignatureError> {
        Envelope::sign(Kind::Standing, self.signed_digest()?, key_id(key)?, key, at.micros())
    }

    /// Whether it speaks of this call.
    fn speaks_of(&self, query: &Query<'_>) -> Result<(), Rejection> {
        let no = |problem| Err(Rejection::NotCovered { problem });
        let agent = query.principal.agent.as_ref();
        let fits = |patterns: &[Pattern], name: &str| patterns.iter().any(|p| p.matches(name));
        if query.principal.tenant != self.tenant {
            return no("another tenant");
        }
        if !fits(&self.capability, query.capability.id().as_str()) {
            return no("another capability");
        }
        if !fits(&self.principals, query.principal.id.as_str()) {
            return no("another principal");
        }
        if !self.agents.is_empty() && !agent.is_some_and(|a| fits(&self.agents, a.as_str())) {
            return no("another agent");
        }
        let truth = |p: &ArgumentPredicate| p.truth(query.arguments, query.origins);
        if !self.arguments.iter().all(|predicate| truth(predicate) == Truth::Yes) {
            return no("other arguments");
        }
        Ok(())
    }
}

/// What the policy allows a standing approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingBounds {
    /// The most uses.
    pub max_uses: u32,
    /// The longest time from `opened_at` to `expires`, in seconds.
    pub max_lifetime_s: u64,
    /// Who must sign it, beside the authority that each held call asks for.
    #[serde(default)]
    pub authority: Authority,
}

impl Default for StandingBounds {
    /// 100 uses within 30 days, one person.
    fn default() -> Self {
        Self { max_uses: 100, max_lifetime_s: 2_592_000, authority: Authority::default() }
    }
}

impl StandingBounds {
    fn admit(&self, standing: &Standing, now: Timestamp) -> Result<(), Rejection> {
        let no = |problem| Err(Rejection::Bounds { problem });
        if standing.uses == 0 || standing.uses > self.max_uses {
            return no("its uses");
        }
        if standing.capability.is_empty() || standing.principals.is_empty() {
            return no("it names no capability or no principal");
        }
        if standing.expires <= standing.opened_at
            || standing.expires.since(standing.opened_at).as_micros()
                > u128::from(self.max_lifetime_s).saturating_mul(1_000_000)
        {
            return no("its lifetime");
        }
        if now >= standing.expires { Err(Rejection::TooLate) } else { Ok(()) }
    }
}

/// A person behind a standing approval, with the authority of this moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grantor {
    name: String,
    trust: u16,
    clearance: Confidentiality,
    scopes: BTreeSet<String>,
    roles: BTreeSet<String>,
}

impl Grantor {
    fn new(name: &str, approver: &Approver) -> Self {
        Self {
            name: name.to_owned(),
            trust: approver.trust,
            clearance: approver.clearance,
            scopes: approver.scopes.clone(),
            roles: approver.roles.clone(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether this person alone has what one of the people of `authority` must have.
    pub(super) fn has(&self, authority: &Authority) -> bool {
        authority.min_trust.is_none_or(|least| self.trust >= least)
            && authority.clearance.is_none_or(|least| self.clearance >= least)
            && authority.scopes.is_subset(&self.scopes)
            && authority.admits_roles(&self.roles)
    }
}

/// A standing approval in force, with what was used of it. Store it as a record; take it from
/// there, count with [`StandingUse::consume`] and write it back in the batch of the intent, with
/// the old record as what is expected, so that no use is counted twice or lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingUse {
    v: u64,
    signed: SignedStanding,
    used: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_by: Option<String>,
    /// Shared by all copies.
    #[serde(skip)]
    proven: Proven,
}

impl StandingUse {
    /// The standing approval.
    #[must_use]
    pub fn standing(&self) -> &Standing {
        &self.signed.standing
    }

    /// How often it was used.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.used
    }

    /// How many uses are left; none after it was revoked.
    #[must_use]
    pub fn left(&self) -> u32 {
        if self.revoked_by.is_some() { 0 } else { self.standing().uses.saturating_sub(self.used) }
    }

    /// Who revoked it.
    #[must_use]
    pub fn revoked_by(&self) -> Option<&str> {
        self.revoked_by.as_deref()
    }

    /// Takes it back for good; the first to do so stays named.
    pub fn revoke(&mut self, by: impl Into<String>) {
        self.revoked_by.get_or_insert_with(|| by.into());
    }

    /// Counts one use by this release.
    ///
    /// # Errors
    /// [`Rejection::NotCovered`], when the release is not its own; [`Rejection::Revoked`];
    /// [`Rejection::UsedUp`].
    pub fn consume(&mut self, release: &Release) -> Result<(), Rejection> {
        if release.standing_approval() != Some(&self.standing().id) {
            return Err(Rejection::NotCovered { problem: "another standing approval" });
        }
        self.usable()?;
        self.used = self.used.saturating_add(1);
        Ok(())
    }

    fn usable(&self) -> Result<(), Rejection> {
        if self.revoked_by.is_some() {
            return Err(Rejection::Revoked);
        }
        if self.left() == 0 { Err(Rejection::UsedUp) } else { Ok(()) }
    }

    /// The proof that it releases this call, at the time of the query. Every signature is held
    /// against the keys in force; the same one under the same key is verified once a process. A person who is the one who asks does not count.
    ///
    /// # Errors
    /// [`Rejection`]: it is used up, revoked, over, beyond the bounds, about other calls, or too
    /// few people of the authority count.
    pub fn release(
        &self,
        query: &Query<'_>,
        log: &LogId,
        keys: &Keys,
        bounds: &StandingBounds,
    ) -> Result<Release, Rejection> {
        let standing = self.standing();
        if self.v != APPROVAL_VERSION || standing.log != *log {
            return Err(Rejection::WrongLog);
        }
        self.usable()?;
        bounds.admit(standing, query.now)?;
        standing.speaks_of(query)?;
        let people =
            grantors((keys, &self.proven), &self.signed, query.now, Some(&query.principal.id))?;
        suffice(&people, bounds)?;
        Release::standing(standing.id.clone(), people, query, standing.expires)
    }
}

/// Verifies a standing approval for this log and puts it into force with all its uses left.
/// Whoever stores it must refuse an id that was stored before.
///
/// # Errors
/// [`Rejection`], the first that applies. Whatever it is, nothing came into force.
pub fn verify_standing(
    keys: &Keys,
    log: &LogId,
    signed: &SignedStanding,
    bounds: &StandingBounds,
    moment: Moment,
) -> Result<StandingUse, Rejection> {
    let standing = &signed.standing;
    if standing.v != APPROVAL_VERSION {
        return Err(Rejection::malformed("its version is not 1"));
    }
    if standing.log != *log {
        return Err(Rejection::WrongLog);
    }
    let proven = Proven::default();
    let people = grantors((keys, &proven), signed, moment.now, None)?;
    moment.admits(standing.opened_at, standing.opened_at, standing.expires)?;
    for envelope in &signed.envelopes {
        let at = Timestamp::from_micros(envelope.signed_at());
        moment.admits(at, standing.opened_at, standing.expires)?;
    }
    bounds.admit(standing, moment.now)?;
    suffice(&people, bounds)?;
    let signed = signed.clone();
    Ok(StandingUse { v: APPROVAL_VERSION, signed, used: 0, revoked_by: None, proven })
}

/// The distinct people who signed, by name. One signature that does not hold refuses all of them.
fn grantors(
    (keys, proven): (&Keys, &Proven),
    signed: &SignedStanding,
    now: Timestamp,
    requester: Option<&PrincipalId>,
) -> Result<Vec<Grantor>, Rejection> {
    let digest = signed.standing.signed_digest().map_err(Rejection::signature)?;
    let mut people = BTreeMap::new();
    if signed.envelopes.is_empty() {
        return Err(Rejection::Unsigned);
    }
    for envelope in &signed.envelopes {
        let (name, approver, key) = owner_of(keys, envelope.key())?;
        proven.check(envelope, digest, &key.key).map_err(Rejection::signature)?;
        counts(keys, key, Timestamp::from_micros(envelope.signed_at()), now)?;
        if !requester.is_some_and(|who| is_requester(name, Some(approver), who)) {
            people.insert(name, Grantor::new(name, approver));
        }
    }
    if people.is_empty() { Err(Rejection::Requester) } else { Ok(people.into_values().collect()) }
}

/// Whether enough of these people have the authority that the bounds ask for.
fn suffice(people: &[Grantor], bounds: &StandingBounds) -> Result<(), Rejection> {
    let need = quorum(&bounds.authority);
    let have = people.iter().filter(|grantor| grantor.has(&bounds.authority)).count();
    if have >= need {
        return Ok(());
    }
    if people.len() < need {
        return Err(Rejection::Quorum { have, need });
    }
    let lacks = |test: fn(&Grantor, &Authority) -> bool| {
        people.iter().filter(|g| test(g, &bounds.authority)).count() < need
    };
    if lacks(|g, a| a.min_trust.is_none_or(|least| g.trust >= least)) {
        Err(Rejection::Trust)
    } else if lacks(|g, a| a.clearance.is_none_or(|least| g.clearance >= least)) {
        Err(Rejection::Clearance)
    } else if lacks(|g, a| a.scopes.is_subset(&g.scopes)) {
        Err(Rejection::Scope)
    } else if lacks(|g, a| a.admits_roles(&g.roles)) {
        Err(Rejection::role(&bounds.authority))
    } else {
        Err(Rejection::Quorum { have, need })
    }
}
