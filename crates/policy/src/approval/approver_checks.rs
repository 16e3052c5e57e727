//! Finds approvers and their keys, and checks their validity and authority.

use weaver_types::signature::{PublicKey, SignatureError, SigningKey};
use weaver_types::{ApprovalAuthority, KeyId, PrincipalId, Timestamp};

use super::{ApprovalRequest, Rejection};
use crate::keys::{Approver, Keys, TimedKey};

/// The key id that a person signs with: the text of the public key.
pub(super) fn key_id(key: &SigningKey) -> Result<KeyId, SignatureError> {
    KeyId::parse(key.public().to_string()).map_err(|_| SignatureError::Key)
}

/// Finds the approver with this name.
pub(super) fn find_approver<'k>(keys: &'k Keys, name: &str) -> Result<&'k Approver, Rejection> {
    keys.approvers.get(name).ok_or_else(|| Rejection::unknown_approver(name))
}

/// Finds the approver's key that an envelope names.
pub(super) fn find_approver_key<'k>(
    approver: &'k Approver,
    id: &KeyId,
) -> Result<&'k TimedKey, Rejection> {
    let key = id.as_str().parse::<PublicKey>().map_err(|_| Rejection::WrongKey)?;
    approver.keys.values().find(|candidate| candidate.key == key).ok_or(Rejection::WrongKey)
}

/// A key with the approver who owns it.
pub(super) struct KeyOwner<'k> {
    pub(super) name: &'k str,
    pub(super) approver: &'k Approver,
    pub(super) key: &'k TimedKey,
}

/// Finds the approver who owns the key that an envelope names.
pub(super) fn find_key_owner<'k>(keys: &'k Keys, id: &KeyId) -> Result<KeyOwner<'k>, Rejection> {
    let unknown = || Rejection::unknown_approver(id.as_str());
    let key = id.as_str().parse::<PublicKey>().map_err(|_| unknown())?;
    keys.approvers
        .iter()
        .find_map(|(name, approver)| {
            let key = approver.keys.values().find(|candidate| candidate.key == key)?;
            Some(KeyOwner { name, approver, key })
        })
        .ok_or_else(unknown)
}

impl Keys {
    /// The name of the approver who owns this key.
    #[must_use]
    pub fn approver_of(&self, key: &KeyId) -> Option<&str> {
        find_key_owner(self, key).ok().map(|owner| owner.name)
    }
}

/// Requires that the keys document has not expired, and that the key was valid when it signed and
/// is valid now. Checking both times means that a key cannot be used after its end by dating a
/// signature back, and that ending a key also voids its old signatures.
pub(super) fn require_valid_key(
    keys: &Keys,
    key: &TimedKey,
    signed_at: Timestamp,
    now: Timestamp,
) -> Result<(), Rejection> {
    let in_force = keys.expires.is_none_or(|end| now < end);
    if in_force && key.is_valid_at(signed_at) && key.is_valid_at(now) {
        Ok(())
    } else {
        Err(Rejection::KeyVoid)
    }
}

impl Approver {
    /// Checks everything about an answer that is known before it is signed: whether this person,
    /// under this name, may answer the request now.
    ///
    /// # Errors
    /// [`Rejection`], saying why it would not.
    pub fn check_may_answer(
        &self,
        name: &str,
        request: &ApprovalRequest,
        now: Timestamp,
    ) -> Result<(), Rejection> {
        if !self.keys.values().any(|key| key.is_valid_at(now)) {
            return Err(Rejection::KeyVoid);
        }
        require_authority(self, &request.authority)?;
        match is_requester(name, Some(self), &request.principal) {
            true => Err(Rejection::Requester),
            false => Ok(()),
        }
    }
}

/// Requires that this person meets every per-person requirement of `authority`.
pub(super) fn require_authority(
    approver: &Approver,
    authority: &ApprovalAuthority,
) -> Result<(), Rejection> {
    if authority.min_trust.is_some_and(|minimum| approver.trust < minimum) {
        return Err(Rejection::Trust);
    }
    if authority.clearance.is_some_and(|minimum| approver.clearance < minimum) {
        return Err(Rejection::Clearance);
    }
    if !authority.scopes.is_subset(&approver.scopes) {
        return Err(Rejection::Scope);
    }
    if !authority.admits_roles(&approver.roles) {
        return Err(Rejection::missing_role(authority));
    }
    Ok(())
}

/// Whether the named person is the requester, who must never approve their own request.
pub(super) fn is_requester(
    name: &str,
    approver: Option<&Approver>,
    principal: &PrincipalId,
) -> bool {
    name == principal.as_str() || approver.is_some_and(|a| a.principals.contains(principal))
}

/// How many people an authority requires; at least one.
pub(super) fn required_quorum(authority: &ApprovalAuthority) -> usize {
    usize::from(authority.quorum.max(1))
}
