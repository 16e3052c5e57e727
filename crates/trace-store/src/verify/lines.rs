//! A log as JSON lines: one event per line.

use std::io::BufRead;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Durability, LedgerError, MAX_PAGE, MAX_PAYLOAD, StoredEvent, TreeHead};
use weaver_types::{Digest, LogId, Timestamp};

use super::{LogExtent, LogSource};
use crate::entry::EventHeader;
use crate::log::EventRow;
use crate::merkle::{self, Frontier};

/// The longest line, in bytes: a payload of the largest size with every byte escaped.
const MAX_LINE: usize = 8 * MAX_PAYLOAD;

/// The line of an event, without a line feed: canonical JSON with `header` and, unless pruned,
/// `salt` and `payload`.
///
/// # Errors
/// [`LedgerError::Malformed`], when a header or payload is not UTF-8.
pub fn line(event: &StoredEvent) -> Result<Vec<u8>, LedgerError> {
    let text = |bytes: &[u8]| {
        String::from_utf8(bytes.to_vec())
            .map_err(|_| LedgerError::Malformed(format!("event {} is not UTF-8", event.seq)))
    };
    let mut map = Map::new();
    map.insert("header".to_owned(), text(&event.header)?.into());
    if let Some(salt) = &event.salt {
        map.insert("salt".to_owned(), STANDARD.encode(salt).into());
    }
    if let Some(payload) = &event.payload {
        map.insert("payload".to_owned(), text(payload)?.into());
    }
    canonical::to_bytes(&Value::Object(map), Profile::Record)
        .map_err(|error| LedgerError::Malformed(error.to_string()))
}

/// A fully loaded export, to be verified. Its head is computed from its own events, so verification
/// proves something only against a trust anchor.
#[derive(Debug, Clone)]
pub struct JsonLinesLog {
    rows: Vec<EventRow>,
    extent: LogExtent,
}

impl JsonLinesLog {
    /// Loads an export. Other fields of a line are ignored.
    ///
    /// [`LedgerError::Malformed`], when a line is not an exported event, or there is none;
    /// [`LedgerError::Failed`], when the input cannot be read.
    pub fn read(mut from: impl BufRead) -> Result<Self, LedgerError> {
        let mut rows: Vec<EventRow> = Vec::new();
        let mut frontier = Frontier::default();
        loop {
            let mut bytes = Vec::new();
            let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
            std::io::Read::take(&mut from, most)
                .read_until(b'\n', &mut bytes)
                .map_err(|error| LedgerError::Failed(error.to_string()))?;
            if bytes.is_empty() {
                break;
            }
            let seq = frontier.size();
            let row = parse(seq, &bytes).ok_or_else(|| {
                LedgerError::Malformed(format!("line {} is none of an export", seq + 1))
            })?;
            frontier.push(*row.leaf.as_bytes());
            rows.push(row);
        }
        let header =
            |row: Option<&EventRow>| row.and_then(|row| EventHeader::parse(&row.event.header).ok());
        let log = header(rows.first()).map(|header| header.log);
        let log: LogId = log.ok_or_else(|| {
            LedgerError::Malformed("the first line has no header of an event".to_owned())
        })?;
        let latest_time = header(rows.last()).map(|header| header.at);
        let head =
            TreeHead { log, size: frontier.size(), root: Digest::from_bytes(frontier.root()) };
        let last = head.size.checked_sub(1);
        let latest_time = latest_time.unwrap_or(Timestamp::default());
        let extent = LogExtent { head, frontier, first: Some(0), last, latest_time, synced: None };
        Ok(Self { rows, extent })
    }
}

fn parse(seq: u64, line: &[u8]) -> Option<EventRow> {
    let value = canonical::parse(line.strip_suffix(b"\n").unwrap_or(line), Profile::Record).ok()?;
    let text = |name| match value.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(text)) => Some(Some(text.as_str())),
        Some(_) => None,
    };
    let header = text("header")??.as_bytes().to_vec();
    let salt = text("salt")?.map(|salt| STANDARD.decode(salt)).transpose().ok()?;
    let payload = text("payload")?.map(|payload| payload.as_bytes().to_vec());
    let leaf = Digest::from_bytes(merkle::leaf_hash(&header));
    let event = StoredEvent { seq, header, salt, payload, durability: Durability::Os };
    Some(EventRow { event, leaf })
}

impl LogSource for JsonLinesLog {
    fn extent(&self) -> Result<LogExtent, LedgerError> {
        Ok(self.extent.clone())
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<EventRow>, LedgerError> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(self.rows.iter().skip(from).take(limit.min(MAX_PAGE)).cloned().collect())
    }
}
