//! Standing approvals: approvals signed in advance.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::{DocumentKind, Envelope, SignatureError, SigningKey};
use weaver_types::{Digest, KeyId, LogId, PrincipalId, StandingApprovalId, Tenant, Timestamp};

use super::approver_checks::{KeyOwner, find_key_owner, is_requester, key_id, require_valid_key};
use super::grantor::{Grantor, require_quorum};
use super::signature_cache::SignatureCache;
use super::{APPROVAL_VERSION, Nonce, ReceiptTime, Rejection, ReleaseProof};
use crate::argument::ArgumentPredicate;
use crate::keys::Keys;
use crate::pattern::Pattern;
use crate::policy_settings::StandingApprovalBounds;
use crate::query::PolicyQuery;
use crate::truth::Truth;

/// An approval for calls that have not been requested yet. It releases holds of rules and of the
/// floor, but never holds of information flow, drift or signals: those depend on what happened in
/// the run, which nobody can judge in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingApproval {
    /// The format version: 1.
    pub v: u64,
    /// The id of the standing approval.
    pub id: StandingApprovalId,
    /// The log that it is valid for.
    pub log: LogId,
    /// The tenant whose data it is about.
    #[serde(default)]
    pub tenant: Tenant,
    /// The capability's id must match one of these; at least one pattern.
    pub capability: Vec<Pattern>,
    /// The principal's id must match one of these; at least one pattern.
    pub principals: Vec<Pattern>,
    /// The agent's id must match one of these; if empty, any agent or none is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Pattern>,
    /// Conditions on the arguments, all of which must hold; if empty, any arguments are accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentPredicate>,
    /// The folders in which the call may work, where the folder decides what its arguments mean. Empty for calls
    /// that work in no folder of their client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// The time from which it releases nothing.
    pub expires: Timestamp,
    /// How many calls it releases; at least 1.
    pub uses: u32,
    /// When it was written.
    pub opened_at: Timestamp,
    /// Makes this standing approval unique.
    pub nonce: Nonce,
}

/// A standing approval with its signatures: the content of a signed file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedStandingApproval {
    /// The approval.
    pub standing: StandingApproval,
    /// Its signatures, 1 to 16.
    pub envelopes: Vec<Envelope>,
}

impl StandingApproval {
    /// The digest that every signature covers.
    ///
    /// # Errors
    /// [`CanonicalError`], for a number that has no canonical form.
    pub fn signed_digest(&self) -> Result<Digest, CanonicalError> {
        Ok(DocumentKind::Standing.digest(&canonical::serialize(self, Profile::Foreign)?))
    }

    /// Signs it. Everybody who must agree signs the same standing approval.
    ///
    /// # Errors
    /// [`SignatureError`], for a number that has no canonical form.
    pub fn envelope(&self, key: &SigningKey, at: Timestamp) -> Result<Envelope, SignatureError> {
        Envelope::sign(
            DocumentKind::Standing,
            self.signed_digest()?,
            key_id(key)?,
            key,
            at.micros(),
        )
    }

    /// Checks that it covers this call. Arguments that are unknown are not covered.
    fn check_covers(&self, query: &PolicyQuery<'_>) -> Result<(), Rejection> {
        let reject = |problem| Err(Rejection::NotCovered { problem });
        let agent = query.principal.agent.as_ref();
        let fits = |patterns: &[Pattern], name: &str| patterns.iter().any(|p| p.matches(name));
        if query.principal.tenant != self.tenant {
            return reject("another tenant");
        }
        if !fits(&self.capability, query.capability.id().as_str()) {
            return reject("another capability");
        }
        if !fits(&self.principals, query.principal.id.as_str()) {
            return reject("another principal");
        }
        if !self.agents.is_empty() && !agent.is_some_and(|a| fits(&self.agents, a.as_str())) {
            return reject("another agent");
        }
        let in_folder = match query.folder {
            Some(folder) => self.folders.iter().any(|named| named == folder),
            None => self.folders.is_empty(),
        };
        if !in_folder {
            return reject("another folder");
        }
        let truth = |p: &ArgumentPredicate| p.evaluate(query.arguments, query.origins);
        if !self.arguments.iter().all(|predicate| truth(predicate) == Truth::Yes) {
            return reject("other arguments");
        }
        Ok(())
    }
}

impl StandingApprovalBounds {
    fn check(&self, standing: &StandingApproval, now: Timestamp) -> Result<(), Rejection> {
        let reject = |problem| Err(Rejection::Bounds { problem });
        if standing.uses == 0 || standing.uses > self.max_uses {
            return reject("its uses");
        }
        if standing.capability.is_empty() || standing.principals.is_empty() {
            return reject("it names no capability or no principal");
        }
        if standing.expires <= standing.opened_at
            || standing.expires.since(standing.opened_at).as_micros()
                > u128::from(self.max_lifetime_s).saturating_mul(1_000_000)
        {
            return reject("its lifetime");
        }
        if now >= standing.expires { Err(Rejection::TooLate) } else { Ok(()) }
    }
}

/// A verified standing approval with the number of its uses. Store it as a record. For each call,
/// read the record, count with [`StandingApprovalState::consume`], and write it back in the same
/// batch as the intent, with the old record as the expected version (compare and swap), so that no
/// use is counted twice or lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingApprovalState {
    v: u64,
    signed: SignedStandingApproval,
    used: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_by: Option<String>,
    /// A cache, shared by all copies.
    #[serde(skip)]
    verified: SignatureCache,
}

impl StandingApprovalState {
    /// The standing approval.
    #[must_use]
    pub fn standing_approval(&self) -> &StandingApproval {
        &self.signed.standing
    }

    /// How often it has been used.
    #[must_use]
    pub fn use_count(&self) -> u32 {
        self.used
    }

    /// How many uses are left; none once it is revoked.
    #[must_use]
    pub fn uses_left(&self) -> u32 {
        if self.revoked_by.is_some() {
            0
        } else {
            self.standing_approval().uses.saturating_sub(self.used)
        }
    }

    /// Who revoked it.
    #[must_use]
    pub fn revoked_by(&self) -> Option<&str> {
        self.revoked_by.as_deref()
    }

    /// Revokes it permanently. The first person to revoke it stays on record.
    pub fn revoke(&mut self, by: impl Into<String>) {
        self.revoked_by.get_or_insert_with(|| by.into());
    }

    /// Counts one use, for this release.
    ///
    /// # Errors
    /// [`Rejection::NotCovered`], when the release is not its own; [`Rejection::Revoked`];
    /// [`Rejection::UsedUp`].
    pub fn consume(&mut self, release: &ReleaseProof) -> Result<(), Rejection> {
        if release.standing_approval_id() != Some(&self.standing_approval().id) {
            return Err(Rejection::NotCovered { problem: "another standing approval" });
        }
        self.check_usable()?;
        self.used = self.used.saturating_add(1);
        Ok(())
    }

    fn check_usable(&self) -> Result<(), Rejection> {
        if self.revoked_by.is_some() {
            return Err(Rejection::Revoked);
        }
        if self.uses_left() == 0 { Err(Rejection::UsedUp) } else { Ok(()) }
    }

    /// The keys that signed it, in their order.
    pub fn signing_keys(&self) -> impl Iterator<Item = &KeyId> {
        self.signed.envelopes.iter().map(Envelope::key)
    }

    /// Why its signatures release no call of this principal; without one, no call of anybody.
    /// Nothing else of it is checked: see [`StandingApprovalState::release`].
    ///
    /// # Errors
    /// [`Rejection`]: a key is unknown or not valid, or too few of its signers, besides the
    /// requester, have the required authority.
    pub fn check_signers(
        &self,
        keys: &Keys,
        bounds: &StandingApprovalBounds,
        requester: Option<&PrincipalId>,
        now: Timestamp,
    ) -> Result<(), Rejection> {
        let people = verify_grantors(keys, &self.verified, &self.signed, now, requester)?;
        require_quorum(&people, &bounds.authority)
    }

    /// Releases this call, at the time of the query. Every signature is checked again under the
    /// keys in force, so a key or a bound that changed since takes effect at once. The signature
    /// arithmetic itself is cached per process. A signer who is the requester does not count.
    ///
    /// # Errors
    /// [`Rejection`]: it is used up, revoked, expired or outside the bounds, it covers other calls,
    /// or too few of its signers have the required authority.
    pub fn release(
        &self,
        query: &PolicyQuery<'_>,
        log: &LogId,
        keys: &Keys,
        bounds: &StandingApprovalBounds,
    ) -> Result<ReleaseProof, Rejection> {
        let standing = self.standing_approval();
        if self.v != APPROVAL_VERSION || standing.log != *log {
            return Err(Rejection::WrongLog);
        }
        self.check_usable()?;
        bounds.check(standing, query.now)?;
        standing.check_covers(query)?;
        let requester = Some(&query.principal.id);
        let people = verify_grantors(keys, &self.verified, &self.signed, query.now, requester)?;
        require_quorum(&people, &bounds.authority)?;
        ReleaseProof::from_standing_approval(standing.id.clone(), people, query, standing.expires)
    }
}

/// Verifies a standing approval for this log and activates it with all of its uses left. The caller
/// must refuse an id that was stored before, or the uses would start again.
///
/// # Errors
/// [`Rejection`], the first that applies. In every case, nothing was activated.
pub fn verify_standing_approval(
    keys: &Keys,
    log: &LogId,
    signed: &SignedStandingApproval,
    bounds: &StandingApprovalBounds,
    received: ReceiptTime,
) -> Result<StandingApprovalState, Rejection> {
    let standing = &signed.standing;
    if standing.v != APPROVAL_VERSION {
        return Err(Rejection::malformed("its version is not 1"));
    }
    if standing.log != *log {
        return Err(Rejection::WrongLog);
    }
    let verified = SignatureCache::default();
    let people = verify_grantors(keys, &verified, signed, received.now, None)?;
    received.check_date(standing.opened_at, standing.opened_at, standing.expires)?;
    for envelope in &signed.envelopes {
        let at = Timestamp::from_micros(envelope.signed_at());
        received.check_date(at, standing.opened_at, standing.expires)?;
    }
    bounds.check(standing, received.now)?;
    require_quorum(&people, &bounds.authority)?;
    let signed = signed.clone();
    Ok(StandingApprovalState { v: APPROVAL_VERSION, signed, used: 0, revoked_by: None, verified })
}

/// Verifies all signatures and returns the distinct signers, by name. One invalid signature rejects
/// the whole file.
fn verify_grantors(
    keys: &Keys,
    verified: &SignatureCache,
    signed: &SignedStandingApproval,
    now: Timestamp,
    requester: Option<&PrincipalId>,
) -> Result<Vec<Grantor>, Rejection> {
    let digest = signed.standing.signed_digest().map_err(Rejection::invalid_signature)?;
    let mut people = BTreeMap::new();
    if signed.envelopes.is_empty() {
        return Err(Rejection::Unsigned);
    }
    for envelope in &signed.envelopes {
        let KeyOwner { name, approver, key } = find_key_owner(keys, envelope.key())?;
        verified.verify(envelope, digest, &key.key).map_err(Rejection::invalid_signature)?;
        require_valid_key(keys, key, Timestamp::from_micros(envelope.signed_at()), now)?;
        if !requester.is_some_and(|who| is_requester(name, Some(approver), who)) {
            people.insert(name, Grantor::new(name, approver));
        }
    }
    if people.is_empty() { Err(Rejection::Requester) } else { Ok(people.into_values().collect()) }
}
