//! Keys and the people who hold them.

use weaver_types::signature::{PublicKey, SignatureError, SigningKey};
use weaver_types::{Authority, KeyId, PrincipalId, Timestamp};

use super::{ApprovalRequest, Rejection};
use crate::keys::{Approver, ApproverKey, Keys};

/// The id under which a person signs: the text of the public key.
pub(super) fn key_id(key: &SigningKey) -> Result<KeyId, SignatureError> {
    KeyId::parse(key.public().to_string()).map_err(|_| SignatureError::Key)
}

/// The person of that name.
pub(super) fn approver_named<'k>(keys: &'k Keys, name: &str) -> Result<&'k Approver, Rejection> {
    keys.approvers.get(name).ok_or_else(|| Rejection::unknown_approver(name))
}

/// The key of this person that an envelope names.
pub(super) fn approver_key<'k>(
    approver: &'k Approver,
    id: &KeyId,
) -> Result<&'k ApproverKey, Rejection> {
    let key = id.as_str().parse::<PublicKey>().map_err(|_| Rejection::WrongKey)?;
    approver.keys.values().find(|own| own.key == key).ok_or(Rejection::WrongKey)
}

/// A key with the person who holds it.
pub(super) struct KeyOwner<'k> {
    pub(super) name: &'k str,
    pub(super) approver: &'k Approver,
    pub(super) key: &'k ApproverKey,
}

/// The person who holds the key that an envelope names.
pub(super) fn owner_of<'k>(keys: &'k Keys, id: &KeyId) -> Result<KeyOwner<'k>, Rejection> {
    let unknown = || Rejection::unknown_approver(id.as_str());
    let key = id.as_str().parse::<PublicKey>().map_err(|_| unknown())?;
    keys.approvers
        .iter()
        .find_map(|(name, approver)| {
            let key = approver.keys.values().find(|own| own.key == key)?;
            Some(KeyOwner { name, approver, key })
        })
        .ok_or_else(unknown)
}

/// Whether the key counted when it signed and counts now, under keys that are in force.
pub(super) fn require_valid_key(
    keys: &Keys,
    key: &ApproverKey,
    signed_at: Timestamp,
    now: Timestamp,
) -> Result<(), Rejection> {
    let in_force = keys.expires.is_none_or(|end| now < end);
    if in_force && key.counts_at(signed_at) && key.counts_at(now) {
        Ok(())
    } else {
        Err(Rejection::KeyVoid)
    }
}

impl Approver {
    /// Whether the answer of this person, who has this name, to a request would count, as far as it is
    /// known before it is signed.
    ///
    /// # Errors
    /// [`Rejection`], saying why it would not.
    pub fn may_answer(
        &self,
        name: &str,
        request: &ApprovalRequest,
        now: Timestamp,
    ) -> Result<(), Rejection> {
        if !self.keys.values().any(|key| key.counts_at(now)) {
            return Err(Rejection::KeyVoid);
        }
        require_authority(self, &request.authority)?;
        match is_requester(name, Some(self), &request.principal) {
            true => Err(Rejection::Requester),
            false => Ok(()),
        }
    }
}

/// Whether this person alone has what one of the people of `authority` must have.
pub(super) fn require_authority(
    approver: &Approver,
    authority: &Authority,
) -> Result<(), Rejection> {
    if authority.min_trust.is_some_and(|least| approver.trust < least) {
        return Err(Rejection::Trust);
    }
    if authority.clearance.is_some_and(|least| approver.clearance < least) {
        return Err(Rejection::Clearance);
    }
    if !authority.scopes.is_subset(&approver.scopes) {
        return Err(Rejection::Scope);
    }
    if !authority.admits_roles(&approver.roles) {
        return Err(Rejection::role(authority));
    }
    Ok(())
}

/// Whether the person of this name is the one who asks.
pub(super) fn is_requester(
    name: &str,
    approver: Option<&Approver>,
    principal: &PrincipalId,
) -> bool {
    name == principal.as_str() || approver.is_some_and(|a| a.principals.contains(principal))
}

/// How many people an authority asks for.
pub(super) fn quorum(authority: &Authority) -> usize {
    usize::from(authority.quorum.max(1))
}
