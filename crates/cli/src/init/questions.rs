//! Asks the questions of a setup on the terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use weaver_gateway::setup::{Permission, Posture, Review, Selection};
use weaver_text::escape;

use super::table;
use crate::{Exit, Failure, output};

const REVIEW_HELP: &str = "\
Type the number of a tool and a letter: 3a allows it, 3h holds it for a person, 3d refuses it;
several at once: 3a 7d 9-12h. Enter accepts the table, `t` shows it again, `q` leaves without
writing anything. A `?` marks what the words of the tool leave open.
";

/// Whether there is a terminal to ask on.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question and returns the answer. The end of the input declines.
pub(crate) fn ask(question: &str) -> Result<String, Failure> {
    output::stderr(question);
    // If this fails, there is nowhere left to report it.
    let _ = std::io::stderr().flush();
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line)?;
    if read == 0 {
        return Err(declined());
    }
    Ok(line.trim().to_owned())
}

fn declined() -> Failure {
    Failure::new(Exit::Declined, "init.declined", "nothing was written")
        .with_next_step("run `weaver init` again when you like; `weaver init --yes` asks nothing")
}

/// Asks for the posture.
pub(super) fn posture() -> Result<Posture, Failure> {
    let question = "\nHow strict should it be?\n  \
        1  careful  reads and local writes go through; what leaves the machine or destroys waits for you\n  \
        2  observe  everything goes through, and the log says what `careful` would have stopped\n  \
        3  locked   every call waits for you\n[1] ";
    loop {
        match ask(question)?.as_str() {
            "" | "1" | "careful" => return Ok(Posture::Careful),
            "2" | "observe" => return Ok(Posture::Observe),
            "3" | "locked" => return Ok(Posture::Locked),
            _ => output::stderr("Type 1, 2 or 3.\n"),
        }
    }
}

/// Lets the user change the table of tools until they accept it.
pub(super) fn review(review: &mut Review, selection: &Selection) -> Result<(), Failure> {
    output::stderr(&format!(
        "{}\n{}\n",
        table::review_table(review, selection),
        table::summary(review)
    ));
    loop {
        let typed = ask("Enter accepts; a number with a, h or d changes a tool; ? for help: ")?;
        match typed.as_str() {
            "" => return Ok(()),
            "q" => return Err(declined()),
            "?" => output::stderr(REVIEW_HELP),
            "t" => output::stderr(&table::review_table(review, selection)),
            words => {
                for word in words.split([' ', ',']).filter(|word| !word.is_empty()) {
                    match change(review, word) {
                        Ok(changed) => output::stderr(&changed),
                        Err(problem) => output::stderr(&format!("{problem}\n")),
                    }
                }
                output::stderr(&format!("{}\n", table::summary(review)));
            }
        }
    }
}

/// Applies a change such as `3a` or `3-5h`, and names the tools that it changed.
fn change(review: &mut Review, word: &str) -> Result<String, UnclearAnswer> {
    let unclear = || UnclearAnswer(format!("`{word}` is not a number with a, h or d"));
    let letter = word.chars().last().ok_or_else(unclear)?;
    let permission = match letter {
        'a' => Permission::Allow,
        'h' => Permission::Ask,
        'd' => Permission::Deny,
        _ => return Err(unclear()),
    };
    let numbers = word.trim_end_matches(letter);
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    let (first, last) = (number(first).ok_or_else(unclear)?, number(last).ok_or_else(unclear)?);
    let rows = review.rows().get(first - 1..last);
    let rows = rows.ok_or_else(|| UnclearAnswer(format!("there is no tool {last}")))?;
    let ids: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
    let mut changed = String::new();
    for id in ids {
        review.set_permission(&id, permission).map_err(|error| UnclearAnswer(error.to_string()))?;
        changed.push_str(&format!("{}: {}\n", permission.as_str(), escape::line(&id)));
    }
    Ok(changed)
}

/// An answer that could not be understood.
struct UnclearAnswer(String);

impl std::fmt::Display for UnclearAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Asks for a confirmation; fails without one.
pub(crate) fn confirm(question: &str) -> Result<(), Failure> {
    match ask(&format!("{question} [Y/n] "))?.to_ascii_lowercase().as_str() {
        "" | "y" | "yes" => Ok(()),
        _ => Err(declined()),
    }
}
