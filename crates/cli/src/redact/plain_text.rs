//! Plain text in, plain text out, in bounded memory.

use std::io::{self, IsTerminal as _, Write as _};

use weaver_firewall::StreamRedactor;

use super::engine::{Masker, pieces};
use super::source::Source;
use crate::{Exit, Failure};

pub(super) fn run(masker: &Masker, mut source: Source) -> Result<Exit, Failure> {
    let mut stream = masker.stream();
    let mut decoder = Decoder::default();
    loop {
        let piece = source.from.piece().map(<[u8]>::to_vec);
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
                .next("convert the input, for example with `iconv -t UTF-8`"));
        }
        if piece.is_empty() {
            report(&stream);
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

/// A closing word for whoever watches while the output goes elsewhere.
fn report(stream: &StreamRedactor) {
    if !io::stderr().is_terminal() || io::stdout().is_terminal() {
        return;
    }
    let mut counts: Vec<(u64, &str)> = stream.counts().iter().map(|(k, n)| (*n, &**k)).collect();
    counts.sort_by_key(|(count, kind)| (std::cmp::Reverse(*count), *kind));
    let all: u64 = counts.iter().map(|(count, _)| count).sum();
    let parts: Vec<String> = counts.iter().map(|(count, kind)| format!("{count} {kind}")).collect();
    let of = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    // Nothing is lost when nobody can read it.
    let _ =
        writeln!(io::stderr(), "{all} {} masked{of}", if all == 1 { "value" } else { "values" });
}

/// Bytes to text, across the borders of pieces.
#[derive(Debug)]
struct Decoder {
    /// The beginning of a character whose rest is still to come.
    rest: Vec<u8>,
    /// The line in which the next byte stands, from 1 on.
    line: u64,
}

/// Bytes that are no text, and the text before them.
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
    /// The text of these bytes.
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

    /// The end of the input: an error where a character is unfinished.
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
