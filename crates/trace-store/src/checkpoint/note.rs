//! Signed notes, as C2SP `signed-note` defines them.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::CheckpointError;

/// The largest note, in bytes.
pub const MAX_NOTE_BYTES: usize = 64 * 1024;
/// The most signatures of a note.
pub const MAX_SIGNATURES: usize = 64;

const DASH: &str = "\u{2014} ";

/// A text with its signatures. Parsing verifies nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    text: String,
    signatures: Vec<NoteSignature>,
}

/// A signature of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// The key id: the first four bytes of a hash over name, type and key.
    pub key: [u8; 4],
    /// The bytes after the key id; their form depends on the key's type.
    pub bytes: Vec<u8>,
}

impl SignedNote {
    /// Parses a note strictly: formatting the result gives the same bytes.
    ///
    /// # Errors
    /// [`CheckpointError::Note`].
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let bad = |why| Err(CheckpointError::Note(why));
        if bytes.len() > MAX_NOTE_BYTES {
            return bad("it is larger than 64 KiB");
        }
        let Ok(all) = str::from_utf8(bytes) else { return bad("it is not UTF-8") };
        if bytes.iter().any(|byte| *byte < b' ' && *byte != b'\n') {
            return bad("it holds a control character");
        }
        let Some((text, lines)) = all.rsplit_once("\n\n") else {
            return bad("no blank line stands between text and signatures");
        };
        let Some(lines) = lines.strip_suffix('\n') else {
            return bad("its last line has no end");
        };
        let mut signatures = Vec::new();
        let mut seen = BTreeSet::new();
        for line in lines.split('\n') {
            let Some(signature) = NoteSignature::parse(line) else {
                return bad("a signature line is malformed");
            };
            if !seen.insert((signature.name.clone(), signature.key)) {
                return bad("two signatures are of one key");
            }
            signatures.push(signature);
            if signatures.len() > MAX_SIGNATURES {
                return bad("it has more than 64 signatures");
            }
        }
        Ok(Self { text: format!("{text}\n"), signatures })
    }

    /// A note without signatures. `text` ends with a line feed.
    pub(super) fn unsigned(text: String) -> Self {
        Self { text, signatures: Vec::new() }
    }

    /// The signed text, including its last line feed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signatures, in order.
    #[must_use]
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Adds a signature, replacing an earlier one by the same key.
    #[must_use]
    pub fn with(mut self, signature: NoteSignature) -> Self {
        let same = |own: &NoteSignature| own.name == signature.name && own.key == signature.key;
        self.signatures.retain(|own| !same(own));
        self.signatures.push(signature);
        self
    }
}

impl NoteSignature {
    fn parse(line: &str) -> Option<Self> {
        let (name, text) = line.strip_prefix(DASH)?.split_once(' ')?;
        let bytes = STANDARD.decode(text).ok()?;
        let (key, rest) = bytes.split_first_chunk::<4>()?;
        if rest.is_empty() || !is_key_name(name) {
            return None;
        }
        Some(Self { name: name.to_owned(), key: *key, bytes: rest.to_vec() })
    }
}

/// A key name is not empty and contains neither white space nor a plus sign.
pub(super) fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+')
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for NoteSignature { name, key, bytes } in &self.signatures {
            let encoded = STANDARD.encode([key.as_slice(), bytes].concat());
            writeln!(f, "{DASH}{name} {encoded}")?;
        }
        Ok(())
    }
}
