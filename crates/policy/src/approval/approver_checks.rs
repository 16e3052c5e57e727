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
    /// Whether this person meets every per-person requirement of `authority`.
    #[must_use]
    pub fn has_authority(&self, authority: &ApprovalAuthority) -> bool {
        require_authority(self, authority).is_ok()
    }

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
    match REQUIREMENTS.iter().find(|(is_met, _)| !is_met(approver, authority)) {
        None => Ok(()),
        Some((_, rejection)) => Err(rejection(authority)),
    }
}

/// What an authority requires of each person, and the rejection of who does not meet it.
type Requirement = (fn(&Approver, &ApprovalAuthority) -> bool, fn(&ApprovalAuthority) -> Rejection);

/// All that an authority requires of each person.
pub(super) const REQUIREMENTS: [Requirement; 4] = [
    (
        |who, authority| authority.min_trust.is_none_or(|least| who.trust >= least),
        |_| Rejection::Trust,
    ),
    (
        |who, authority| authority.clearance.is_none_or(|least| who.clearance >= least),
        |_| Rejection::Clearance,
    ),
    (|who, authority| authority.scopes.is_subset(&who.scopes), |_| Rejection::Scope),
    (|who, authority| authority.admits_roles(&who.roles), Rejection::missing_role),
];

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
