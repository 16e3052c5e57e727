//! Asking on the terminal.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _, Write as _};

use super::args::SignWith;
use crate::{Exit, Failure, output};

/// The longest answer, in bytes.
const MAX_ANSWER: u64 = 256;

/// Shows what is about to be signed and asks whether that is meant, unless `--yes` says so. What
/// is shown goes to standard output, or to the terminal where standard output goes elsewhere.
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
            .next("look at it with `weaver approve show`, then say `--yes`")
    };
    let mut terminal = Terminal::open().map_err(no_terminal)?;
    if args.output.json || !io::stdout().is_terminal() {
        // Whoever is asked must see it, wherever the output goes.
        terminal.say(&format!("{shown}\n")).map_err(no_terminal)?;
    } else {
        output::text(&format!("{shown}\n"))?;
    }
    terminal.say(&format!("{question} Type yes: ")).map_err(no_terminal)?;
    let answer = terminal.hear().map_err(no_terminal)?;
    if answer.trim() == "yes" {
        return Ok(());
    }
    let message = "it was not confirmed; nothing was signed";
    Err(Failure::new(Exit::Declined, "approve.declined", message))
}

/// The terminal of this process, whatever its standard input and output are.
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

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.output.write_all(text.as_bytes())?;
        self.output.flush()
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut answer = String::new();
        BufReader::new((&mut self.input).take(MAX_ANSWER)).read_line(&mut answer)?;
        Ok(answer)
    }
}
