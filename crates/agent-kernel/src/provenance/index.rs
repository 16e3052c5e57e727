//! The provenance index: keyed hashes of values, by who named them.
//!
//! A value is stored as 64 bits of an HMAC (RFC 2104) under a key of its run. Without the key, a
//! reader of the ledger cannot test guesses at a value, and nobody can choose two values that
//! collide. A chance collision would vouch for a value that nobody named: with at most 32,768
//! entries it takes some 2^49 tries, each of which is a recorded call.

use std::collections::HashSet;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use weaver_policy::ValueOrigin;
use weaver_text::values::{RequestTokens, ValueToken};
use weaver_types::Random;
use zeroize::Zeroizing;

use super::Payment;

/// The most entries of one run from the user's texts, and from everything else: results cannot use
/// up the space of the user's texts.
pub(crate) const MAX_USER_ENTRIES: usize = 16_384;
pub(crate) const MAX_OTHER_ENTRIES: usize = 16_384;
/// The most entries that one call or one text of the user adds.
pub(crate) const MAX_ADDED_ENTRIES: usize = 8_192;
/// The length of the key in bytes.
pub(crate) const KEY_BYTES: usize = 32;
/// The hash class of a whole text of the user. The other classes are those of tokens.
const WHOLE_TEXT_CLASS: u8 = 0;
/// What is added to the hash class of a value that the user only quoted or denied.
const MENTIONED_CLASS: u8 = 128;
/// The hash class of an untrusted value, whatever token class it is read as.
const ANY_CLASS: u8 = 255;
/// The hash class of a source that vouches for nothing: a server, or one call.
const VOID_SOURCE_CLASS: u8 = 254;

/// How many payments are noted between two texts of the user. No more are made without a person's
/// word.
const MAX_PAYMENTS: u64 = 64;

/// Who named a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voucher {
    /// The user.
    User,
    /// A trusted source.
    Trusted,
    /// A call that untrusted input may have steered. Such a value is not vouched for, even if a
    /// trusted source names it.
    Untrusted,
}

/// The entries that one call or one text of the user adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntries {
    pub(crate) voucher: Voucher,
    pub(crate) entries: Vec<u64>,
    /// Whether some entries found no place.
    pub(crate) overflowed: bool,
}

impl IndexEntries {
    /// Whether it adds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.overflowed
    }

    /// Removes the entry of the whole text, which comes first.
    pub(crate) fn without_text(self) -> Self {
        Self { entries: self.entries.into_iter().skip(1).collect(), ..self }
    }
}

/// The index of one run.
#[derive(Default)]
pub(crate) struct ProvenanceIndex {
    key: Option<(Zeroizing<[u8; KEY_BYTES]>, Hmac<Sha256>)>,
    /// Whether the key is stored in the ledger.
    key_is_stored: bool,
    user: HashSet<u64>,
    trusted: HashSet<u64>,
    untrusted: HashSet<u64>,
    /// Whether trusted sources no longer vouch for anything, since not all untrusted values are
    /// known.
    distrusts_all: bool,
    /// The user's texts that were indexed last, compared by pointer to skip them quickly.
    indexed_user_texts: Option<std::sync::Arc<Vec<String>>>,
    /// The payments that are being committed: with how much the user had said, and their numbers.
    reserved_payments: Vec<(usize, u64, Payment)>,
}

impl std::fmt::Debug for ProvenanceIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("entries", &self.len()).finish_non_exhaustive()
    }
}

impl ProvenanceIndex {
    /// Who vouches for a token. The user does for every value in the user's own texts. A value that
    /// the user only quoted or denied counts like one of a trusted source. Such a source vouches only if the value was not written by an untrusted call before, whatever token
    /// class it was written as.
    pub(crate) fn origin_of(&self, token: &ValueToken) -> Option<ValueOrigin> {
        let entry = self.entry(token)?;
        if self.user.contains(&entry) {
            return Some(ValueOrigin::User);
        }
        let mentioned = self.hash(token.class as u8 | MENTIONED_CLASS, &token.key);
        if mentioned.is_some_and(|entry| self.user.contains(&entry)) {
            return Some(ValueOrigin::Trusted);
        }
        let trusted = self.trusted.contains(&entry) && !self.distrusts_all;
        let written = || {
            self.class_independent_entry(token).is_none_or(|entry| self.untrusted.contains(&entry))
        };
        (trusted && !written()).then_some(ValueOrigin::Trusted)
    }

    /// Whether the user has said anything that is indexed.
    pub(crate) fn has_user_values(&self) -> bool {
        !self.user.is_empty() || self.indexed_user_texts.is_some()
    }

    /// Whether these are the user's texts that were indexed last.
    pub(crate) fn has_indexed_texts(&self, texts: &std::sync::Arc<Vec<String>>) -> bool {
        self.indexed_user_texts.as_ref().is_some_and(|heard| std::sync::Arc::ptr_eq(heard, texts))
    }

    /// Marks these texts as indexed.
    pub(crate) fn note_user_texts(&mut self, texts: &std::sync::Arc<Vec<String>>) {
        self.indexed_user_texts = Some(std::sync::Arc::clone(texts));
    }

    /// Whether this whole text of the user was indexed before.
    pub(crate) fn has_user_text(&self, text: &str) -> bool {
        self.hash(WHOLE_TEXT_CLASS, text).is_some_and(|entry| self.user.contains(&entry))
    }

    /// The new entries of a text of the user, including the text itself. `None` if no key can be
    /// made.
    pub(crate) fn user_text_entries(
        &mut self,
        text: &str,
        tokens: &RequestTokens,
        random: &dyn Random,
    ) -> Option<IndexEntries> {
        self.ensure_key(random)?;
        let text_entry = self.hash(WHOLE_TEXT_CLASS, text)?;
        let mut added = self.new_entries(Voucher::User, &tokens.asked)?;
        added.entries.insert(0, text_entry);
        let room = self.remaining_capacity(Voucher::User).min(MAX_ADDED_ENTRIES);
        let mut seen: HashSet<u64> = added.entries.iter().copied().collect();
        for token in &tokens.mentioned {
            let entry = self.hash(token.class as u8 | MENTIONED_CLASS, &token.key)?;
            if added.entries.len() > room {
                added.overflowed = true;
                break;
            }
            if seen.insert(entry) {
                added.entries.push(entry);
            }
        }
        Some(added)
    }

    /// The entries of tokens that are not in the index yet. `None` without a key.
    pub(crate) fn new_entries(&self, kind: Voucher, tokens: &[ValueToken]) -> Option<IndexEntries> {
        let room = self.remaining_capacity(kind).min(MAX_ADDED_ENTRIES);
        let existing = self.entries_of(kind);
        let mut seen =
            if kind == Voucher::Untrusted { self.vouched_values(tokens) } else { HashSet::new() };
        let (mut entries, mut full) = (Vec::new(), false);
        for token in tokens {
            let entry = if kind == Voucher::Untrusted {
                self.class_independent_entry(token)?
            } else {
                self.entry(token)?
            };
            if existing.contains(&entry) && kind != Voucher::User || !seen.insert(entry) {
                continue;
            }
            if entries.len() >= room {
                full = match kind {
                    Voucher::User => true,
                    Voucher::Trusted => false,
                    Voucher::Untrusted => !self.distrusts_all,
                };
                break;
            }
            entries.push(entry);
        }
        Some(IndexEntries { voucher: kind, entries, overflowed: full })
    }

    /// The values among these that are vouched for already: writing them again places nothing new.
    fn vouched_values(&self, tokens: &[ValueToken]) -> HashSet<u64> {
        let vouched = tokens.iter().filter(|token| self.origin_of(token).is_some());
        vouched.filter_map(|token| self.class_independent_entry(token)).collect()
    }

    /// The entries of a call that untrusted input may have steered: its arguments, and the servers
    /// and calls whose results vouch for nothing from now on. `None` without a key.
    pub(crate) fn untrusted_entries(
        &self,
        tokens: &[ValueToken],
        void: &[&str],
    ) -> Option<IndexEntries> {
        let mut added = self.new_entries(Voucher::Untrusted, tokens)?;
        for source in void.iter().filter(|source| !self.is_void(source)) {
            added.entries.push(self.hash(VOID_SOURCE_CLASS, source)?);
        }
        added.overflowed |= added.entries.len() > self.remaining_capacity(Voucher::Untrusted)
            && !self.distrusts_all;
        Some(added)
    }

    /// Adds the note of a payment to the entries of its call, before all others. `None` without a
    /// key.
    pub(crate) fn with_payment(
        &self,
        mut added: IndexEntries,
        sources: &[String],
    ) -> Option<IndexEntries> {
        let noted: Option<Vec<u64>> =
            sources.iter().map(|source| self.hash(VOID_SOURCE_CLASS, source)).collect();
        added.entries.splice(0..0, noted?);
        added.overflowed |= added.entries.len() > self.remaining_capacity(Voucher::Untrusted)
            && !self.distrusts_all;
        Some(added)
    }

    /// Whether the results of this server, or of this call, vouch for nothing.
    pub(crate) fn is_void(&self, source: &str) -> bool {
        let noted = self
            .hash(VOID_SOURCE_CLASS, source)
            .is_some_and(|entry| self.untrusted.contains(&entry));
        noted || self.distrusts_all
    }

    /// Whether this payment was made since the user last said something, or is being made. One that
    /// cannot be noted counts as made.
    pub(crate) fn has_payment(&self, payment: &Payment) -> bool {
        let said = self.user.len();
        let reserved = self.reserved_payments.iter();
        let mut reserved = reserved.filter(|(then, ..)| *then == said);
        reserved.any(|(_, _, other)| other.is_same(payment))
            || (0..MAX_PAYMENTS).any(|number| self.is_noted_as(payment, number))
            || self.next_payment(payment).is_none()
    }

    /// Whether the payment that is noted under a number is this one. It is known by its values and
    /// by how many it has.
    fn is_noted_as(&self, payment: &Payment, number: u64) -> bool {
        let name = |what: &str| self.payment_source(payment, number, what);
        if !self.is_noted(&name("")) {
            return false;
        }
        let known =
            payment.values.iter().filter(|value| self.is_noted(&name(&format!("+{value}"))));
        let known = known.count();
        known == payment.values.len() || self.is_noted(&name(&format!("={known}")))
    }

    fn is_noted(&self, source: &str) -> bool {
        let entry = self.hash(VOID_SOURCE_CLASS, source);
        entry.is_some_and(|entry| self.untrusted.contains(&entry))
    }

    /// A name under which a payment is noted: with how much the user has said so far, so that the
    /// user's next words may ask for the payment again.
    fn payment_source(&self, payment: &Payment, number: u64, what: &str) -> String {
        format!("payment {} {number} {} {what}", self.user.len(), payment.capability)
    }

    /// The first number for a note of this payment; `None` if there is no place for one.
    fn next_payment(&self, payment: &Payment) -> Option<u64> {
        let entries = payment.values.len().saturating_add(2);
        if entries > self.remaining_capacity(Voucher::Untrusted) {
            return None;
        }
        (0..MAX_PAYMENTS).find(|number| {
            !self.reserved_payments.iter().any(|(_, reserved, _)| reserved == number)
                && !self.is_noted(&self.payment_source(payment, *number, ""))
        })
    }

    /// Reserves a payment until [`Self::release_payment`]; returns its number, and the names under
    /// which it is to be noted. `None` if there is no place for a note.
    pub(crate) fn reserve_payment(&mut self, payment: Payment) -> Option<(u64, Vec<String>)> {
        let number = self.next_payment(&payment)?;
        let name = |what: &str| self.payment_source(&payment, number, what);
        let mut sources = vec![name(""), name(&format!("={}", payment.values.len()))];
        sources.extend(payment.values.iter().map(|value| name(&format!("+{value}"))));
        self.reserved_payments.push((self.user.len(), number, payment));
        Some((number, sources))
    }

    /// Ends a reservation: the payment is noted now, or was not made.
    pub(crate) fn release_payment(&mut self, number: u64) {
        self.reserved_payments.retain(|(_, reserved, _)| *reserved != number);
    }

    /// How many more entries fit.
    fn remaining_capacity(&self, kind: Voucher) -> usize {
        match kind {
            Voucher::User => MAX_USER_ENTRIES.saturating_sub(self.user.len()),
            Voucher::Trusted | Voucher::Untrusted => MAX_OTHER_ENTRIES
                .saturating_sub(self.trusted.len().saturating_add(self.untrusted.len())),
        }
    }

    /// Makes a key if there is none.
    pub(crate) fn ensure_key(&mut self, random: &dyn Random) -> Option<()> {
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

    /// The key, if it is not stored in the ledger yet.
    pub(crate) fn unstored_key(&self) -> Option<&[u8; KEY_BYTES]> {
        self.key.as_ref().filter(|_| !self.key_is_stored).map(|(key, _)| &**key)
    }

    /// Marks the key as stored.
    pub(crate) fn mark_key_stored(&mut self) {
        self.key_is_stored = true;
    }

    /// Adds recorded entries. Entries beyond the bound are dropped.
    pub(crate) fn add(&mut self, added: &IndexEntries) {
        self.distrusts_all |= added.overflowed && added.voucher == Voucher::Untrusted;
        for entry in &added.entries {
            if self.remaining_capacity(added.voucher) == 0 {
                self.distrusts_all |= added.voucher == Voucher::Untrusted;
                return;
            }
            match added.voucher {
                Voucher::User => self.user.insert(*entry),
                Voucher::Trusted => self.trusted.insert(*entry),
                Voucher::Untrusted => self.untrusted.insert(*entry),
            };
        }
    }

    /// Makes all trusted sources vouch for nothing from now on.
    pub(crate) fn distrust_all(&mut self) {
        self.distrusts_all = true;
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.user.len().saturating_add(self.trusted.len()).saturating_add(self.untrusted.len())
    }

    fn entries_of(&self, kind: Voucher) -> &HashSet<u64> {
        match kind {
            Voucher::User => &self.user,
            Voucher::Trusted => &self.trusted,
            Voucher::Untrusted => &self.untrusted,
        }
    }

    fn entry(&self, token: &ValueToken) -> Option<u64> {
        self.hash(token.class as u8, &token.key)
    }

    /// The entry of a value, whatever token class it is read as.
    fn class_independent_entry(&self, token: &ValueToken) -> Option<u64> {
        let value = token.key.rsplit('|').next().unwrap_or_default();
        self.hash(ANY_CLASS, &value.to_lowercase())
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
