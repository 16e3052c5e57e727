//! A cache of verified signatures, so that the same one is not verified for every call.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use weaver_types::Digest;
use weaver_types::digest::Tag;
use weaver_types::signature::{Envelope, Kind, PublicKey, SignatureError};

/// The most that are remembered; beyond that each one is verified every time.
const MAX_REMEMBERED: usize = 64;

/// What was verified in this process. Each is named by all that decides on it: the whole envelope,
/// the digest that it signs, and the key. It is no part of any value: two that differ in it are equal,
/// and it is never stored.
#[derive(Clone, Default)]
pub(super) struct VerifiedSignatures(Arc<Mutex<BTreeSet<Digest>>>);

impl VerifiedSignatures {
    /// Verifies an envelope over a standing approval, unless this very one was found good before.
    pub(super) fn check(
        &self,
        envelope: &Envelope,
        digest: Digest,
        key: &PublicKey,
    ) -> Result<(), SignatureError> {
        let text = envelope.to_json()?;
        let name = Digest::of_parts(
            Tag::SIGNATURE,
            &[digest.as_bytes(), &key.to_bytes(), text.as_bytes()],
        );
        if self.0.lock().is_ok_and(|verified| verified.contains(&name)) {
            return Ok(());
        }
        envelope.verify(Kind::Standing, digest, key)?;
        if let Ok(mut verified) = self.0.lock()
            && verified.len() < MAX_REMEMBERED
        {
            verified.insert(name);
        }
        Ok(())
    }
}

impl PartialEq for VerifiedSignatures {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for VerifiedSignatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifiedSignatures")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weaver_types::KeyId;
    use weaver_types::signature::SigningKey;

    #[test]
    fn only_what_was_found_good_is_taken_again() {
        let [key, other] = [[1; 32], [2; 32]].map(SigningKey::from_seed);
        let id = KeyId::parse("k1").unwrap();
        let [one, two] = [b"one", b"two"].map(|text| Kind::Standing.digest(text));
        let envelope = Envelope::sign(Kind::Standing, one, id, &key, 1).unwrap();
        let verified = VerifiedSignatures::default();
        for _ in 0..2 {
            assert_eq!(verified.check(&envelope, one, &key.public()), Ok(()));
            assert!(verified.check(&envelope, two, &key.public()).is_err());
            assert!(verified.check(&envelope, one, &other.public()).is_err());
        }
        assert_eq!(verified.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn as_many_are_remembered_as_the_bound_says_and_the_others_still_verify() {
        let key = SigningKey::from_seed([1; 32]);
        let verified = VerifiedSignatures::default();
        let (digest, id) = (Kind::Standing.digest(b"one"), KeyId::parse("k1").unwrap());
        for at in 0..66 {
            let envelope = Envelope::sign(Kind::Standing, digest, id.clone(), &key, at).unwrap();
            assert_eq!(verified.check(&envelope, digest, &key.public()), Ok(()));
        }
        assert_eq!(verified.0.lock().unwrap().len(), 64);
    }

    #[test]
    fn what_was_verified_shows_nowhere() {
        assert_eq!(format!("{:?}", VerifiedSignatures::default()), "VerifiedSignatures");
    }
}
