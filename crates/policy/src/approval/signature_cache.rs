//! A cache of verified signatures, so that a standing approval is not verified anew for every call.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use weaver_types::Digest;
use weaver_types::digest::DomainTag;
use weaver_types::signature::{DocumentKind, Envelope, PublicKey, SignatureError};

/// The capacity. Further signatures are verified every time.
const MAX_CACHED_SIGNATURES: usize = 64;

/// The signatures that were verified in this process. The cache key is a digest over every input of
/// the verification: the whole envelope, the signed digest and the public key. A hit can therefore
/// only repeat a successful verification of the same inputs. The cache is not part of a value: it
/// is ignored by comparisons and never serialised.
#[derive(Clone, Default)]
pub(super) struct SignatureCache(Arc<Mutex<BTreeSet<Digest>>>);

impl SignatureCache {
    /// Verifies the envelope of a standing approval, unless the same verification succeeded before.
    pub(super) fn verify(
        &self,
        envelope: &Envelope,
        digest: Digest,
        key: &PublicKey,
    ) -> Result<(), SignatureError> {
        let text = envelope.to_json()?;
        let cache_key = Digest::of_parts(
            DomainTag::SIGNATURE,
            &[digest.as_bytes(), &key.to_bytes(), text.as_bytes()],
        );
        if self.0.lock().is_ok_and(|verified| verified.contains(&cache_key)) {
            return Ok(());
        }
        envelope.verify(DocumentKind::Standing, digest, key)?;
        if let Ok(mut verified) = self.0.lock()
            && verified.len() < MAX_CACHED_SIGNATURES
        {
            verified.insert(cache_key);
        }
        Ok(())
    }
}

impl PartialEq for SignatureCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

weaver_types::opaque_debug!(SignatureCache);

#[cfg(test)]
mod tests {
    use super::*;
    use weaver_types::KeyId;
    use weaver_types::signature::SigningKey;

    #[test]
    fn only_what_was_found_good_is_taken_again() {
        let [key, other] = [[1; 32], [2; 32]].map(SigningKey::from_seed);
        let id = KeyId::parse("k1").unwrap();
        let [one, two] = [b"one", b"two"].map(|text| DocumentKind::Standing.digest(text));
        let envelope = Envelope::sign(DocumentKind::Standing, one, id, &key, 1).unwrap();
        let verified = SignatureCache::default();
        for _ in 0..2 {
            assert_eq!(verified.verify(&envelope, one, &key.public()), Ok(()));
            assert!(verified.verify(&envelope, two, &key.public()).is_err());
            assert!(verified.verify(&envelope, one, &other.public()).is_err());
        }
        assert_eq!(verified.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn as_many_are_remembered_as_the_bound_says_and_the_others_still_verify() {
        let key = SigningKey::from_seed([1; 32]);
        let verified = SignatureCache::default();
        let (digest, id) = (DocumentKind::Standing.digest(b"one"), KeyId::parse("k1").unwrap());
        for at in 0..66 {
            let envelope =
                Envelope::sign(DocumentKind::Standing, digest, id.clone(), &key, at).unwrap();
            assert_eq!(verified.verify(&envelope, digest, &key.public()), Ok(()));
        }
        assert_eq!(verified.0.lock().unwrap().len(), 64);
    }

    #[test]
    fn what_was_verified_shows_nowhere() {
        assert_eq!(format!("{:?}", SignatureCache::default()), "SignatureCache { .. }");
    }
}
