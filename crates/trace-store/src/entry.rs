//! One event as the log holds it: the canonical header, the salted commitment, the leaf.

mod bytes;

use std::borrow::Cow;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::digest::{Digest, Tag};
use weaver_types::{CallId, EventKind, LogId, RunId, Timestamp};

/// The version of the header, its field `v`.
pub const HEADER_VERSION: u64 = 1;
/// Bytes of a salt.
pub const SALT: usize = 16;

const FIELDS: [&str; 8] = ["at", "call", "commit", "log", "run", "seq", "type", "v"];

/// The header of an event: everything that its leaf covers.
///
/// Its bytes are canonical JSON with the fields `v`, `log`, `seq`, `at`, `type`, `commit` and,
/// where they apply, `run` and `call`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Which log.
    pub log: LogId,
    /// The place in the log, from 0.
    pub seq: u64,
    /// When; never before the event that stands before it.
    pub at: Timestamp,
    /// What happened.
    pub kind: EventKind,
    /// In which run.
    pub run: Option<RunId>,
    /// In which call.
    pub call: Option<CallId>,
    /// The commitment to salt and payload.
    pub commit: Digest,
}

/// Bytes that are no header of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes are not JSON, or not its canonical form.
    #[error("the header is not canonical JSON")]
    Form,
    /// A field is missing, of the wrong form, or unknown.
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

/// The commitment to a payload: SHA-256 over the tag, a zero byte, the salt and the payload.
///
/// The salt has a fixed length, so nothing moves between the two.
#[must_use]
pub fn commitment(salt: &[u8], payload: &[u8]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(Tag::COMMIT.as_str());
    hash.update([0]);
    hash.update(salt);
    hash.update(payload);
    Digest::from_bytes(hash.finalize().into())
}

impl Header {
    /// The canonical bytes.
    ///
    /// # Errors
    /// [`HeaderError`], when a number lies beyond 2^53.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HeaderError> {
        self.as_ref().to_bytes()
    }

    fn as_ref(&self) -> HeaderRef<'_> {
        let Self { seq, at, kind, commit, .. } = *self;
        let log = Cow::Borrowed(self.log.as_str());
        let run = self.run.as_ref().map(|run| Cow::Borrowed(run.as_str()));
        let call = self.call.as_ref().map(|call| Cow::Borrowed(call.as_str()));
        HeaderRef { log, seq, at, kind, run, call, commit }
    }

    /// Reads the canonical bytes, and nothing but them.
    ///
    /// # Errors
    /// [`HeaderError`], when they are not what [`Header::to_bytes`] writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        match bytes::glance(bytes) {
            Some(header) => header.to_header(),
            None => Self::parse_closely(bytes),
        }
    }

    /// What [`Header::parse`] does where the quick look is not sure: it names what is wrong.
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

/// A header whose texts lie in the bytes that it was read from, where they can.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeaderRef<'a> {
    pub(crate) log: Cow<'a, str>,
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    pub(crate) kind: EventKind,
    pub(crate) run: Option<Cow<'a, str>>,
    pub(crate) call: Option<Cow<'a, str>>,
    pub(crate) commit: Digest,
}

impl<'a> HeaderRef<'a> {
    /// As [`Header::to_bytes`].
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, HeaderError> {
        bytes::write(self).ok_or(HeaderError::Form)
    }

    /// As [`Header::parse`].
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, HeaderError> {
        match bytes::glance(bytes) {
            Some(header) => Ok(header),
            None => Header::parse_closely(bytes).map(Self::from),
        }
    }

    fn to_header(&self) -> Result<Header, HeaderError> {
        let run = self.run.as_ref().map(RunId::parse).transpose().map_err(|_| field("run"))?;
        let call = self.call.as_ref().map(CallId::parse).transpose().map_err(|_| field("call"))?;
        let log = LogId::parse(&self.log).map_err(|_| field("log"))?;
        let Self { seq, at, kind, commit, .. } = *self;
        Ok(Header { log, seq, at, kind, run, call, commit })
    }
}

impl From<Header> for HeaderRef<'_> {
    fn from(header: Header) -> Self {
        let Header { log, seq, at, kind, run, call, commit } = header;
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
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            log: LogId::parse("log_1").unwrap(),
            seq: 7,
            at: Timestamp::from_micros(42),
            kind: EventKind::Intent,
            run: None,
            call: Some(CallId::parse("call_1").unwrap()),
            commit: commitment(&[1; SALT], b"{}"),
        }
    }

    #[test]
    fn the_bytes_are_pinned() {
        let bytes = header().to_bytes().unwrap();
        assert_eq!(
            String::from_utf8(bytes.clone()).unwrap(),
            r#"{"at":42,"call":"call_1","commit":"sha256:adaf1902480a8716e83568973a67b1c822dcf9748edd39f8a55aee8e70c0a7e8","log":"log_1","seq":7,"type":"call.intent","v":1}"#
        );
        assert_eq!(Header::parse(&bytes), Ok(header()));
    }

    #[test]
    fn only_what_was_written_is_read() {
        let text = String::from_utf8(header().to_bytes().unwrap()).unwrap();
        for (from, to) in [
            ("\"at\":42", "\"at\": 42"),
            ("\"v\":1", "\"v\":1,\"x\":2"),
            ("\"v\":1", "\"v\":2"),
            ("\"v\":1", "\"v\":0"),
            ("\"log\":\"log_1\",", ""),
            ("call.intent", "call.invented"),
            ("\"call_1\"", "null"),
            ("sha256:", "sha512:"),
        ] {
            assert!(Header::parse(text.replace(from, to).as_bytes()).is_err(), "{from} {to}");
        }
        assert_eq!(
            Header::parse(text.replace("\"v\":1", "\"v\":2").as_bytes()),
            Err(HeaderError::Newer { found: 2 })
        );
    }

    #[test]
    fn a_commitment_of_other_digits_is_refused_wherever_they_stand() {
        let text = String::from_utf8(header().to_bytes().unwrap()).unwrap();
        let at = text.find("sha256:").unwrap() + 7;
        let with = |place: usize, digits: &str| {
            let mut text = text.clone();
            text.replace_range(at + place..at + place + digits.len(), digits);
            Header::parse(text.as_bytes())
        };
        assert!(with(0, &"0".repeat(64)).is_ok() && with(0, &"f".repeat(64)).is_ok());
        let bad = Err(HeaderError::Field { field: "commit".to_owned() });
        for place in 0..63 {
            for digits in ["g", "A", "/", ":", "`", " ", "gg", "FF", "zz"] {
                assert_eq!(with(place, digits), bad, "{digits} at {place}");
            }
        }
        assert_eq!(with(0, &"g".repeat(64)), bad);
    }

    #[test]
    fn every_field_that_is_missing_unknown_or_malformed_is_named() {
        let text = String::from_utf8(header().to_bytes().unwrap()).unwrap();
        for (from, to, field) in [
            ("\"at\":42,", "", "at"),
            ("\"at\":42", "\"at\":\"42\"", "at"),
            ("\"seq\":7,", "", "seq"),
            ("\"seq\":7", "\"seq\":-7", "seq"),
            ("\"v\":1", "\"v\":0", "v"),
            ("\"v\":1", "\"v\":\"1\"", "v"),
            ("\"v\":1", "\"v\":1,\"w\\n\":1", "w\\n"),
            ("\"log\":\"log_1\"", "\"log\":\"log 1\"", "log"),
            ("\"call_1\"", "\"call 1\"", "call"),
            ("\"call_1\"", "7", "call"),
            ("\"log_1\",", "\"log_1\",\"run\":\"run 1\",", "run"),
            ("call.intent", "call.invented", "type"),
            ("sha256:", "sha512:", "commit"),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            let wanted = Err(HeaderError::Field { field: field.to_owned() });
            assert_eq!(Header::parse(changed.as_bytes()), wanted, "{changed}");
        }
        let long = text.replace("\"v\":1", &format!("\"v\":1,\"w{}\":1", "x".repeat(60)));
        let cut = HeaderError::Field { field: format!("w{}", "x".repeat(39)) };
        assert_eq!(Header::parse(long.as_bytes()), Err(cut));
        let cut = text.strip_prefix('{').unwrap();
        for bad in ["", "7", "[]", cut, &format!("{text} "), &text.replace(":42", ":042")] {
            assert_eq!(Header::parse(bad.as_bytes()), Err(HeaderError::Form), "{bad}");
        }
    }

    #[test]
    fn numbers_go_up_to_2_to_the_53_and_no_further() {
        let most = 1_u64 << 53;
        for (seq, at, fits) in [
            (most, 0, true),
            (most + 1, 0, false),
            (0, 1 << 53, true),
            (0, -(1 << 53), true),
            (0, (1 << 53) + 1, false),
            (0, -(1 << 53) - 1, false),
            (0, i64::MIN, false),
        ] {
            let header = Header { seq, at: Timestamp::from_micros(at), ..header() };
            let bytes = header.to_bytes();
            assert_eq!(bytes.is_ok(), fits, "{seq} {at}");
            if let Ok(bytes) = bytes {
                assert_eq!(Header::parse(&bytes), Ok(header));
            }
        }
        let text = String::from_utf8(header().to_bytes().unwrap()).unwrap();
        for number in ["9007199254740993", "99999999999999999", "-0", "00", "-", ""] {
            let changed = text.replace("\"at\":42", &format!("\"at\":{number}"));
            assert!(Header::parse(changed.as_bytes()).is_err(), "{number}");
        }
    }

    /// The canonical bytes by the long way.
    fn slowly(header: &Header) -> Vec<u8> {
        let mut map = Map::new();
        map.insert("v".to_owned(), HEADER_VERSION.into());
        map.insert("log".to_owned(), header.log.as_str().into());
        map.insert("seq".to_owned(), header.seq.into());
        map.insert("at".to_owned(), header.at.micros().into());
        map.insert("type".to_owned(), header.kind.as_str().into());
        if let Some(run) = &header.run {
            map.insert("run".to_owned(), run.as_str().into());
        }
        if let Some(call) = &header.call {
            map.insert("call".to_owned(), call.as_str().into());
        }
        map.insert("commit".to_owned(), header.commit.to_string().into());
        canonical::to_bytes(&Value::Object(map), Profile::Record).unwrap()
    }

    proptest::proptest! {
        #[test]
        fn the_short_way_is_the_long_way(
            at in -(1_i64 << 53)..=1 << 53,
            seq in 0..=1_u64 << 53,
            run in proptest::option::of("[!-~\u{e9}\u{4e2d}\u{1f600}]{1,9}"),
            call in proptest::option::of("[a-z\"\\\\]{1,9}"),
            commit in proptest::array::uniform32(0..=255_u8),
            (place, byte) in (0..200_usize, 0..=255_u8),
        ) {
            let header = Header {
                at: Timestamp::from_micros(at),
                seq,
                run: run.and_then(|run| RunId::parse(run).ok()),
                call: call.and_then(|call| CallId::parse(call).ok()),
                commit: Digest::from_bytes(commit),
                ..header()
            };
            let mut bytes = header.to_bytes().unwrap();
            assert_eq!(bytes, slowly(&header));
            assert_eq!(Header::parse(&bytes), Ok(header.clone()));
            assert_eq!(Header::parse_closely(&bytes), Ok(header));
            if let Some(changed) = bytes.get_mut(place) {
                *changed = byte;
            }
            assert_eq!(Header::parse(&bytes), Header::parse_closely(&bytes));
        }
    }

    #[test]
    fn every_kind_is_written_as_it_is() {
        for kind in EventKind::ALL {
            let header = Header { kind: *kind, ..header() };
            assert_eq!(header.to_bytes().unwrap(), slowly(&header));
        }
    }

    #[test]
    fn plain_headers_need_no_closer_look() {
        let bytes = header().to_bytes().unwrap();
        assert_eq!(bytes::glance(&bytes), Some(HeaderRef::from(header())));
        let beyond = Header { seq: (1 << 53) + 1, ..header() };
        assert_eq!(beyond.to_bytes(), Err(HeaderError::Form));
    }
}
