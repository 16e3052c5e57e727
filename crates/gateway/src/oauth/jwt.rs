//! JSON Web Tokens (RFC 7515, RFC 7519) as access tokens: parsing, and verification with public
//! keys only.
//!
//! The cryptography is that of ring. The algorithm in the header is looked up in a fixed list of
//! asymmetric algorithms and must match the type of the key. This rules out the two classic attacks
//! on JWTs: `none` as the algorithm, and a public key used as an HMAC secret. Keys and key
//! addresses in the header are ignored (RFC 8725).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value};
use weaver_types::canonical::{self, Profile};

use super::error::TokenError;

/// The longest token, in bytes.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The longest key id, in bytes.
const MAX_KEY_ID_BYTES: usize = 512;

/// A signature algorithm (RFC 7518 §3, RFC 8037).
#[derive(Clone, Copy)]
enum Algorithm {
    Rsa(&'static RsaParameters),
    Ec(Curve),
    EdDsa,
}

/// A NIST curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
}

impl Algorithm {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            "RS384" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            "RS512" => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            "PS256" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            "PS384" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            "PS512" => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            "ES256" => Self::Ec(Curve::P256),
            "ES384" => Self::Ec(Curve::P384),
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }
}

/// A parsed token. Nothing in it may be trusted before [`Self::verify`] succeeds.
pub(super) struct Jwt<'t> {
    algorithm: String,
    key_id: Option<String>,
    claims: Map<String, Value>,
    signed: &'t [u8],
    signature: Vec<u8>,
}

impl<'t> Jwt<'t> {
    /// Whether a token has the shape of a JWT. Such a token is verified locally and never
    /// introspected.
    pub(super) fn is_jwt_shaped(token: &str) -> bool {
        token.bytes().filter(|b| *b == b'.').count() == 2 && token.starts_with("ey")
    }

    /// Parses a token without verifying it.
    pub(super) fn parse(token: &'t str) -> Result<Self, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Malformed("it is longer than 16 KiB"));
        }
        let mut parts = token.split('.');
        let (Some(head), Some(body), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TokenError::Malformed("it has not three parts"));
        };
        let signed = token
            .get(..head.len().saturating_add(1).saturating_add(body.len()))
            .ok_or(TokenError::Malformed("it has not three parts"))?;
        let (header, claims) = (decode_object(head)?, decode_object(body)?);
        if header.contains_key("crit") {
            return Err(TokenError::Malformed("its header asks for an extension"));
        }
        let kind = header.get("typ").map(|kind| kind.as_str().unwrap_or("?"));
        if kind.is_some_and(|kind| !is_access_token(kind)) {
            return Err(TokenError::Malformed("it is of another type than an access token"));
        }
        let algorithm = header.get("alg").and_then(Value::as_str).unwrap_or_default().to_owned();
        let key_id = header.get("kid").map(|id| id.as_str().unwrap_or_default().to_owned());
        if key_id.as_ref().is_some_and(|id| id.is_empty() || id.len() > MAX_KEY_ID_BYTES) {
            return Err(TokenError::Malformed("the id of its key is empty or too long"));
        }
        let signature = decode_base64url(signature)?;
        Ok(Self { algorithm, key_id, claims, signed: signed.as_bytes(), signature })
    }

    /// The claims of the token, whose signature may not be verified yet.
    pub(super) fn unverified_claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// The id of the key that the token says it was signed with.
    pub(super) fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Checks that the algorithm in the header is one of the supported ones.
    pub(super) fn check_algorithm(&self) -> Result<(), TokenError> {
        match Algorithm::parse(&self.algorithm) {
            Some(_) => Ok(()),
            None => Err(TokenError::Invalid("its algorithm is not one for public keys")),
        }
    }

    /// Whether this key made the signature.
    pub(super) fn verify(&self, key: &Jwk) -> bool {
        let Some(algorithm) = Algorithm::parse(&self.algorithm) else { return false };
        if key.algorithm.as_ref().is_some_and(|declared| *declared != self.algorithm) {
            return false;
        }
        match (algorithm, &key.material) {
            (Algorithm::Rsa(parameters), KeyMaterial::Rsa { n, e }) => {
                RsaPublicKeyComponents { n, e }
                    .verify(parameters, self.signed, &self.signature)
                    .is_ok()
            }
            (Algorithm::Ec(Curve::P256), KeyMaterial::Ec(Curve::P256, point)) => {
                self.verify_with(&signature::ECDSA_P256_SHA256_FIXED, point)
            }
            (Algorithm::Ec(Curve::P384), KeyMaterial::Ec(Curve::P384, point)) => {
                self.verify_with(&signature::ECDSA_P384_SHA384_FIXED, point)
            }
            (Algorithm::EdDsa, KeyMaterial::Ed25519(public)) => {
                self.verify_with(&signature::ED25519, public)
            }
            _ => false,
        }
    }

    fn verify_with(&self, algorithm: &'static dyn VerificationAlgorithm, public: &[u8]) -> bool {
        UnparsedPublicKey::new(algorithm, public).verify(self.signed, &self.signature).is_ok()
    }
}

/// Accepts `at+jwt` (RFC 9068 §4) and `JWT`, which many issuers write. Any other `typ` marks a
/// token for another purpose, such as a logout token, and is refused.
fn is_access_token(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    matches!(kind.strip_prefix("application/").unwrap_or(&kind), "at+jwt" | "jwt")
}

/// A public key of an issuer (RFC 7517).
#[derive(Debug, Clone)]
pub(super) struct Jwk {
    pub(super) key_id: Option<String>,
    /// The only algorithm that the key may be used with, if it names one.
    algorithm: Option<String>,
    material: KeyMaterial,
}

#[derive(Debug, Clone)]
enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point: `0x04`, x, y.
    Ec(Curve, Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Jwk {
    /// Parses a key. `None` for a key that cannot verify signatures here: of another type, for
    /// another use, or symmetric.
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).map(|text| text.as_str().unwrap_or_default());
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let operations = value.get("key_ops").and_then(Value::as_array);
        if operations.is_some_and(|all| !all.iter().any(|one| one == "verify")) {
            return None;
        }
        let part =
            |name: &str| decode_base64url(text(name)?).ok().filter(|part| part.len() <= 1024);
        let point = |curve, size| {
            let (x, y) = (part("x")?, part("y")?);
            let has_size = x.len() == size && y.len() == size;
            has_size.then(|| KeyMaterial::Ec(curve, [&[4_u8][..], &x, &y].concat()))
        };
        let material = match (text("kty")?, text("crv").unwrap_or_default()) {
            ("RSA", _) => KeyMaterial::Rsa { n: part("n")?, e: part("e")? },
            ("EC", "P-256") => point(Curve::P256, 32)?,
            ("EC", "P-384") => point(Curve::P384, 48)?,
            ("OKP", "Ed25519") => KeyMaterial::Ed25519(part("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        Some(Self {
            key_id: text("kid").map(str::to_owned),
            algorithm: text("alg").map(str::to_owned),
            material,
        })
    }
}

fn decode_base64url(part: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed("a part of it is not base64url"))
}

/// Decodes a part that is a JSON object without duplicate keys. Duplicates are refused because
/// parsers disagree on which of the two values counts.
fn decode_object(part: &str) -> Result<Map<String, Value>, TokenError> {
    match canonical::parse(&decode_base64url(part)?, Profile::Foreign) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(TokenError::Malformed("a part of it is not a JSON object, or has a key twice")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8037, appendix A.4: Ed25519.
    #[test]
    fn the_vector_of_ed25519_verifies_and_a_changed_one_does_not() {
        let key = serde_json::json!({"kty": "OKP", "crv": "Ed25519",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let key = Jwk::parse(&key).unwrap();
        let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        let jwt = |signed: &'static str| Jwt {
            algorithm: "EdDSA".to_owned(),
            key_id: None,
            claims: Map::new(),
            signed: signed.as_bytes(),
            signature: decode_base64url(signature).unwrap(),
        };
        assert!(jwt(signed).verify(&key));
        assert!(!jwt("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmd").verify(&key));
    }

    /// RFC 7515, appendix A.3: ES256; A.2: RS256.
    #[test]
    fn the_vectors_of_es256_and_rs256_verify_and_no_key_stands_in_for_another() {
        let point = serde_json::json!({"kty": "EC", "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
        let rsa = serde_json::json!({"kty": "RSA", "e": "AQAB",
            "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"});
        let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let es = format!(
            "eyJhbGciOiJFUzI1NiJ9.{payload}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        );
        let rs = format!(
            "eyJhbGciOiJSUzI1NiJ9.{payload}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        );
        let (point, rsa) = (Jwk::parse(&point).unwrap(), Jwk::parse(&rsa).unwrap());
        assert!(Jwt::parse(&es).unwrap().verify(&point));
        assert!(Jwt::parse(&rs).unwrap().verify(&rsa));
        assert!(!Jwt::parse(&es).unwrap().verify(&rsa) && !Jwt::parse(&rs).unwrap().verify(&point));
    }

    fn token(header: &str, claims: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.{}", part(header), part(claims), part("x"))
    }

    #[test]
    fn what_is_no_signature_of_a_public_key_is_refused_by_its_algorithm() {
        for algorithm in ["none", "None", "NONE", "", "HS256", "HS512", "RS1", "ES256K", "dir"] {
            let token = token(&format!(r#"{{"alg":"{algorithm}"}}"#), "{}");
            let read = Jwt::parse(&token).unwrap();
            assert!(matches!(read.check_algorithm(), Err(TokenError::Invalid(_))), "{algorithm}");
        }
        assert!(Jwt::parse(&token("{}", "{}")).unwrap().check_algorithm().is_err());
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        let long = "x".repeat(MAX_TOKEN_BYTES + 1);
        let twice = token(r#"{"alg":"none","alg":"RS256"}"#, "{}");
        let claims = token(r#"{"alg":"RS256"}"#, r#"{"sub":"a","sub":"b"}"#);
        let critical = token(r#"{"alg":"RS256","crit":["b64"],"b64":false}"#, "{}");
        let logout = token(r#"{"alg":"RS256","typ":"logout+jwt"}"#, "{}");
        let padded = token(r#"{"alg":"RS256"}"#, "{}") + "=";
        for text in [
            "", "a.b", "a.b.c.d", "..", "!.!.!", &long, &twice, &claims, &critical, &logout,
            &padded,
        ] {
            assert!(matches!(Jwt::parse(text), Err(TokenError::Malformed(_))), "{text:.60}");
        }
    }

    #[test]
    fn keys_for_another_use_and_secrets_are_no_keys() {
        let good = |more: &str| {
            let text = format!(
                r#"{{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"{more}}}"#
            );
            Jwk::parse(&serde_json::from_str(&text).unwrap())
        };
        assert!(good("").is_some() && good(r#","use":"sig""#).is_some());
        assert!(good(r#","use":"enc""#).is_none() && good(r#","key_ops":["sign"]"#).is_none());
        for other in [
            serde_json::json!({"kty": "oct", "k": "AAAA"}),
            serde_json::json!({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
            serde_json::json!({"kty": "OKP", "crv": "X25519", "x": "AA"}),
            serde_json::json!({"kty": "RSA", "e": "AQAB"}),
            serde_json::json!([]),
        ] {
            assert!(Jwk::parse(&other).is_none(), "{other}");
        }
    }
}
