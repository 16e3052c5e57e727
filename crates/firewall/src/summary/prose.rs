//! Facts about a text: its beginning, and further lines that somebody would look for.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use weaver_text::escape;

use crate::content::ValueRenderer;
use crate::goal::Goal;

/// Characters of the beginning.
const MAX_TEXT: usize = 500;
/// The most further lines.
const MAX_LINES: usize = 8;
/// Characters of one of them.
const MAX_LINE: usize = 160;
/// Words of lines that report a failure; they weigh less than a word of the goal.
const FAILURES: &[&str] =
    &["error", "exception", "fail", "fatal", "panic", "traceback", "denied", "refused", "critical"];

pub(super) fn facts(text: &str, renderer: &mut ValueRenderer<'_>) -> Vec<String> {
    let redacted = renderer.redacted(text);
    let mut facts = vec![renderer.cut(&redacted, MAX_TEXT)];
    let more = redacted.chars().skip(MAX_TEXT).count();
    if more > 0 {
        let lines = notable(&redacted, renderer.limits.goal.as_ref());
        facts.extend(lines.into_iter().map(|(number, line)| {
            let line = escape::shorten(line.trim(), MAX_LINE).into_owned();
            let line = renderer.cut(&line, MAX_LINE);
            format!("line {number}: {line}")
        }));
        facts.push(format!("… ({more} more characters; full data via handle)"));
    }
    facts
}

/// Lines after the beginning that bear on the goal or report a failure, in their order, each
/// kind of line once.
fn notable<'t>(redacted: &'t str, goal: Option<&Goal>) -> Vec<(usize, &'t str)> {
    let failures = AhoCorasickBuilder::new().ascii_case_insensitive(true).build(FAILURES).ok();
    let mut seen = 0;
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for (at, line) in redacted.lines().enumerate() {
        let shown = seen < MAX_TEXT;
        seen = seen.saturating_add(line.len() + 1);
        let weight = if shown { 0 } else { weight(line, goal, failures.as_ref()) };
        let known = found.iter().any(|(_, _, other)| alike(line, other));
        if weight > 0 && !known {
            found.push((weight, at + 1, line));
            found.sort_by_key(|(weight, at, _)| (std::cmp::Reverse(*weight), *at));
            found.truncate(MAX_LINES);
        }
    }
    found.sort_by_key(|(_, at, _)| *at);
    found.into_iter().map(|(_, at, line)| (at, line)).collect()
}

fn weight(line: &str, goal: Option<&Goal>, failures: Option<&AhoCorasick>) -> usize {
    let line = escape::truncate(line, 4 * MAX_LINE);
    let failed = failures.is_some_and(|finder| finder.is_match(line));
    2 * goal.map_or(0, |goal| goal.weight(line)) + usize::from(failed)
}

/// Lines that differ in digits only.
fn alike(one: &str, other: &str) -> bool {
    let words = |line: &str| -> Vec<char> {
        line.chars().filter(|c| !c.is_numeric()).take(MAX_LINE).collect()
    };
    words(one) == words(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, goal: &str) -> Vec<usize> {
        let goal = Goal::of(goal);
        notable(text, goal.as_ref()).into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn lines_that_fail_or_bear_on_the_goal_are_found_behind_the_beginning() {
        let mut text = "error at the very beginning\n".to_owned();
        for n in 2..200 {
            text.push_str(&match n {
                50 | 51 => format!("ERROR: disk {n} is full\n"),
                90 => "payment 17 was captured\n".to_owned(),
                _ => format!("{n} all is well\n"),
            });
        }
        assert_eq!(lines(&text, ""), [50]);
        assert_eq!(lines(&text, "why was the payment captured twice?"), [50, 90]);
        assert_eq!(lines("error", "error"), Vec::<usize>::new());
        let many = format!("{}\n{}", "x".repeat(600), "failed\nerror a\n".repeat(5_000));
        assert_eq!(lines(&many, "").len(), 2);
    }
}
