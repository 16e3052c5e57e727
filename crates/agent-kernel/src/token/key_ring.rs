//! The keys of tokens: the current one signs, older ones only verify.

use std::collections::BTreeMap;
use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weaver_types::digest::DomainTag;
use weaver_types::{KeyId, Random, RandomError, ReasonCode, TokenClaims};
use zeroize::Zeroizing;

use super::caveat::NarrowedToken;
use super::{Token, ring_file, wire_format};
use crate::error::KeyRingError;

/// How many keys a ring holds.
pub const MAX_KEYS: usize = 16;
pub(super) const MIN_SECRET_BYTES: usize = 32;
/// The longest secret. A longer one adds no strength: HMAC hashes it first.
pub(super) const MAX_SECRET_BYTES: usize = 1_024;

/// The keys of tokens. The current one signs; the others verify until they are retired.
///
/// A ring made by [`KeyRing::generate`] lives as long as the process. A host that wants to recognise
/// its own tokens after a restart stores [`KeyRing::to_bytes`] with its other secrets and passes
/// them in again. An unused grant does not outlive the process in either case.
#[derive(Clone)]
pub struct KeyRing {
    current: KeyId,
    keys: BTreeMap<KeyId, TokenKey>,
}

/// One key: the secret, and a MAC that is initialised with the key and the tag.
#[derive(Clone)]
struct TokenKey {
    secret: Zeroizing<Vec<u8>>,
    mac: Hmac<Sha256>,
}

/// The MAC of a token.
pub(crate) type TokenMac = [u8; wire_format::MAC_BYTES];

/// The parts of a token whose MAC was verified.
pub(crate) struct AuthenticToken<'t> {
    head: &'t [u8],
    caveats: Vec<&'t [u8]>,
    mac: &'t TokenMac,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("current", &self.current).finish_non_exhaustive()
    }
}

impl TokenKey {
    fn new(secret: &[u8]) -> Option<Self> {
        if !(MIN_SECRET_BYTES..=MAX_SECRET_BYTES).contains(&secret.len()) {
            return None;
        }
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret).ok()?;
        mac.update(DomainTag::TOKEN.as_str().as_bytes());
        mac.update(&[0]);
        Some(Self { secret: Zeroizing::new(secret.to_vec()), mac })
    }

    fn mac(&self, head: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(head);
        mac
    }
}

impl KeyRing {
    /// A ring with one new random key.
    ///
    /// # Errors
    /// [`RandomError`], when the source of randomness fails.
    pub fn generate(random: &dyn Random) -> Result<Self, RandomError> {
        let (id, secret) = random_key(random)?;
        Self::new(id, secret.as_slice()).ok_or(RandomError)
    }

    /// A ring with one key of 32 to 1,024 bytes; `None` for another length.
    #[must_use]
    pub fn new(id: KeyId, secret: &[u8]) -> Option<Self> {
        let keys = BTreeMap::from([(id.clone(), TokenKey::new(secret)?)]);
        Some(Self { current: id, keys })
    }

    /// Adds a key of 32 to 1,024 bytes and makes it the current one. False, without any change, for
    /// another length, for an id that the ring has already, and when it has [`MAX_KEYS`].
    #[must_use]
    pub fn rotate(&mut self, id: KeyId, secret: &[u8]) -> bool {
        if self.keys.len() >= MAX_KEYS || self.keys.contains_key(&id) {
            return false;
        }
        let Some(key) = TokenKey::new(secret) else { return false };
        self.keys.insert(id.clone(), key);
        self.current = id;
        true
    }

    /// Adds a new random key and makes it the current one. If the ring is full, the key with the
    /// first id that is not the current one is retired.
    ///
    /// # Errors
    /// [`RandomError`], when the source of randomness fails; nothing changes then.
    pub fn rotate_generated(&mut self, random: &dyn Random) -> Result<&KeyId, RandomError> {
        let (id, secret) = random_key(random)?;
        if self.keys.len() >= MAX_KEYS
            && let Some(old) = self.keys.keys().find(|id| **id != self.current).cloned()
        {
            self.retire(&old);
        }
        if self.rotate(id, secret.as_slice()) { Ok(&self.current) } else { Err(RandomError) }
    }

    /// Removes an old key: its tokens are invalid from now on. The current key cannot be retired.
    /// True when the key was removed.
    pub fn retire(&mut self, id: &KeyId) -> bool {
        *id != self.current && self.keys.remove(id).is_some()
    }

    /// The id of the current key.
    #[must_use]
    pub fn current(&self) -> &KeyId {
        &self.current
    }

    /// The ids of all keys, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &KeyId> {
        self.keys.keys()
    }

    /// The ring with its secrets, to be stored where nobody else can read it;
    /// [`KeyRing::from_bytes`] reads it again. One line of JSON; it is erased from memory when it
    /// is dropped.
    ///
    /// # Errors
    /// [`KeyRingError`], which does not happen for a valid ring.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, KeyRingError> {
        let keys = self.keys.iter().map(|(id, key)| (id, key.secret.as_slice()));
        ring_file::write(&self.current, keys)
    }

    /// Reads a stored ring.
    ///
    /// # Errors
    /// [`KeyRingError`], when the bytes are not what [`KeyRing::to_bytes`] gives, or come from a
    /// newer version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyRingError> {
        let (current, secrets) = ring_file::read(bytes)?;
        let malformed = |problem: &str| KeyRingError::Malformed { problem: problem.to_owned() };
        let mut keys = BTreeMap::new();
        for (id, secret) in secrets {
            let key =
                TokenKey::new(&secret).ok_or_else(|| malformed("a key has another length"))?;
            if keys.insert(id, key).is_some() || keys.len() > MAX_KEYS {
                return Err(malformed("a key occurs twice, or there are too many"));
            }
        }
        if !keys.contains_key(&current) {
            return Err(malformed("the current key is not among the keys"));
        }
        Ok(Self { current, keys })
    }

    /// Signs claims with the key that they name; `None` when the ring does not have it, or the
    /// token would be too long.
    pub(crate) fn sign(&self, claims: &TokenClaims) -> Option<Token> {
        let mut bytes = wire_format::encode_head(claims)?;
        let mac = self.keys.get(&claims.key_id)?.mac(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac);
        Some(Token(bytes))
    }

    /// Verifies the MAC of a token and reads what it allows.
    ///
    /// # Errors
    /// [`ReasonCode::TokenInvalid`] for everything else.
    ///
    /// # Security
    /// A genuine token is not yet a usable one: only [`Kernel::invoke`](crate::Kernel::invoke)
    /// checks time, caller, policy, revocations and earlier uses.
    pub fn verify(&self, token: &Token) -> Result<NarrowedToken, ReasonCode> {
        self.authenticate(token).and_then(|genuine| genuine.read()).ok_or(ReasonCode::TokenInvalid)
    }

    /// Verifies the MAC of a token, before its contents are parsed.
    pub(crate) fn authenticate<'t>(&self, token: &'t Token) -> Option<AuthenticToken<'t>> {
        let parts = wire_format::split(token.bytes())?;
        let caveats = wire_format::split_caveats(parts.caveats)?;
        // The key id only selects the key; the MAC proves that the id is right.
        let mut mac = self.keys.get(parts.key)?.mac(parts.head);
        for caveat in &caveats {
            mac = wire_format::chained_mac(&mac.finalize().into_bytes(), caveat)?;
        }
        mac.verify_slice(parts.mac).ok()?;
        Some(AuthenticToken { head: parts.head, caveats, mac: parts.mac })
    }
}

impl<'t> AuthenticToken<'t> {
    /// Parses what it allows; `None` when its claims or caveats are malformed.
    pub(crate) fn read(&self) -> Option<NarrowedToken> {
        let root = NarrowedToken::from_claims(wire_format::parse_claims(self.head)?);
        self.caveats.iter().try_fold(root, |narrowed, bytes| {
            Some(narrowed.with_caveat(wire_format::parse_caveat(bytes)?))
        })
    }

    /// The MAC of its head, if it has no caveats: this MAC identifies exactly the claims of the
    /// head.
    pub(crate) fn root_mac(&self) -> Option<&'t TokenMac> {
        self.caveats.is_empty().then_some(self.mac)
    }

    /// The token id.
    pub(crate) fn token_name(&self) -> Option<&'t str> {
        wire_format::token_name(self.head)
    }
}

fn random_key(
    random: &dyn Random,
) -> Result<(KeyId, Zeroizing<[u8; MIN_SECRET_BYTES]>), RandomError> {
    let mut secret = Zeroizing::new([0_u8; MIN_SECRET_BYTES]);
    random.fill(secret.as_mut())?;
    let id = KeyId::parse(weaver_types::random_text("key_", 8, random)?);
    Ok((id.map_err(|_| RandomError)?, secret))
}
