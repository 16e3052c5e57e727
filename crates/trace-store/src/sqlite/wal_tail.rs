//! Measures what lies behind the last complete commit of a write-ahead log, before SQLite opens it.
//!
//! SQLite recovers complete commits only and does not report the rest. This module does: a frame
//! with a wrong checksum, frames of an unfinished commit, or a truncated frame. Leftover frames of
//! an earlier generation of the log do not count; their salt is older. The format is SQLite's: a
//! header of 32 bytes, then frames of a 24-byte header and a page each, under one running checksum.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use weaver_types::ledger::LedgerError;

use super::error_mapping::from_io;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The bytes of a frame header up to the end of its salts.
const SALTS_END: usize = 16;
/// The magic number; its last bit says that checksums use big-endian words.
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;

/// The extent of a write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WalTail {
    /// Bytes up to the end of the last complete commit.
    pub(super) committed_bytes: u64,
    /// Bytes behind it that belong to no complete commit.
    pub(super) torn_bytes: u64,
}

/// Scans the write-ahead log at `path`, one frame at a time.
pub(super) fn read(path: &Path) -> Result<WalTail, LedgerError> {
    let failed = |error: &std::io::Error| from_io("cannot read", path, error);
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(WalTail::default()),
        other => other.map_err(|error| failed(&error))?,
    };
    let length = file.metadata().map_err(|error| failed(&error))?.len();
    scan_frames(&mut BufReader::with_capacity(1 << 16, file), length)
        .map_err(|error| failed(&error))
}

fn scan_frames(bytes: &mut dyn Read, length: u64) -> std::io::Result<WalTail> {
    let mut header = [0; HEADER_BYTES];
    if read_up_to(bytes, &mut header)? < HEADER_BYTES {
        return Ok(WalTail { committed_bytes: 0, torn_bytes: length });
    }
    let Some(generation) = WalGeneration::parse(&header) else {
        // SQLite starts over when it cannot read the header. A header of zeros was never written.
        return Ok(WalTail {
            committed_bytes: 0,
            torn_bytes: if header == [0; HEADER_BYTES] { 0 } else { length },
        });
    };
    let (mut sum, mut intact) = (generation.sum, true);
    let mut at = HEADER_BYTES as u64;
    let mut whole = at;
    let mut end = at;
    let mut frame = vec![0; FRAME_HEADER_BYTES + generation.page];
    loop {
        let found = read_up_to(bytes, &mut frame)?;
        // A piece too short for salts counts as ours if it follows a frame of this generation.
        let ours = if found < SALTS_END { found > 0 && end == at } else { generation.owns(&frame) };
        at += found as u64;
        if found < frame.len() {
            end = if ours { at } else { end };
            break;
        }
        intact = intact && ours && generation.checks(&frame, &mut sum);
        if intact && word(&frame, 4) != 0 {
            whole = at;
        }
        if ours {
            end = at;
        }
    }
    Ok(WalTail { committed_bytes: whole, torn_bytes: end.saturating_sub(whole) })
}

/// Fills the buffer as far as there is input; the rest is zero.
fn read_up_to(bytes: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    buffer.fill(0);
    let mut filled = 0;
    while let Some(left) = buffer.get_mut(filled..).filter(|left| !left.is_empty()) {
        match bytes.read(left) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// SQLite's running checksum: two sums over pairs of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Checksum {
    first: u32,
    second: u32,
}

/// One generation of the write-ahead log, as described by its header.
struct WalGeneration {
    page: usize,
    big_endian: bool,
    /// Two salts: the first is incremented with each generation, the second is random.
    salts: (u32, u32),
    sum: Checksum,
}

impl WalGeneration {
    /// Parses a header; `None` when SQLite would not accept it.
    fn parse(header: &[u8]) -> Option<Self> {
        let big_endian = match word(header, 0).wrapping_sub(MAGIC) {
            0 => false,
            1 => true,
            _ => return None,
        };
        let page = usize::try_from(word(header, 8)).ok()?;
        if word(header, 4) != VERSION || !(512..=65_536).contains(&page) || !page.is_power_of_two()
        {
            return None;
        }
        let salts = (word(header, 16), word(header, 20));
        let mut generation = Self { page, big_endian, salts, sum: Checksum::default() };
        let mut sum = Checksum::default();
        generation.add(header.get(..24)?, &mut sum);
        generation.sum = sum;
        let stored = Checksum { first: word(header, 24), second: word(header, 28) };
        (sum == stored).then_some(generation)
    }

    /// True when the frame belongs to this generation, judging by its salts. A frame of neither
    /// this nor an earlier generation is taken for a damaged frame of this one.
    fn owns(&self, frame: &[u8]) -> bool {
        let salts = (word(frame, 8), word(frame, 12));
        let age = self.salts.0.wrapping_sub(salts.0);
        salts == self.salts || age == 0 || age >= 1 << 31 || salts == (0, 0)
    }

    /// True when the frame has this generation's salts and continues the running checksum.
    fn checks(&self, frame: &[u8], sum: &mut Checksum) -> bool {
        let (Some(head), Some(page)) = (frame.get(..8), frame.get(FRAME_HEADER_BYTES..)) else {
            return false;
        };
        if (word(frame, 8), word(frame, 12)) != self.salts || word(frame, 0) == 0 {
            return false;
        }
        self.add(head, sum);
        self.add(page, sum);
        *sum == Checksum { first: word(frame, 16), second: word(frame, 20) }
    }

    fn add(&self, bytes: &[u8], sum: &mut Checksum) {
        let Checksum { first, second } = sum;
        for [a0, a1, a2, a3, b0, b1, b2, b3] in bytes.as_chunks::<8>().0 {
            let word = |bytes| match self.big_endian {
                true => u32::from_be_bytes(bytes),
                false => u32::from_le_bytes(bytes),
            };
            *first = first.wrapping_add(word([*a0, *a1, *a2, *a3])).wrapping_add(*second);
            *second = second.wrapping_add(word([*b0, *b1, *b2, *b3])).wrapping_add(*first);
        }
    }
}

/// The big-endian word at an offset; zero beyond the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    word.map_or(0, |word| u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests;
