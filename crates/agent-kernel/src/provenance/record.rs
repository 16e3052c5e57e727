//! The records of an index: its key, and one for each call or text that added to it.

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace, Put, RecordKey};
use weaver_types::{RunId, Tenant, hex};
use zeroize::Zeroizing;

use super::index::{Index, IndexEntries, KEY_BYTES, MAX_OTHERS, MAX_USER, Voucher};
use crate::error::KernelError;

/// The version of the stored form.
const VERSION: u8 = 1;
/// The record of the key. Blanks are in no run id, so that no run reads another's records.
const KEY: &str = "!key";

/// The stored form.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    v: u8,
    /// The key, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Whose values: `user`, `trusted` or `written`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Keyed hashes, of 16 hexadecimal digits each.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    entries: String,
    /// Whether there were more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    full: bool,
}

/// The records that a part needs: its own, and the key where that is not stored yet.
pub(crate) fn puts(
    tenant: &Tenant,
    run: &RunId,
    name: &str,
    index: &Index,
    part: &IndexEntries,
) -> Option<Vec<Put>> {
    if part.is_empty() {
        return Some(Vec::new());
    }
    let put = |name: &str, stored: &Stored| {
        let key = RecordKey::new(tenant.clone(), Namespace::Provenance, format!("{run} {name}"));
        let value = canonical::of(stored, Profile::Record).ok()?;
        Some(Put { key, value, expires_at: None })
    };
    let kind = Some(kind_text(part.kind).to_owned());
    let entries = part.entries.iter().map(|entry| format!("{entry:016x}")).collect();
    let own = Stored { v: VERSION, key: None, kind, entries, full: part.full };
    let mut out = vec![put(name, &own)?];
    if let Some(key) = index.unstored_key() {
        let (key, entries) = (Some(hex(key)), String::new());
        out.push(put(KEY, &Stored { v: VERSION, key, kind: None, entries, full: false })?);
    }
    Some(out)
}

/// Reads the index of a run.
pub(crate) fn read(
    tenant: &Tenant,
    run: &RunId,
    ledger: &dyn Ledger,
) -> Result<Index, KernelError> {
    let mut index = Index::default();
    let prefix = format!("{run} ");
    let mut after = prefix.clone();
    // Every record but the key adds at least one entry or says that it was full.
    for _ in 0..=MAX_USER.saturating_add(MAX_OTHERS) {
        let page = ledger.list(tenant, Namespace::Provenance, Some(&after), MAX_PAGE)?;
        let Some((last, _)) = page.last() else { break };
        let (last, len) = (last.clone(), page.len());
        for (id, record) in &page {
            let Some(name) = id.strip_prefix(&prefix) else { return Ok(index) };
            take(&mut index, name, &record.value)?;
        }
        if len < MAX_PAGE {
            break;
        }
        after = last;
    }
    Ok(index)
}

fn take(index: &mut Index, name: &str, value: &[u8]) -> Result<(), KernelError> {
    let stored = |problem: String| KernelError::Stored { what: "the origins of a run", problem };
    let value = canonical::parse(value, Profile::Record).map_err(|e| stored(e.to_string()))?;
    let version = value.get("v").and_then(serde_json::Value::as_u64);
    if version != Some(VERSION.into()) {
        let said = format!("its version is {version:?}, this build knows 1; use a newer build");
        return Err(stored(said));
    }
    let read: Stored = serde_json::from_value(value).map_err(|e| stored(e.to_string()))?;
    if name == KEY {
        let key = read.key.as_deref().and_then(unhex).ok_or_else(|| stored("no key".to_owned()))?;
        index.set_key(key).ok_or_else(|| stored("no key".to_owned()))?;
        index.stored();
        return Ok(());
    }
    let kind =
        read.kind.as_deref().and_then(kind_of).ok_or_else(|| stored("no kind".to_owned()))?;
    let entries = read.entries.as_bytes().chunks(16).map(|digits| {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 16)?;
        u64::from_str_radix(digits, 16).ok()
    });
    let entries: Option<Vec<u64>> = entries.collect();
    let entries = entries.ok_or_else(|| stored("an entry is no number".to_owned()))?;
    index.add(&IndexEntries { kind, entries, full: read.full });
    Ok(())
}

fn unhex(text: &str) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let mut out = Zeroizing::new([0_u8; KEY_BYTES]);
    if text.len() != KEY_BYTES * 2 {
        return None;
    }
    for (byte, digits) in out.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(out)
}

fn kind_text(kind: Voucher) -> &'static str {
    match kind {
        Voucher::User => "user",
        Voucher::Trusted => "trusted",
        Voucher::Written => "written",
    }
}

fn kind_of(text: &str) -> Option<Voucher> {
    [Voucher::User, Voucher::Trusted, Voucher::Written]
        .into_iter()
        .find(|kind| kind_text(*kind) == text)
}
