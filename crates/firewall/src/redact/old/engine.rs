//! The engine: one pass over literal anchors, then patterns in windows around them.
//!
//! Windows of one rule are joined before its pattern runs, so each rule reads each byte once at
//! most: the time is linear in the text, whatever stands in it.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use super::rule::{Find, Rule};

/// A stretch of text to mask, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) range: Range<usize>,
    /// The index of the rule.
    pub(crate) rule: usize,
}

/// Why rules do not compile.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("rule `{id}`: {problem}")]
    Pattern { id: &'static str, problem: String },
    #[error("the anchors do not compile: {0}")]
    Anchors(String),
}

/// Compiled rules.
#[derive(Debug)]
pub(crate) struct Engine {
    rules: Vec<Rule>,
    patterns: Vec<Option<Regex>>,
    anchors: AhoCorasick,
    /// For each anchor, the rules that it wakes.
    wakes: Vec<Vec<usize>>,
}

/// How much work a text was, for tests of linear time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Bytes that patterns were run over.
    pub(crate) scanned: usize,
}

impl Engine {
    pub(crate) fn new(rules: Vec<Rule>) -> Result<Self, RuleError> {
        let mut patterns = Vec::new();
        let mut literals: Vec<String> = Vec::new();
        let mut wakes: Vec<Vec<usize>> = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            let Find::Near { anchors, pattern, .. } = rule.find else {
                patterns.push(None);
                continue;
            };
            patterns.push(Some(compile(rule.id, pattern)?));
            for anchor in anchors {
                let anchor = anchor.to_ascii_lowercase();
                match literals.iter().position(|known| *known == anchor) {
                    Some(at) => wakes.get_mut(at).map(|list| list.push(index)),
                    None => {
                        literals.push(anchor);
                        wakes.push(vec![index]);
                        None
                    }
                };
            }
        }
        let anchors = AhoCorasickBuilder::new()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(&literals)
            .map_err(|error| RuleError::Anchors(error.to_string()))?;
        Ok(Self { rules, patterns, anchors, wakes })
    }

    /// Every value of the text, in order, without overlaps. Ranges lie on character borders.
    pub(crate) fn find(&self, text: &str, work: &mut Work) -> Vec<Span> {
        let mut spans = Vec::new();
        for (rule, windows) in self.windows(text).into_iter().enumerate() {
            for window in windows {
                work.scanned += window.len();
                self.search(rule, text, window, &mut spans);
            }
        }
        for (index, rule) in self.rules.iter().enumerate() {
            if let Find::Scan(scan) = rule.find {
                work.scanned += text.len();
                spans.extend(scan(text).into_iter().map(|range| Span { range, rule: index }));
            }
        }
        join(text, spans)
    }

    /// For each rule, the windows in which its pattern is to be run: disjoint, in order.
    fn windows(&self, text: &str) -> Vec<Vec<Range<usize>>> {
        let mut windows: Vec<Vec<Range<usize>>> = vec![Vec::new(); self.rules.len()];
        for hit in self.anchors.find_overlapping_iter(text) {
            for rule in self.wakes.get(hit.pattern().as_usize()).into_iter().flatten() {
                let (Some(list), Some(Rule { find: Find::Near { before, after, .. }, .. })) =
                    (windows.get_mut(*rule), self.rules.get(*rule))
                else {
                    continue;
                };
                let start = hit.start().saturating_sub(*before);
                let end = hit.end().saturating_add(*after).min(text.len());
                match list.last_mut() {
                    Some(last) if start <= last.end => last.end = last.end.max(end),
                    _ => list.push(start..end),
                }
            }
        }
        for list in &mut windows {
            *list = grown(text.as_bytes(), std::mem::take(list));
        }
        windows
    }

    fn search(&self, rule: usize, text: &str, window: Range<usize>, spans: &mut Vec<Span>) {
        let (Some(Some(pattern)), Some(Rule { find: Find::Near { check, .. }, .. })) =
            (self.patterns.get(rule), self.rules.get(rule))
        else {
            return;
        };
        // The window ends where a word ends, so looking at it alone finds the same borders.
        let Some(bytes) = text.as_bytes().get(window.clone()) else { return };
        let mut push = |range: Range<usize>| {
            let range = whole_chars(text, range.start + window.start..range.end + window.start);
            if !range.is_empty() && text.get(range.clone()).is_some_and(check) {
                spans.push(Span { range, rule });
            }
        };
        if pattern.captures_len() == 1 {
            pattern.find_iter(bytes).for_each(|found| push(found.range()));
        } else {
            for found in pattern.captures_iter(bytes) {
                if let Some(group) = found.iter().skip(1).flatten().next() {
                    push(group.range());
                }
            }
        }
    }
}

fn compile(id: &'static str, pattern: &str) -> Result<Regex, RuleError> {
    RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(8 << 20)
        .build()
        .map_err(|error| RuleError::Pattern { id, problem: error.to_string() })
}

/// Windows grown to the borders of words, and joined where they meet.
fn grown(bytes: &[u8], windows: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for window in windows {
        let floor = out.last().map_or(0, |last| last.end);
        let is_word = |at: usize| bytes.get(at).is_some_and(|b| in_word(*b));
        let mut start = window.start.max(floor);
        while start > floor && is_word(start - 1) {
            start -= 1;
        }
        let mut end = window.end.max(start);
        while is_word(end) {
            end += 1;
        }
        match out.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => out.push(start..end),
        }
    }
    out
}

/// True for bytes that a value may have inside it.
fn in_word(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`<>(){}[],;".contains(&byte)
}

/// The range, grown to whole characters.
fn whole_chars(text: &str, range: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end)
}

/// Overlapping spans become one, of the rule of the first.
fn join(text: &str, mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end), span.rule));
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        let range = whole_chars(text, span.range);
        match out.last_mut() {
            Some(last) if range.start < last.range.end => {
                last.range.end = last.range.end.max(range.end);
            }
            _ => out.push(Span { range, rule: span.rule }),
        }
    }
    out
}
