//! The index: keyed hashes by who named the values.
//!
//! A value is kept as 64 bits of an HMAC (RFC 2104) under a key of its run. Who reads the ledger cannot
//! test a guess at a value without the key, and who chooses values cannot make two of them collide. A
//! chance collision vouches for a value that nobody named: with at most 32,768 entries it takes some
//! 2^49 tries, each of which is a call that is recorded.

use std::collections::HashSet;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weaver_policy::ValueOrigin;
use weaver_text::values::Token;
use weaver_types::Random;
use zeroize::Zeroizing;

/// The most entries of one run that the user's words take, and the most that all others do: no
/// result takes the room of the user's words.
pub(crate) const MAX_USER: usize = 16_384;
pub(crate) const MAX_OTHERS: usize = 16_384;
/// The most entries that one call or one text of the user adds.
pub(crate) const MAX_PART: usize = 8_192;
/// Bytes of the key.
pub(crate) const KEY_BYTES: usize = 32;
/// The class of a whole text of the user, beside those of tokens.
const WHOLE: u8 = 0;
/// The class of a value that was written, whatever it is read as.
const ANY: u8 = 255;
/// The class of a source that vouches for nothing: a server, or one call.
const VOID: u8 = 254;

/// Who named a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voucher {
    /// The user.
    User,
    /// A trusted source.
    Trusted,
    /// A call that untrusted input may have steered: no trusted source vouches for it.
    Written,
}

/// What one call or one text of the user adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntries {
    pub(crate) kind: Voucher,
    pub(crate) entries: Vec<u64>,
    /// Whether not all of it found room.
    pub(crate) full: bool,
}

impl IndexEntries {
    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.full
    }

    /// What a text of the user adds, without the whole text, which comes first.
    pub(crate) fn without_text(self) -> Self {
        Self { entries: self.entries.into_iter().skip(1).collect(), ..self }
    }
}

/// The index of one run.
#[derive(Default)]
pub(crate) struct Index {
    key: Option<(Zeroizing<[u8; KEY_BYTES]>, Hmac<Sha256>)>,
    /// Whether the key stands in the ledger.
    stored: bool,
    user: HashSet<u64>,
    trusted: HashSet<u64>,
    written: HashSet<u64>,
    /// Whether trusted sources vouch for nothing more, since not all that was written is known.
    closed: bool,
    /// The texts of the user that were taken in last, to know them again at once.
    heard: Option<std::sync::Arc<Vec<String>>>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("entries", &self.len()).finish_non_exhaustive()
    }
}

impl Index {
    /// Who vouches for a token.
    pub(crate) fn vouched(&self, token: &Token) -> Option<ValueOrigin> {
        let entry = self.entry(token)?;
        if self.user.contains(&entry) {
            return Some(ValueOrigin::User);
        }
        let trusted = self.trusted.contains(&entry) && !self.closed;
        let written = || self.any(token).is_none_or(|entry| self.written.contains(&entry));
        (trusted && !written()).then_some(ValueOrigin::Trusted)
    }

    /// Whether the user's texts are the ones that were taken in last.
    pub(crate) fn has_heard(&self, said: &std::sync::Arc<Vec<String>>) -> bool {
        self.heard.as_ref().is_some_and(|heard| std::sync::Arc::ptr_eq(heard, said))
    }

    /// Notes that these texts are taken in.
    pub(crate) fn note_user_texts(&mut self, said: &std::sync::Arc<Vec<String>>) {
        self.heard = Some(std::sync::Arc::clone(said));
    }

    /// Whether a whole text of the user was taken in before.
    pub(crate) fn knows(&self, text: &str) -> bool {
        self.hash(WHOLE, text).is_some_and(|entry| self.user.contains(&entry))
    }

    /// What a text of the user adds, itself among it. `None` without randomness for a key.
    pub(crate) fn text(
        &mut self,
        text: &str,
        tokens: &[Token],
        random: &dyn Random,
    ) -> Option<IndexEntries> {
        self.ensure(random)?;
        let whole = self.hash(WHOLE, text)?;
        let mut part = self.part(Voucher::User, tokens)?;
        part.entries.insert(0, whole);
        Some(part)
    }

    /// What tokens add that are not there yet. `None` without a key.
    pub(crate) fn part(&self, kind: Voucher, tokens: &[Token]) -> Option<IndexEntries> {
        let room = self.room(kind).min(MAX_PART);
        let known = self.set(kind);
        let mut seen =
            if kind == Voucher::Written { self.vouched_values(tokens) } else { HashSet::new() };
        let (mut entries, mut full) = (Vec::new(), false);
        for token in tokens {
            let entry =
                if kind == Voucher::Written { self.any(token)? } else { self.entry(token)? };
            if known.contains(&entry) && kind != Voucher::User || !seen.insert(entry) {
                continue;
            }
            if entries.len() >= room {
                full = match kind {
                    Voucher::User => true,
                    Voucher::Trusted => false,
                    Voucher::Written => !self.closed,
                };
                break;
            }
            entries.push(entry);
        }
        Some(IndexEntries { kind, entries, full })
    }

    /// The values among these that somebody vouches for already: to write them down again places
    /// nothing.
    fn vouched_values(&self, tokens: &[Token]) -> HashSet<u64> {
        let vouched = tokens.iter().filter(|token| self.vouched(token).is_some());
        vouched.filter_map(|token| self.any(token)).collect()
    }

    /// What a call adds that untrusted input may have steered: what it was told, and the servers
    /// and calls whose results vouch for nothing from now on. `None` without a key.
    pub(crate) fn written(&self, tokens: &[Token], void: &[&str]) -> Option<IndexEntries> {
        let mut part = self.part(Voucher::Written, tokens)?;
        for source in void.iter().filter(|source| !self.is_void(source)) {
            part.entries.push(self.hash(VOID, source)?);
        }
        part.full |= part.entries.len() > self.room(Voucher::Written) && !self.closed;
        Some(part)
    }

    /// Whether the results of this server, or of this call, vouch for nothing.
    pub(crate) fn is_void(&self, source: &str) -> bool {
        let noted = self.hash(VOID, source).is_some_and(|entry| self.written.contains(&entry));
        noted || self.closed
    }

    /// How many more entries there may be.
    fn room(&self, kind: Voucher) -> usize {
        match kind {
            Voucher::User => MAX_USER.saturating_sub(self.user.len()),
            Voucher::Trusted | Voucher::Written => {
                MAX_OTHERS.saturating_sub(self.trusted.len().saturating_add(self.written.len()))
            }
        }
    }

    /// Makes sure that there is a key.
    pub(crate) fn ensure(&mut self, random: &dyn Random) -> Option<()> {
        if self.key.is_none() {
            let mut key = Zeroizing::new([0_u8; KEY_BYTES]);
            random.fill(key.as_mut_slice()).ok()?;
            self.set_key(key)?;
        }
        Some(())
    }

    pub(crate) fn set_key(&mut self, key: Zeroizing<[u8; KEY_BYTES]>) -> Option<()> {
        let mac = Hmac::<Sha256>::new_from_slice(key.as_slice()).ok()?;
        self.key = Some((key, mac));
        Some(())
    }

    /// The key, where it does not stand in the ledger yet.
    pub(crate) fn unstored_key(&self) -> Option<&[u8; KEY_BYTES]> {
        self.key.as_ref().filter(|_| !self.stored).map(|(key, _)| &**key)
    }

    /// Notes that the key stands in the ledger.
    pub(crate) fn stored(&mut self) {
        self.stored = true;
    }

    /// Takes in what was recorded. What is beyond the bound is nowhere.
    pub(crate) fn add(&mut self, part: &IndexEntries) {
        self.closed |= part.full && part.kind == Voucher::Written;
        for entry in &part.entries {
            if self.room(part.kind) == 0 {
                self.closed |= part.kind == Voucher::Written;
                return;
            }
            match part.kind {
                Voucher::User => self.user.insert(*entry),
                Voucher::Trusted => self.trusted.insert(*entry),
                Voucher::Written => self.written.insert(*entry),
            };
        }
    }

    /// Trusted sources vouch for nothing more.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.user.len().saturating_add(self.trusted.len()).saturating_add(self.written.len())
    }

    fn set(&self, kind: Voucher) -> &HashSet<u64> {
        match kind {
            Voucher::User => &self.user,
            Voucher::Trusted => &self.trusted,
            Voucher::Written => &self.written,
        }
    }

    fn entry(&self, token: &Token) -> Option<u64> {
        self.hash(token.class as u8, &token.key)
    }

    /// The entry of a value whatever it is read as.
    fn any(&self, token: &Token) -> Option<u64> {
        let value = token.key.rsplit('|').next().unwrap_or_default();
        self.hash(ANY, &value.to_lowercase())
    }

    fn hash(&self, class: u8, key: &str) -> Option<u64> {
        let (_, mac) = self.key.as_ref()?;
        let mut mac = mac.clone();
        mac.update(&[class]);
        mac.update(key.as_bytes());
        let bytes = mac.finalize().into_bytes();
        let first: [u8; 8] = bytes.get(..8)?.try_into().ok()?;
        Some(u64::from_be_bytes(first))
    }
}

#[cfg(test)]
mod tests;
