//! A rule as data: literals that trigger it, a pattern that is matched there, and checks.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use weaver_types::ValueFamily;

use super::checksum;
use super::evidence::ValueReader;
use super::secrets::ColumnReader;
use super::spoken::Grader;
use super::text_cache::TextCache;
use super::validators::{Validator, not_placeholder_password};
use super::work_meter;

/// How many bytes from an anchor a pattern sees by default.
pub(crate) const DEFAULT_REACH: usize = 256;
/// The most that a rule may request.
pub(crate) const MAX_REACH: usize = 1_024;
/// The most bytes before an anchor that a pattern may see: the digits of a number whose name follows
/// are held back in a stream for as long.
pub(crate) const MAX_LOOKBEHIND: usize = 64;
/// How many bytes around a value context words are searched in by default.
pub(crate) const DEFAULT_CONTEXT_BYTES: usize = 64;
/// The longest part of a host before a match that is masked with it.
const MAX_HOST_BYTES: usize = 64;
/// The largest compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The id.
    pub(crate) id: Arc<str>,
    /// The kind of value, as used in counts and warnings.
    pub(crate) kind: Arc<str>,
    /// Whether such a value is a secret or personal data.
    pub(crate) family: ValueFamily,
    /// The literals at which a match can start.
    pub(crate) anchors: Vec<String>,
    /// What finds the value from the anchor's first byte.
    pub(crate) finder: Finder,
    /// Whether the byte before the anchor must not be a letter, a digit or `_`.
    pub(crate) boundary: bool,
    /// How many bytes from the anchor's start the pattern sees.
    pub(crate) reach: usize,
    /// How many bytes before the anchor the pattern sees. A match then begins anywhere in them.
    pub(crate) lookbehind: usize,
    /// How many bytes at both ends of a match are not part of the value. This avoids a capture
    /// group, which takes longer.
    pub(crate) trim: (usize, usize),
    /// Whether the mask extends to the end of the token run in which the match ends.
    pub(crate) extend: bool,
    /// Whether the mask begins at the start of the URL that contains the match.
    pub(crate) url: bool,
    /// A byte that every match contains; a window without it is not searched.
    pub(crate) needs: Option<u8>,
    /// Whether every match contains a digit or a sign as passwords have them.
    pub(crate) needs_password_sign: bool,
    /// Whether the context words are looked for before the pattern is run: worth it where anchors are
    /// common words and the pattern reads far.
    pub(crate) context_first: bool,
    /// Validators that the masked text must pass.
    pub(crate) checks: Vec<Validator>,
    /// The minimum entropy of the masked text, in bits per byte.
    pub(crate) entropy: Option<f64>,
    /// Words of which one must be nearby.
    pub(crate) context: Option<ContextWords>,
    /// Lower-case texts that the masked text must not contain.
    pub(crate) allow: Vec<String>,
    /// Examples: texts, and what is masked in each.
    pub(crate) masks: Vec<(String, String)>,
    /// Examples in which nothing is masked.
    pub(crate) keeps: Vec<String>,
}

impl Rule {
    /// The values at an anchor: one at most, or the cells of a column.
    pub(crate) fn find(
        &self,
        text: &str,
        at: usize,
        cache: &mut TextCache,
        mut found: impl FnMut(Range<usize>),
    ) {
        let end = text.len().min(at + self.reach);
        match &self.finder {
            Finder::Column(read) => {
                if let Some(label) = self.anchor_at(text, at) {
                    read(text, label, end, &mut found);
                }
            }
            // Searching for one byte is much cheaper than reading words.
            Finder::Values(read) if cache.has_password_sign(text.as_bytes(), at, end) => {
                read(text, at, end, &mut found);
            }
            Finder::Values(_) => {}
            Finder::Pattern(_) | Finder::Grader(_) => {
                self.verify(text, at, cache).into_iter().for_each(found);
            }
        }
    }

    /// The value at an anchor, if there is one. `cache` is that of this text.
    pub(crate) fn verify(
        &self,
        text: &str,
        at: usize,
        cache: &mut TextCache,
    ) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        if self.boundary && at.checked_sub(1).and_then(|i| bytes.get(i)).is_some_and(is_word_byte) {
            return None;
        }
        let end = bytes.len().min(at + self.reach);
        let at = at.saturating_sub(self.lookbehind);
        let window = bytes.get(at..end)?;
        // Searching for one byte is much cheaper than matching a pattern.
        if self.needs.is_some_and(|needs| !window.contains(&needs)) {
            return None;
        }
        if self.needs_password_sign && !cache.has_password_sign(bytes, at, end) {
            return None;
        }
        work_meter::add_bytes(window.len());
        let may_be_near = |words: &ContextWords| words.may_be_near(bytes, at..end);
        if self.context_first && !self.context.as_ref().is_none_or(may_be_near) {
            return None;
        }
        let found = match &self.finder {
            Finder::Grader(grader) => grader(text, self.anchor_at(text, at)?, end)?,
            Finder::Column(_) | Finder::Values(_) => return None,
            Finder::Pattern(pattern) => {
                let Some(regex) = pattern.compiled() else {
                    // A pattern that does not compile masks everything that it could have matched.
                    return Some(at..cache.run_end(text, at));
                };
                let found = value_range(regex, window)?;
                at + found.start + self.trim.0..at + found.end.saturating_sub(self.trim.1)
            }
        };
        let mut range = to_char_boundaries(text, found);
        let value = text.get(range.clone())?;
        if value.is_empty() || !self.accepts(text, &range, value) {
            return None;
        }
        if self.url {
            range.start = url_start(bytes, range.start);
        }
        if self.extend {
            range.end = range.end.max(cache.run_end(text, range.end.saturating_sub(1)));
        }
        Some(range)
    }

    /// The longest anchor at this position.
    fn anchor_at(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let rest = text.get(at..)?.as_bytes();
        let is_here = |anchor: &&String| {
            let start = rest.get(..anchor.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(anchor.as_bytes()))
        };
        let longest = self.anchors.iter().filter(is_here).map(String::len).max()?;
        Some(at..at + longest)
    }

    /// True if the rule, from an anchor at `at`, could read beyond this end.
    pub(crate) fn may_read_beyond(&self, text: &[u8], at: usize, end: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let context = self.context.as_ref().map_or(0, |context| context.within);
        at + self.reach + context > end && !(self.boundary && before.is_some_and(is_word_byte))
    }

    fn accepts(&self, text: &str, range: &Range<usize>, value: &str) -> bool {
        self.checks.iter().all(|check| check(value))
            && (&*self.kind != "password" || not_placeholder_password(value))
            && self.entropy.is_none_or(|least| checksum::shannon_entropy(value) >= least)
            && (self.allow.is_empty() || {
                let lower = value.to_ascii_lowercase();
                !self.allow.iter().any(|word| lower.contains(word.as_str()))
            })
            && self.context.as_ref().is_none_or(|context| context.is_near(text, range))
    }
}

/// Where the URL whose host contains a position begins: at its scheme, if that is close enough.
fn url_start(bytes: &[u8], at: usize) -> usize {
    let before = bytes.get(at.saturating_sub(MAX_HOST_BYTES)..at).unwrap_or_default();
    let is_host = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let host = at - before.iter().rev().take_while(is_host).count();
    [&b"https://"[..], b"http://"]
        .iter()
        .find(|scheme| bytes.get(..host).is_some_and(|before| before.ends_with(scheme)))
        .map_or(host, |scheme| host - scheme.len())
}

/// The first group that matched, or the whole match.
fn value_range(regex: &Regex, window: &[u8]) -> Option<Range<usize>> {
    // Finding groups costs more than finding the match, so it is done only if there are any.
    if regex.captures_len() == 1 {
        return regex.find(window).map(|found| found.range());
    }
    if !regex.is_match(window) {
        return None;
    }
    let groups = regex.captures(window)?;
    let found = groups.iter().skip(1).flatten().next().or_else(|| groups.get(0))?;
    Some(found.range())
}

fn is_word_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// Extends the range to character boundaries.
pub(crate) fn to_char_boundaries(text: &str, range: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end)
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    /// It does not compile; the last line of the compiler's message.
    #[error("{0}")]
    Syntax(String),
    #[error("it matches the empty text")]
    MatchesEmpty,
}

/// What finds a value.
#[derive(Debug)]
pub(crate) enum Finder {
    Pattern(Pattern),
    /// Code that adds up evidence.
    Grader(Grader),
    /// Code that reads the cells below a heading.
    Column(ColumnReader),
    /// Code that weighs the evidence for each word behind a label.
    Values(ValueReader),
}

impl Finder {
    /// Checks that a pattern can be used.
    ///
    /// # Errors
    /// [`PatternError`].
    pub(crate) fn check(&self) -> Result<(), PatternError> {
        match self {
            Self::Pattern(pattern) => pattern.check(),
            Self::Grader(_) | Self::Column(_) | Self::Values(_) => Ok(()),
        }
    }
}

/// A byte pattern that is compiled on first use.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern to be compiled later.
    pub(crate) fn new(source: String) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// A pattern that matches up to this many bytes later than where the text begins.
    pub(crate) fn with_lookbehind(source: String, bytes: usize) -> Self {
        match bytes {
            0 => Self::new(source),
            bytes => Self::new(format!("(?s:.{{0,{bytes}}}?)(?:{source})")),
        }
    }

    /// The compiled pattern; `None` if it does not compile.
    fn compiled(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.source).ok()).as_ref()
    }

    /// Checks that it compiles and does not match the empty text.
    ///
    /// # Errors
    /// [`PatternError`].
    pub(crate) fn check(&self) -> Result<(), PatternError> {
        let regex = compile(&self.source).map_err(|error| {
            let text = error.to_string();
            let line = text.lines().last().unwrap_or("it does not compile");
            PatternError::Syntax(line.trim().to_owned())
        })?;
        if regex.is_match(b"") {
            return Err(PatternError::MatchesEmpty);
        }
        Ok(())
    }
}

fn compile(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&format!(r"\A(?:{source})"))
        .unicode(false)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build()
}

/// Words of which one must be near a value.
#[derive(Debug)]
pub(crate) struct ContextWords {
    words: AhoCorasick,
    within: usize,
}

impl ContextWords {
    /// Any of `words`, ignoring ASCII case, within this many bytes before or after the value.
    ///
    /// # Errors
    /// [`BuildError`](aho_corasick::BuildError) if there are too many words.
    pub(crate) fn new(words: &[String], within: usize) -> Result<Self, aho_corasick::BuildError> {
        let words = AhoCorasick::builder().ascii_case_insensitive(true).build(words)?;
        Ok(Self { words, within })
    }

    /// False if no word is near any value in these bounds.
    fn may_be_near(&self, bytes: &[u8], bounds: Range<usize>) -> bool {
        let from = bounds.start.saturating_sub(self.within);
        let end = bytes.len().min(bounds.end + self.within);
        bytes.get(from..end).is_some_and(|part| self.words.is_match(part))
    }

    fn is_near(&self, text: &str, range: &Range<usize>) -> bool {
        let bytes = text.as_bytes();
        let before = bytes.get(range.start.saturating_sub(self.within)..range.start);
        let after = bytes.get(range.end..bytes.len().min(range.end + self.within));
        [before, after].into_iter().flatten().any(|part| self.words.is_match(part))
    }
}

#[cfg(test)]
mod tests;
