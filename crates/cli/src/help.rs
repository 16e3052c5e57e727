//! Help that fits a screen: what a command is for, its options, and an example that works.
//!
//! `--help` is short. Formats, exit codes and rare options are under `weaver help COMMAND`. The
//! short texts are one table, so that a test can check all of them.

mod pages;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::args::Cli;
use pages::HelpPage;

/// The widest that help is printed: the usual width of a terminal.
const MAX_WIDTH: usize = 80;
/// Sorts `--help` after all other options of a command.
const HELP_OPTION_ORDER: usize = 1_000;

/// The command line with its help.
pub(crate) fn command() -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).global(true);
    let help = help.help("Print this").display_order(HELP_OPTION_ORDER);
    let root = Cli::command().disable_help_flag(true).arg(help).max_term_width(MAX_WIDTH);
    let root = root.help_template(pages::root_template());
    with_pages(root, "")
}

/// The full help of the root command, with every command, a first configuration and the exit codes.
pub(crate) fn full_help() -> StyledStr {
    Cli::command().max_term_width(MAX_WIDTH).render_long_help()
}

/// Puts the page of each command below its options. The longer text that was there moves to `weaver
/// help`.
fn with_pages(mut command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(&name, |one| with_pages(with_page(one, &path), &path));
    }
    command
}

fn with_page(mut command: Command, path: &str) -> Command {
    let Some(page) = pages::PAGES.iter().find(|page| page.command == path) else { return command };
    let long = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let says_more = long.is_some() || !page.rare_options.is_empty();
    let more = says_more.then(|| format!("`weaver help {}` says more.", page.command));
    command = command.after_help(page_text(page, more));
    if let Some(long) = long {
        command = command.after_long_help(join_paragraph_lines(&long));
    }
    for id in page.rare_options {
        command = command.mut_arg(id, |arg| arg.hide_short_help(true));
    }
    command
}

fn page_text(page: &HelpPage, more: Option<String>) -> String {
    let mut out = String::from(if page.examples.len() > 1 { "Examples:" } else { "Example:" });
    for example in page.examples {
        out.push_str("\n  ");
        out.push_str(&example.replace('\n', "\n    "));
    }
    let note = [Some(page.note.to_owned()).filter(|note| !note.is_empty()), more];
    let note: Vec<String> = note.into_iter().flatten().collect();
    if !note.is_empty() {
        out.push_str("\n\n");
        out.push_str(&note.join(" "));
    }
    out
}

/// Joins the lines of each paragraph, so that the terminal's width decides where they wrap.
/// Indented lines stay as they are.
fn join_paragraph_lines(text: &str) -> String {
    let mut out = String::new();
    let mut before: Option<&str> = None;
    for line in text.lines() {
        let joins = before.is_some_and(|before| {
            let plain = |line: &str| !line.is_empty() && !line.starts_with(' ');
            plain(before) && plain(line) && !before.ends_with(':')
        });
        match (before.is_some(), joins) {
            (true, true) => out.push(' '),
            (true, false) => out.push('\n'),
            (false, _) => {}
        }
        out.push_str(line);
        before = Some(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_examples_stay() {
        let text = "Examples:\n  a b\n  c\n\nOne line\nand another.\n\nForms:\n  x\nThe end\nof it";
        let joined = "Examples:\n  a b\n  c\n\nOne line and another.\n\nForms:\n  x\nThe end of it";
        assert_eq!(join_paragraph_lines(text), joined);
    }

    #[test]
    fn every_page_is_of_a_command() {
        let command = command();
        for page in pages::PAGES {
            let mut words = page.command.split(' ');
            let found = words.try_fold(&command, |one, word| one.find_subcommand(word));
            assert!(found.is_some(), "{}", page.command);
        }
    }
}
