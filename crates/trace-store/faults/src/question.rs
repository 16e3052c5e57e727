//! What can be asked of a ledger that is only read, one question at a time, and what the writer is
//! asked. The answers of a damaged file are held against those of the whole one.

use std::path::Path;

use weaver_trace_store::merkle::Hash;
use weaver_trace_store::verify::{LogExtent, LogProver, LogSource, VerificationReport, verify};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::Tenant;
use weaver_types::digest::Digest;
use weaver_types::ledger::{
    BlobId, BlobStore, LedgerError, MAX_PAGE, Namespace, Record, StoredEvent, TreeHead,
};

use crate::story;

/// One question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Is all as it was written? This looks at everything but the bytes of blobs.
    Verify,
    /// What does the file say of its log?
    Extent,
    /// All events, in pages.
    Events,
    /// All records of a namespace.
    Records(Namespace),
    /// One event, by its number.
    Alone(u64),
    /// The proofs that one event is in the log, and that the log of so many events is its beginning.
    Proof(u64),
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To [`Question::Verify`].
    Report(Box<VerificationReport>),
    /// To [`Question::Extent`].
    Extent(LogExtent),
    /// To [`Question::Events`] and [`Question::Alone`].
    Events(Vec<StoredEvent>),
    /// To [`Question::Records`].
    Records(Vec<(String, Record)>),
    /// To [`Question::Proof`].
    Proof(Vec<Hash>, Vec<Hash>),
}

impl Question {
    /// What is told of the whole: of a log of any size, and what depends on nothing else.
    #[must_use]
    pub fn of_the_whole() -> Vec<Self> {
        let records = Namespace::ALL.iter().map(|namespace| Self::Records(*namespace));
        [Self::Verify, Self::Extent, Self::Events].into_iter().chain(records).collect()
    }

    /// All questions to a log of `size` events.
    #[must_use]
    pub fn all(size: u64) -> Vec<Self> {
        let mut all = Self::of_the_whole();
        all.extend((0..size).map(Self::Alone));
        all.extend((0..size).map(Self::Proof));
        all
    }

    /// Asks it.
    ///
    /// # Errors
    /// What the reader complains of.
    pub fn ask(self, reader: &Reader) -> Result<Answer, String> {
        let text = |error: LedgerError| error.to_string();
        match self {
            Self::Verify => {
                let report = verify(reader, None).map_err(|error| error.to_string())?;
                Ok(Answer::Report(Box::new(report)))
            }
            Self::Extent => reader.extent().map(Answer::Extent).map_err(text),
            Self::Events => reader.events(0, MAX_PAGE).map(Answer::Events).map_err(text),
            Self::Records(namespace) => reader
                .records(&Tenant::default(), namespace, None, MAX_PAGE)
                .map(Answer::Records)
                .map_err(text),
            Self::Alone(seq) => reader.events(seq, 1).map(Answer::Events).map_err(text),
            Self::Proof(seq) => {
                let size = reader.head().map_err(text)?.size;
                let inclusion = reader.inclusion(seq, size).map_err(text)?;
                let consistency = reader.consistency(seq + 1, size).map_err(text)?;
                Ok(Answer::Proof(inclusion, consistency))
            }
        }
    }
}

/// The blobs that the events name, and what is in them.
///
/// # Errors
/// What the reader complains of.
pub fn named(reader: &Reader) -> Result<Vec<(BlobId, Vec<u8>)>, LedgerError> {
    let mut found = Vec::new();
    for event in reader.events(0, MAX_PAGE)? {
        let text = String::from_utf8(event.payload.unwrap_or_default()).unwrap_or_default();
        let name = text.strip_prefix("{\"blob\":\"").and_then(|rest| rest.split('"').next());
        if let Some(id) = name.and_then(|name| name.parse::<Digest>().ok()) {
            found.push((BlobId(id), story::content(event.seq)));
        }
    }
    Ok(found)
}

/// Opens the file for writing: the blobs are there, and it goes on from `head` as it would.
/// Something that it silently answers otherwise comes back as a sentence.
///
/// # Errors
/// What the ledger complains of.
pub fn write(
    path: &Path,
    blobs: &[(BlobId, Vec<u8>)],
    head: &TreeHead,
) -> Result<Option<String>, String> {
    let text = |error: LedgerError| error.to_string();
    let ledger = SqliteLedger::open(path, OpenOptions::default()).map_err(text)?;
    let store = ledger.blobs();
    for (id, bytes) in blobs {
        let found = store.get(id).map_err(text)?;
        if found.as_ref() != Some(bytes) {
            return Ok(Some(format!("blob {id} is {found:?}")));
        }
    }
    story::append(&ledger, head.size).map_err(text)?;
    verify(&ledger, Some(head)).map(|_| None).map_err(|error| error.to_string())
}
