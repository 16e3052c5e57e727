//! A light reader of Rust source that separates code from comments and strings.

use std::iter::Peekable;
use std::str::Chars;

/// The source with comments and string contents replaced by blanks. Line breaks are kept.
pub fn code(source: &str) -> String {
    Reader::read(source, ' ')
}

/// The same with a mark for each character in a string, so that its lines are not blank.
pub fn code_with_strings(source: &str) -> String {
    Reader::read(source, 'x')
}

/// The code without test-only items, each of which is passed to `removed`.
pub fn without_tests(code: &str, mut removed: impl FnMut(&str)) -> String {
    const ATTRIBUTES: [&str; 2] = ["#[cfg(test)]", "#[cfg(all(test"];
    let mut out = String::new();
    let mut rest = code;
    while let Some(at) = ATTRIBUTES.iter().filter_map(|attribute| rest.find(attribute)).min() {
        let (before, item) = rest.split_at(at);
        let (item, after) = item.split_at(item_end(item));
        out.push_str(before);
        removed(item);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where an item with its attributes ends: after its `;`, or after the block that it opens.
fn item_end(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in item.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => {
                depth = depth.saturating_sub(1);
                if c == '}' && depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

/// The line of a byte offset, counted from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Whether the character can be part of an identifier.
pub fn is_ident(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    out: String,
    /// What stands for a character in a string.
    mark: char,
}

impl<'a> Reader<'a> {
    fn read(source: &'a str, mark: char) -> String {
        let mut reader = Self { chars: source.chars().peekable(), out: String::new(), mark };
        reader.read_all();
        reader.out
    }

    fn read_all(&mut self) {
        while let Some(c) = self.chars.next() {
            match c {
                '/' if self.chars.peek() == Some(&'/') => self.line_comment(),
                '/' if self.chars.peek() == Some(&'*') => self.block_comment(),
                '"' => self.string(),
                '#' if self.raw_prefix() => self.hashes(),
                '\'' => self.quote(),
                _ => self.out.push(c),
            }
        }
    }

    fn mark(&mut self, c: char) {
        self.out.push(if c.is_whitespace() { c } else { self.mark });
    }

    fn blank(&mut self, c: char) {
        self.out.push(if c == '\n' { '\n' } else { ' ' });
    }

    fn line_comment(&mut self) {
        self.out.push(' ');
        while let Some(c) = self.chars.next_if(|c| *c != '\n') {
            self.blank(c);
        }
    }

    fn block_comment(&mut self) {
        self.chars.next();
        self.out.push_str("  ");
        let mut depth = 1_usize;
        while let Some(c) = self.chars.next() {
            self.blank(c);
            let next = self.chars.peek();
            if c == '*' && next == Some(&'/') {
                depth -= 1;
            } else if c == '/' && next == Some(&'*') {
                depth += 1;
            } else {
                continue;
            }
            self.chars.next();
            self.out.push(' ');
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads the rest of a string after its opening quote.
    fn string(&mut self) {
        if self.raw_prefix() {
            return self.raw(0);
        }
        self.out.push('"');
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return self.out.push('"'),
                '\\' => {
                    self.out.push(' ');
                    if let Some(escaped) = self.chars.next() {
                        self.mark(escaped);
                    }
                }
                _ => self.mark(c),
            }
        }
    }

    /// Whether the last word is the `r` (or `br`, `cr`) before a raw string.
    fn raw_prefix(&self) -> bool {
        let word: String = self.out.chars().rev().take_while(|c| is_ident(*c)).take(3).collect();
        matches!(word.as_str(), "r" | "rb" | "rc")
    }

    /// Reads a raw string or a raw identifier after `r#`.
    fn hashes(&mut self) {
        let mut count = 1_usize;
        self.out.push('#');
        while self.chars.next_if_eq(&'#').is_some() {
            self.out.push('#');
            count += 1;
        }
        if self.chars.next_if_eq(&'"').is_some() {
            self.raw(count);
        }
    }

    /// Reads the rest of a raw string, which ends with a quote and `hashes` times `#`.
    fn raw(&mut self, hashes: usize) {
        self.out.push('"');
        while let Some(c) = self.chars.next() {
            if c != '"' {
                self.mark(c);
                continue;
            }
            let mut seen = 0_usize;
            while seen < hashes && self.chars.next_if_eq(&'#').is_some() {
                seen += 1;
            }
            if seen == hashes {
                self.out.push('"');
                return;
            }
            self.out.extend(std::iter::repeat_n(' ', seen + 1));
        }
    }

    /// Reads a character literal or a lifetime after `'`.
    fn quote(&mut self) {
        self.out.push('\'');
        let mut ahead = self.chars.clone();
        let (first, second) = (ahead.next(), ahead.next());
        if first == Some('\\') {
            self.chars.next();
            self.chars.next();
            self.out.push_str("  ");
            while let Some(c) = self.chars.next_if(|c| *c != '\'' && *c != '\n') {
                self.blank(c);
            }
        } else if second == Some('\'') {
            self.chars.next();
            self.out.push(' ');
        } else {
            return;
        }
        if self.chars.next_if_eq(&'\'').is_some() {
            self.out.push('\'');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{code, line_of, without_tests};

    #[test]
    fn items_for_tests_are_removed_and_reported() {
        let source = "a;\n#[cfg(test)]\nmod t { fn f() { x } }\nb;\n#[cfg(test)]\nmod u;\nc;\n";
        let mut items = Vec::new();
        let rest = without_tests(source, |item| items.push(item.to_owned()));
        assert_eq!(rest.split_whitespace().collect::<Vec<_>>(), ["a;", "b;", "c;"]);
        assert_eq!(items.len(), 2);
        assert!(items[1].ends_with("mod u;"), "{items:?}");
    }

    #[test]
    fn comments_and_strings_become_blank() {
        let source = "let a = \"x // \\\" y\"; // b\nlet c = /* d /* e */ f */ g;\n";
        let text = code(source);
        assert_eq!(text.lines().count(), 2);
        for gone in ["x", "y", "b", "d", "e", "f"] {
            assert!(!text.replace("let", "").contains(gone), "{gone} is still in {text}");
        }
        assert!(text.contains('g'));
    }

    #[test]
    fn the_lines_of_a_string_can_be_kept() {
        let source = "const A: &str = \"one \\\n  two } \\\"\n\nthree\"; // four\n// five\n";
        let lines = |text: String| text.lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!(lines(super::code_with_strings(source)), 3);
        assert!(!super::code_with_strings(source).contains('}'));
        assert_eq!(lines(code(source)), 2);
    }

    #[test]
    fn raw_strings_end_where_they_end() {
        let text = code("f(r#\"in \" side\"#, br\"two\", r#type, last)");
        assert!(!text.contains("side") && !text.contains("two"), "{text}");
        assert!(text.contains("r#type") && text.contains("last"), "{text}");
    }

    #[test]
    fn characters_are_not_strings_and_lifetimes_are_not_characters() {
        let text = code("fn f<'a>(x: &'a str) { g('\"', '\\'', '\\u{41}', 'b'); h() }");
        assert!(
            text.contains("<'a>") && text.contains("&'a str") && text.contains("h()"),
            "{text}"
        );
        assert!(!text.contains('b') && !text.contains("41"), "{text}");
    }

    #[test]
    fn a_block_comment_that_opens_with_two_stars() {
        let text = code("/** doc */ a /**/ b");
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!((line_of("a\nb", 0), line_of("a\nb", 2)), (1, 2));
    }
}
