//! A log entry: the canonical header, the salted payload commitment, and the leaf hash.

mod bytes;

use std::borrow::Cow;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{CallId, EventKind, LogId, RunId, Timestamp};

/// The version of the header, in its field `v`.
pub const HEADER_VERSION: u64 = 1;
/// The length of a salt, in bytes.
pub const SALT_BYTES: usize = 16;

const FIELDS: [&str; 8] = ["at", "call", "commit", "log", "run", "seq", "type", "v"];

/// The header of an event: everything that its leaf hash covers.
///
/// Its bytes are canonical JSON with the fields `v`, `log`, `seq`, `at`, `type`, `commit` and, if
/// present, `run` and `call`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventHeader {
    /// Which log.
    pub log: LogId,
    /// The position in the log, from 0.
    pub seq: u64,
    /// The time; never before that of the preceding event.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventKind,
    /// The run.
    pub run: Option<RunId>,
    /// The call.
    pub call: Option<CallId>,
    /// The commitment to salt and payload.
    pub commit: Digest,
}

/// Bytes that are not a header of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes are not canonical JSON.
    #[error("the header is not canonical JSON")]
    Form,
    /// A field is missing, malformed or unknown.
    #[error("header field `{field}` is missing, unknown or malformed")]
    Field {
        /// The field, escaped and cut to 40 characters.
        field: String,
    },
    /// A later version.
    #[error("the header has version {found}, this build knows up to {HEADER_VERSION}")]
    Newer {
        /// The version found.
        found: u64,
    },
}

impl HeaderError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Form => "header.form",
            Self::Field { .. } => "header.field",
            Self::Newer { .. } => "header.newer",
        }
    }
}

impl From<CanonicalError> for HeaderError {
    fn from(_: CanonicalError) -> Self {
        Self::Form
    }
}

/// The commitment to a payload: SHA-256 over the domain tag, a zero byte, the salt and the payload.
///
/// The salt has a fixed length, so no byte can move between salt and payload.
#[must_use]
pub fn commitment(salt: &[u8], payload: &[u8]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(DomainTag::COMMIT.as_str());
    hash.update([0]);
    hash.update(salt);
    hash.update(payload);
    Digest::from_bytes(hash.finalize().into())
}

impl EventHeader {
    /// The canonical bytes.
    ///
    /// [`HeaderError`], when a number lies beyond 2^53.
    /// [`HeaderError`], when a number lies beyond 2^53.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HeaderError> {
        self.as_ref().to_bytes()
    }

    fn as_ref(&self) -> EventHeaderRef<'_> {
        let Self { seq, at, kind, commit, .. } = *self;
        let log = Cow::Borrowed(self.log.as_str());
        let run = self.run.as_ref().map(|run| Cow::Borrowed(run.as_str()));
        let call = self.call.as_ref().map(|call| Cow::Borrowed(call.as_str()));
        EventHeaderRef { log, seq, at, kind, run, call, commit }
    }

    /// Parses the canonical bytes, and nothing else.
    ///
    /// # Errors
    /// [`HeaderError`], when they are not what [`EventHeader::to_bytes`] writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        match bytes::glance(bytes) {
            Some(header) => header.to_header(),
            None => Self::parse_closely(bytes),
        }
    }

    /// The slow path of [`EventHeader::parse`], which reports what is wrong.
    fn parse_closely(bytes: &[u8]) -> Result<Self, HeaderError> {
        let Value::Object(map) = canonical::parse(bytes, Profile::Record)? else {
            return Err(HeaderError::Form);
        };
        let version = map.get("v").and_then(Value::as_u64).ok_or_else(|| field("v"))?;
        if version > HEADER_VERSION {
            return Err(HeaderError::Newer { found: version });
        }
        if version != HEADER_VERSION {
            return Err(field("v"));
        }
        if let Some(unknown) = map.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            return Err(field(unknown));
        }
        let header = Self {
            log: read(&map, "log", |t| LogId::parse(t).ok())?,
            seq: map.get("seq").and_then(Value::as_u64).ok_or_else(|| field("seq"))?,
            at: map
                .get("at")
                .and_then(Value::as_i64)
                .map(Timestamp::from_micros)
                .ok_or_else(|| field("at"))?,
            kind: read(&map, "type", EventKind::parse)?,
            run: optional(&map, "run", |t| RunId::parse(t).ok())?,
            call: optional(&map, "call", |t| CallId::parse(t).ok())?,
            commit: read(&map, "commit", |t| t.parse().ok())?,
        };
        if header.to_bytes()? == bytes { Ok(header) } else { Err(HeaderError::Form) }
    }
}

/// A header that borrows its texts from the bytes it was parsed from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventHeaderRef<'a> {
    pub(crate) log: Cow<'a, str>,
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    pub(crate) kind: EventKind,
    pub(crate) run: Option<Cow<'a, str>>,
    pub(crate) call: Option<Cow<'a, str>>,
    pub(crate) commit: Digest,
}

impl<'a> EventHeaderRef<'a> {
    /// As [`EventHeader::to_bytes`].
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, HeaderError> {
        bytes::write(self).ok_or(HeaderError::Form)
    }

    /// As [`EventHeader::parse`].
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, HeaderError> {
        match bytes::glance(bytes) {
            Some(header) => Ok(header),
            None => EventHeader::parse_closely(bytes).map(Self::from),
        }
    }

    fn to_header(&self) -> Result<EventHeader, HeaderError> {
        let run = self.run.as_ref().map(RunId::parse).transpose().map_err(|_| field("run"))?;
        let call = self.call.as_ref().map(CallId::parse).transpose().map_err(|_| field("call"))?;
        let log = LogId::parse(&self.log).map_err(|_| field("log"))?;
        let Self { seq, at, kind, commit, .. } = *self;
        Ok(EventHeader { log, seq, at, kind, run, call, commit })
    }
}

impl From<EventHeader> for EventHeaderRef<'_> {
    fn from(header: EventHeader) -> Self {
        let EventHeader { log, seq, at, kind, run, call, commit } = header;
        let log = Cow::Owned(log.as_str().to_owned());
        let run = run.map(|run| Cow::Owned(run.as_str().to_owned()));
        let call = call.map(|call| Cow::Owned(call.as_str().to_owned()));
        Self { log, seq, at, kind, run, call, commit }
    }
}

fn field(name: &str) -> HeaderError {
    HeaderError::Field { field: name.escape_debug().take(40).collect() }
}

fn read<T>(
    map: &Map<String, Value>,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, HeaderError> {
    map.get(name).and_then(Value::as_str).and_then(parse).ok_or_else(|| field(name))
}

fn optional<T>(
    map: &Map<String, Value>,
    name: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, HeaderError> {
    if map.contains_key(name) { read(map, name, parse).map(Some) } else { Ok(None) }
}

#[cfg(test)]
mod tests;
