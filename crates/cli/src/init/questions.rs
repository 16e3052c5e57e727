//! Asks the questions of a setup on the terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use weaver_gateway::setup::{
    Permission, Posture, Review, ReviewError, Selection, ToolChoice, ToolClass, ToolReview,
};
use weaver_text::escape;

use super::table;
use crate::posture::meaning as posture_meaning;
use crate::{Exit, Failure, output};

const REVIEW_HELP: &str = "\
Type the number of a tool and a letter: 3a allows it, 3h holds it for a person, 3d refuses it. Where
the table is wrong about what a tool does: 3r says that it only reads on this machine, 3f that it
reads from outside and changes nothing, 3w that it writes here and nowhere else. Several at once:
3a 7d 9-12h. Enter accepts the table, `t` shows it again, `q` leaves without writing anything. A `?`
marks what the words of the tool leave open.
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
        .with_next_step("run the same command again when you like")
}

/// Asks for the posture.
pub(super) fn posture() -> Result<Posture, Failure> {
    let line = |number: u8, posture: Posture| {
        format!("  {number}  {:<8} {}\n", posture.as_str(), posture_meaning(posture))
    };
    let question = format!(
        "\nHow strict should it be? `weaver posture` changes it later.\n{}{}{}[1] ",
        line(1, Posture::Careful),
        line(2, Posture::Observe),
        line(3, Posture::Locked)
    );
    loop {
        match ask(&question)?.as_str() {
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
        let typed =
            ask("Enter accepts; a number with a, h, d, r, f or w changes a tool; ? for help: ")?;
        match typed.as_str() {
            "" => return Ok(()),
            "q" => return Err(declined()),
            "?" => output::stderr(REVIEW_HELP),
            "t" => output::stderr(&table::review_table(review, selection)),
            words => {
                for word in words.split([' ', ',']).filter(|word| !word.is_empty()) {
                    let ids: Vec<String> =
                        review.rows().iter().map(|row| row.id.to_string()).collect();
                    let changed = change(&ids, word, |id, choice| review.choose(id, choice));
                    output::stderr(&changed.unwrap_or_else(|problem| format!("{problem}\n")));
                }
                output::stderr(&format!("{}\n", table::summary(review)));
            }
        }
    }
}

const REVIEW_AGAIN_HELP: &str = "\
Type the number of a tool and a letter: 3a allows it, 3h holds it for a person, 3d refuses it; 3r says
that it only reads on this machine, 3f that it reads from outside and changes nothing, 3w that it
writes here and nowhere else; 3p takes what is proposed today. Several at once: 3a 7d 9-12p. Enter
goes on to sign what you chose, `t` shows the table again, `q` leaves without writing anything.
";

/// Lets the user choose for tools that a gateway has.
pub(super) fn review_again(review: &mut ToolReview) -> Result<(), Failure> {
    output::stderr(&table::present_table(review));
    loop {
        let typed = ask("\nA number with a, h, d, r, f, w or p chooses for a tool; ? for help: ")?;
        match typed.as_str() {
            "" => return Ok(()),
            "q" => return Err(declined()),
            "?" => output::stderr(REVIEW_AGAIN_HELP),
            "t" => output::stderr(&table::present_table(review)),
            words => {
                for word in words.split([' ', ',']).filter(|word| !word.is_empty()) {
                    let ids: Vec<String> =
                        review.review().rows().iter().map(|row| row.id.to_string()).collect();
                    let changed = change(&ids, word, |id, choice| review.choose(id, choice));
                    output::stderr(&changed.unwrap_or_else(|problem| format!("{problem}\n")));
                }
            }
        }
    }
}

/// Applies a change such as `3a` or `3-5h` to the tools with these ids, and names those that it
/// changed.
fn change(
    ids: &[String],
    word: &str,
    mut choose: impl FnMut(&str, ToolChoice) -> Result<(), ReviewError>,
) -> Result<String, UnclearAnswer> {
    let unclear = || UnclearAnswer(format!("`{word}` is not a number with a, h, d, r, f or w"));
    let letter = word.chars().last().ok_or_else(unclear)?;
    let choice = match letter {
        'a' => ToolChoice::Permission(Permission::Allow),
        'h' => ToolChoice::Permission(Permission::Ask),
        'd' => ToolChoice::Permission(Permission::Deny),
        'r' => ToolChoice::Class(ToolClass::Reads),
        'f' => ToolChoice::Class(ToolClass::Fetches),
        'w' => ToolChoice::Class(ToolClass::Writes),
        'p' => ToolChoice::Proposed,
        _ => return Err(unclear()),
    };
    let numbers = word.trim_end_matches(letter);
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    let (first, last) = (number(first).ok_or_else(unclear)?, number(last).ok_or_else(unclear)?);
    let ids = ids.get(first - 1..last);
    let ids = ids.ok_or_else(|| UnclearAnswer(format!("there is no tool {last}")))?;
    let mut changed = String::new();
    for id in ids {
        choose(id, choice).map_err(|error| UnclearAnswer(error.to_string()))?;
        changed.push_str(&format!("{}: {}\n", choice.as_str(), escape::line(id)));
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

/// Asks a question that is answered with no unless the user types yes.
pub(super) fn agrees(question: &str) -> Result<bool, Failure> {
    Ok(matches!(ask(&format!("{question} [y/N] "))?.to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Asks for a confirmation; fails without one.
pub(crate) fn confirm(question: &str) -> Result<(), Failure> {
    match ask(&format!("{question} [Y/n] "))?.to_ascii_lowercase().as_str() {
        "" | "y" | "yes" => Ok(()),
        _ => Err(declined()),
    }
}
