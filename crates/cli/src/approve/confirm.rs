//! Asks for a confirmation on the terminal.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _, Write as _};

use super::args::SignWith;
use crate::{Exit, Failure, output};

/// The longest answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 256;

/// Shows what is about to be signed and asks for a confirmation, unless `--yes` was given. The text
/// goes to standard output, or to the terminal if standard output is redirected.
pub(super) fn ask(args: &SignWith, shown: &str, question: &str) -> Result<(), Failure> {
    if args.yes {
        if !args.output.json {
            output::text(&format!("{shown}\n"))?;
        }
        return Ok(());
    }
    let no_terminal = |error: io::Error| {
        let message = format!("there is no terminal to ask on ({error})");
        Failure::new(Exit::Usage, "approve.no_terminal", message)
            .with_next_step("look at it with `weaver approve show`, then say `--yes`")
    };
    let mut terminal = Terminal::open().map_err(no_terminal)?;
    if args.output.json || !io::stdout().is_terminal() {
        // The person must see what they sign, wherever the output goes.
        terminal.write(&format!("{shown}\n")).map_err(no_terminal)?;
    } else {
        output::text(&format!("{shown}\n"))?;
    }
    let mut answer = terminal.ask(&format!("{question} Type yes: ")).map_err(no_terminal)?;
    // Who types `y` means to go on, and would type the passphrase next, into the shell.
    if answer.trim().eq_ignore_ascii_case("y") {
        answer = terminal.ask("In full, yes: ").map_err(no_terminal)?;
    }
    if answer.trim() == "yes" {
        return Ok(());
    }
    let message = "it was not confirmed; nothing was signed";
    Err(Failure::new(Exit::Declined, "approve.declined", message))
}

/// The terminal of this process, even if its standard input and output are redirected.
struct Terminal {
    input: File,
    output: File,
}

impl Terminal {
    #[cfg(unix)]
    fn open() -> io::Result<Self> {
        let input = File::options().read(true).write(true).open("/dev/tty")?;
        Ok(Self { output: input.try_clone()?, input })
    }

    #[cfg(not(unix))]
    fn open() -> io::Result<Self> {
        let input = File::options().read(true).open("CONIN$")?;
        let output = File::options().write(true).open("CONOUT$")?;
        Ok(Self { input, output })
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.output.write_all(text.as_bytes())?;
        self.output.flush()
    }

    fn ask(&mut self, question: &str) -> io::Result<String> {
        self.write(question)?;
        let mut answer = String::new();
        BufReader::new((&mut self.input).take(MAX_ANSWER_BYTES)).read_line(&mut answer)?;
        Ok(answer)
    }
}
