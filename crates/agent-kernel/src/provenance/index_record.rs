//! The stored records of an index: its key, and one for each call or text that added entries.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace, RecordKey, RecordWrite};
use weaver_types::{RunId, Tenant, hex};
use zeroize::Zeroizing;

use super::index::{
    IndexEntries, KEY_BYTES, MAX_OTHER_ENTRIES, MAX_USER_ENTRIES, ProvenanceIndex, Voucher,
};
use crate::error::KernelError;
use crate::versioned_record::parse_versioned;

/// The version of the stored form.
const VERSION: u8 = 1;
/// The name of the record of the key. Record ids are `run name`; run ids contain no blank, so no
/// run reads another's records.
const KEY_RECORD: &str = "!key";

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
    /// Whether some entries found no place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    full: bool,
}

/// The records of new entries: their own, and that of the key if it is not stored yet.
pub(crate) fn record_puts(
    tenant: &Tenant,
    run: &RunId,
    name: &str,
    index: &ProvenanceIndex,
    part: &IndexEntries,
) -> Option<Vec<RecordWrite>> {
    if part.is_empty() {
        return Some(Vec::new());
    }
    let put = |name: &str, stored: &ProvenanceRecord| {
        let key = RecordKey::new(tenant.clone(), Namespace::Provenance, format!("{run} {name}"));
        let value = canonical::serialize(stored, Profile::Record).ok()?;
        Some(RecordWrite { key, value, expires_at: None })
    };
    let kind = Some(voucher_text(part.voucher).to_owned());
    let entries = part.entries.iter().map(|entry| format!("{entry:016x}")).collect();
    let entries_record =
        ProvenanceRecord { v: VERSION, key: None, kind, entries, full: part.overflowed };
    let mut out = vec![put(name, &entries_record)?];
    if let Some(key) = index.unstored_key() {
        let (key, entries) = (Some(hex(key)), String::new());
        out.push(put(
            KEY_RECORD,
            &ProvenanceRecord { v: VERSION, key, kind: None, entries, full: false },
        )?);
    }
    Some(out)
}

/// The digest that an event contains of a record that is written with it.
pub(crate) fn put_digest(put: &RecordWrite) -> Digest {
    record_digest(&put.key.id, &put.value)
}

fn record_digest(id: &str, value: &[u8]) -> Digest {
    Digest::of_parts(DomainTag::PROVENANCE, &[id.as_bytes(), value])
}

/// Reads the index of a run; `logged` has the record digests from the run's events. A record whose
/// digest is not among them is ignored: it was planted or changed, or is older than such digests.
/// If a record is ignored or missing, trusted sources vouch for nothing from now on, since a
/// missing one may have listed untrusted values.
pub(crate) fn read_index(
    tenant: &Tenant,
    run: &RunId,
    ledger: &dyn Ledger,
    mut logged: HashSet<Digest>,
) -> Result<ProvenanceIndex, KernelError> {
    let mut index = ProvenanceIndex::default();
    let mut unknown = false;
    let prefix = format!("{run} ");
    let mut after = prefix.clone();
    // Every record but the key adds at least one entry or reports an overflow, which bounds their
    // number.
    'pages: for _ in 0..=MAX_USER_ENTRIES.saturating_add(MAX_OTHER_ENTRIES) {
        let page = ledger.list(tenant, Namespace::Provenance, Some(&after), MAX_PAGE)?;
        let Some((last, _)) = page.last() else { break };
        let (last, len) = (last.clone(), page.len());
        for (id, record) in &page {
            let Some(name) = id.strip_prefix(&prefix) else { break 'pages };
            match logged.remove(&record_digest(id, &record.value)) {
                true => add_record(&mut index, name, &record.value)?,
                false => unknown = true,
            }
        }
        if len < MAX_PAGE {
            break;
        }
        after = last;
    }
    if unknown || !logged.is_empty() {
        index.distrust_all();
    }
    Ok(index)
}

fn add_record(index: &mut ProvenanceIndex, name: &str, value: &[u8]) -> Result<(), KernelError> {
    let stored =
        |problem: String| KernelError::StoredRecord { what: "the origins of a run", problem };
    let read: ProvenanceRecord =
        parse_versioned(value, Profile::Record, 1..=VERSION.into()).map_err(stored)?;
    if name == KEY_RECORD {
        let key = read
            .key
            .as_deref()
            .and_then(parse_hex_key)
            .ok_or_else(|| stored("no key".to_owned()))?;
        index.set_key(key).ok_or_else(|| stored("no key".to_owned()))?;
        index.mark_key_stored();
        return Ok(());
    }
    let kind =
        read.kind.as_deref().and_then(parse_voucher).ok_or_else(|| stored("no kind".to_owned()))?;
    let entries = read.entries.as_bytes().chunks(16).map(|digits| {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 16)?;
        u64::from_str_radix(digits, 16).ok()
    });
    let entries: Option<Vec<u64>> = entries.collect();
    let entries = entries.ok_or_else(|| stored("an entry is not a number".to_owned()))?;
    index.add(&IndexEntries { voucher: kind, entries, overflowed: read.full });
    Ok(())
}

fn parse_hex_key(text: &str) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let mut out = Zeroizing::new([0_u8; KEY_BYTES]);
    if text.len() != KEY_BYTES * 2 {
        return None;
    }
    for (byte, digits) in out.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(out)
}

fn voucher_text(kind: Voucher) -> &'static str {
    match kind {
        Voucher::User => "user",
        Voucher::Trusted => "trusted",
        Voucher::Untrusted => "written",
    }
}

fn parse_voucher(text: &str) -> Option<Voucher> {
    [Voucher::User, Voucher::Trusted, Voucher::Untrusted]
        .into_iter()
        .find(|kind| voucher_text(*kind) == text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weaver_text::values::{ValueClass, ValueToken};
    use weaver_trace_store::MemoryLedger;
    use weaver_types::SeededRandom;
    use weaver_types::ledger::{Batch, Durability};

    use super::*;

    fn run(id: &str) -> RunId {
        RunId::parse(id).unwrap()
    }

    fn token(n: usize) -> ValueToken {
        ValueToken::new(ValueClass::Identifier, format!("id-{n}"))
    }

    fn ledger() -> MemoryLedger {
        MemoryLedger::with_random_id(Arc::new(SeededRandom::new(2))).unwrap()
    }

    /// Commits records; gives what an event would say of them.
    fn commit(ledger: &MemoryLedger, put: Vec<RecordWrite>) -> HashSet<Digest> {
        let digests = put.iter().map(put_digest).collect();
        ledger.commit(Batch { put, ..Batch::new(Durability::Os) }).wait().unwrap();
        digests
    }

    fn index() -> ProvenanceIndex {
        let mut index = ProvenanceIndex::default();
        index.ensure_key(&SeededRandom::new(1)).unwrap();
        index
    }

    #[test]
    fn an_index_reads_back_from_its_records_as_it_was() {
        let (ledger, tenant, mut entries_record) = (ledger(), Tenant::default(), index());
        let mut logged = HashSet::new();
        for (name, kind, ids) in [
            ("call_1", Voucher::Trusted, [1, 2]),
            ("call_2.args", Voucher::Untrusted, [3, 4]),
            ("said_1", Voucher::User, [5, 6]),
        ] {
            let part = entries_record.new_entries(kind, &ids.map(token)).unwrap();
            let puts = record_puts(&tenant, &run("run_1"), name, &entries_record, &part).unwrap();
            logged.extend(commit(&ledger, puts));
            entries_record.add(&part);
            entries_record.mark_key_stored();
        }
        let again = read_index(&tenant, &run("run_1"), &ledger, logged).unwrap();
        assert_eq!(again.len(), 6);
        assert_eq!(again.unstored_key(), None, "it stands in the ledger");
        for n in 0..8 {
            assert_eq!(again.origin_of(&token(n)), entries_record.origin_of(&token(n)), "{n}");
        }
        for other in ["run_", "run_2", "run_11"] {
            let none = read_index(&tenant, &run(other), &ledger, HashSet::new()).unwrap();
            assert_eq!(none.len(), 0, "{other}");
        }
    }

    #[test]
    fn the_key_goes_with_the_first_record_and_nothing_is_written_for_nothing() {
        let (tenant, mut entries_record) = (Tenant::default(), index());
        let part = |full| IndexEntries {
            voucher: Voucher::Untrusted,
            entries: Vec::new(),
            overflowed: full,
        };
        let ids = |entries_record: &ProvenanceIndex, part: &IndexEntries| -> Vec<String> {
            let puts = record_puts(&tenant, &run("run_1"), "call_1", entries_record, part).unwrap();
            puts.iter().map(|put| put.key.id.to_string()).collect()
        };
        assert_eq!(ids(&entries_record, &part(false)), Vec::<String>::new());
        assert_eq!(ids(&entries_record, &part(true)), ["run_1 call_1", "run_1 !key"]);
        entries_record.mark_key_stored();
        assert_eq!(ids(&entries_record, &part(true)), ["run_1 call_1"]);
    }

    #[test]
    fn more_records_than_one_page_are_all_read() {
        let (ledger, tenant, entries_record) = (ledger(), Tenant::default(), index());
        let mut logged = HashSet::new();
        for (count, before) in [(MAX_PAGE, 0), (1, MAX_PAGE)] {
            let mut all = Vec::new();
            for n in before..before + count {
                let entries = vec![n.try_into().unwrap()];
                let part = IndexEntries { voucher: Voucher::Trusted, entries, overflowed: false };
                let own_put = record_puts(
                    &tenant,
                    &run("run_1"),
                    &format!("call_{n}"),
                    &entries_record,
                    &part,
                );
                all.extend(own_put.unwrap().into_iter().take(1));
            }
            logged.extend(commit(&ledger, all));
            let read = read_index(&tenant, &run("run_1"), &ledger, logged.clone()).unwrap();
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
            (
                "call_1",
                text("{\"entries\":\"ff\",\"kind\":\"user\",\"v\":1}"),
                Some("not a number"),
            ),
            (
                "call_1",
                text("{\"entries\":\"000000000000000g\",\"kind\":\"user\",\"v\":1}"),
                Some("not a number"),
            ),
            ("call_1", text("{\"kind\":\"user\",\"more\":1,\"v\":1}"), Some("more")),
        ] {
            let mut index = ProvenanceIndex::default();
            let failure = add_record(&mut index, name, &value).err().map(|error| error.to_string());
            match problem {
                None => assert_eq!(failure, None),
                Some(problem) => assert!(failure.unwrap().contains(problem), "{problem}"),
            }
        }
        let mut index = ProvenanceIndex::default();
        add_record(&mut index, "call_1", b"{\"full\":true,\"kind\":\"written\",\"v\":1}").unwrap();
        assert!(index.is_void("anything"));
    }
}
