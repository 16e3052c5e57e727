//! Approvals given in advance.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::{Envelope, Kind, SignatureError, SigningKey};
use weaver_types::{Digest, LogId, PrincipalId, StandingId, Tenant, Timestamp};

use super::grantor::{Grantor, require_enough};
use super::person::{KeyOwner, is_requester, key_id, owner_of, require_valid_key};
use super::verified_signatures::VerifiedSignatures;
use super::{APPROVAL_VERSION, Nonce, ReceiptTime, Rejection, Release};
use crate::argument::ArgumentPredicate;
use crate::bounds::StandingBounds;
use crate::keys::Keys;
use crate::pattern::Pattern;
use crate::query::Query;
use crate::truth::Truth;

/// An approval for calls that have not been asked for yet. It releases what a rule or the floor
/// holds, never what flow, drift or a signal holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingApproval {
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

/// A standing approval with its signatures: the content of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedStandingApproval {
    /// The approval.
    pub standing: StandingApproval,
    /// Its signatures, 1 to 16.
    pub envelopes: Vec<Envelope>,
}

impl StandingApproval {
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
    fn covers_call(&self, query: &Query<'_>) -> Result<(), Rejection> {
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
        let truth = |p: &ArgumentPredicate| p.evaluate(query.arguments, query.origins);
        if !self.arguments.iter().all(|predicate| truth(predicate) == Truth::Yes) {
            return no("other arguments");
        }
        Ok(())
    }
}

impl StandingBounds {
    fn admit(&self, standing: &StandingApproval, now: Timestamp) -> Result<(), Rejection> {
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

/// A standing approval in force, with what was used of it. Store it as a record; take it from
/// there, count with [`StandingUse::consume`] and write it back in the batch of the intent, with
/// the old record as what is expected, so that no use is counted twice or lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingUse {
    v: u64,
    signed: SignedStandingApproval,
    used: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_by: Option<String>,
    /// Shared by all copies.
    #[serde(skip)]
    verified: VerifiedSignatures,
}

impl StandingUse {
    /// The standing approval.
    #[must_use]
    pub fn standing(&self) -> &StandingApproval {
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
        standing.covers_call(query)?;
        let requester = Some(&query.principal.id);
        let people = grantors(keys, &self.verified, &self.signed, query.now, requester)?;
        require_enough(&people, &bounds.authority)?;
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
    signed: &SignedStandingApproval,
    bounds: &StandingBounds,
    moment: ReceiptTime,
) -> Result<StandingUse, Rejection> {
    let standing = &signed.standing;
    if standing.v != APPROVAL_VERSION {
        return Err(Rejection::malformed("its version is not 1"));
    }
    if standing.log != *log {
        return Err(Rejection::WrongLog);
    }
    let verified = VerifiedSignatures::default();
    let people = grantors(keys, &verified, signed, moment.now, None)?;
    moment.admits(standing.opened_at, standing.opened_at, standing.expires)?;
    for envelope in &signed.envelopes {
        let at = Timestamp::from_micros(envelope.signed_at());
        moment.admits(at, standing.opened_at, standing.expires)?;
    }
    bounds.admit(standing, moment.now)?;
    require_enough(&people, &bounds.authority)?;
    let signed = signed.clone();
    Ok(StandingUse { v: APPROVAL_VERSION, signed, used: 0, revoked_by: None, verified })
}

/// The distinct people who signed, by name. One signature that does not hold refuses all of them.
fn grantors(
    keys: &Keys,
    verified: &VerifiedSignatures,
    signed: &SignedStandingApproval,
    now: Timestamp,
    requester: Option<&PrincipalId>,
) -> Result<Vec<Grantor>, Rejection> {
    let digest = signed.standing.signed_digest().map_err(Rejection::signature)?;
    let mut people = BTreeMap::new();
    if signed.envelopes.is_empty() {
        return Err(Rejection::Unsigned);
    }
    for envelope in &signed.envelopes {
        let KeyOwner { name, approver, key } = owner_of(keys, envelope.key())?;
        verified.check(envelope, digest, &key.key).map_err(Rejection::signature)?;
        require_valid_key(keys, key, Timestamp::from_micros(envelope.signed_at()), now)?;
        if !requester.is_some_and(|who| is_requester(name, Some(approver), who)) {
            people.insert(name, Grantor::new(name, approver));
        }
    }
    if people.is_empty() { Err(Rejection::Requester) } else { Ok(people.into_values().collect()) }
}
