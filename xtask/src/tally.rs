//! Counts passed, failed and skipped tests from the output of the test runners.

use std::fmt;
use std::ops::AddAssign;

/// A count of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl Tally {
    /// Read nextest's closing line, `Summary [ 1.2s] 3 tests run: 2 passed (1 slow), 1 failed, …`.
    ///
    /// The last such line counts; `None` if there is none. A test that timed out or could not be
    /// started counts as failed.
    pub fn from_nextest(output: &str) -> Option<Self> {
        output.lines().rev().find_map(|line| {
            let line = without_colour(line);
            let rest = line.trim_start().strip_prefix("Summary [")?;
            let (_, counts) = rest.split_once(" run: ")?;
            Some(Self::from_counts(&without_parentheses(counts), ','))
        })
    }

    /// Add up every `test result: ok. 3 passed; 0 failed; 1 ignored; …` that rustdoc printed.
    pub fn from_libtest(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output.lines() {
            let line = without_colour(line);
            let Some(rest) = line.trim_start().strip_prefix("test result: ") else { continue };
            let Some((_, counts)) = rest.split_once(". ") else { continue };
            sum += Self::from_counts(counts, ';');
        }
        sum
    }

    fn from_counts(counts: &str, separator: char) -> Self {
        let mut tally = Self::default();
        for part in counts.split(separator) {
            let Some((number, what)) = part.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what.trim() {
                "passed" => tally.passed += number,
                "failed" | "exec failed" | "timed out" => tally.failed += number,
                "skipped" | "ignored" => tally.skipped += number,
                _ => {}
            }
        }
        tally
    }
}

/// Remove `ESC [ … letter` sequences.
fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Remove text in parentheses, in which nextest explains a count.
fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::Tally;

    fn tally(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally { passed, failed, skipped }
    }

    #[test]
    fn reads_a_clean_nextest_summary() {
        let text = "  PASS [ 0.1s] a b\n------\n     Summary [   0.204s] 12 tests run: 12 passed, 3 skipped\n";
        assert_eq!(Tally::from_nextest(text), Some(tally(12, 0, 3)));
    }

    #[test]
    fn counts_timeouts_and_exec_failures_as_failed() {
        let text = "Summary [  1.0s] 9/20 tests run: 4 passed (1 slow, 2 leaky), 2 failed (1 due to being leaky), 1 exec failed, 2 timed out, 7 skipped";
        assert_eq!(Tally::from_nextest(text), Some(tally(4, 5, 7)));
    }

    #[test]
    fn reads_a_coloured_summary() {
        let text = "\u{1b}[31;1m     Summary\u{1b}[0m [   0.2s] \u{1b}[1m2\u{1b}[0m tests run: \u{1b}[1m1\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m1\u{1b}[0m \u{1b}[31;1mfailed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m \u{1b}[33;1mskipped\u{1b}[0m";
        assert_eq!(Tally::from_nextest(text), Some(tally(1, 1, 0)));
    }

    #[test]
    fn a_run_without_summary_is_not_a_count() {
        assert_eq!(Tally::from_nextest("error: could not compile\n"), None);
    }

    #[test]
    fn adds_up_the_doctests_of_all_crates() {
        let text = "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.1s\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(Tally::from_libtest(text), tally(6, 2, 1));
    }

    #[test]
    fn prints_the_closing_line() {
        let mut sum = tally(1, 0, 2);
        sum += tally(3, 1, 0);
        assert_eq!(sum.to_string(), "4 passed, 1 failed, 2 skipped");
    }
}
