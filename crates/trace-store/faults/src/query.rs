//! Everything that can be read from a ledger, one query at a time, and one append by a writer. The
//! tests compare the results of a damaged file with those of the intact one.

use std::path::Path;

use weaver_trace_store::merkle::Hash;
use weaver_trace_store::verify::{LogExtent, LogProver, LogSource, VerificationReport, verify};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::Tenant;
use weaver_types::digest::Digest;
use weaver_types::ledger::{
    BlobId, BlobStore, LedgerError, MAX_PAGE, Namespace, Record, StoredEvent, TreeHead,
};

use crate::workload;

/// One query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// Verification, which reads everything but the bytes of blobs.
    Verify,
    /// The extent of the log.
    Extent,
    /// All events, in pages.
    Events,
    /// All records of a namespace.
    Records(Namespace),
    /// One event, by its number.
    Event(u64),
    /// The inclusion proof of an event, and the consistency proof of the log that ends with it.
    Proof(u64),
}

/// The result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryResult {
    /// To [`Query::Verify`].
    Report(Box<VerificationReport>),
    /// To [`Query::Extent`].
    Extent(LogExtent),
    /// To [`Query::Events`] and [`Query::Event`].
    Events(Vec<StoredEvent>),
    /// To [`Query::Records`].
    Records(Vec<(String, Record)>),
    /// To [`Query::Proof`].
    Proof(Vec<Hash>, Vec<Hash>),
}

impl Query {
    /// The queries about the log as a whole, which apply to a log of any size.
    #[must_use]
    pub fn whole_log() -> Vec<Self> {
        let records = Namespace::ALL.iter().map(|namespace| Self::Records(*namespace));
        [Self::Verify, Self::Extent, Self::Events].into_iter().chain(records).collect()
    }

    /// All queries to a log of `size` events.
    #[must_use]
    pub fn all(size: u64) -> Vec<Self> {
        let mut all = Self::whole_log();
        all.extend((0..size).map(Self::Event));
        all.extend((0..size).map(Self::Proof));
        all
    }

    /// Runs the query.
    ///
    /// # Errors
    /// The error of the reader.
    pub fn run(self, reader: &Reader) -> Result<QueryResult, String> {
        let text = |error: LedgerError| error.to_string();
        match self {
            Self::Verify => {
                let report = verify(reader, None).map_err(|error| error.to_string())?;
                Ok(QueryResult::Report(Box::new(report)))
            }
            Self::Extent => reader.extent().map(QueryResult::Extent).map_err(text),
            Self::Events => reader.events(0, MAX_PAGE).map(QueryResult::Events).map_err(text),
            Self::Records(namespace) => reader
                .records(&Tenant::default(), namespace, None, MAX_PAGE)
                .map(QueryResult::Records)
                .map_err(text),
            Self::Event(seq) => reader.events(seq, 1).map(QueryResult::Events).map_err(text),
            Self::Proof(seq) => {
                let size = reader.head().map_err(text)?.size;
                let inclusion = reader.inclusion(seq, size).map_err(text)?;
                let consistency = reader.consistency(seq + 1, size).map_err(text)?;
                Ok(QueryResult::Proof(inclusion, consistency))
            }
        }
    }
}

/// The blobs that events reference, with their expected contents.
///
/// # Errors
/// The error of the reader.
pub fn referenced_blobs(reader: &Reader) -> Result<Vec<(BlobId, Vec<u8>)>, LedgerError> {
    let mut found = Vec::new();
    for event in reader.events(0, MAX_PAGE)? {
        let text = String::from_utf8(event.payload.unwrap_or_default()).unwrap_or_default();
        let name = text.strip_prefix("{\"blob\":\"").and_then(|rest| rest.split('"').next());
        if let Some(id) = name.and_then(|name| name.parse::<Digest>().ok()) {
            found.push((BlobId(id), workload::content(event.seq)));
        }
    }
    Ok(found)
}

/// Opens the file for writing, reads the blobs, appends, and verifies from `head`. Returns a
/// sentence about a blob that differs although nothing reported an error.
///
/// # Errors
/// The error of the ledger.
pub fn append_and_verify(
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
    workload::append(&ledger, head.size).map_err(text)?;
    verify(&ledger, Some(head)).map(|_| None).map_err(|error| error.to_string())
}
