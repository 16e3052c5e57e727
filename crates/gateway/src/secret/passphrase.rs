//! Passphrases: from the terminal, from a file descriptor, or from where the configuration says.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use zeroize::Zeroizing;

use super::SecretError;
use crate::config::SecretSource;

/// The least length of a new passphrase, in characters.
pub const MIN_PASSPHRASE: usize = 8;
/// How often a new passphrase is asked for.
const TRIES: usize = 3;
/// The greatest length of any passphrase, in bytes.
const MAX_BYTES: usize = 1024;

/// A passphrase. It is erased when dropped and shows nothing of itself.
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Takes a text as a passphrase; a line end at its end does not count.
    ///
    /// # Errors
    /// [`SecretError::Passphrase`] when it is empty or longer than 1,024 bytes.
    pub fn new(text: Zeroizing<String>) -> Result<Self, SecretError> {
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            return Err(SecretError::Passphrase("is empty"));
        }
        if line.len() > MAX_BYTES {
            return Err(SecretError::Passphrase("is longer than 1,024 bytes"));
        }
        Ok(Self(Zeroizing::new(line.to_owned())))
    }

    /// Asks on the terminal, whatever standard input is.
    ///
    /// # Errors
    /// [`SecretError::NoTerminal`] without a terminal, and as [`Passphrase::new`].
    pub fn ask(prompt: &str) -> Result<Self, SecretError> {
        let text = rpassword::prompt_password(prompt).map_err(SecretError::NoTerminal)?;
        Self::new(Zeroizing::new(text))
    }

    /// Asks twice on the terminal for a new passphrase. What will not do is asked for again, three
    /// times in all.
    ///
    /// # Errors
    /// As [`Passphrase::ask`]; then [`SecretError::Mismatch`], or [`SecretError::Passphrase`] for one
    /// that is too short.
    pub fn ask_new() -> Result<Self, SecretError> {
        Self::new_from(Self::ask)
    }

    /// A new passphrase from whoever answers a prompt.
    fn new_from(
        mut ask: impl FnMut(&str) -> Result<Self, SecretError>,
    ) -> Result<Self, SecretError> {
        let mut answer = Self::same_twice("New passphrase: ", &mut ask);
        for _ in 1..TRIES {
            let Err(problem @ (SecretError::Passphrase(_) | SecretError::Mismatch)) = &answer
            else {
                break;
            };
            answer = Self::same_twice(&format!("{problem}\nNew passphrase: "), &mut ask);
        }
        answer
    }

    fn same_twice(
        prompt: &str,
        mut ask: impl FnMut(&str) -> Result<Self, SecretError>,
    ) -> Result<Self, SecretError> {
        let first = ask(prompt)?.long_enough()?;
        let second = ask("The same again: ")?;
        if *first.0 == *second.0 { Ok(first) } else { Err(SecretError::Mismatch) }
    }

    /// Reads from an open file descriptor of this process, up to its end.
    ///
    /// # Errors
    /// [`SecretError::Descriptor`] when it is not open, is standard output or error, or gives
    /// something other than text; and as [`Passphrase::new`].
    pub fn from_descriptor(fd: u32) -> Result<Self, SecretError> {
        let refused = |reason: String| SecretError::Descriptor { fd, reason };
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES + 3));
        let read = match fd {
            0 => read_bounded(io::stdin().lock(), &mut bytes),
            1 | 2 => return Err(refused("it is standard output or error".to_owned())),
            _ => open(fd).and_then(|file| read_bounded(file, &mut bytes)),
        };
        read.map_err(|error| refused(error.to_string()))?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| refused("it is not UTF-8".to_owned()))?;
        Self::new(Zeroizing::new(text.to_owned()))
    }

    /// Reads it where the configuration says that it is.
    ///
    /// # Errors
    /// [`SecretError::Source`], when it cannot be had there; and as [`Passphrase::new`].
    pub fn from_source(source: &SecretSource) -> Result<Self, SecretError> {
        let failed = |reason: String| SecretError::Source { reason };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let secret = runtime.block_on(source.provider().secret());
        Self::new(secret.map_err(|error| failed(error.to_string()))?.into_text())
    }

    /// The same, if it is long enough for a new key.
    ///
    /// # Errors
    /// [`SecretError::Passphrase`].
    pub fn long_enough(self) -> Result<Self, SecretError> {
        if self.0.chars().count() < MIN_PASSPHRASE {
            return Err(SecretError::Passphrase("has fewer than 8 characters; use a longer one"));
        }
        Ok(self)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(redacted)")
    }
}

fn open(fd: u32) -> io::Result<File> {
    File::open(format!("/dev/fd/{fd}"))
}

/// Into a buffer that never grows, so that no copy is left behind.
fn read_bounded(from: impl Read, into: &mut Vec<u8>) -> io::Result<()> {
    let room = u64::try_from(MAX_BYTES + 3).unwrap_or(u64::MAX);
    from.take(room).read_to_end(into).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(text: &str) -> Result<Passphrase, SecretError> {
        Passphrase::new(Zeroizing::new(text.to_owned()))
    }

    #[test]
    fn one_line_end_is_cut_and_blanks_count() {
        for (text, wanted) in [("a b \n", "a b "), ("x\r\n", "x"), ("x\n\n", "x\n")] {
            assert_eq!(new(text).unwrap().as_bytes(), wanted.as_bytes());
        }
    }

    #[test]
    fn bounds_hold() {
        assert!(new("").is_err() && new("\n").is_err() && new(&"x".repeat(1025)).is_err());
        assert!(new("seven77").unwrap().long_enough().is_err());
        assert!(new("eight888").unwrap().long_enough().is_ok());
        assert_eq!(format!("{:?}", new("hunter22").unwrap()), "Passphrase(redacted)");
    }

    /// What becomes of these answers, and how many of them were asked for.
    fn answered(answers: &[&str]) -> (Result<Passphrase, SecretError>, usize) {
        let mut asked = 0;
        let answer = Passphrase::new_from(|_| {
            let answer = answers.get(asked).expect("no more is asked for");
            asked += 1;
            new(answer)
        });
        (answer, asked)
    }

    #[test]
    fn a_new_one_is_asked_for_three_times_at_most() {
        let (answer, asked) = answered(&["short", "eight888", "eight889", "eight888", "eight888"]);
        assert_eq!((answer.unwrap().as_bytes(), asked), (&b"eight888"[..], 5));
        let (answer, asked) = answered(&["short", "", "seven77", "eight888"]);
        assert!(matches!(answer, Err(SecretError::Passphrase(_))) && asked == 3);
    }

    #[test]
    fn output_and_closed_descriptors_are_refused() {
        for fd in [1, 2, 9_999] {
            let error = Passphrase::from_descriptor(fd).unwrap_err();
            assert_eq!(error.code(), "secret.descriptor", "{fd}");
        }
    }
}
