//! The records of an index: its key, and one for each call or text that added to it.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, Tag};
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
struct ProvenanceRecord {
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
    let put = |name: &str, stored: &ProvenanceRecord| {
        let key = RecordKey::new(tenant.clone(), Namespace::Provenance, format!("{run} {name}"));
        let value = canonical::of(stored, Profile::Record).ok()?;
        Some(Put { key, value, expires_at: None })
    };
    let kind = Some(kind_text(part.kind).to_owned());
    let entries = part.entries.iter().map(|entry| format!("{entry:016x}")).collect();
    let own = ProvenanceRecord { v: VERSION, key: None, kind, entries, full: part.full };
    let mut out = vec![put(name, &own)?];
    if let Some(key) = index.unstored_key() {
        let (key, entries) = (Some(hex(key)), String::new());
        out.push(put(
            KEY,
            &ProvenanceRecord { v: VERSION, key, kind: None, entries, full: false },
        )?);
    }
    Some(out)
}

/// What an event says of a record that is written with it.
pub(crate) fn put_digest(put: &Put) -> Digest {
    digest(&put.key.id, &put.value)
}

fn digest(id: &str, value: &[u8]) -> Digest {
    Digest::of_parts(Tag::PROVENANCE, &[id.as_bytes(), value])
}

/// Reads the index of a run, whose events told of the records with these digests. A record of
/// which none told counts for nothing: somebody planted or changed it, or it is older than such
/// digests. Where one is missing too, trusted sources vouch for nothing more, since it may have
/// said what untrusted input placed.
pub(crate) fn read(
    tenant: &Tenant,
    run: &RunId,
    ledger: &dyn Ledger,
    mut logged: HashSet<Digest>,
) -> Result<Index, KernelError> {
    let mut index = Index::default();
    let mut unknown = false;
    let prefix = format!("{run} ");
    let mut after = prefix.clone();
    // Every record but the key adds at least one entry or says that it was full.
    'pages: for _ in 0..=MAX_USER.saturating_add(MAX_OTHERS) {
        let page = ledger.list(tenant, Namespace::Provenance, Some(&after), MAX_PAGE)?;
        let Some((last, _)) = page.last() else { break };
        let (last, len) = (last.clone(), page.len());
        for (id, record) in &page {
            let Some(name) = id.strip_prefix(&prefix) else { break 'pages };
            match logged.remove(&digest(id, &record.value)) {
                true => take(&mut index, name, &record.value)?,
                false => unknown = true,
            }
        }
        if len < MAX_PAGE {
            break;
        }
        after = last;
    }
    if unknown || !logged.is_empty() {
        index.close();
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
    let read: ProvenanceRecord =
        serde_json::from_value(value).map_err(|e| stored(e.to_string()))?;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weaver_text::values::{Class, Token};
    use weaver_trace_store::MemoryLedger;
    use weaver_types::SeededRandom;
    use weaver_types::ledger::{Batch, Durability};

    use super::*;

    fn run(id: &str) -> RunId {
        RunId::parse(id).unwrap()
    }

    fn token(n: usize) -> Token {
        Token::new(Class::Identifier, format!("id-{n}"))
    }

    fn ledger() -> MemoryLedger {
        MemoryLedger::fresh(Arc::new(SeededRandom::new(2))).unwrap()
    }

    /// Commits records; gives what an event would say of them.
    fn commit(ledger: &MemoryLedger, put: Vec<Put>) -> HashSet<Digest> {
        let digests = put.iter().map(put_digest).collect();
        ledger.commit(Batch { put, ..Batch::new(Durability::Os) }).wait().unwrap();
        digests
    }

    fn index() -> Index {
        let mut index = Index::default();
        index.ensure(&SeededRandom::new(1)).unwrap();
        index
    }

    #[test]
    fn an_index_reads_back_from_its_records_as_it_was() {
        let (ledger, tenant, mut own) = (ledger(), Tenant::default(), index());
        let mut logged = HashSet::new();
        for (name, kind, ids) in [
            ("call_1", Voucher::Trusted, [1, 2]),
            ("call_2.args", Voucher::Written, [3, 4]),
            ("said_1", Voucher::User, [5, 6]),
        ] {
            let part = own.part(kind, &ids.map(token)).unwrap();
            let puts = puts(&tenant, &run("run_1"), name, &own, &part).unwrap();
            logged.extend(commit(&ledger, puts));
            own.add(&part);
            own.stored();
        }
        let again = read(&tenant, &run("run_1"), &ledger, logged).unwrap();
        assert_eq!(again.len(), 6);
        assert_eq!(again.unstored_key(), None, "it stands in the ledger");
        for n in 0..8 {
            assert_eq!(again.vouched(&token(n)), own.vouched(&token(n)), "{n}");
        }
        for other in ["run_", "run_2", "run_11"] {
            let none = read(&tenant, &run(other), &ledger, HashSet::new()).unwrap();
            assert_eq!(none.len(), 0, "{other}");
        }
    }

    #[test]
    fn the_key_goes_with_the_first_record_and_nothing_is_written_for_nothing() {
        let (tenant, mut own) = (Tenant::default(), index());
        let part = |full| IndexEntries { kind: Voucher::Written, entries: Vec::new(), full };
        let ids = |own: &Index, part: &IndexEntries| -> Vec<String> {
            let puts = puts(&tenant, &run("run_1"), "call_1", own, part).unwrap();
            puts.iter().map(|put| put.key.id.to_string()).collect()
        };
        assert_eq!(ids(&own, &part(false)), Vec::<String>::new());
        assert_eq!(ids(&own, &part(true)), ["run_1 call_1", "run_1 !key"]);
        own.stored();
        assert_eq!(ids(&own, &part(true)), ["run_1 call_1"]);
    }

    #[test]
    fn more_records_than_one_page_are_all_read() {
        let (ledger, tenant, own) = (ledger(), Tenant::default(), index());
        let mut logged = HashSet::new();
        for (count, before) in [(MAX_PAGE, 0), (1, MAX_PAGE)] {
            let mut all = Vec::new();
            for n in before..before + count {
                let entries = vec![n.try_into().unwrap()];
                let part = IndexEntries { kind: Voucher::Trusted, entries, full: false };
                let own_put = puts(&tenant, &run("run_1"), &format!("call_{n}"), &own, &part);
                all.extend(own_put.unwrap().into_iter().take(1));
            }
            logged.extend(commit(&ledger, all));
            let read = read(&tenant, &run("run_1"), &ledger, logged.clone()).unwrap();
            assert_eq!(read.len(), before + count);
        }
    }

    #[test]
    fn a_damaged_record_is_an_error_and_says_what_is_wrong() {
        let key = "0a".repeat(32);
        let text = |text: &str| text.as_bytes().to_vec();
        for (name, value, problem) in [
            ("!key", text(&format!("{{\"key\":\"{key}\",\"v\":1}}")), None),
            ("!key", text(&format!("{{\"key\":\"{key}\",\"v\":2}}")), Some("use a newer build")),
            ("!key", text("{\"key\":\"0a\",\"v\":1}"), Some("no key")),
            (
                "!key",
                text(&format!("{{\"key\":\"{}zz\",\"v\":1}}", "0a".repeat(31))),
                Some("no key"),
            ),
            ("!key", text("{\"v\":1}"), Some("no key")),
            ("call_1", text("{\"entries\":\"00000000000000ff\",\"kind\":\"user\",\"v\":1}"), None),
            ("call_1", text("{\"kind\":\"user\",\"v\":1}"), None),
            ("call_1", text("{\"kind\":\"nobody\",\"v\":1}"), Some("no kind")),
            ("call_1", text("{\"v\":1}"), Some("no kind")),
            ("call_1", text("{\"entries\":\"ff\",\"kind\":\"user\",\"v\":1}"), Some("no number")),
            (
                "call_1",
                text("{\"entries\":\"000000000000000g\",\"kind\":\"user\",\"v\":1}"),
                Some("no number"),
            ),
            ("call_1", text("{\"kind\":\"user\",\"more\":1,\"v\":1}"), Some("more")),
        ] {
            let mut index = Index::default();
            let failure = take(&mut index, name, &value).err().map(|error| error.to_string());
            match problem {
                None => assert_eq!(failure, None),
                Some(problem) => assert!(failure.unwrap().contains(problem), "{problem}"),
            }
        }
        let mut index = Index::default();
        take(&mut index, "call_1", b"{\"full\":true,\"kind\":\"written\",\"v\":1}").unwrap();
        assert!(index.is_void("anything"));
    }
}
