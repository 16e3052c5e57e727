//! The place of a value: what connects it with its label, what is around them, and what that is worth.

use std::ops::Range;

use super::points::{form, place};
use super::{ACCOUNT_BEFORE, ACCOUNT_BEHIND, LabelKind, LabelLink, MAX_BEHIND, grammar, lexicon};
use crate::redact::secrets::{
    is_chosen_phrase, is_chosen_word, is_phrase_with_signs, is_word_of_nobody_else,
};

/// Where a label is.
pub(super) struct LabelContext<'t> {
    pub(super) text: &'t str,
    pub(super) label: &'t Range<usize>,
    /// The line before the label.
    pub(super) line: &'t str,
    pub(super) kind: LabelKind,
    /// A wireless network was spoken of.
    pub(super) is_network: bool,
}

impl LabelContext<'_> {
    /// The points of the place of a value; far below zero if it is none.
    pub(super) fn points(
        &self,
        value: &Range<usize>,
        grade: i32,
        quoted: bool,
        between: &LabelLink,
    ) -> i32 {
        const NEVER: i32 = -100;
        let is_linked = (between.has_sign || between.is_pair) && between.words == 0;
        let is_possible = match self.kind {
            LabelKind::Password => true,
            LabelKind::Short => {
                !grammar::is_secret(self.text, self.label) || is_linked || between.ends_in_verb
            }
            LabelKind::Pair => between.is_pair,
            LabelKind::Account => between.is_pair && between.words == 0,
            LabelKind::Key if self.is_english_key() => {
                self.is_network && (is_linked || between.words == 0)
                    || between.ends_in_verb && between.words == 1
            }
            LabelKind::Key => is_linked || between.words <= 2,
        };
        let behind = grammar::part_of(self.text, value.end, MAX_BEHIND);
        let next = behind.chars().next().unwrap_or('\n');
        let is_whole_answer = matches!(next, '\n' | '\r')
            || behind.split_whitespace().next().is_some_and(|word| lexicon::VERBS.contains(&word));
        // `passwd bob` is a command.
        let label = self.text.get(self.label.clone()).unwrap_or_default();
        let shell = ["$", "#", "sudo", "getent"];
        let is_command = label.eq_ignore_ascii_case("passwd")
            && !is_linked
            && shell.iter().any(|word| self.line.trim_end().ends_with(word));
        let is_possible = is_possible && !is_command && (!between.is_answer || is_whole_answer);
        // `data["password2"]` names a field.
        let is_index = behind.starts_with("\"]") || behind.starts_with("']");
        if !is_possible || is_index || matches!(next, '(' | '[' | '=' | '<') {
            return NEVER;
        }
        let link = if is_linked || between.ends_in_comma && grade >= form::JOINED {
            place::SIGN
        } else if between.words == 1 && between.names_network {
            place::NETWORK
        } else if between.ends_in_verb
            || between.ends_in_preposition
                && lexicon::is_change(behind.trim_start_matches(['"', '\'', '`', '*', ' ']))
        {
            place::VERB
        } else if between.words == 0 {
            place::ADJACENT
        } else {
            place::WORD_BETWEEN * (between.words - 1)
        };
        let script =
            if !grammar::is_cased_latin(self.text, self.label.start) && self.is_ascii(value) {
                match is_linked || between.has_verb || between.words == 0 {
                    true => place::OTHER_SCRIPT_LINKED,
                    false => place::OTHER_SCRIPT,
                }
            } else {
                0
            };
        let rest = grammar::line_after(self.text, value.end, ACCOUNT_BEHIND);
        let has_account = [self.line, rest].iter().any(|part| lexicon::names_account(part));
        let if_true = |is: bool, points: i32| if is { points } else { 0 };
        link + script
            + if_true(quoted, place::QUOTED)
            + if_true(ends_clause(behind), place::ENDS_CLAUSE)
            + if_true(has_account, place::ACCOUNT)
            + if_true(
                self.kind == LabelKind::Short && !(between.ends_in_verb && ends_clause(behind)),
                place::SHORT_LABEL,
            )
            + if grade == form::WORD { self.points_of_word(value, quoted, between) } else { 0 }
            + place::DEMAND * between.demands
    }

    /// The points of the place of a word, far below zero where no password is told but spoken of: only
    /// directly behind one sign, behind a verb, or behind an account in the same list, at the end of a clause,
    /// and with an account or a network nearby.
    fn points_of_word(&self, value: &Range<usize>, quoted: bool, between: &LabelLink) -> i32 {
        const NEVER: i32 = -100;
        let text = self.text.get(value.clone()).unwrap_or_default();
        let behind = grammar::part_of(self.text, value.end, MAX_BEHIND);
        let names_network = self.is_network
            || between.names_network
            || [self.line, behind].iter().any(|part| lexicon::names_network(part));
        let names_account = [self.lead(), behind].iter().any(|part| lexicon::names_account(part));
        let label = self.text.get(self.label.clone()).unwrap_or_default().to_ascii_lowercase();
        let is_english = label == "pass"
            || ["password", "passphrase", "passcode", "pw", "secret"]
                .iter()
                .any(|start| label.starts_with(start));
        let is_in_list = self.line.trim_end().ends_with(',') && !between.has_words;
        let is_after_owner = lexicon::names_account(self.line) || lexicon::names_network(self.line);
        // German writes nouns with capitals, so one behind a verb is no adjective.
        let is_german_noun = ["passwort", "kennwort"].iter().any(|noun| label.contains(noun))
            && self
                .text
                .get(value.start..)
                .is_some_and(|text| text.starts_with(char::is_uppercase))
            && between.ends_in_verb
            && !between.has_sign;
        let next = self.text.get(self.label.end..).unwrap_or_default().trim_start();
        let behind_quote = behind.trim_start_matches(['"', '\'', '»', '”', '“', '`']);
        let is_linked = if between.has_sign {
            // What follows `=` is read elsewhere.
            between.signs == 1 && between.words == 0 && !next.starts_with('=')
        } else if between.ends_in_verb {
            names_network || !is_english || self.is_told_of_thing(text, behind_quote, between)
        } else {
            (is_in_list && !grammar::is_participle(text) || quoted && !between.has_words)
                && is_after_owner
        };
        let is_in_brackets = self.text.get(..value.start).is_some_and(|text| text.ends_with('('));
        let ends_clause = behind_quote.is_empty()
            || behind_quote.starts_with(['\n', '\r', ',', ';', '.'])
            || [" –", " —"].iter().any(|dash| behind_quote.starts_with(dash));
        match is_linked
            && ends_clause
            && !is_in_brackets
            && !between.has_remark
            && (names_network
                || names_account
                || is_german_noun
                || self.fills_line(value, between)
                || self.is_told_of_thing(text, behind_quote, between))
        {
            true => place::TOLD + i32::from(!(names_account || names_network)),
            false => NEVER,
        }
    }

    /// What is before the label, perhaps in the line above.
    fn lead(&self) -> &str {
        let start = self.label.start;
        let from = self.text.floor_char_boundary(start.saturating_sub(ACCOUNT_BEFORE));
        self.text.get(from..start).unwrap_or_default()
    }

    /// Words up to the end of their clause, where the password of a network is told.
    pub(super) fn phrase_at(
        &self,
        value: &Range<usize>,
        between: &LabelLink,
    ) -> Option<Range<usize>> {
        const MAX_PHRASE_BYTES: usize = 84;
        let is_linked = between.words == 0 && (between.has_sign || between.is_pair)
            || between.ends_in_verb && !between.is_below;
        let sentence = self.line.rsplit(". ").next().unwrap_or_default();
        let is_of_network =
            self.is_network || between.names_network || lexicon::names_network(sentence);
        let is_of_pair = self.kind == LabelKind::Pair
            && between.is_pair
            && between.has_sign
            && lexicon::names_network(self.text.get(self.label.clone())?);
        // A passphrase has words, which quotation marks set off.
        let label = self.text.get(self.label.clone())?.to_lowercase();
        let is_quoted = self.text.get(..value.start)?.ends_with(['"', '“', '„', '«', '`'])
            && label.contains("passphrase");
        let is_possible = match self.kind {
            LabelKind::Password | LabelKind::Short | LabelKind::Key => is_of_network || is_quoted,
            LabelKind::Pair => is_of_pair,
            LabelKind::Account => false,
        };
        let has_remark = between.has_remark && self.kind != LabelKind::Pair;
        if !is_linked || !is_possible || value.is_empty() || has_remark {
            return None;
        }
        let rest = grammar::line_after(self.text, value.start, MAX_PHRASE_BYTES);
        let ends = |c: char| ".,;:!?()\"»”“„\r".contains(c);
        let phrase = rest.get(..rest.find(ends).unwrap_or(rest.len()))?.trim_end();
        let is_word = self.kind == LabelKind::Pair && is_chosen_word(phrase);
        (phrase.len() < MAX_PHRASE_BYTES
            && (is_word || is_chosen_phrase(phrase) || is_phrase_with_signs(phrase)))
        .then(|| value.start..value.start + phrase.len())
    }

    /// True for a word at the end of a sentence that says whose password it is: `the password for the
    /// printer is mangosteen`.
    fn is_told_of_thing(&self, text: &str, behind: &str, between: &LabelLink) -> bool {
        between.has_owner
            && between.ends_in_verb
            && !between.has_sign
            && (behind.is_empty()
                || behind.starts_with(['\n', '\r', '.', ','])
                || behind.starts_with(" –"))
            && text.chars().count() >= 6
            && !lexicon::is_adjective(text)
            && !grammar::is_participle(text)
            && is_word_of_nobody_else(text)
    }

    /// True for a label that begins its line and the word that ends it: `Password: mangosteen`.
    fn fills_line(&self, value: &Range<usize>, between: &LabelLink) -> bool {
        let is_lead = |c: char| c.is_whitespace() || "*_-#>|•".contains(c);
        let behind = grammar::line_after(self.text, value.end, MAX_BEHIND);
        let next = self.text.get(self.label.end..).unwrap_or_default();
        !grammar::is_secret(self.text, self.label)
            && self.line.chars().all(is_lead)
            && next.starts_with([':', ' ', '*'])
            && !between.has_words
            && behind.trim_matches(['*', '`', ' ', '\r', '_']).is_empty()
            && self.text.get(value.clone()).is_some_and(is_word_of_nobody_else)
    }

    fn is_english_key(&self) -> bool {
        self.text.get(self.label.clone()).is_some_and(|label| label.eq_ignore_ascii_case("key"))
    }

    fn is_ascii(&self, value: &Range<usize>) -> bool {
        self.text.get(value.clone()).is_some_and(str::is_ascii)
    }
}

/// True where a clause ends: at the end of the line, at a sign, and before a dash.
fn ends_clause(behind: &str) -> bool {
    behind.is_empty()
        || behind.starts_with(['\n', '\r', ',', ';', '.', ')'])
        || [" –", " —", " - "].iter().any(|dash| behind.starts_with(dash))
}
