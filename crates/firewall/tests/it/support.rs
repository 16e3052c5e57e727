//! One firewall, one capability, and specs over them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};

use weaver_firewall::{Firewall, FrameBudget, FrameSpec};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{BlobId, BlobStore, LedgerError};
use weaver_types::{
    AllowedAgents, CallId, Capability, CapabilityDraft, CapabilityId, Constraints, Effects, Frame,
    Handle, HandleId, Label, ResponseMode, Timestamp,
};

pub(crate) static FIREWALL: LazyLock<Firewall> = LazyLock::new(Firewall::new);
static CALL: LazyLock<CallId> = LazyLock::new(|| CallId::parse("call_1").unwrap());
static OPEN: LazyLock<Capability> = LazyLock::new(|| capability(&[]));
static NONE: LazyLock<Constraints> = LazyLock::new(Constraints::default);

pub(crate) fn capability(fields: &[&str]) -> Capability {
    draft(fields).build().unwrap()
}

pub(crate) fn draft(fields: &[&str]) -> CapabilityDraft {
    let id = CapabilityId::parse("crm.list").unwrap();
    CapabilityDraft {
        description: "Lists people.".to_owned(),
        idempotent: true,
        allowed_fields: names(fields),
        timeout_ms: 1_000,
        ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, AllowedAgents::Any)
    }
}

pub(crate) fn names(fields: &[&str]) -> BTreeSet<String> {
    fields.iter().map(|field| (*field).to_owned()).collect()
}

pub(crate) fn spec(mode: ResponseMode) -> FrameSpec<'static> {
    FrameSpec {
        call: &CALL,
        capability: &OPEN,
        mode,
        budget: FrameBudget::default(),
        constraints: &NONE,
        pii_reader: false,
        handle: None,
        label: Label::undeclared_output(),
        now: Timestamp::from_micros(1_767_323_045_000_006),
        strict: false,
        goal: None,
    }
}

pub(crate) fn chars(frame: &Frame) -> usize {
    serde_json::to_string(frame).unwrap().chars().count()
}

pub(crate) fn warned(frame: &Frame, kind: &str) -> Option<u64> {
    frame.warnings.iter().find(|warning| warning.kind == kind).map(|warning| warning.count)
}

/// Blobs in memory.
#[derive(Default)]
pub(crate) struct Blobs(Mutex<BTreeMap<BlobId, Vec<u8>>>, AtomicBool);

impl Blobs {
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn all(&self) -> Vec<Vec<u8>> {
        self.0.lock().unwrap().values().cloned().collect()
    }

    /// From now on, nothing can be removed, or all again.
    pub(crate) fn stick(&self, stick: bool) {
        self.1.store(stick, Ordering::SeqCst);
    }
}

impl BlobStore for Blobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, LedgerError> {
        let id = BlobId(Digest::of(DomainTag::BLOB, bytes));
        self.0.lock().unwrap().insert(id, bytes.to_vec());
        Ok(id)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.0.lock().unwrap().get(id).cloned())
    }

    fn remove(&self, id: &BlobId) -> Result<(), LedgerError> {
        if self.1.load(Ordering::SeqCst) {
            return Err(LedgerError::Closed);
        }
        self.0.lock().unwrap().remove(id);
        Ok(())
    }
}

/// A case of agent-kernel, by its name.
pub(crate) fn cases(name: &str) -> serde_json::Value {
    static ALL: LazyLock<serde_json::Value> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../data/session_stream_vectors.json")).unwrap()
    });
    ALL["cases"][name].clone()
}

/// What comes out, which a second run and the same text in single characters leave as it is.
pub(crate) fn shown(text: &str) -> String {
    let once = FIREWALL.redact_text(text).text;
    assert_eq!(FIREWALL.redact_text(&once).text, once, "twice: {text}");
    let mut stream = FIREWALL.stream_redactor();
    let pieces: String = text.chars().map(|c| stream.push(c.encode_utf8(&mut [0; 4]))).collect();
    assert_eq!(pieces + &stream.finish(), once, "in a stream: {text}");
    once
}

/// Texts and what is to come of them; `=` for the text itself.
#[track_caller]
pub(crate) fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(text, wanted)| {
            let wanted = if *wanted == "=" { text } else { wanted };
            let got = shown(text);
            (got != **wanted)
                .then(|| format!("  {text:?}\n    gives {got:?}\n    not   {wanted:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// Where the rest of a result can be asked for.
pub(crate) static HANDLE: LazyLock<Handle> = LazyLock::new(|| Handle {
    byte_size: 1,
    capability_id: CapabilityId::parse("crm.list").unwrap(),
    created_at: Timestamp::from_micros(0),
    expires_at: Timestamp::from_micros(1),
    handle_id: HandleId::parse("hdl_1").unwrap(),
    media_type: "text/plain".into(),
    total_rows: None,
    views: Default::default(),
});

/// Mode `auto` with so many tokens, and a handle.
pub(crate) fn auto(max_tokens: u32) -> FrameSpec<'static> {
    let own = spec(ResponseMode::Auto);
    let budget = FrameBudget { max_tokens, ..own.budget };
    FrameSpec { budget, handle: Some(&HANDLE), ..own }
}
