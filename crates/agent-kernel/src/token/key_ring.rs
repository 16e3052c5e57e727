//! The keys under which tokens are made: one current, older ones to verify only.

use std::collections::BTreeMap;
use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weaver_types::digest::Tag;
use weaver_types::{KeyId, Random, RandomError, ReasonCode, TokenClaims};
use zeroize::Zeroizing;

use super::caveat::NarrowedToken;
use super::{Token, form, ring_file};
use crate::error::KeyRingError;

/// How many keys a ring holds.
pub const MAX_KEYS: usize = 16;
pub(super) const SECRET_BYTES: usize = 32;
/// A longer secret adds nothing: HMAC hashes it first.
pub(super) const MAX_SECRET: usize = 1_024;

/// The keys of tokens. The current one signs; the others verify until they are retired.
///
/// A ring made by [`KeyRing::fresh`] lives as long as the process. A host that wants its tokens to
/// be told from foreign ones after a restart keeps [`KeyRing::to_bytes`] where it keeps its other
/// secrets, and hands them in again; a grant that was not used does not outlive the process in
/// either case.
#[derive(Clone)]
pub struct KeyRing {
    current: KeyId,
    keys: BTreeMap<KeyId, Key>,
}

/// One key: the secret, and the MAC that has taken in key and tag already.
#[derive(Clone)]
struct Key {
    secret: Zeroizing<Vec<u8>>,
    mac: Hmac<Sha256>,
}

/// A MAC.
pub(crate) type TokenMac = [u8; form::MAC];

/// The parts of a token whose MAC holds.
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

impl Key {
    fn new(secret: &[u8]) -> Option<Self> {
        if !(SECRET_BYTES..=MAX_SECRET).contains(&secret.len()) {
            return None;
        }
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret).ok()?;
        mac.update(Tag::TOKEN.as_str().as_bytes());
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
    /// A ring with one fresh random key.
    ///
    /// # Errors
    /// [`RandomError`], when the source of randomness fails.
    pub fn fresh(random: &dyn Random) -> Result<Self, RandomError> {
        let (id, secret) = fresh(random)?;
        Self::new(id, secret.as_slice()).ok_or(RandomError)
    }

    /// A ring with one key of 32 to 1,024 bytes; `None` for another length.
    #[must_use]
    pub fn new(id: KeyId, secret: &[u8]) -> Option<Self> {
        let keys = BTreeMap::from([(id.clone(), Key::new(secret)?)]);
        Some(Self { current: id, keys })
    }

    /// Adds a key of 32 to 1,024 bytes and makes it the current one. False, and nothing changes,
    /// for another length, for the id of a key that the ring holds, and when it holds
    /// [`MAX_KEYS`].
    #[must_use]
    pub fn rotate(&mut self, id: KeyId, secret: &[u8]) -> bool {
        if self.keys.len() >= MAX_KEYS || self.keys.contains_key(&id) {
            return false;
        }
        let Some(key) = Key::new(secret) else { return false };
        self.keys.insert(id.clone(), key);
        self.current = id;
        true
    }

    /// Adds a fresh random key and makes it the current one. Where the ring is full, another than
    /// the current one is retired for it: the one whose id comes first.
    ///
    /// # Errors
    /// [`RandomError`], when the source of randomness fails; nothing changes then.
    pub fn rotate_fresh(&mut self, random: &dyn Random) -> Result<&KeyId, RandomError> {
        let (id, secret) = fresh(random)?;
        if self.keys.len() >= MAX_KEYS
            && let Some(old) = self.keys.keys().find(|id| **id != self.current).cloned()
        {
            self.retire(&old);
        }
        if self.rotate(id, secret.as_slice()) { Ok(&self.current) } else { Err(RandomError) }
    }

    /// Forgets an old key: its tokens are invalid from now on. The current one stays. True when
    /// there was such a key.
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

    /// The ring with its secrets, to be kept where nobody else reads; [`KeyRing::from_bytes`] takes
    /// it in again. One line of JSON; it is erased from memory when it is dropped.
    ///
    /// # Errors
    /// [`KeyRingError`]; a ring always has such a form.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, KeyRingError> {
        let keys = self.keys.iter().map(|(id, key)| (id, key.secret.as_slice()));
        ring_file::write(&self.current, keys)
    }

    /// A ring that was kept.
    ///
    /// # Errors
    /// [`KeyRingError`], when the bytes are not what [`KeyRing::to_bytes`] gives, or come from a
    /// newer version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyRingError> {
        let (current, secrets) = ring_file::read(bytes)?;
        let malformed = |problem: &str| KeyRingError::Malformed { problem: problem.to_owned() };
        let mut keys = BTreeMap::new();
        for (id, secret) in secrets {
            let key = Key::new(&secret).ok_or_else(|| malformed("a key has another length"))?;
            if keys.insert(id, key).is_some() || keys.len() > MAX_KEYS {
                return Err(malformed("a key stands twice, or there are too many"));
            }
        }
        if !keys.contains_key(&current) {
            return Err(malformed("the current key is not among the keys"));
        }
        Ok(Self { current, keys })
    }

    /// Signs claims with the key that they name; `None` when the ring does not hold it, or the
    /// token would be too long.
    pub(crate) fn sign(&self, claims: &TokenClaims) -> Option<Token> {
        let mut bytes = form::head(claims)?;
        let mac = self.keys.get(&claims.key_id)?.mac(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac);
        Some(Token(bytes))
    }

    /// Reads what a token allows, when one of the keys made it.
    ///
    /// # Errors
    /// [`ReasonCode::TokenInvalid`] for everything else.
    ///
    /// # Security
    /// It says what the token is, not that it may be used: time, caller, policy, revocations and
    /// earlier uses are looked at by [`Kernel::invoke`](crate::Kernel::invoke) alone.
    pub fn verify(&self, token: &Token) -> Result<NarrowedToken, ReasonCode> {
        self.genuine(token).and_then(|genuine| genuine.read()).ok_or(ReasonCode::TokenInvalid)
    }

    /// A token that one of the keys made, before it is read.
    pub(crate) fn genuine<'t>(&self, token: &'t Token) -> Option<AuthenticToken<'t>> {
        let parts = form::split(token.bytes())?;
        let caveats = form::caveats(parts.caveats)?;
        // The name of the key only chooses the key; that the name is true shows with the MAC.
        let mut mac = self.keys.get(parts.key)?.mac(parts.head);
        for caveat in &caveats {
            mac = form::chain(&mac.finalize().into_bytes(), caveat)?;
        }
        mac.verify_slice(parts.mac).ok()?;
        Some(AuthenticToken { head: parts.head, caveats, mac: parts.mac })
    }
}

impl<'t> AuthenticToken<'t> {
    /// What it allows; `None` when its claims or its caveats cannot be read.
    pub(crate) fn read(&self) -> Option<NarrowedToken> {
        let root = NarrowedToken::root(form::claims(self.head)?);
        self.caveats
            .iter()
            .try_fold(root, |narrowed, bytes| Some(narrowed.by(form::caveat(bytes)?)))
    }

    /// The MAC of its head, when no caveat stands between them: it stands for all that the head
    /// says.
    pub(crate) fn seal(&self) -> Option<&'t TokenMac> {
        self.caveats.is_empty().then_some(self.mac)
    }

    /// The name of the token.
    pub(crate) fn name(&self) -> Option<&'t str> {
        form::name(self.head)
    }
}

fn fresh(random: &dyn Random) -> Result<(KeyId, Zeroizing<[u8; SECRET_BYTES]>), RandomError> {
    let mut secret = Zeroizing::new([0_u8; SECRET_BYTES]);
    random.fill(secret.as_mut())?;
    let id = KeyId::parse(weaver_types::random_text("key_", 8, random)?);
    Ok((id.map_err(|_| RandomError)?, secret))
}
