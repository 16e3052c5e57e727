//! A document older than one that was accepted is refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use weaver_policy::{DocumentSource, DocumentSources, LoadError, PolicySet};
use weaver_types::Tenant;
use weaver_types::ledger::{
    Batch, CommitTicket, Durability, Ledger, LedgerError, Namespace, Record, RecordKey,
    StoredEvent, TreeHead,
};
use weaver_types::signature::DocumentKind;

use crate::support::{NOW, envelope, head, root};

/// Records in memory: what this crate needs of a ledger. `None` is a store that cannot be read.
struct Records(Option<Mutex<BTreeMap<RecordKey, Record>>>);

impl Records {
    fn new() -> Self {
        Self(Some(Mutex::new(BTreeMap::new())))
    }

    fn apply(&self, batch: &Batch) {
        assert!(batch.replace.is_empty());
        let mut records = self.0.as_ref().unwrap().lock().unwrap();
        for expect in &batch.expect {
            assert_eq!(records.get(&expect.key).map(|r| r.version), expect.version);
        }
        for put in &batch.put {
            let version = records.get(&put.key).map_or(1, |r| r.version + 1);
            records.insert(put.key.clone(), Record { version, value: put.value.clone() });
        }
    }
}

impl Ledger for Records {
    fn submit(&self, _: Arc<Batch>) -> CommitTicket {
        CommitTicket::ready(Err(LedgerError::Closed))
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        let records = self.0.as_ref().ok_or(LedgerError::Closed)?;
        Ok(records.lock().unwrap().get(key).cloned())
    }

    fn list(
        &self,
        _: &Tenant,
        _: Namespace,
        _: Option<&str>,
        _: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        Err(LedgerError::Closed)
    }

    fn events(&self, _: u64, _: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        Err(LedgerError::Closed)
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        Err(LedgerError::Closed)
    }

    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        Err(LedgerError::Closed)
    }
}

/// Signed documents, the policy of this version and id.
fn signed(version: u32, id: &str) -> PolicySet {
    let policy = head("policy")
        .replace("version = 1", &format!("version = {version}"))
        .replace("\"t\"", &format!("\"{id}\""));
    let texts = [policy, head("contracts"), head("keys")];
    let kinds = [DocumentKind::Policy, DocumentKind::Contracts, DocumentKind::Keys];
    let envelopes = [0, 1, 2].map(|n| envelope(kinds[n], &texts[n], &root()));
    let source = |n: usize| DocumentSource::signed("x.toml", &texts[n], envelopes[n].as_bytes());
    let sources = DocumentSources { policy: source(0), contracts: source(1), keys: source(2) };
    PolicySet::load(&sources, &root().public(), NOW).unwrap()
}

fn accept(set: &PolicySet, ledger: &Records) -> Result<Batch, LoadError> {
    let batch = set.high_water_batch(&Tenant::default(), ledger)?;
    ledger.apply(&batch);
    Ok(batch)
}

#[test]
fn an_older_version_than_the_last_accepted_is_refused() {
    let ledger = Records::new();
    let first = accept(&signed(5, "t"), &ledger).unwrap();
    assert_eq!((first.put.len(), first.durability), (3, Durability::Disk));
    assert_eq!(accept(&signed(4, "t"), &ledger).unwrap_err().code(), "policy.version_older");
    assert_eq!(accept(&signed(4, "other"), &ledger).unwrap_err().code(), "policy.version_older");
    assert_eq!(accept(&signed(6, "t"), &ledger).unwrap().put.len(), 1);
    assert_eq!(accept(&signed(5, "t"), &ledger).unwrap_err().code(), "policy.version_older");
}

/// PSIG-05 of the reference: version 5 was in force, version 4 is signed as well.
///
/// Cases: PSIG-05.
#[test]
fn a_rightly_signed_older_version_is_refused() {
    let ledger = Records::new();
    accept(&signed(5, "t"), &ledger).unwrap();
    assert_eq!(accept(&signed(4, "t"), &ledger).unwrap_err().code(), "policy.version_older");
}

#[test]
fn the_same_documents_are_accepted_again_and_record_nothing() {
    let ledger = Records::new();
    accept(&signed(5, "t"), &ledger).unwrap();
    assert!(accept(&signed(5, "t"), &ledger).unwrap().put.is_empty());
}

#[test]
fn one_version_stands_for_one_content() {
    let ledger = Records::new();
    accept(&signed(5, "t"), &ledger).unwrap();
    assert_eq!(accept(&signed(5, "u"), &ledger).unwrap_err().code(), "policy.version_reused");
}

#[test]
fn a_ledger_that_cannot_be_read_accepts_nothing() {
    let code = |error: LoadError| error.code();
    let refused = signed(1, "t").high_water_batch(&Tenant::default(), &Records(None));
    assert_eq!(refused.map_err(code).unwrap_err(), "policy.high_water_unreadable");
    let ledger = Records::new();
    let mut batch = signed(1, "t").high_water_batch(&Tenant::default(), &ledger).unwrap();
    for put in &mut batch.put {
        put.value = b"{}".to_vec();
    }
    ledger.apply(&batch);
    let refused = accept(&signed(9, "t"), &ledger).unwrap_err();
    assert_eq!(refused.code(), "policy.high_water_unreadable");
}

#[test]
fn unsigned_documents_and_code_have_no_mark() {
    let ledger = Records::new();
    let unsigned = crate::support::set("", "");
    assert_eq!(accept(&unsigned, &ledger).unwrap(), Batch::new(Durability::Disk));
    assert_eq!(accept(&crate::support::baseline(), &ledger).unwrap().put.len(), 0);
}
