//! Values that fill their line. In environment files, INI files and YAML the signs that end a value
//! elsewhere are a part of it: `DB_PASSWORD=a;b`.

use std::ops::Range;

use super::assigned_value::AssignedValue;
use super::{MAX_VALUE_BYTES, byte_at, slice};
use crate::redact::validators::has_scrambled_word;

/// The longest indentation and words before a name that begins a line, in bytes.
const MAX_LEAD_BYTES: usize = 24;
/// What may precede the name on its line.
const LEADS: [&[u8]; 13] = [
    b"", b"export", b"set", b"ENV", b"ARG", b"-", b"*", b"#", b">", b"+", b"//", b"$",
    b"Environment=",
];
/// How far behind a sign a name is looked for, in bytes.
const MAX_NAME_BYTES: usize = 32;
/// The most words of a block of YAML that is a password; a longer one describes something.
const MAX_BLOCK_WORDS: usize = 6;

/// True if a name at this position begins its line, or follows `export`, a list marker or the like.
pub(super) fn begins_line(bytes: &[u8], name: usize) -> bool {
    let run = slice(bytes, name.saturating_sub(MAX_LEAD_BYTES)..name);
    let lead = match run.iter().rposition(|b| *b == b'\n') {
        Some(end) => slice(run, end + 1..run.len()),
        None if name <= MAX_LEAD_BYTES => run,
        None => return false,
    };
    LEADS.contains(&without_prompt(lead))
}

/// What precedes a name, without the prompt of a shell and the number of a line of its history.
fn without_prompt(lead: &[u8]) -> &[u8] {
    let lead = lead.trim_ascii();
    let start = lead.iter().take_while(|b| b.is_ascii_digit() || matches!(b, b'$' | b'+')).count();
    let rest = slice(lead, start..lead.len());
    if rest.starts_with(b" ") { rest.trim_ascii_start() } else { lead }
}

/// True if only a few words are before the name on its line: `Generated root password: …`.
pub(super) fn follows_words(bytes: &[u8], name: usize) -> bool {
    const MAX_WORDS_BYTES: usize = 48;
    let run = slice(bytes, name.saturating_sub(MAX_WORDS_BYTES)..name);
    let line = match run.iter().rposition(|b| *b == b'\n') {
        Some(end) => slice(run, end + 1..run.len()),
        None if name <= MAX_WORDS_BYTES => run,
        None => return false,
    };
    line.iter().all(|b| b.is_ascii_alphabetic() || *b == b' ' || *b >= 0x80)
}

/// True for a field of a line of a log, beside other fields: `user=ann pass=a&b rc=0`.
pub(super) fn is_beside_fields(bytes: &[u8], name: usize, value: &AssignedValue) -> bool {
    const MAX_FIELD_BYTES: usize = 48;
    let is_field =
        |word: &[u8]| word.contains(&b'=') && !word.iter().any(|b| b"?&/\"'".contains(b));
    let before = slice(bytes, name.saturating_sub(MAX_FIELD_BYTES)..name);
    let Some(before) = before.strip_suffix(b" ") else { return false };
    let end = value.range.end;
    let after = slice(bytes, end..(end + MAX_FIELD_BYTES).min(bytes.len()));
    let mut after = after.split(u8::is_ascii_whitespace).skip(1);
    value.separator == b'='
        && value.is_adjacent
        && (before.rsplit(u8::is_ascii_whitespace).next().is_some_and(is_field)
            || after.next().is_some_and(is_field))
}

/// The end of an unquoted value that fills its line.
///
/// It goes on to a blank, except where a bracket closes that was not opened in it, or where a sign
/// precedes another name (`a&user=b`), a tag or the end.
pub(super) fn line_value_end(bytes: &[u8], value: &AssignedValue) -> usize {
    let Range { start, end } = value.range;
    if b"$%<{*&!\\`\"'\r\n\0".contains(&byte_at(bytes, start)) {
        return end;
    }
    let run = slice(bytes, start..(start + MAX_VALUE_BYTES).min(bytes.len()));
    let blank = run.iter().position(u8::is_ascii_whitespace).unwrap_or(run.len());
    let run = slice(run, 0..blank);
    let stop = stop_in_line(run);
    let stop = stop - slice(run, 0..stop).iter().rev().take_while(|b| **b == b'.').count();
    let Ok(text) = std::str::from_utf8(slice(run, 0..stop)) else { return end };
    let tail = slice(run, (end - start).min(stop)..stop);
    let is_mixed =
        text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().any(|b| b.is_ascii_alphabetic());
    let continues = tail.iter().any(u8::is_ascii_alphanumeric);
    // Two words, perhaps with a number or a sign behind: `Amboss&Kranz!`.
    let is_word = |part: &str| {
        let part = part.trim_end_matches(|c: char| c.is_ascii_digit() || "!?+*#".contains(c));
        part.chars().count() > 2 && part.chars().all(char::is_alphabetic)
    };
    let is_pair = text.split_once('&').is_some_and(|(first, last)| is_word(first) && is_word(last));
    if continues && (is_mixed || is_pair) && !is_program_text(text) { start + stop } else { end }
}

/// The end of a value among options that commas separate, in which an ampersand is a part of it:
/// `user=scan,password=korb&deckel,uid=4`.
pub(super) fn end_among_options(bytes: &[u8], value: &AssignedValue) -> usize {
    const MAX_OPTION_BYTES: usize = 64;
    let Range { start, end } = value.range;
    let run = slice(bytes, start..(start + MAX_OPTION_BYTES).min(bytes.len()));
    let ends = |b: &u8| b.is_ascii_whitespace() || b",\"'`()<>{}\\".contains(b);
    let len = run.iter().position(ends).unwrap_or(run.len());
    let is_field = |part: &[u8]| part.contains(&b'=');
    let option = slice(run, 0..len);
    let goes_on = byte_at(bytes, end) == b'&' && start + len > end;
    match goes_on && value.is_adjacent && !is_field(option) {
        true => start + len,
        false => end,
    }
}

/// True where a command ends, or goes on with another flag, a file or a sign of the shell.
pub(super) fn ends_argument(bytes: &[u8], value: &AssignedValue) -> bool {
    let end = value.range.end + usize::from(value.quoted);
    let rest = slice(bytes, end..(end + 4).min(bytes.len()));
    let is_blank = rest.starts_with(b" ");
    let next = rest.trim_ascii_start().first().copied().unwrap_or(b'\n');
    rest.is_empty()
        || matches!(rest.first(), Some(b'\r' | b'\n'))
        || is_blank && matches!(next, b'-' | b'|' | b'&' | b'>' | b'\\' | b'\n')
}

/// Where a run without blanks ends as a value.
fn stop_in_line(run: &[u8]) -> usize {
    let last_angle = run.iter().rposition(|b| *b == b'>');
    let mut open_brackets = 0_usize;
    for (at, byte) in run.iter().enumerate() {
        let next = byte_at(run, at + 1);
        let stops = match byte {
            b'\\' | b'`' | b'"' => true,
            b'\'' | b'>' => !next.is_ascii_alphanumeric(),
            b'&' | b';' | b',' => {
                !(next.is_ascii_graphic() || next >= 0x80)
                    || b"&;,\"'".contains(&next)
                    || begins_with_name(slice(run, at + 1..run.len()))
            }
            b'<' => last_angle.is_some_and(|angle| angle > at),
            b'(' | b'[' | b'{' => {
                open_brackets += 1;
                false
            }
            b')' | b']' | b'}' => {
                let is_open = open_brackets > 0;
                open_brackets = open_brackets.saturating_sub(1);
                !is_open && !next.is_ascii_alphanumeric()
            }
            _ => false,
        };
        if stops {
            return at;
        }
    }
    run.len()
}

/// True for `name=` and a value: another line of a file of variables. Padding of base64 is no sign.
pub(super) fn is_assignment(text: &[u8]) -> bool {
    let head = slice(text, 0..text.len().min(MAX_NAME_BYTES));
    let is_named = |b: &&u8| b.is_ascii_alphanumeric() || b"_.-".contains(b);
    let len = head.iter().take_while(is_named).count();
    let next = byte_at(head, len + 1);
    len > 0 && byte_at(head, len) == b'=' && next != b'=' && !b"\r\n\0".contains(&next)
}

/// True for `name=` and `name:`.
fn begins_with_name(text: &[u8]) -> bool {
    let head = slice(text, 0..text.len().min(MAX_NAME_BYTES));
    let is_named = |b: &&u8| b.is_ascii_alphanumeric() || b"_.-".contains(b);
    let len = head.iter().take_while(is_named).count();
    len > 0 && b"=:".contains(&byte_at(head, len))
}

/// True for a call, an index or a literal of program text: `hash(x)`, `data[0]`, `sha256(`. False
/// for a password with a bracket in it: `Tr0ub4dor(3xK9`.
pub(super) fn is_program_text(text: &str) -> bool {
    let Some(first) = text.find(['(', '[', '{']) else { return false };
    let (name, rest) = text.split_at_checked(first).unwrap_or((text, ""));
    let name = name.rsplit([',', ';', '&']).next().unwrap_or(name);
    // `base64.b64encode(x)`: parts of a path may look like anything.
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:->$@!".contains(&b))
        && (!has_scrambled_word(name) || name.contains(['.', '_', ':']));
    let closes = rest.ends_with([')', ']', '}']) || rest.contains(['"', '\'', '`']);
    // `q8(Vn2)Lm`: nothing is between a call and what follows it.
    let goes_on = rest
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [b')' | b']' | b'}', next] if next.is_ascii_alphanumeric()));
    is_name && !goes_on && (closes || !has_scrambled_word(rest))
}

/// The lines of a block of YAML, which `|` or `>` announces.
pub(super) fn block_scalar(bytes: &[u8], at: usize) -> Option<AssignedValue> {
    let head = slice(bytes, at + 1..(at + 16).min(bytes.len()));
    let modifiers = head.iter().take_while(|b| b"+-0123456789 \t".contains(b)).count();
    let line = head.iter().skip(modifiers).take_while(|b| **b == b'\r').count();
    let body = at + 1 + modifiers + line;
    if byte_at(bytes, body) != b'\n' {
        return None;
    }
    let run = slice(bytes, body + 1..(body + 1 + MAX_VALUE_BYTES).min(bytes.len()));
    let indent = run.iter().take_while(|b| **b == b' ').count();
    let mut len = 0;
    for line in run.split_inclusive(|b| *b == b'\n') {
        let text = line.trim_ascii();
        if indent == 0 || !text.is_empty() && line.iter().take(indent).any(|b| *b != b' ') {
            break;
        }
        len += line.len();
    }
    let lines = slice(run, 0..len);
    let len = lines.trim_ascii_end().len();
    let words = lines.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    (len > indent && words <= MAX_BLOCK_WORDS).then_some(AssignedValue {
        range: body + 1 + indent..body + 1 + len,
        quoted: true,
        separator: b':',
        is_adjacent: false,
        requires_token: false,
        fills_line: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_begins_its_line_behind_blanks_and_markers() {
        for (text, begins) in [
            ("name", true),
            ("  name", true),
            ("export name", true),
            ("a\n- name", true),
            ("  811  export name", true),
            ("$ export name", true),
            ("Environment=name", true),
            ("a\n\tname", true),
            ("a name", false),
            ("a\nb name", false),
            ("--name", false),
            ("{name", false),
            ("'name", false),
        ] {
            let at = text.len() - "name".len();
            assert_eq!(begins_line(text.as_bytes(), at), begins, "{text:?}");
        }
        let far = |blanks: usize| begins_line(" ".repeat(blanks).as_bytes(), blanks);
        assert_eq!((far(24), far(25)), (true, false));
        let below =
            |blanks: usize| begins_line(format!("\n{}", " ".repeat(blanks)).as_bytes(), blanks + 1);
        assert_eq!((below(23), below(24)), (true, false));
    }

    /// A value that would end elsewhere after so many bytes.
    fn line_value(text: &str, end: usize) -> &str {
        let value = AssignedValue {
            range: 0..end,
            quoted: false,
            separator: b'=',
            is_adjacent: true,
            requires_token: false,
            fills_line: true,
        };
        text.get(..line_value_end(text.as_bytes(), &value)).unwrap()
    }

    #[test]
    fn a_value_that_fills_its_line_holds_signs() {
        for (text, value) in [
            ("q8;Vn2Lm", "q8;Vn2Lm"),
            ("q8&Vn2Lm\nx", "q8&Vn2Lm"),
            ("q8,Vn2Lm x", "q8,Vn2Lm"),
            ("q8<Vn2Lm", "q8<Vn2Lm"),
            ("q8)Vn2Lm", "q8)Vn2Lm"),
            ("q8'Vn2Lm", "q8'Vn2Lm"),
            ("q8(Vn2)L", "q8(Vn2)L"),
            ("q8;Vn2Lm...", "q8;Vn2Lm"),
            ("q8;Vn2Lm;", "q8;Vn2Lm"),
            ("q8;Vn2Lm)", "q8;Vn2Lm"),
            ("q8;Vn2Lm\"x", "q8;Vn2Lm"),
            // Here a value ends as elsewhere.
            ("q8&user=x1", "q8"),
            ("q8;user=x1", "q8"),
            ("q8,user:x1", "q8"),
            ("q8, x1", "q8"),
            ("q8;", "q8"),
            ("q8</b>x1", "q8"),
            ("q8<br>x1", "q8"),
            ("q8',x1", "q8"),
            ("q8&&x1", "q8"),
            ("q8)", "q8"),
            ("q8;\u{e9}", "q8"),
            ("$1;x1", "$1"),
            ("ab;cd", "ab"),
            ("q8;f(x)", "q8"),
            ("f1,g(x)", "f1"),
        ] {
            assert_eq!(line_value(text, 2), value, "{text:?}");
        }
    }

    #[test]
    fn a_line_that_assigns_is_no_value_of_the_line_above() {
        for (text, assigns) in [
            ("HOST=db", true),
            ("db.host=db\n", true),
            ("q8Vn2Lm=", false),
            ("q8Vn2Lm==\n", false),
            ("q8Vn2Lm=\n", false),
            ("\"HOST=db\"", false),
            ("q8Vn2Lm", false),
            ("=db", false),
            ("", false),
        ] {
            assert_eq!(is_assignment(text.as_bytes()), assigns, "{text:?}");
        }
    }

    #[test]
    fn program_text_is_told_by_its_brackets() {
        for text in [
            "foo(bar1)",
            "hash(u2f_key)",
            "data[0]",
            "sha256(",
            "sha256(x1",
            "[abc1d]",
            "{a}",
            "md5(\"a1b",
            "z.string(",
            "base64.b64encode(x1y.encode()).decode('ascii",
        ] {
            assert!(is_program_text(text), "{text}");
        }
        for text in
            ["abc", "Tr0ub4dor(3xK9", "Tr0ub4dor(x)", "Kd83{jQ2pLw", "[Kd83jQ2pLw", "q8(Vn2)L", ""]
        {
            assert!(!is_program_text(text), "{text}");
        }
    }

    #[test]
    fn a_block_of_yaml_is_its_indented_lines() {
        let block = |text: &str| {
            let value = block_scalar(text.as_bytes(), 0)?;
            Some(text.get(value.range).unwrap().to_owned())
        };
        for (text, value) in [
            ("|\n  ab c\n", Some("ab c")),
            (">-\n  ab\nuser: x", Some("ab")),
            ("|2+ \r\n    ab\r\n    cd\r\n  x: 1", Some("ab\r\n    cd")),
            ("|\n  ab\n\n  cd\n", Some("ab\n\n  cd")),
            ("|\n  a b c d e f", Some("a b c d e f")),
            ("|\n  a b c d e f g", None),
            ("|\nab", None),
            ("|\n  \n", None),
            ("| ab\n  cd", None),
            ("|x\n  cd", None),
            ("|", None),
        ] {
            assert_eq!(block(text).as_deref(), value, "{text:?}");
        }
    }
}
