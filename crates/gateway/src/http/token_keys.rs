//! The keys under which the sessions and runs of a token's bearer are found.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};
use weaver_policy::TokenIdentity;
use weaver_types::{Principal, hex};

/// The key of the sessions of a token's bearer. The identity is stored with the session, and a
/// later policy may give its groups or scopes more rights; a caller without them must not reach
/// that session.
pub(super) fn session_key(identity: &TokenIdentity, client: &str, principal: &Principal) -> String {
    let set_digest =
        |set: &BTreeSet<String>| digest(&set.iter().map(String::as_str).collect::<Vec<_>>());
    let [roles, groups, scopes] =
        [&principal.roles, &identity.groups, &identity.scopes].map(set_digest);
    let rights = [principal.id.as_str(), &roles, &groups, &scopes];
    digest_key(&[&identity_parts(identity, client)[..], &rights].concat())
}

/// The key of the runs of a token's bearer, whatever its rights.
pub(super) fn run_key(identity: &TokenIdentity, client: &str) -> String {
    digest_key(&identity_parts(identity, client))
}

fn identity_parts<'a>(identity: &'a TokenIdentity, client: &'a str) -> [&'a str; 3] {
    [&identity.issuer, &identity.subject, client]
}

/// A key that no client's name equals: names contain no colon.
fn digest_key(parts: &[&str]) -> String {
    format!("oauth:{}", digest(parts))
}

/// A digest of texts in order, each with its length, so that different lists never give the same
/// input.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    hex(digest.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use weaver_types::PrincipalId;

    use super::*;

    #[test]
    fn the_sessions_of_a_token_are_those_of_its_whole_identity() {
        let key = |groups: &[&str], scopes: &[&str]| {
            let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let identity = TokenIdentity {
                issuer: "https://issuer.example".to_owned(),
                subject: "ana".to_owned(),
                groups: set(groups),
                scopes: set(scopes),
            };
            let principal = Principal::new(PrincipalId::parse("ana").unwrap());
            session_key(&identity, "", &principal)
        };
        let whole = key(&["staff"], &["read", "write"]);
        assert_eq!(whole, key(&["staff"], &["write", "read"]));
        for other in [key(&["staff"], &["read"]), key(&[], &["read", "write"])] {
            assert_ne!(whole, other);
        }
        assert_ne!(key(&["a"], &["b"]), key(&["a", "b"], &[]));
    }
}
