//! Writes and parses the bytes of a header without an intermediate JSON value. The field names
//! appear in canonical order.

use std::borrow::Cow;

use weaver_types::canonical::JsonBuffer;
use weaver_types::digest::Digest;
use weaver_types::{CallId, EventKind, LogId, RunId, Timestamp};

use super::{EventHeaderRef, HEADER_VERSION};

/// The largest magnitude of an integer in a record.
const SAFE: u64 = 1 << 53;
/// Bytes of a header besides its texts: names, quotes, the commitment, the longest numbers.
const FIXED: usize = 176;

/// The canonical bytes; `None` when a number lies beyond 2^53.
pub(super) fn write(header: &EventHeaderRef<'_>) -> Option<Vec<u8>> {
    let at = header.at.micros();
    if at.unsigned_abs() > SAFE || header.seq > SAFE {
        return None;
    }
    let texts = header.call.as_ref().map_or(0, |call| call.len())
        + header.run.as_ref().map_or(0, |run| run.len())
        + header.log.len()
        + header.kind.as_str().len();
    let mut out = JsonBuffer::with_capacity(FIXED + texts);
    out.write_raw(b"{\"at\":");
    if at < 0 {
        out.push(b'-');
    }
    out.write_integer(at.unsigned_abs());
    if let Some(call) = &header.call {
        out.write_raw(b",\"call\":");
        out.write_string(call);
    }
    out.write_raw(b",\"commit\":\"sha256:");
    out.write_raw(&hex(header.commit.as_bytes()));
    out.write_raw(b"\",\"log\":");
    out.write_string(&header.log);
    if let Some(run) = &header.run {
        out.write_raw(b",\"run\":");
        out.write_string(run);
    }
    out.write_raw(b",\"seq\":");
    out.write_integer(header.seq);
    out.write_raw(b",\"type\":\"");
    out.write_raw(header.kind.as_str().as_bytes());
    out.write_raw(b"\",\"v\":");
    out.write_integer(HEADER_VERSION);
    out.push(b'}');
    Some(out.into_vec())
}

fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    // Computed without a table, so that the compiler vectorises it.
    let digit = |nibble: u8| nibble + b'0' + if nibble > 9 { b'a' - b'0' - 10 } else { 0 };
    let mut out = [0; 64];
    for (pair, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    out
}

/// Parses a header that is certain to be canonical and whose identifiers are all valid; `None`
/// means that the slow path must decide.
pub(super) fn glance(bytes: &[u8]) -> Option<EventHeaderRef<'_>> {
    let mut walk = Walk { rest: bytes };
    walk.word(b"{\"at\":")?;
    let negative = walk.word(b"-").is_some();
    let at = i64::try_from(walk.number()?).ok()?;
    if negative && at == 0 {
        return None;
    }
    let call = walk
        .optional(b",\"call\":\"", |text| CallId::is_valid(text).then_some(Cow::Borrowed(text)))?;
    walk.word(b",\"commit\":\"sha256:")?;
    let commit = walk.digest()?;
    let log = walk.optional(b"\",\"log\":\"", |text| {
        LogId::is_valid(text).then_some(Cow::Borrowed(text))
    })??;
    let run =
        walk.optional(b",\"run\":\"", |text| RunId::is_valid(text).then_some(Cow::Borrowed(text)))?;
    walk.word(b",\"seq\":")?;
    let seq = walk.number()?;
    let kind = walk.optional(b",\"type\":\"", EventKind::parse)??;
    walk.word(b",\"v\":1}")?;
    let at = Timestamp::from_micros(if negative { -at } else { at });
    walk.rest.is_empty().then_some(EventHeaderRef { log, seq, at, kind, run, call, commit })
}

struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let count = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at_checked(count)?;
        if !(1..=16).contains(&count) || (digits.first() == Some(&b'0') && count > 1) {
            return None;
        }
        self.rest = rest;
        let value = digits.iter().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        (value <= SAFE).then_some(value)
    }

    /// An optional field whose text is plain ASCII without escapes.
    fn optional<T>(
        &mut self,
        name: &[u8],
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.word(name).is_none() {
            return Some(None);
        }
        let length =
            self.rest.iter().position(|b| !matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))?;
        let text = str::from_utf8(self.rest.get(..length)?).ok()?;
        self.rest = self.rest.get(length..)?;
        self.word(b"\"")?;
        parse(text).map(Some)
    }

    fn digest(&mut self) -> Option<Digest> {
        let (digits, rest) = self.rest.split_first_chunk::<64>()?;
        self.rest = rest;
        let (mut bytes, mut all) = ([0; 32], 0);
        for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            let [high, low] = pair.map(nibble);
            all |= high | low;
            *byte = high << 4 | low;
        }
        // One check at the end instead of one per digit.
        (all < 16).then(|| Digest::from_bytes(bytes))
    }
}

/// The value of a lower-case hexadecimal digit; at least 16 for any other byte.
fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => 0xff,
    }
}
