//! The words behind a label that could be its value.

use std::ops::Range;

/// The most words between a label and a value.
const MAX_WORDS: usize = 8;
/// The longest run without a blank that is read, in bytes.
const MAX_RUN_BYTES: usize = 160;
/// The longest value in quotation marks, in bytes.
const MAX_QUOTED_BYTES: usize = 96;

const OPENING: &[char] = &[
    '"', '\'', '`', '«', '»', '„', '“', '”', '‘', '’', '‹', '›', '(', ')', '[', ']', '<', '>', ',',
    ';', ':', '?', '|', '{', '}', '→', '—', '–', '=', '，', '。', '、', '；', '：', '「', '」',
    '『', '』', '【', '】', '\u{a0}',
];
const CLOSING: &[char] = &[
    '"', '\'', '`', '«', '»', '„', '“', '”', '‘', '’', '‹', '›', '(', ')', '[', ']', '<', '>', ',',
    '.', ';', ':', '?', '|', '{', '}', '，', '。', '、', '；', '：', '「', '」', '『', '』', '【',
    '】', '\u{a0}',
];
/// What ends a value within a run.
const BREAKS: &[char] = &[
    '"', '\'', '<', '>', '|', '`', '»', '“', '”', '，', '。', '、', '；', '：', '（', '）', '【',
    '】', '「', '」', '\u{3000}',
];

/// A word, and how it is linked with the label.
#[derive(Debug)]
pub(super) struct Candidate<'t> {
    pub(super) range: Range<usize>,
    /// Words between label and value.
    pub(super) words: usize,
    pub(super) is_below: bool,
    /// The first word of the next turn of a chat.
    pub(super) is_answer: bool,
    /// A particle that stands for a verb is directly behind the label.
    pub(super) is_behind_particle: bool,
    pub(super) is_quoted: bool,
    /// A sentence ended directly before.
    pub(super) is_behind_stop: bool,
    /// The word before; empty directly behind the label.
    pub(super) previous: &'t str,
}

/// True for letters of scripts that write no blanks between words, or hang endings on them.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// Calls `visit` with each candidate between the end of a label and an end.
pub(super) fn each<'t>(
    text: &'t str,
    label: &Range<usize>,
    end: usize,
    mut visit: impl FnMut(&Candidate<'t>),
) {
    let is_of_unspaced = char_at(text, label.start).is_some_and(is_unspaced);
    let mut at = label.end;
    let (mut words, mut lines, mut fields) = (0, 0, 0);
    let (mut is_behind_particle, mut is_answer, mut is_behind_stop) = (false, false, false);
    let mut previous = "";
    if is_of_unspaced {
        let behind = particle_end(text, at);
        is_behind_particle = behind > at;
        at = behind;
    }
    while at < end {
        let rest = text.get(at..).unwrap_or_default();
        let start = text.len() - rest.trim_start().len();
        if text.get(at..start).unwrap_or_default().contains('\n') {
            lines += 1;
            if let Some(answer) = turn_at(text, start) {
                (at, words, previous, is_answer) = (answer, 0, "", true);
                continue;
            }
        }
        if lines > 1 || start >= end {
            return;
        }
        let run = text.get(start..).unwrap_or_default();
        let run = run.get(..run.floor_char_boundary(MAX_RUN_BYTES)).unwrap_or_default();
        let run_end = start + run.find(char::is_whitespace).unwrap_or(run.len());
        if let Some(word) = plain_word(text.get(start..run_end).unwrap_or_default()) {
            (words, previous) = (words + 1, word);
            is_behind_stop = text.get(..run_end).is_some_and(|text| text.ends_with('.'));
            fields += usize::from(is_behind_stop);
            if fields > 1 {
                return;
            }
            at = run_end;
            continue;
        }
        let mut next = start;
        while next < run_end {
            let Some(piece) = piece_at(text, next, run_end, is_of_unspaced) else { break };
            let word = text.get(piece.range.clone()).unwrap_or_default();
            if !word.is_empty() {
                if words <= MAX_WORDS {
                    visit(&Candidate {
                        range: piece.range.clone(),
                        words,
                        is_below: lines > 0,
                        is_answer: is_answer && words == 0,
                        is_behind_particle: is_behind_particle && words == 0,
                        is_quoted: piece.is_quoted,
                        is_behind_stop,
                        previous,
                    });
                }
                words += 1;
            }
            previous = word;
            is_behind_stop = piece.end >= run_end
                && text.get(..run_end).is_some_and(|t| t.ends_with(['.', '!', '?']));
            next = piece.end;
        }
        if text.get(..run_end).is_some_and(|text| text.ends_with(['.', '!', '?', ';'])) {
            fields += 1;
            if fields > 1 {
                return;
            }
        }
        at = run_end.max(next).max(start + 1);
    }
}

/// The word of a run of letters, perhaps with a comma or a full stop. It is no value.
fn plain_word(run: &str) -> Option<&str> {
    let word = run.strip_suffix([',', '.', ':']).unwrap_or(run);
    (!word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic())).then_some(word)
}

/// A part of a run, and where to read on.
struct Piece {
    range: Range<usize>,
    end: usize,
    is_quoted: bool,
}

fn piece_at(text: &str, from: usize, run_end: usize, is_of_unspaced: bool) -> Option<Piece> {
    let run = text.get(from..run_end)?;
    let start = run_end - run.trim_start_matches(OPENING).len();
    if start >= run_end {
        return None;
    }
    let before = text.get(..start)?.chars().next_back().unwrap_or(' ');
    if let Some(close) = closing_of(before) {
        let inside = text.get(start..)?;
        let inside = inside.get(..inside.floor_char_boundary(MAX_QUOTED_BYTES))?;
        let len = inside.find(close).filter(|len| *len > 0);
        let whole = len.and_then(|len| inside.get(..len));
        if let Some(value) = whole.filter(|value| !value.contains(char::is_whitespace)) {
            let end = start + value.len();
            return Some(Piece { range: start..end, end, is_quoted: true });
        }
    }
    let run = text.get(start..run_end)?;
    let mut len = name_len(run).unwrap_or(run.len());
    let first = run.chars().next()?;
    if is_of_unspaced || is_unspaced(first) {
        let is_ascii = first.is_ascii();
        len = len.min(run.find(|c: char| c.is_ascii() != is_ascii).unwrap_or(run.len()));
    } else if let Some(at) = run.find(is_unspaced) {
        len = len.min(at);
    }
    if let Some(at) = run.get(first.len_utf8()..len)?.find(BREAKS) {
        len = first.len_utf8() + at;
    }
    let mut end = start + len;
    if len <= 4
        && !before.is_alphanumeric()
        && let Some(groups) = groups_len(text.get(start..)?)
    {
        end = start + groups;
    }
    let value = text.get(start..end)?.trim_end_matches(CLOSING);
    Some(Piece {
        range: start..start + value.len(),
        end: end.max(start + first.len_utf8()),
        is_quoted: false,
    })
}

fn closing_of(quote: char) -> Option<char> {
    Some(match quote {
        '"' | '\'' | '`' => quote,
        '«' => '»',
        '»' => '«',
        '„' => '“',
        '“' => '”',
        '‘' => '’',
        '>' => '<',
        '「' => '」',
        '『' => '』',
        _ => return None,
    })
}

/// The length of a name before its sign: `user` in `user=lea`, `"user":`.
fn name_len(run: &str) -> Option<usize> {
    const MAX_NAME: usize = 40;
    let is_name = |b: u8| b.is_ascii_alphabetic() || b"_.-".contains(&b);
    let len = run.bytes().take_while(|b| is_name(*b)).count();
    let rest = run.get(len..)?;
    let is_before_sign = rest.starts_with('=')
        || rest.starts_with("\":")
        || rest
            .strip_prefix(':')
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '\'']));
    ((1..=MAX_NAME).contains(&len) && is_before_sign).then_some(len)
}

/// The length of two to six groups of up to four digits: `0 4 7 7`, `418 820`.
fn groups_len(text: &str) -> Option<usize> {
    let (mut len, mut count) = (0, 0);
    loop {
        let digits = text.get(len..)?.bytes().take_while(u8::is_ascii_digit).count();
        if !(1..=4).contains(&digits) || count == 6 {
            return None;
        }
        (len, count) = (len + digits, count + 1);
        let rest = text.get(len..)?;
        let more = rest
            .strip_prefix(' ')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if !more {
            let next = rest.chars().next().unwrap_or(' ');
            let ends = next.is_whitespace() || ".,;)#\"'*".contains(next);
            return (count > 1 && ends).then_some(len);
        }
        len += 1;
    }
}

/// Behind a word for a number and a particle that stands for a verb: `暗証番号は`, `비밀번호는`.
fn particle_end(text: &str, at: usize) -> usize {
    const PARTICLES: &[char] =
        &['は', 'が', 'を', '是', '为', '為', '는', '은', '이', '가', '를', ' '];
    let rest = text.get(at..).unwrap_or_default();
    let rest = rest.strip_prefix("番号").unwrap_or(rest);
    let behind: usize =
        rest.chars().take(2).take_while(|c| PARTICLES.contains(c)).map(char::len_utf8).sum();
    text.len() - rest.len() + behind
}

/// Where the text of a turn of a chat begins: `[09:42] Kim: x`, `Kim: x`, `22.11.26, 08:15 - Kim: x`.
fn turn_at(text: &str, at: usize) -> Option<usize> {
    const MAX_BYTES: usize = 56;
    const MAX_NAME: usize = 26;
    let rest = text.get(at..)?;
    let line = rest.get(..rest.floor_char_boundary(MAX_BYTES))?.split('\n').next()?;
    let name = match line.strip_prefix('[') {
        Some(time) => time.split_once(']')?.1,
        None => line.trim_start_matches(|c: char| c.is_ascii_digit() || ".:, -".contains(c)),
    };
    let name = name.trim_start_matches([' ', '<']);
    let len = name.find([':', '>'])?;
    let (who, answer) = name.split_at_checked(len)?;
    let is_name = who.len() <= MAX_NAME
        && who.starts_with(char::is_alphabetic)
        && who.chars().all(|c| c.is_alphanumeric() || " .()_-".contains(c));
    let answer = answer.get(1..)?.strip_prefix(' ')?;
    is_name.then_some(at + line.len() - answer.len())
}
