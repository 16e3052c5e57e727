use serde_json::json;
use weaver_firewall::HandleError;
use weaver_firewall::handle::{
    self, BytesLocation, HandleAccess, HandleBudget, HandleGrant, HandleRecord, HandleStore,
    StoredHandle,
};
use weaver_firewall::view::ViewRegistry;
use weaver_types::ledger::{BlobStore as _, Namespace, Record};
use weaver_types::{
    CallId, Constraints, HandleId, Label, PrincipalId, RawContent, RawResult, RunId, SeededRandom,
    Tenant, Timestamp,
};

use crate::support::{Blobs, capability, names};

const NOW: Timestamp = Timestamp::from_micros(1_767_323_045_000_006);

fn handle_store() -> HandleStore {
    HandleStore::new(Tenant::default(), HandleBudget::default(), None)
}

fn stored(raw: &RawResult, blobs: &Blobs) -> StoredHandle {
    let constraints = Constraints { max_rows: Some(7), ..Constraints::default() };
    let grant = HandleGrant {
        tenant: &Tenant::default(),
        principal: &PrincipalId::parse("ann").unwrap(),
        run: &RunId::parse("run_1").unwrap(),
        call: &CallId::parse("call_1").unwrap(),
        capability: &capability(&["id", "note"]),
        constraints: &constraints,
        pii_reader: false,
        label: &Label::undeclared_output(),
        views: &ViewRegistry::default(),
        now: NOW,
    };
    handle_store().store(raw, grant, blobs, &SeededRandom::new(1)).unwrap()
}

fn load(
    stored: &StoredHandle,
    principal: &str,
    tenant: &str,
    at: i64,
) -> Result<HandleRecord, weaver_firewall::HandleError> {
    let record = Record { version: 1, value: stored.put.value.clone() };
    let access = HandleAccess {
        tenant: &Tenant::parse(tenant).unwrap(),
        principal: &PrincipalId::parse(principal).unwrap(),
        now: Timestamp::from_micros(NOW.micros() + at),
    };
    handle::authorized_record(&stored.handle.handle_id, Some(&record), access)
}

#[test]
fn what_is_stored_comes_back() {
    for raw in [
        RawResult::json(json!([{"id": 1}, {"id": 0.1}, {"id": 9_007_199_254_740_993_u64}])),
        RawResult::text("two\nlines").failed(),
        RawResult {
            content: RawContent::Binary { media_type: "image/png".into(), bytes: vec![1, 2] },
            ..RawResult::text("")
        },
    ] {
        let blobs = Blobs::default();
        let stored = stored(&raw, &blobs);
        assert_eq!(stored.put.key.namespace, Namespace::Handle);
        // The store removes it, with its bytes.
        assert_eq!(stored.put.expires_at, None);
        let record = load(&stored, "ann", "local", 0).unwrap();
        assert_eq!(record.handle, stored.handle);
        assert_eq!((record.call.as_str(), record.run.as_str()), ("call_1", "run_1"));
        assert_eq!(record.constraints.max_rows, Some(7));
        assert_eq!(record.allowed_fields, ["id", "note"].map(str::to_owned).into());
        assert_eq!(record.label, Label::undeclared_output());
        assert_eq!(handle::read_content(&record, &blobs, None).unwrap(), raw);
    }
}

#[test]
fn somebody_elses_handle_is_an_unknown_one() {
    let stored = stored(&RawResult::text("x"), &Blobs::default());
    let access = HandleAccess {
        tenant: &Tenant::default(),
        principal: &PrincipalId::parse("ann").unwrap(),
        now: NOW,
    };
    let unknown = handle::authorized_record(&stored.handle.handle_id, None, access).unwrap_err();
    assert_eq!(unknown.code(), "handle_not_found");
    assert_eq!(load(&stored, "bob", "local", 0).unwrap_err(), unknown);
    assert_eq!(load(&stored, "ann", "other", 0).unwrap_err(), unknown);
    // Also once it has expired: nothing tells that it was ever there.
    assert_eq!(load(&stored, "bob", "local", i64::MAX / 4).unwrap_err(), unknown);
}

#[test]
fn a_record_that_lies_under_another_id_is_an_unknown_one() {
    let blobs = Blobs::default();
    let one = stored(&RawResult::json(json!([{"id": 1}])), &blobs);
    let record = Record { version: 1, value: one.put.value.clone() };
    let (tenant, principal) = (Tenant::default(), PrincipalId::parse("ann").unwrap());
    let access = || HandleAccess { tenant: &tenant, principal: &principal, now: NOW };
    assert!(handle::authorized_record(&one.handle.handle_id, Some(&record), access()).is_ok());
    // Whoever puts one record in the place of another shows nobody what it names.
    let other = HandleId::parse("hdl_00000000000000000000000000000000").unwrap();
    let refused = handle::authorized_record(&other, Some(&record), access());
    assert_eq!(refused, Err(HandleError::NotFound { id: other }));
}

#[test]
fn a_handle_ends_after_an_hour() {
    let stored = stored(&RawResult::text("x"), &Blobs::default());
    assert!(load(&stored, "ann", "local", 3_599_999_999).is_ok());
    let error = load(&stored, "ann", "local", 3_600_000_000).unwrap_err();
    assert_eq!(error.code(), "handle_expired");
}

#[test]
fn evicted_bytes_are_an_expired_handle() {
    let blobs = Blobs::default();
    let stored = stored(&RawResult::text("x".repeat(handle::MAX_INLINE_BYTES + 1)), &blobs);
    let record = load(&stored, "ann", "local", 0).unwrap();
    let BytesLocation::Blob(blob) = &record.bytes else { panic!("it is large: {record:?}") };
    blobs.remove(blob).unwrap();
    assert_eq!(handle::read_content(&record, &blobs, None).unwrap_err().code(), "handle_expired");
}

#[test]
fn a_small_text_needs_no_blob_and_a_larger_one_has_one() {
    let place = |raw: RawResult, blobs: &Blobs| {
        load(&stored(&raw, blobs), "ann", "local", 0).unwrap().bytes
    };
    let blobs = Blobs::default();
    let text = "x".repeat(handle::MAX_INLINE_BYTES);
    assert_eq!(place(RawResult::text(text.clone()), &blobs), BytesLocation::Inline(text.clone()));
    let json = RawResult::json(json!([1]));
    assert_eq!(place(json, &blobs), BytesLocation::Inline("[1]".to_owned()));
    assert_eq!(blobs.count(), 0);
    place(RawResult::text(text + "x"), &blobs);
    let content = RawContent::Binary { media_type: "image/png".into(), bytes: b"x".to_vec() };
    place(RawResult { content, ..RawResult::text("") }, &blobs);
    assert_eq!(blobs.count(), 2);
}

#[test]
fn a_drill_down_is_never_looser_than_the_first_call() {
    let stored = stored(&RawResult::text("x"), &Blobs::default());
    let record = load(&stored, "ann", "local", 0).unwrap();
    let now = Constraints {
        max_rows: Some(50),
        allowed_fields: Some(names(&["note", "x"])),
        ..Constraints::default()
    };
    let joined = record.tightened_constraints(&now, true);
    assert_eq!(joined.max_rows, Some(7));
    assert_eq!(joined.allowed_fields, Some(names(&["note"])));
}

#[test]
fn newer_and_damaged_records_are_refused() {
    let stored = stored(&RawResult::text("x"), &Blobs::default());
    let text = String::from_utf8(stored.put.value).unwrap();
    let read = |text: String| HandleRecord::from_bytes("h", text.as_bytes()).unwrap_err();
    let newer = read(text.replace("\"v\":2", "\"v\":3"));
    assert!(newer.to_string().contains("version 3"), "{newer}");
    assert!(
        read(text.replace("\"pii\":false", "\"pii\":false,\"new\":1"))
            .to_string()
            .contains("damaged")
    );
    assert!(read(text.replace("\"pii\":false,", "")).to_string().contains("damaged"));
    assert!(read(String::new()).to_string().contains("damaged"));
}

#[test]
fn the_stored_form_stays_as_it_is() {
    let stored = stored(&RawResult::text("x"), &Blobs::default());
    let golden = include_str!("../data/handle_record_v2.json").trim_end();
    assert_eq!(String::from_utf8(stored.put.value).unwrap(), golden);
    let now = HandleRecord::from_bytes("h", golden.as_bytes()).unwrap();
    assert_eq!(now.v, 2);
}

#[test]
fn what_nests_too_deep_is_not_stored() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |value, _| json!([value]));
    let blobs = Blobs::default();
    let raw = RawResult::json(nested(handle::MAX_STORED_DEPTH));
    let record = load(&stored(&raw, &blobs), "ann", "local", 0).unwrap();
    assert_eq!(handle::read_content(&record, &blobs, None).unwrap(), raw);
    let grant = HandleGrant {
        tenant: &Tenant::default(),
        principal: &PrincipalId::parse("ann").unwrap(),
        run: &RunId::parse("r").unwrap(),
        call: &CallId::parse("c").unwrap(),
        capability: &capability(&[]),
        constraints: &Constraints::default(),
        pii_reader: false,
        label: &Label::clean(),
        views: &ViewRegistry::default(),
        now: NOW,
    };
    let raw = RawResult::json(nested(handle::MAX_STORED_DEPTH + 1));
    let error = handle_store().store(&raw, grant, &blobs, &SeededRandom::new(1)).unwrap_err();
    assert!(error.to_string().contains("nests deeper"));
}
