//! Reads a grammar, and statements by it. At each place the first alternative that begins with what is next
//! is taken, for good: a statement is read once and never gone back in (recursive descent, Wirth, *Compiler
//! Construction*, 1996).
//!
//! | in the grammar | means |
//! |---|---|
//! | `select`, `'('` | this keyword, whatever its case, or this symbol |
//! | `within~group` | both, if both are next |
//! | `Rule`, `<Rule>` | what the rule says; one level deeper |
//! | `@action` | what the code of this name takes or looks at |
//! | `a \| b`, `( a )` | the first that begins here |
//! | `[ a ]`, `{ a }` | perhaps; any number of times |
//! | `a++` | at least one, with commas between |

use std::collections::BTreeMap;
use std::str::SplitWhitespace;
use std::sync::LazyLock;

use super::actions::{Action, find_action};
use super::statement_reader::StatementReader;

/// The grammar of harmless statements. Without one, nothing is harmless.
static GRAMMAR: LazyLock<Grammar> =
    LazyLock::new(|| Grammar::parse(include_str!("statement.grammar")).unwrap_or_default());

#[derive(Default)]
struct Grammar {
    rules: BTreeMap<&'static str, Part>,
}

/// A part of a rule.
enum Part {
    Tokens(Vec<&'static str>),
    Rule(&'static str),
    Nested(&'static str),
    Action(Action),
    Sequence(Vec<Part>),
    Either(Vec<Part>),
    Optional(Box<Part>),
    Many(Box<Part>),
    List(Box<Part>),
}

/// What became of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartResult {
    Taken,
    /// It does not begin here, and nothing was taken.
    Absent,
    /// It begins here and goes on in another way.
    Failed,
}

impl Grammar {
    fn parse(text: &'static str) -> Option<Self> {
        let rules = text.trim_end().trim_end_matches(';').split(" ;").map(|rule| {
            let (name, body) = rule.split_once('=')?;
            Some((name.trim(), parse_alternatives(&mut body.split_whitespace(), "")?))
        });
        Some(Self { rules: rules.collect::<Option<_>>()? })
    }
}

/// Parses alternatives up to a bracket that closes.
fn parse_alternatives(words: &mut SplitWhitespace<'static>, end: &str) -> Option<Part> {
    let (mut alternatives, mut sequence) = (Vec::new(), Vec::new());
    loop {
        match words.next() {
            None if end.is_empty() => break,
            Some(word) if word == end => break,
            None => return None,
            Some("|") => alternatives.push(Part::Sequence(std::mem::take(&mut sequence))),
            Some("(") => sequence.push(parse_alternatives(words, ")")?),
            Some("[") => sequence.push(Part::Optional(parse_alternatives(words, "]")?.into())),
            Some("{") => sequence.push(Part::Many(parse_alternatives(words, "}")?.into())),
            Some(word) => sequence.push(match word.strip_suffix("++") {
                Some(item) => Part::List(parse_part(item)?.into()),
                None => parse_part(word)?,
            }),
        }
    }
    alternatives.push(Part::Sequence(sequence));
    Some(Part::Either(alternatives))
}

fn parse_part(word: &'static str) -> Option<Part> {
    if let Some(name) = word.strip_prefix('@') {
        return find_action(name).map(Part::Action);
    }
    let within = |open, close| word.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    Some(match (within('\'', '\''), within('<', '>')) {
        (Some(symbol), _) => Part::Tokens(vec![symbol]),
        (_, Some(rule)) => Part::Nested(rule),
        _ if word.starts_with(|c: char| c.is_ascii_uppercase()) => Part::Rule(word),
        _ => Part::Tokens(word.split('~').map(|token| token.trim_matches('\'')).collect()),
    })
}

impl StatementReader<'_> {
    /// Reads what a rule of the grammar says.
    pub(super) fn read_rule(&mut self, rule: &str) -> bool {
        self.rule(rule) == PartResult::Taken
    }

    fn rule(&mut self, rule: &str) -> PartResult {
        GRAMMAR.rules.get(rule).map_or(PartResult::Failed, |part| self.part(part))
    }

    fn part(&mut self, part: &Part) -> PartResult {
        let start = self.at();
        let found = match part {
            Part::Tokens(tokens) => PartResult::from(self.takes_all(tokens)),
            Part::Action(action) => PartResult::from(action(self)),
            Part::Rule(rule) => self.rule(rule),
            Part::Nested(rule) => {
                self.nested(|reader| reader.rule(rule)).unwrap_or(PartResult::Failed)
            }
            Part::Sequence(parts) => parts
                .iter()
                .map(|part| self.part(part))
                .find(|found| *found != PartResult::Taken)
                .unwrap_or(PartResult::Taken),
            Part::Either(parts) => parts
                .iter()
                .map(|part| self.part(part))
                .find(|found| *found != PartResult::Absent)
                .unwrap_or(PartResult::Absent),
            Part::Optional(part) => self.perhaps(part),
            Part::Many(part) => loop {
                let before = self.at();
                let found = self.perhaps(part);
                if found == PartResult::Failed || self.at() == before {
                    break found;
                }
            },
            Part::List(item) => loop {
                let found = self.part(item);
                if found != PartResult::Taken || !self.takes_symbol(",") {
                    break found;
                }
            },
        };
        match found {
            PartResult::Absent if self.at() != start || self.is_refused() => PartResult::Failed,
            found => found,
        }
    }

    fn perhaps(&mut self, part: &Part) -> PartResult {
        match self.part(part) {
            PartResult::Absent => PartResult::Taken,
            found => found,
        }
    }
}

impl From<bool> for PartResult {
    fn from(is_taken: bool) -> Self {
        if is_taken { Self::Taken } else { Self::Absent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of(part: &Part, found: &mut Vec<&'static str>) {
        match part {
            Part::Rule(rule) | Part::Nested(rule) => found.push(rule),
            Part::Sequence(parts) | Part::Either(parts) => {
                parts.iter().for_each(|part| rules_of(part, found));
            }
            Part::Optional(part) | Part::Many(part) | Part::List(part) => rules_of(part, found),
            Part::Tokens(_) | Part::Action(_) => {}
        }
    }

    #[test]
    fn every_rule_of_the_grammar_is_there_and_used() {
        let mut used = vec!["Statement", "Reading"];
        GRAMMAR.rules.values().for_each(|part| rules_of(part, &mut used));
        for rule in &used {
            assert!(GRAMMAR.rules.contains_key(rule), "{rule}");
        }
        let unused: Vec<_> = GRAMMAR.rules.keys().filter(|rule| !used.contains(*rule)).collect();
        assert_eq!(unused, [""; 0].iter().collect::<Vec<_>>());
        assert!(GRAMMAR.rules.len() > 50);
    }
}
