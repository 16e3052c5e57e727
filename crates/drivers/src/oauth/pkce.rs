//! Proof Key for Code Exchange (RFC 7636) with S256, and random values for one authorization.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use weaver_types::Random;
use zeroize::Zeroizing;

use super::error::OAuthError;

/// Binds the code of an authorization to the client that requested it.
pub(super) struct Pkce {
    pub(super) verifier: Zeroizing<String>,
    pub(super) challenge: String,
}

impl Pkce {
    /// A new random verifier and its challenge.
    pub(super) fn new(random: &dyn Random) -> Result<Self, OAuthError> {
        let verifier = Zeroizing::new(random_token(random)?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        Ok(Self { verifier, challenge })
    }
}

/// 256 random bits as text.
pub(super) fn random_token(random: &dyn Random) -> Result<String, OAuthError> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    random
        .fill(bytes.as_mut_slice())
        .map_err(|_| OAuthError::Unfinished("the source of randomness failed"))?;
    Ok(URL_SAFE_NO_PAD.encode(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_the_digest_of_the_verifier() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let made = Pkce::new(&weaver_types::SeededRandom::new(1)).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(Sha256::digest(&*made.verifier)), made.challenge);
        assert_eq!(made.verifier.len(), 43);
    }
}
