//! Redacts plain text, in bounded memory.

use std::io::{self, IsTerminal as _, Write as _};

use weaver_firewall::StreamRedactor;

use super::masker::{Masker, pieces};
use super::source::Source;
use crate::{Exit, Failure};

pub(super) fn run(masker: &Masker, mut source: Source) -> Result<Exit, Failure> {
    let mut stream = masker.stream();
    let mut decoder = Decoder::default();
    loop {
        let piece = source.from.fill_buffer().map(<[u8]>::to_vec);
        let piece = piece.map_err(|error| source.unreadable(&error))?;
        let text = if piece.is_empty() { decoder.end() } else { decoder.decode(&piece) };
        let (Ok(good) | Err(NotUtf8 { before: good })) = &text;
        feed(masker, &mut stream, good)?;
        if piece.is_empty() || text.is_err() {
            write(&stream.finish())?;
        }
        if text.is_err() {
            return Err(source
                .at(decoder.line, "redact.not_text", "this line is not UTF-8")
                .with_next_step("convert the input, for example with `iconv -t UTF-8`"));
        }
        if piece.is_empty() {
            print_counts(&stream);
            return Ok(Exit::Ok);
        }
        source.from.pass(piece.len());
    }
}

fn feed(masker: &Masker, stream: &mut StreamRedactor, text: &str) -> Result<(), Failure> {
    if masker.sizes().is_empty() {
        return write(&stream.push(text));
    }
    pieces(text, masker.sizes()).try_for_each(|piece| write(&stream.push(piece)))
}

fn write(text: &str) -> Result<(), Failure> {
    if !text.is_empty() {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

/// Prints how many values were masked, if only standard error is a terminal.
fn print_counts(stream: &StreamRedactor) {
    if !io::stderr().is_terminal() || io::stdout().is_terminal() {
        return;
    }
    let mut counts: Vec<(u64, &str)> = stream.counts().iter().map(|(k, n)| (*n, &**k)).collect();
    counts.sort_by_key(|(count, kind)| (std::cmp::Reverse(*count), *kind));
    let all: u64 = counts.iter().map(|(count, _)| count).sum();
    let parts: Vec<String> = counts.iter().map(|(count, kind)| format!("{count} {kind}")).collect();
    let kinds = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    // The output is complete even if this fails.
    let _ =
        writeln!(io::stderr(), "{all} {} masked{kinds}", if all == 1 { "value" } else { "values" });
}

/// Decodes bytes to text, across the boundaries of pieces.
#[derive(Debug)]
struct Decoder {
    /// The first bytes of a character that is not complete yet.
    rest: Vec<u8>,
    /// The line of the next byte, counted from 1.
    line: u64,
}

/// Bytes that are not UTF-8, and the text before them.
#[derive(Debug, Default, PartialEq, Eq)]
struct NotUtf8 {
    before: String,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { rest: Vec::new(), line: 1 }
    }
}

impl Decoder {
    /// Decodes these bytes.
    fn decode(&mut self, bytes: &[u8]) -> Result<String, NotUtf8> {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let out = match String::from_utf8(all) {
            Ok(text) => Ok(text),
            Err(error) => {
                let found = error.utf8_error();
                let mut good = error.into_bytes();
                let bad = good.split_off(found.valid_up_to());
                let good = String::from_utf8(good).unwrap_or_default();
                match found.error_len() {
                    None => {
                        self.rest = bad;
                        Ok(good)
                    }
                    Some(_) => Err(NotUtf8 { before: good }),
                }
            }
        };
        let (Ok(text) | Err(NotUtf8 { before: text })) = &out;
        self.line += text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        out
    }

    /// The end of the input: an error if a character is incomplete.
    fn end(&mut self) -> Result<String, NotUtf8> {
        if self.rest.is_empty() { Ok(String::new()) } else { Err(NotUtf8::default()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_go_on_across_pieces() {
        let text = "a\u{e9}\n\u{20ac}\u{1f600}b";
        for size in 1..text.len() {
            let mut decoder = Decoder::default();
            let out: String =
                text.as_bytes().chunks(size).map(|bytes| decoder.decode(bytes).unwrap()).collect();
            assert_eq!((out.as_str(), decoder.line), (text, 2), "{size}");
            assert!(decoder.end().is_ok());
        }
    }

    #[test]
    fn what_is_no_text_ends_it() {
        let mut decoder = Decoder::default();
        assert_eq!(
            decoder.decode(b"one\ntwo\n\xffthree\n"),
            Err(NotUtf8 { before: "one\ntwo\n".to_owned() })
        );
        assert_eq!(decoder.line, 3);
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"a\xe2\x82"), Ok("a".to_owned()));
        assert!(decoder.end().is_err());
    }
}
