//! Passphrases, read from the terminal, a file descriptor or a configured source.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use zeroize::Zeroizing;

use super::SecretError;
use crate::config::SecretSource;

/// The shortest new passphrase, in characters.
pub const MIN_PASSPHRASE_CHARS: usize = 8;
/// How many times a new passphrase is asked for.
const MAX_TRIES: usize = 3;
/// The longest passphrase, in bytes.
const MAX_BYTES: usize = 1024;

/// A passphrase. It is erased when dropped, and its debug output is redacted.
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Takes a text as a passphrase, without one line break at its end.
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

    /// Asks on the terminal, even if standard input is redirected.
    ///
    /// # Errors
    /// [`SecretError::NoTerminal`] without a terminal, and as [`Passphrase::new`].
    pub fn ask(prompt: &str) -> Result<Self, SecretError> {
        let text = rpassword::prompt_password(prompt).map_err(SecretError::NoTerminal)?;
        Self::new(Zeroizing::new(text))
    }

    /// Asks twice on the terminal for a new passphrase. If it is too short or the two differ, it
    /// asks again, three times in total.
    ///
    /// # Errors
    /// As [`Passphrase::ask`]; after the last try [`SecretError::Mismatch`], or
    /// [`SecretError::Passphrase`] for one that is too short.
    pub fn ask_new() -> Result<Self, SecretError> {
        Self::ask_new_with(Self::ask)
    }

    /// Asks for a new passphrase through `ask`.
    fn ask_new_with(
        mut ask: impl FnMut(&str) -> Result<Self, SecretError>,
    ) -> Result<Self, SecretError> {
        let mut answer = Self::ask_twice("New passphrase: ", &mut ask);
        for _ in 1..MAX_TRIES {
            let Err(problem @ (SecretError::Passphrase(_) | SecretError::Mismatch)) = &answer
            else {
                break;
            };
            answer = Self::ask_twice(&format!("{problem}\nNew passphrase: "), &mut ask);
        }
        answer
    }

    fn ask_twice(
        prompt: &str,
        mut ask: impl FnMut(&str) -> Result<Self, SecretError>,
    ) -> Result<Self, SecretError> {
        let first = ask(prompt)?.check_length()?;
        let second = ask("The same again: ")?;
        if *first.0 == *second.0 { Ok(first) } else { Err(SecretError::Mismatch) }
    }

    /// Reads from an open file descriptor of this process until its end.
    ///
    /// # Errors
    /// [`SecretError::Descriptor`] if it is not open, is standard output or error, or does not hold
    /// text; and as [`Passphrase::new`].
    pub fn from_descriptor(fd: u32) -> Result<Self, SecretError> {
        let refused = |reason: String| SecretError::Descriptor { fd, reason };
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES + 3));
        let read = match fd {
            0 => read_bounded(io::stdin().lock(), &mut bytes),
            1 | 2 => return Err(refused("it is standard output or error".to_owned())),
            _ => open_descriptor(fd).and_then(|file| read_bounded(file, &mut bytes)),
        };
        read.map_err(|error| refused(error.to_string()))?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| refused("it is not UTF-8".to_owned()))?;
        Self::new(Zeroizing::new(text.to_owned()))
    }

    /// A pipe that contains the passphrase, from which another program can read it.
    ///
    /// # Errors
    /// If the system gives no pipe.
    #[cfg(unix)]
    pub fn to_pipe(&self) -> io::Result<std::io::PipeReader> {
        use std::io::Write as _;

        // A pipe holds at least 4 KiB, so the write does not wait for a reader.
        let (reader, mut writer) = io::pipe()?;
        writer.write_all(self.0.as_bytes())?;
        Ok(reader)
    }

    /// Reads the passphrase from the source that the configuration names.
    ///
    /// # Errors
    /// [`SecretError::Source`], if that fails; and as [`Passphrase::new`].
    pub fn from_source(source: &SecretSource) -> Result<Self, SecretError> {
        let failed = |reason: String| SecretError::Source { reason };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let secret = runtime.block_on(source.provider().secret());
        Self::new(secret.map_err(|error| failed(error.to_string()))?.into_text())
    }

    /// The passphrase, if it is long enough for a new key.
    ///
    /// # Errors
    /// [`SecretError::Passphrase`].
    pub fn check_length(self) -> Result<Self, SecretError> {
        if self.0.chars().count() < MIN_PASSPHRASE_CHARS {
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

fn open_descriptor(fd: u32) -> io::Result<File> {
    File::open(format!("/dev/fd/{fd}"))
}

/// Reads into a buffer that never reallocates, so that no copy of the passphrase stays in freed
/// memory.
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
        assert!(new("seven77").unwrap().check_length().is_err());
        assert!(new("eight888").unwrap().check_length().is_ok());
        assert_eq!(format!("{:?}", new("hunter22").unwrap()), "Passphrase(redacted)");
    }

    /// The outcome of these answers, and how many were asked for.
    fn answered(answers: &[&str]) -> (Result<Passphrase, SecretError>, usize) {
        let mut asked = 0;
        let answer = Passphrase::ask_new_with(|_| {
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
