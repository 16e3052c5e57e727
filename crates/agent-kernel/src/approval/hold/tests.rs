use weaver_types::ledger::Record;

use super::*;

const OPEN: &str = include_str!("../../../tests/data/hold_open.json");
const ENDED: &str = include_str!("../../../tests/data/hold_ended.json");

fn read(golden: &str) -> Result<StoredHold, KernelError> {
    let record = Record { version: 1, value: golden.trim_end().as_bytes().to_vec() };
    StoredHold::read("apr_golden", &record)
}

#[test]
fn records_have_their_golden_bytes() {
    for golden in [OPEN, ENDED] {
        let form = read(golden).unwrap();
        let put = form.put(&Tenant::default()).unwrap();
        assert_eq!(String::from_utf8(put.value).unwrap(), golden.trim_end());
        assert_eq!(&*put.key.id, "apr_golden");
    }
    assert!(matches!(read(OPEN).unwrap(), StoredHold::Open(_)));
    assert!(matches!(read(ENDED).unwrap(), StoredHold::Ended(_)));
}

#[test]
fn an_ended_record_holds_a_commitment_and_no_arguments() {
    let (StoredHold::Open(open), StoredHold::Ended(ended)) =
        (read(OPEN).unwrap(), read(ENDED).unwrap())
    else {
        panic!("other forms");
    };
    let made = EndedHold::of(&open.request, ended.phase.clone(), ended.ended_at).unwrap();
    assert_eq!(made, *ended);
    assert!(!ENDED.contains("origin"));
}

#[test]
fn newer_damaged_and_misplaced_records_are_refused() {
    let newer = OPEN.replace("\"v\":1}", "\"v\":2}");
    assert_ne!(newer, OPEN);
    let more = ENDED.replace("\"v\":1}", "\"v\":1,\"w\":1}");
    for wrong in [newer.as_str(), more.as_str(), "{}", "nonsense", ""] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    let record = Record { version: 1, value: OPEN.trim_end().as_bytes().to_vec() };
    assert!(StoredHold::read("apr_other", &record).is_err());
}

#[test]
fn a_call_with_masks_is_read_back_as_it_was() {
    let StoredHold::Open(mut open) = read(OPEN).unwrap() else { panic!("another form") };
    let given = serde_json::json!({ "to": "[EMAIL_1]" });
    open.held_request.masks = Some(HeldMasks { as_written: given, values: Vec::new() });
    let form = StoredHold::Open(open);
    let value = form.put(&Tenant::default()).unwrap().value;
    let record = Record { version: 1, value };
    assert_eq!(StoredHold::read("apr_golden", &record).unwrap(), form);
}

#[test]
fn what_is_left_of_a_request_is_kept_for_a_month_after_its_end() {
    const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 3_600);
    let StoredHold::Ended(mut ended) = read(ENDED).unwrap() else { panic!("another form") };
    let kept = |form: StoredHold| form.put(&Tenant::default()).unwrap().expires_at;
    assert_eq!(kept(StoredHold::Ended(ended.clone())), Some(ended.deadline.after(DAY * 30)));
    ended.ended_at = ended.deadline.after(DAY);
    assert_eq!(kept(StoredHold::Ended(ended.clone())), Some(ended.deadline.after(DAY * 31)));
    assert_eq!(kept(read(OPEN).unwrap()), None, "an open one does not end by itself");
}
