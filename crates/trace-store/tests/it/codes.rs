//! The stable codes of every error, which logs and scripts rely on, and what the errors say.

use weaver_trace_store::checkpoint::{CheckpointError, KeyEventError, ReceiptEventError};
use weaver_trace_store::entry::HeaderError;
use weaver_trace_store::export::{ExportError, ExportFormat};
use weaver_trace_store::merkle::Frontier;
use weaver_trace_store::prune::{PruneReason, PruningNoteError};
use weaver_trace_store::query::QueryError;
use weaver_trace_store::retention::RetentionError;
use weaver_trace_store::verify::{EventFault, SideTable, VerifyError};
use weaver_types::ledger::LedgerError;
use weaver_types::signature::SigningKey;
use weaver_types::{LogId, Timestamp};

fn log() -> LogId {
    LogId::parse("log_1").unwrap()
}

#[test]
fn headers_notes_and_frontiers_have_their_codes() {
    for (error, code) in [
        (HeaderError::Form, "header.form"),
        (HeaderError::Field { field: "at".to_owned() }, "header.field"),
        (HeaderError::Newer { found: 2 }, "header.newer"),
    ] {
        assert_eq!(error.code(), code);
    }
    for (error, code) in [
        (PruningNoteError::Form, "pruned.form"),
        (PruningNoteError::Field("by"), "pruned.field"),
        (PruningNoteError::Newer { found: 2 }, "pruned.newer"),
    ] {
        assert_eq!(error.code(), code);
    }
    let error = Frontier::from_bytes(3, &[0; 63]).unwrap_err();
    assert_eq!((error.code(), error.want, error.found, error.size), ("merkle.frontier", 64, 63, 3));
    let said = "a tree of 3 leaves has a frontier of 64 bytes, not 63";
    assert_eq!(error.to_string(), said);
}

#[test]
fn every_fault_of_an_event_has_its_code_and_its_place() {
    let newer = PruningNoteError::Newer { found: 2 };
    for (fault, code) in [
        (EventFault::Missing, "event.missing"),
        (EventFault::Extra, "event.extra"),
        (EventFault::Misplaced { seq: 1 }, "event.misplaced"),
        (EventFault::Leaf, "event.leaf"),
        (EventFault::Header(HeaderError::Form), "header.form"),
        (EventFault::OtherLog { log: log() }, "event.other_log"),
        (EventFault::Time, "event.time"),
        (EventFault::Commitment, "event.commitment"),
        (EventFault::Gone, "event.gone"),
        (EventFault::Note(newer), "pruned.newer"),
        (EventFault::Key { why: KeyEventError::Empty }, "event.key"),
        (EventFault::HalfGone, "event.half_gone"),
    ] {
        assert_eq!(fault.code(), code);
        let error = VerifyError::Event { seq: 7, fault };
        assert_eq!((error.code(), error.seq()), (code, Some(7)));
    }
}

#[test]
fn every_reason_why_a_log_does_not_verify_has_its_code() {
    let closed = || LedgerError::Closed;
    let at = Timestamp::from_micros;
    let (schema, earlier) = ("`x`".to_owned(), LogId::parse("log_2").unwrap());
    for (error, code, seq) in [
        (VerifyError::Read(closed()), "ledger.closed", None),
        (VerifyError::Root { from: 0, size: 1 }, "verify.root", None),
        (VerifyError::Frontier, "verify.frontier", None),
        (VerifyError::Tile { level: 0, index: 1 }, "verify.tile", None),
        (VerifyError::Checkpoint(CheckpointError::Body("x")), "checkpoint.body", None),
        (VerifyError::Highest { stored: at(1), last: at(2) }, "verify.highest", None),
        (VerifyError::Synced { counted: 1, found: 2 }, "verify.synced", None),
        (VerifyError::Astray { part: SideTable::Records }, "verify.records", None),
        (VerifyError::Astray { part: SideTable::Blobs }, "verify.blobs", None),
        (VerifyError::Schema { names: schema }, "verify.schema", None),
        (VerifyError::Truncated { earlier: 9, stored: 4 }, "verify.truncated", Some(4)),
        (VerifyError::Forked { size: 4 }, "verify.forked", None),
        (VerifyError::OtherLog { earlier, stored: log() }, "verify.other_log", None),
    ] {
        assert_eq!((error.code(), error.seq()), (code, seq), "{error}");
    }
    let said = |part| VerifyError::Astray { part }.to_string();
    assert!(said(SideTable::Records).starts_with("the records are not those that were written"));
    assert!(said(SideTable::Blobs).starts_with("the names of the blobs are not those that"));
    assert_eq!(
        (SideTable::Records.name(), SideTable::Blobs.name()),
        ("records", "names of the blobs")
    );
}

#[test]
fn every_refusal_of_a_checkpoint_has_its_code() {
    let why = String::new;
    let signing = SigningKey::from_seed([1; 32]).sign_text("a\0").unwrap_err();
    for (error, code) in [
        (CheckpointError::Note("x"), "checkpoint.note"),
        (CheckpointError::Body("x"), "checkpoint.body"),
        (CheckpointError::Key("x"), "checkpoint.key"),
        (CheckpointError::Signature { name: why() }, "checkpoint.signature"),
        (CheckpointError::Untrusted { trusted: why() }, "checkpoint.untrusted"),
        (CheckpointError::KeyEnded { size: 1, why: "x" }, "checkpoint.key_ended"),
        (CheckpointError::KeyEvent { seq: 1, why: KeyEventError::Empty }, "checkpoint.key_event"),
        (CheckpointError::Witnesses { found: 1, wanted: 2 }, "checkpoint.witnesses"),
        (CheckpointError::Form { form: "receipt", why: why() }, "proof.form"),
        (CheckpointError::Newer { form: "receipt", found: 2, known: 1 }, "proof.newer"),
        (CheckpointError::Event { index: 0, why: ReceiptEventError::Order }, "proof.event"),
        (CheckpointError::NoConflict("x"), "proof.no_conflict"),
        (CheckpointError::Inconsistent("x"), "witness.inconsistent"),
        (CheckpointError::Fork { signed: 1, why: "x" }, "checkpoint.fork"),
        (CheckpointError::Signing(signing.clone()), signing.code()),
        (CheckpointError::Ledger(LedgerError::Closed), "ledger.closed"),
        (CheckpointError::File(why()), "witness.file"),
    ] {
        assert_eq!(error.code(), code);
    }
}

#[test]
fn questions_exports_and_retentions_have_their_codes() {
    let query = || QueryError::Value { field: "x", value: String::new(), expected: String::new() };
    let unknown = QueryError::Field { field: String::new(), known: String::new() };
    for (error, code) in [
        (unknown, "query.field"),
        (query(), "query.value"),
        (QueryError::TooLarge("x"), "query.too_large"),
        (QueryError::Quote, "query.quote"),
        (QueryError::Cursor("x"), "query.cursor"),
        (QueryError::Read(LedgerError::Closed), "ledger.closed"),
    ] {
        assert_eq!(error.code(), code);
    }
    for (error, code) in [
        (ExportError::NoRun, "export.no_run"),
        (ExportError::Nothing, "export.nothing"),
        (ExportError::TooLarge("x"), "export.too_large"),
        (ExportError::Form(String::new()), "export.form"),
        (ExportError::Query(query()), "query.value"),
        (ExportError::Write(std::io::Error::other("x")), "export.write"),
    ] {
        assert_eq!(error.code(), code);
    }
    for (error, code) in [
        (RetentionError::TooYoung { rule: 0, after: 1, least: 2 }, "retention.too_young"),
        (RetentionError::TooMany { found: 2, most: 1 }, "retention.too_many"),
        (RetentionError::By(PruningNoteError::Field("by")), "retention.by"),
        (RetentionError::Ledger(LedgerError::Closed), "ledger.closed"),
    ] {
        assert_eq!(error.code(), code);
    }
}

#[test]
fn the_index_has_its_codes() {
    use weaver_trace_store::index::IndexError;

    let failed = IndexError::Failed { path: "p".to_owned(), problem: "q".to_owned() };
    assert_eq!(failed.to_string(), "the index at p: q");
    for (error, code) in [
        (IndexError::Busy, "index.busy"),
        (IndexError::Newer { found: 3, known: 2 }, "index.newer"),
        (IndexError::Torn(String::new()), "index.torn"),
        (failed, "index.failed"),
        (IndexError::Log(LedgerError::Closed), "ledger.closed"),
    ] {
        assert_eq!(error.code(), code);
    }
}

#[test]
fn forms_and_reasons_are_read_by_their_names() {
    for (form, name) in [
        (ExportFormat::Jsonl, "jsonl"),
        (ExportFormat::Bundle, "bundle"),
        (ExportFormat::Otlp, "otlp"),
        (ExportFormat::Csv, "csv"),
        (ExportFormat::Actions, "actions"),
        (ExportFormat::Runs, "runs"),
    ] {
        assert_eq!((form.as_str(), ExportFormat::parse(name)), (name, Some(form)));
    }
    assert_eq!(ExportFormat::parse("json"), None);
    for (reason, name) in [
        (PruneReason::Age, "age"),
        (PruneReason::Principal, "principal"),
        (PruneReason::Tag, "tag"),
        (PruneReason::Kind, "kind"),
    ] {
        assert_eq!((reason.as_str(), PruneReason::parse(name)), (name, Some(reason)));
    }
    assert_eq!(PruneReason::parse("Age"), None);
}
