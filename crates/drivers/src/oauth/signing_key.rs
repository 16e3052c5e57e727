//! Private keys and the JSON Web Tokens that they sign (RFC 7515, RFC 7519).

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
};
use serde_json::Value;
use zeroize::Zeroizing;

/// The longest key in PEM.
const MAX_PEM: usize = 16 * 1024;
const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// A private key that signs tokens.
pub(super) enum SigningKey {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

/// Why a key cannot be read or used. No message contains any of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SigningKeyError {
    #[error("it is longer than 16 KiB")]
    TooLong,
    #[error("it has no `{BEGIN}`; `openssl pkcs8 -topk8 -nocrypt` writes a key in that form")]
    NoPem,
    #[error("it is sealed with a password; name a command that opens it")]
    Sealed,
    #[error("it is none of P-256, P-384, Ed25519, or RSA of 2048 to 4096 bits, as PKCS #8")]
    Unknown,
    #[error("it signs with {supported}, and the authorization server takes {offered} alone")]
    Algorithm {
        /// The algorithms of the key.
        supported: String,
        /// The algorithms that the server accepts.
        offered: String,
    },
    #[error("it did not sign")]
    Failed,
}

impl SigningKey {
    /// Reads a PKCS #8 key in PEM (RFC 7468).
    pub(super) fn from_pem(text: &str) -> Result<Self, SigningKeyError> {
        if text.len() > MAX_PEM {
            return Err(SigningKeyError::TooLong);
        }
        if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") {
            return Err(SigningKeyError::Sealed);
        }
        let body = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let (body, _) = body.ok_or(SigningKeyError::NoPem)?;
        let body: Zeroizing<String> =
            Zeroizing::new(body.chars().filter(|c| !c.is_ascii_whitespace()).collect());
        let der = STANDARD.decode(body.as_bytes()).map_err(|_| SigningKeyError::NoPem)?;
        Self::from_pkcs8(&Zeroizing::new(der))
    }

    /// Reads a key in PKCS #8 (RFC 5208, RFC 5958).
    pub(super) fn from_pkcs8(der: &[u8]) -> Result<Self, SigningKeyError> {
        let random = SystemRandom::new();
        let ecdsa = |algorithm| EcdsaKeyPair::from_pkcs8(algorithm, der, &random).ok();
        ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map(Self::P256)
            .or_else(|| ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING).map(Self::P384))
            .or_else(|| Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok().map(Self::Ed25519))
            .or_else(|| RsaKeyPair::from_pkcs8(der).ok().map(|key| Self::Rsa(Box::new(key))))
            .ok_or(SigningKeyError::Unknown)
    }

    /// Generates a key for ES256, as PKCS #8.
    pub(super) fn generate_p256() -> Result<Zeroizing<Vec<u8>>, SigningKeyError> {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        made.map(|der| Zeroizing::new(der.as_ref().to_vec())).map_err(|_| SigningKeyError::Failed)
    }

    /// The algorithms of the key type (RFC 7518 §3.1, RFC 8037, RFC 9864).
    fn algorithms(&self) -> &'static [&'static str] {
        match self {
            Self::P256(_) => &["ES256"],
            Self::P384(_) => &["ES384"],
            Self::Ed25519(_) => &["EdDSA", "Ed25519"],
            Self::Rsa(_) => &["RS256", "PS256"],
        }
    }

    /// The algorithm to sign with for a server that accepts these; an empty set accepts any.
    pub(super) fn choose_algorithm(
        &self,
        offered: &BTreeSet<String>,
    ) -> Result<&'static str, SigningKeyError> {
        let supported = self.algorithms();
        let fits = |name: &&&str| offered.is_empty() || offered.contains(**name);
        supported.iter().find(fits).copied().ok_or_else(|| SigningKeyError::Algorithm {
            supported: supported.join(" or "),
            offered: printable_names(offered),
        })
    }

    /// The x and y coordinates of the public key, for P-256.
    pub(super) fn p256_point(&self) -> Option<([u8; 32], [u8; 32])> {
        let Self::P256(pair) = self else { return None };
        let (form, point) = pair.public_key().as_ref().split_first()?;
        let (x, y) = point.split_at_checked(32)?;
        (*form == 4).then_some((x.try_into().ok()?, y.try_into().ok()?))
    }

    /// A JSON Web Token in compact form. The header names the algorithm.
    pub(super) fn sign_jwt(
        &self,
        header: &Value,
        claims: &Value,
    ) -> Result<String, SigningKeyError> {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let pss = header.get("alg").and_then(Value::as_str) == Some("PS256");
        let signature = self.sign(signed.as_bytes(), pss)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn sign(&self, message: &[u8], pss: bool) -> Result<Vec<u8>, SigningKeyError> {
        let random = SystemRandom::new();
        let failed = |_| SigningKeyError::Failed;
        match self {
            Self::P256(pair) | Self::P384(pair) => {
                pair.sign(&random, message).map(|made| made.as_ref().to_vec()).map_err(failed)
            }
            Self::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let padding: &dyn ring::signature::RsaEncoding =
                    if pss { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                pair.sign(padding, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

/// The well-formed algorithm names, which come from the server.
fn printable_names(offered: &BTreeSet<String>) -> String {
    let legal = |name: &&String| {
        name.len() <= 16 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let names: Vec<&str> = offered.iter().filter(legal).take(8).map(String::as_str).collect();
    if names.is_empty() { "none that is known".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RSA_PSS_2048_8192_SHA256, UnparsedPublicKey,
    };
    use serde_json::json;

    use super::*;

    fn pem(der: &[u8]) -> String {
        format!("{BEGIN}\n{}\n{END}\n", STANDARD.encode(der))
    }

    fn signed(key: &SigningKey) -> (Vec<u8>, Vec<u8>) {
        let token = key.sign_jwt(&json!({ "alg": key.algorithms()[0] }), &json!({"a": 1})).unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        (message.as_bytes().to_vec(), URL_SAFE_NO_PAD.decode(signature).unwrap())
    }

    /// The keys come from another library, as does their public half.
    #[test]
    fn keys_of_each_kind_sign_what_their_public_half_verifies() {
        let made = [
            (&rcgen::PKCS_ECDSA_P256_SHA256, "ES256"),
            (&rcgen::PKCS_ECDSA_P384_SHA384, "ES384"),
            (&rcgen::PKCS_ED25519, "EdDSA"),
        ];
        for (kind, algorithm) in made {
            let pair = rcgen::KeyPair::generate_for(kind).unwrap();
            let key = SigningKey::from_pem(&pair.serialize_pem()).unwrap();
            assert_eq!(key.choose_algorithm(&BTreeSet::new()), Ok(algorithm));
            let (message, signature) = signed(&key);
            let public = pair.public_key_raw();
            let verified = match algorithm {
                "ES256" => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public)
                    .verify(&message, &signature),
                "ES384" => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, public)
                    .verify(&message, &signature),
                _ => UnparsedPublicKey::new(&ED25519, public).verify(&message, &signature),
            };
            assert!(verified.is_ok(), "{algorithm}");
        }
    }

    /// Made by `openssl genpkey`, which reads it again; nothing trusts it.
    const RSA: &str = include_str!("../../tests/data/rsa_for_tests.txt");

    #[test]
    fn a_key_of_rsa_signs_with_either_padding_as_the_server_takes_it() {
        let key = SigningKey::from_pem(RSA).unwrap();
        let SigningKey::Rsa(pair) = &key else { panic!("it is of RSA") };
        let public = pair.public().as_ref();
        for (name, padding) in
            [("RS256", &RSA_PKCS1_2048_8192_SHA256), ("PS256", &RSA_PSS_2048_8192_SHA256)]
        {
            let algorithm = key.choose_algorithm(&BTreeSet::from([name.to_owned()])).unwrap();
            assert_eq!(algorithm, name);
            let token = key.sign_jwt(&json!({ "alg": algorithm }), &json!({"a": 1})).unwrap();
            let (message, signature) = token.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            let public = UnparsedPublicKey::new(padding, public);
            assert!(public.verify(message.as_bytes(), &signature).is_ok(), "{name}");
            assert!(public.verify(b"something else", &signature).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_no_key_says_why() {
        let of = |text: &str| SigningKey::from_pem(text).err().unwrap();
        assert_eq!(of(""), SigningKeyError::NoPem);
        assert_eq!(of("-----BEGIN EC PRIVATE KEY-----\nAA\n"), SigningKeyError::NoPem);
        assert_eq!(of(&format!("{BEGIN}\n!!\n{END}")), SigningKeyError::NoPem);
        assert_eq!(of("-----BEGIN ENCRYPTED PRIVATE KEY-----"), SigningKeyError::Sealed);
        assert_eq!(of(&"x".repeat(20_000)), SigningKeyError::TooLong);
        assert_eq!(of(&pem(b"nothing")), SigningKeyError::Unknown);
        // The public half does not belong to the private one.
        let mut der = SigningKey::generate_p256().unwrap().to_vec();
        *der.last_mut().unwrap() ^= 1;
        assert_eq!(of(&pem(&der)), SigningKeyError::Unknown);
    }

    #[test]
    fn an_algorithm_that_is_not_taken_is_named() {
        let key = SigningKey::from_pkcs8(&SigningKey::generate_p256().unwrap()).unwrap();
        let offered = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(key.choose_algorithm(&offered(&["RS256", "ES256"])), Ok("ES256"));
        let error = key.choose_algorithm(&offered(&["RS256", "\u{1b}[31m", "PS256"])).unwrap_err();
        let text = "it signs with ES256, and the authorization server takes PS256, RS256 alone";
        assert_eq!(error.to_string(), text);
        assert!(key.choose_algorithm(&offered(&["none"])).is_err());
    }
}
