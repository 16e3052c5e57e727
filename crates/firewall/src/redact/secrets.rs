//! Secrets without a telling prefix: recognised by their name, their context or their form.
//!
//! Each scanner reads the text once. A hit depends on at most 512 bytes before and after it.

mod account_list;
mod aligned_table;
mod array_rows;
mod assigned_name;
mod assigned_value;
mod assignment;
mod chosen_secret;
mod chosen_word;
mod credential_call;
mod credential_value;
mod folded_name;
mod key_prefix;
mod keyword_proximity;
mod keywords;
mod labelled_value;
mod line_value;
pub(crate) mod name_words;
mod password_table;
mod refused_forms;
mod remark_words;
mod rules;
mod said_instead;
pub(crate) mod secret_name;
mod selected_column;
mod setting_call;
#[cfg(test)]
mod tests;
mod token_form;
mod token_stats;
mod vendor_id;
mod word_cells;
mod word_in_settings;

use std::ops::Range;

pub(crate) use aligned_table::{ColumnReader, cells_below};
pub(crate) use chosen_word::{
    is_chosen_phrase, is_chosen_word, is_phrase_with_signs, is_said_instead, is_word_of_nobody_else,
};
pub(crate) use credential_call::credential_in_call;
pub(crate) use credential_value::{is_ciphertext, is_secret_text};
pub(crate) use remark_words::is_word_of_remarks;
pub(crate) use secret_name::SecretKind;
pub(crate) use selected_column::selected_cells;
pub(crate) use token_stats::{is_dated, is_random_token};

use super::covered_ranges::CoveredRanges;
use super::scan_window::ScanWindow;
use super::scanner::{ScanHit, Scanner};
use super::text_cache::TextCache;
use rules::RULES;

/// A hit depends on at most this many bytes before and after it.
#[cfg(test)]
const REACH: usize = 512;

/// The longest value that is read. A longer one is masked to the end of its token run.
const MAX_VALUE_BYTES: usize = 320;

const PASSWORD_RULE: usize = 0;
const SECRET_RULE: usize = 1;
const VENDOR_TOKEN_RULE: usize = 2;
const NAMED_TOKEN_RULE: usize = 3;
const TOKEN_FORM_RULE: usize = 4;

/// The scanner for the engine.
pub(crate) const SCANNER: Scanner = Scanner { rules: RULES, scan };

/// True for a key that is no secret: `cache key`, `public key`, or one that a vendor publishes, or the
/// fingerprint of one.
pub(crate) fn is_key_of_nobody(text: &str, label: usize, value: Range<usize>) -> bool {
    let start = value.start;
    let value = text.get(value).unwrap_or_default();
    let raw = value.as_bytes();
    secret_name::is_public_phrase(text.as_bytes(), label)
        || keyword_proximity::is_of_known_application(text.as_bytes(), start)
        || vendor_id::is_published(raw)
        || vendor_id::is_vendor_id(raw)
        || credential_value::is_digest_name(raw)
        || credential_value::is_ciphertext(value)
}

/// The kind of the values that names of this kind announce.
pub(crate) fn kind_of_value(name: SecretKind) -> &'static str {
    let rule = match name {
        SecretKind::Password | SecretKind::Pass => PASSWORD_RULE,
        SecretKind::Secret | SecretKind::Chosen | SecretKind::Weak => SECRET_RULE,
    };
    RULES.get(rule).map_or("secret", |rule| rule.kind)
}

/// Finds secrets in a text.
fn scan(window: &ScanWindow<'_>, hits: &mut Vec<ScanHit>) {
    assignment::scan(window, hits);
    account_list::scan(window, hits);
    let mut named = CoveredRanges::default();
    named.add(hits.iter().map(|hit| hit.range.clone()));
    keyword_proximity::scan(window, &named, hits);
    let mut runs = TextCache::default();
    for hit in hits.iter_mut().filter(|hit| hit.range.len() >= MAX_VALUE_BYTES) {
        hit.range.end =
            hit.range.end.max(runs.run_end(window.text, hit.range.end.saturating_sub(1)));
    }
}

/// The byte at an index, or 0 beyond the text.
fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The bytes of a range; empty if it is out of bounds.
fn slice(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}
