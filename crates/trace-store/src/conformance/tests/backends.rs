//! What is found in a whole backend: opened, opened again, and its blobs.

use super::*;

/// A store that refuses whatever it is asked for.
struct Refusing;

impl RecordStore for Refusing {
    fn apply(&self, _: Batch) -> Result<(), LedgerError> {
        Err(LedgerError::Full("no".to_owned()))
    }

    fn read(&self, _: &RecordKey) -> Result<Option<Record>, LedgerError> {
        Ok(None)
    }

    fn list(
        &self,
        _: &Tenant,
        _: Namespace,
        _: Option<&str>,
        _: usize,
    ) -> Result<Page, LedgerError> {
        Ok(Vec::new())
    }
}

fn names(checks: &[ConformanceCheck], without: &[&str]) -> Vec<String> {
    let names = checks.iter().map(|(name, _)| (*name).to_owned());
    names.filter(|name| !without.contains(&name.as_str())).collect()
}

fn before_colon(findings: &[String]) -> Vec<String> {
    let names = findings.iter().map(|found| found.split(": ").next().unwrap().to_owned());
    names.collect()
}

#[test]
fn a_backend_that_refuses_everything_passes_no_check_that_writes() {
    let refusing = || with_commit(|_, _| Err(LedgerError::Full("no".to_owned())));
    let findings = check_ledger(&mut || Ok(Box::new(refusing())));
    assert_eq!(before_colon(&findings), names(CHECKS, &["an empty ledger has the empty root"]));
    let findings = check_records(&mut || Ok(Box::new(Refusing)));
    assert_eq!(before_colon(&findings), names(record_half::CHECKS, &[]));
    let findings = check_ledger(&mut || Err("it is not there".into()));
    assert_eq!(findings[0], "an empty ledger has the empty root: it is not there");
    assert_eq!(findings.len(), CHECKS.len());
    let findings = check_records(&mut || Err("it is not there".into()));
    assert_eq!(findings.len(), record_half::CHECKS.len());
    assert!(findings.iter().all(|found| found.ends_with(": it is not there")));
}

#[test]
fn a_ledger_that_is_another_after_it_was_opened_again_is_found() {
    let fresh = || Box::new(honest());
    let found = check_reopening(&mut || Ok(fresh()));
    assert_eq!(found, ["reopening: what is there again is not what was there"]);
    let found = check_reopening(&mut || Ok(Box::new(with_commit(|_, _| Err(LedgerError::Closed)))));
    assert_eq!(found, ["reopening: refused: the ledger is closed"]);
    let unsynced = || Faulty { synced: |head| head.size = 0, ..honest() };
    let found = check_reopening(&mut || Ok(Box::new(unsynced())));
    assert_eq!(found, ["reopening: a barrier does not sync"]);
}

#[test]
fn a_second_writer_that_is_let_in_is_found() {
    let found = check_exclusive(&mut || Ok(Box::new(honest())));
    assert_eq!(found, ["one writer: a second writer was let in"]);
    let after_first = |error: fn() -> LedgerError| {
        let mut opened = 0;
        check_exclusive(&mut || {
            opened += 1;
            if opened == 2 { Err(error()) } else { Ok(Box::new(honest())) }
        })
    };
    let closed = after_first(|| LedgerError::Closed);
    let wrong = "one writer: a second is refused for the wrong reason: the ledger is closed";
    assert_eq!(closed, [wrong]);
    let unnamed = after_first(|| LedgerError::Locked { path: "p".into(), holder: "".into() });
    assert_eq!(unnamed, ["one writer: nobody is named"]);
    let lost = after_first(|| LedgerError::Locked { path: "p".into(), holder: "x".into() });
    assert_eq!(lost, ["one writer: the next writer does not see the log"]);
}

/// A blob store that does one thing wrong.
struct FaultyBlobs {
    inner: MemoryBlobs,
    put: fn(&MemoryBlobs, &[u8]) -> Result<BlobId, LedgerError>,
    get: fn(Option<Vec<u8>>) -> Option<Vec<u8>>,
    keeps: bool,
}

impl BlobStore for FaultyBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, LedgerError> {
        (self.put)(&self.inner, bytes)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
        self.inner.get(id).map(self.get)
    }

    fn remove(&self, id: &BlobId) -> Result<(), LedgerError> {
        if self.keeps { Ok(()) } else { self.inner.remove(id) }
    }
}

#[test]
fn a_blob_store_that_loses_confuses_or_betrays_what_it_holds_is_found() {
    let honest = || FaultyBlobs {
        inner: MemoryBlobs::new([1; 32]),
        put: |inner, bytes| inner.put(bytes),
        get: |found| found,
        keeps: false,
    };
    /// Stores the bytes under their plain digest.
    fn plain(_: &MemoryBlobs, bytes: &[u8]) -> Result<BlobId, LedgerError> {
        Ok(BlobId(Digest::of(weaver_types::digest::DomainTag::BLOB, bytes)))
    }
    let named = |name: fn(&MemoryBlobs, &[u8]) -> Result<BlobId, LedgerError>| FaultyBlobs {
        put: name,
        ..honest()
    };
    assert_eq!(super::check_blobs(&honest()), Vec::<String>::new());
    for (store, wanted) in [
        (FaultyBlobs { get: |_| None, ..honest() }, "a blob is not what was written"),
        (FaultyBlobs { keeps: true, ..honest() }, "a removed blob is still there"),
        (named(plain), "a blob is not what was written"),
        (
            named(|inner, bytes| match bytes {
                b"two" => inner.put(b"one"),
                _ => inner.put(bytes),
            }),
            "different bytes have one name",
        ),
        (
            named(|inner, bytes| match bytes.len() > MAX_BLOB {
                true => inner.put(b"large"),
                false => inner.put(bytes),
            }),
            "a blob above the limit is taken",
        ),
    ] {
        assert_eq!(super::check_blobs(&store), [format!("blobs: {wanted}")]);
    }
    // Names without a key: what lies under them is right, and whoever guesses it knows them.
    struct Plain(Mutex<BTreeMap<BlobId, Vec<u8>>>);
    impl BlobStore for Plain {
        fn put(&self, bytes: &[u8]) -> Result<BlobId, LedgerError> {
            let id = BlobId(Digest::of(weaver_types::digest::DomainTag::BLOB, bytes));
            self.0.lock().unwrap().insert(id, bytes.to_vec());
            Ok(id)
        }
        fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
            Ok(self.0.lock().unwrap().get(id).cloned())
        }
        fn remove(&self, id: &BlobId) -> Result<(), LedgerError> {
            self.0.lock().unwrap().remove(id);
            Ok(())
        }
    }
    let found = super::check_blobs(&Plain(Mutex::default()));
    assert_eq!(found, ["blobs: a name can be computed without the key of the store"]);
}
