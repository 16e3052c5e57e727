//! Trusted issuers of access tokens (RFC 9068, RFC 7662), and the mapping from a token to a
//! principal.
//!
//! The mapping grants authority, so it is part of the signed policy. The caller must already have
//! checked that a token is genuine, valid now and meant for this gateway.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::{Principal, PrincipalId};

use crate::policy::Policy;

/// The claim that lists groups, unless the policy names another.
pub(crate) const GROUPS_CLAIM: &str = "groups";

/// An issuer of access tokens that the policy trusts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrustedIssuer {
    /// Its identifier: the `iss` claim of its tokens, compared byte by byte.
    pub issuer: String,
    /// The URL of its keys; if absent, the one from its metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The introspection endpoint (RFC 7662) for tokens that are not JWTs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introspection_endpoint: Option<String>,
    /// The claim that lists a subject's groups.
    pub groups_claim: String,
    /// The scopes that every token needs.
    pub required_scopes: BTreeSet<String>,
    /// Maps subjects to configured principals. A mapped subject gets no further roles from the
    /// groups and scopes of its token.
    pub subjects: BTreeMap<String, PrincipalId>,
    /// The roles of all other subjects, by group.
    pub groups: BTreeMap<String, BTreeSet<String>>,
    /// The roles of all other subjects, by scope.
    pub scopes: BTreeMap<String, BTreeSet<String>>,
}

impl TrustedIssuer {
    /// An issuer without any mappings.
    #[must_use]
    pub fn new(issuer: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            jwks_uri: None,
            introspection_endpoint: None,
            groups_claim: GROUPS_CLAIM.to_owned(),
            required_scopes: BTreeSet::new(),
            subjects: BTreeMap::new(),
            groups: BTreeMap::new(),
            scopes: BTreeMap::new(),
        }
    }

    /// All scopes that the policy uses.
    #[must_use]
    pub fn used_scopes(&self) -> BTreeSet<&str> {
        self.required_scopes.iter().chain(self.scopes.keys()).map(String::as_str).collect()
    }
}

/// The identity that a verified token asserts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenIdentity {
    /// The `iss` claim.
    pub issuer: String,
    /// The `sub` claim.
    pub subject: String,
    /// The groups of the subject.
    pub groups: BTreeSet<String>,
    /// The scopes of the token.
    pub scopes: BTreeSet<String>,
}

/// Why a valid token could not be mapped to a principal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The policy does not trust its issuer.
    #[error("the policy names no issuer of this token")]
    UnknownIssuer,
    /// It lacks required scopes, or has no role and lacks scopes that give one.
    #[error("the token lacks the scope {}", missing.join(" "))]
    MissingScopes {
        /// The scopes that would help and that the token does not have.
        missing: Vec<String>,
    },
    /// None of its groups and scopes has a role.
    #[error("the policy gives no role to the groups and scopes of this token")]
    NoRoles,
    /// Its subject cannot name a principal.
    #[error("the subject of the token cannot name a principal")]
    Subject,
}

impl IdentityError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownIssuer => "identity.issuer",
            Self::MissingScopes { .. } => "identity.scope",
            Self::NoRoles => "identity.roles",
            Self::Subject => "identity.subject",
        }
    }
}

impl Policy {
    /// Finds the issuer with this identifier, and its name in the policy.
    #[must_use]
    pub fn find_issuer(&self, issuer: &str) -> Option<(&str, &TrustedIssuer)> {
        let mut all = self.issuers.iter();
        all.find(|(_, trusted)| trusted.issuer == issuer)
            .map(|(name, found)| (name.as_str(), found))
    }

    /// The principal for a token: the one that its subject is mapped to, or else one named
    /// `ISSUER:SUBJECT` with the roles of its groups and scopes.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn principal_for_token(
        &self,
        identity: &TokenIdentity,
    ) -> Result<Principal, IdentityError> {
        let (name, trusted) =
            self.find_issuer(&identity.issuer).ok_or(IdentityError::UnknownIssuer)?;
        let missing: BTreeSet<String> =
            trusted.required_scopes.difference(&identity.scopes).cloned().collect();
        let known = match trusted.subjects.get(&identity.subject) {
            Some(id) => Some(self.principals.get(id).cloned().ok_or(IdentityError::Subject)?),
            None => None,
        };
        let id = PrincipalId::parse(format!("{name}:{}", identity.subject));
        let known = known.or_else(|| self.principals.get(id.as_ref().ok()?).cloned());
        if let Some(principal) = known {
            return if missing.is_empty() { Ok(principal) } else { Err(lacking(missing)) };
        }
        let of_groups = identity.groups.iter().filter_map(|group| trusted.groups.get(group));
        let of_scopes = identity.scopes.iter().filter_map(|scope| trusted.scopes.get(scope));
        let roles: BTreeSet<String> = of_groups.chain(of_scopes).flatten().cloned().collect();
        // The client can request scopes that give roles. They are named together with required
        // ones, so that it asks once.
        let helpful = trusted
            .scopes
            .iter()
            .filter(|(scope, roles)| !roles.is_empty() && !identity.scopes.contains(*scope));
        let helpful: BTreeSet<String> = match roles.is_empty() {
            true => helpful.map(|(scope, _)| scope.clone()).collect(),
            false => BTreeSet::new(),
        };
        if !missing.is_empty() {
            return Err(lacking(&missing | &helpful));
        }
        let id = id.map_err(|_| IdentityError::Subject)?;
        if roles.is_empty() {
            let is_out_of_reach = helpful.is_empty();
            return Err(if is_out_of_reach { IdentityError::NoRoles } else { lacking(helpful) });
        }
        Ok(Principal { roles, ..Principal::new(id) })
    }
}

fn lacking(missing: BTreeSet<String>) -> IdentityError {
    IdentityError::MissingScopes { missing: missing.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<const N: usize>(all: [&str; N]) -> BTreeSet<String> {
        all.map(str::to_owned).into()
    }

    fn policy(change: impl FnOnce(&mut TrustedIssuer)) -> Policy {
        let ana = PrincipalId::parse("ana").unwrap();
        let mut policy =
            Policy::new("p").with_principal(Principal::new(ana.clone()).with_roles(["admin"]));
        let mut issuer = TrustedIssuer::new("https://login.example");
        issuer.subjects.insert("1".to_owned(), ana);
        issuer.groups.insert("payments".to_owned(), texts(["payer"]));
        issuer.scopes.insert("tools:read".to_owned(), texts(["reader"]));
        change(&mut issuer);
        policy.issuers.insert("corp".to_owned(), issuer);
        policy
    }

    fn token<const G: usize, const S: usize>(
        subject: &str,
        groups: [&str; G],
        scopes: [&str; S],
    ) -> TokenIdentity {
        TokenIdentity {
            issuer: "https://login.example".to_owned(),
            subject: subject.to_owned(),
            groups: texts(groups),
            scopes: texts(scopes),
        }
    }

    #[test]
    fn groups_and_scopes_give_roles_and_a_named_subject_has_those_of_its_principal() {
        let policy = policy(|_| {});
        let named = policy.principal_for_token(&token("1", ["payments"], ["tools:read"])).unwrap();
        assert_eq!((named.id.as_str(), named.roles), ("ana", texts(["admin"])));
        let other =
            policy.principal_for_token(&token("2", ["payments", "x"], ["tools:read"])).unwrap();
        assert_eq!((other.id.as_str(), other.roles), ("corp:2", texts(["payer", "reader"])));
        let less = policy.principal_for_token(&token("2", [], ["tools:read"])).unwrap();
        assert_eq!(less.roles, texts(["reader"]));
    }

    #[test]
    fn nobody_is_somebody_by_chance() {
        let plain = policy(|_| {});
        let refused = |policy: &Policy, token: &TokenIdentity| {
            policy.principal_for_token(token).unwrap_err().code()
        };
        assert_eq!(refused(&plain, &token("2", ["admin"], ["ana"])), "identity.scope");
        let groups_only = policy(|issuer| issuer.scopes.clear());
        assert_eq!(refused(&groups_only, &token("2", ["admin"], ["ana"])), "identity.roles");
        let elsewhere =
            TokenIdentity { issuer: "https://login.example/".to_owned(), ..token("1", [], []) };
        assert_eq!(refused(&plain, &elsewhere), "identity.issuer");
        assert_eq!(refused(&plain, &token("a b", ["payments"], [])), "identity.subject");
        assert_eq!(refused(&plain, &token("a\u{202e}", ["payments"], [])), "identity.subject");
        let strict = policy(|issuer| issuer.required_scopes = texts(["weaver"]));
        assert_eq!(refused(&strict, &token("1", [], ["tools:read"])), "identity.scope");
        let missing = |policy: &Policy, token: &TokenIdentity| match policy
            .principal_for_token(token)
            .unwrap_err()
        {
            IdentityError::MissingScopes { missing } => missing,
            other => panic!("{other}"),
        };
        let strict = policy(|issuer| issuer.required_scopes = texts(["weaver", "base"]));
        assert_eq!(
            missing(&strict, &token("2", [], ["base"])),
            ["tools:read", "weaver"],
            "one that gives a role is named with the required one"
        );
        assert_eq!(missing(&strict, &token("2", ["payments"], ["base"])), ["weaver"]);
        assert_eq!(missing(&strict, &token("1", [], [])), ["base", "weaver"]);
        let error = policy(|issuer| issuer.groups.clear());
        let error = error.principal_for_token(&token("2", [], ["other"])).unwrap_err();
        assert_eq!(error, IdentityError::MissingScopes { missing: vec!["tools:read".to_owned()] });
    }
}
