//! Facts about a text: its beginning, and notable lines after that.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use weaver_text::escape;

use crate::content::ValueRenderer;
use crate::goal::Goal;

/// The length of the beginning, in characters.
const MAX_HEAD_CHARS: usize = 500;
/// The most notable lines.
const MAX_LINES: usize = 8;
/// The longest notable line, in characters.
const MAX_LINE_CHARS: usize = 160;
/// Words that indicate a failure. They weigh less than a word of the goal.
const FAILURE_WORDS: &[&str] =
    &["error", "exception", "fail", "fatal", "panic", "traceback", "denied", "refused", "critical"];

pub(super) fn facts(text: &str, renderer: &mut ValueRenderer<'_>) -> Vec<String> {
    let redacted = renderer.redact(text);
    let mut facts = vec![renderer.scan_and_cut(&redacted, MAX_HEAD_CHARS)];
    let more = redacted.chars().skip(MAX_HEAD_CHARS).count();
    if more > 0 {
        let lines = notable_lines(&redacted, renderer.limits.goal.as_ref());
        facts.extend(lines.into_iter().map(|(number, line)| {
            let line = escape::shorten(line.trim(), MAX_LINE_CHARS).into_owned();
            let line = renderer.scan_and_cut(&line, MAX_LINE_CHARS);
            format!("line {number}: {line}")
        }));
        facts.push(format!("… ({more} more characters; full data via handle)"));
    }
    facts
}

/// Lines after the beginning that are relevant to the goal or report a failure, in order; of
/// similar lines only the first.
fn notable_lines<'t>(redacted: &'t str, goal: Option<&Goal>) -> Vec<(usize, &'t str)> {
    let failures = AhoCorasickBuilder::new().ascii_case_insensitive(true).build(FAILURE_WORDS).ok();
    let mut seen = 0;
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for (at, line) in redacted.lines().enumerate() {
        let shown = seen < MAX_HEAD_CHARS;
        seen = seen.saturating_add(line.len() + 1);
        let weight = if shown { 0 } else { line_weight(line, goal, failures.as_ref()) };
        let known = found.iter().any(|(_, _, other)| differs_only_in_digits(line, other));
        if weight > 0 && !known {
            found.push((weight, at + 1, line));
            found.sort_by_key(|(weight, at, _)| (std::cmp::Reverse(*weight), *at));
            found.truncate(MAX_LINES);
        }
    }
    found.sort_by_key(|(_, at, _)| *at);
    found.into_iter().map(|(_, at, line)| (at, line)).collect()
}

fn line_weight(line: &str, goal: Option<&Goal>, failures: Option<&AhoCorasick>) -> usize {
    let line = escape::truncate(line, 4 * MAX_LINE_CHARS);
    let failed = failures.is_some_and(|finder| finder.is_match(line));
    2 * goal.map_or(0, |goal| goal.match_count(line)) + usize::from(failed)
}

/// True for lines that differ only in digits.
fn differs_only_in_digits(one: &str, other: &str) -> bool {
    let words = |line: &str| -> Vec<char> {
        line.chars().filter(|c| !c.is_numeric()).take(MAX_LINE_CHARS).collect()
    };
    words(one) == words(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, goal: &str) -> Vec<usize> {
        let goal = Goal::parse(goal);
        notable_lines(text, goal.as_ref()).into_iter().map(|(at, _)| at).collect()
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
