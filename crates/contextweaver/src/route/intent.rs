//! Query expansion by intent rules: from what people say to the words that tools use.

use std::collections::HashMap;
use std::sync::LazyLock;

use weaver_text::{split, stem};

use super::argument_type::ArgumentTypes;
use super::hashing::KeyMap;
use super::term_key::{self, TermKey};

const BUILT_IN: &str = include_str!("../../assets/intents.txt");
const EVERYDAY: &str =
    concat!(include_str!("../../assets/everyday.txt"), include_str!("../../assets/phrases.txt"));
/// The most other words between two elements of a pattern.
const MAX_GAP: usize = 12;
/// The most other words between a verb and its particle: "throw the old one out".
const MAX_PARTICLE_GAP: usize = 4;
/// The most rules that are applied to one request.
const MAX_RULES: usize = 12;
/// The most tokens of a request that patterns are matched against.
const MAX_TOKENS: usize = 256;

/// One token of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// The key of a word.
    Word(TermKey),
    /// A value that is recognised by its form.
    Typed(ArgumentTypes),
}

/// Words that are interchangeable; an item scores by the best of those that it contains.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SynonymGroup {
    pub(super) keys: Vec<TermKey>,
    pub(super) stems: Vec<Box<str>>,
    /// The words as written.
    pub(super) words: Vec<Box<str>>,
}

/// A group of words that a request implies, and the position that implies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Expansion<'a> {
    pub(super) implied: &'a SynonymGroup,
    /// The position of the first word of the request that implies the group.
    pub(super) position: u16,
    /// The number of words of the phrase that begins there.
    pub(super) length: u16,
}

/// A table of intent rules.
#[derive(Debug, Default)]
pub(super) struct Intents {
    /// The most other words between two elements of a pattern.
    gap: usize,
    /// By the first word of a phrase: the rest of the phrase, and the element that it belongs to.
    phrases: KeyMap<Vec<(Box<[TermKey]>, ElementId)>>,
    /// The elements of each value type, by its index.
    types: Vec<Vec<ElementId>>,
    /// The rules by their first element.
    rules: Vec<Vec<IntentRule>>,
}

type ElementId = u16;

#[derive(Debug)]
struct IntentRule {
    /// Whether the rule matches only at the beginning of a request.
    at_start: bool,
    /// The elements after the first, and whether each is optional.
    rest: Vec<(ElementId, bool)>,
    implied: Vec<SynonymGroup>,
    #[cfg_attr(not(test), expect(dead_code, reason = "what the tests of the table hold rules to"))]
    example: Box<str>,
}

/// Where an element of a pattern was found in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ElementMatch {
    element: ElementId,
    from: u16,
    to: u16,
}

impl Intents {
    /// The built-in table.
    pub(super) fn built_in() -> &'static Self {
        static READ: LazyLock<Intents> = LazyLock::new(|| Intents::parse(BUILT_IN));
        &READ
    }

    /// The built-in table of everyday words, for requests without a rule of their own.
    pub(super) fn everyday() -> &'static Self {
        static READ: LazyLock<Intents> =
            LazyLock::new(|| Intents { gap: MAX_PARTICLE_GAP, ..Intents::parse(EVERYDAY) });
        &READ
    }

    fn parse(text: &str) -> Self {
        let mut this = Self { gap: MAX_GAP, ..Self::default() };
        this.types.resize_with(ArgumentTypes::COUNT.into(), Vec::new);
        let (mut lists, mut known) = (HashMap::new(), HashMap::new());
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some((pattern, rest)) = line.split_once("=>") {
                let (implied, example) = rest.split_once(';').unwrap_or((rest, ""));
                this.add_rule(pattern, implied, example, &lists, &mut known);
            } else if let Some((name, phrases)) = line.split_once('=') {
                lists.insert(name.trim().to_owned(), phrases.trim().to_owned());
            }
        }
        this
    }

    fn add_rule(
        &mut self,
        pattern: &str,
        implied: &str,
        example: &str,
        lists: &HashMap<String, String>,
        known: &mut HashMap<String, ElementId>,
    ) {
        let pattern = pattern.trim();
        let at_start = pattern.starts_with('^');
        let elements = pattern.trim_start_matches('^').split(" .. ").map(|element| {
            let phrases: Vec<String> = element
                .split('|')
                .map(str::trim)
                .flat_map(|phrase| match lists.get(phrase) {
                    Some(list) => list.split('|').map(|p| p.trim().to_owned()).collect(),
                    None => vec![phrase.to_owned()],
                })
                .collect();
            let optional = phrases.iter().any(String::is_empty);
            (self.element_id(&phrases, known), optional)
        });
        let elements: Vec<(ElementId, bool)> = elements.collect();
        let Some(((first, _), rest)) = elements.split_first() else { return };
        let implied = implied.split_whitespace().map(SynonymGroup::parse).collect();
        let (rest, example) = (rest.to_vec(), example.trim().into());
        if let Some(rules) = self.rules.get_mut(usize::from(*first)) {
            rules.push(IntentRule { at_start, rest, implied, example });
        }
    }

    /// The id of the element with these alternative phrases.
    fn element_id(
        &mut self,
        phrases: &[String],
        known: &mut HashMap<String, ElementId>,
    ) -> ElementId {
        let next = ElementId::try_from(self.rules.len()).unwrap_or(ElementId::MAX);
        let number = *known.entry(phrases.join("|")).or_insert(next);
        if number != next {
            return number;
        }
        self.rules.push(Vec::new());
        for phrase in phrases {
            let name = phrase.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
            if let Some(types) = name.and_then(ArgumentTypes::from_name) {
                self.types
                    .get_mut(usize::from(types.first_index()))
                    .into_iter()
                    .for_each(|all| all.push(number));
                continue;
            }
            let keys: Vec<TermKey> = split::words(phrase)
                .iter()
                .map(|word| term_key::of_term(&stem::stem(word)))
                .collect();
            if let Some((first, rest)) = keys.split_first() {
                self.phrases.entry(*first).or_default().push((rest.into(), number));
            }
        }
        number
    }

    /// The expansions of a request, each group of words once, at its first position.
    pub(super) fn expansions(&self, tokens: &[Token]) -> Vec<Expansion<'_>> {
        let met = self.element_matches(tokens.get(..MAX_TOKENS).unwrap_or(tokens));
        let mut found: Vec<Expansion<'_>> = Vec::new();
        let mut rules = 0;
        for same in met.chunk_by(|a, b| a.element == b.element) {
            let Some(first) = same.first() else { continue };
            for rule in self.rules.get(usize::from(first.element)).into_iter().flatten() {
                if rules == MAX_RULES {
                    return found;
                }
                let start = same.iter().find(|start| rule.matches(**start, &met, self.gap));
                if let Some(ElementMatch { from: position, to, .. }) = start.copied() {
                    rules += 1;
                    let length = to - position;
                    let new = rule.implied.iter();
                    found.extend(new.map(|implied| Expansion { implied, position, length }));
                }
            }
        }
        found.sort_unstable();
        found.dedup_by(|later, first| later.implied == first.implied);
        found
    }

    /// All matches of elements in a request, in order of element and position.
    fn element_matches(&self, tokens: &[Token]) -> Vec<ElementMatch> {
        let mut met = Vec::new();
        for (at, token) in (0_u16..).zip(tokens) {
            match token {
                Token::Typed(types) => {
                    let all = types.indices().filter_map(|at| self.types.get(usize::from(at)));
                    met.extend(all.flatten().map(|e| ElementMatch {
                        element: *e,
                        from: at,
                        to: at + 1,
                    }));
                }
                Token::Word(word) => {
                    let after = tokens.get(usize::from(at) + 1..).unwrap_or_default();
                    for (rest, element) in self.phrases.get(word).into_iter().flatten() {
                        let next = after.iter().take(rest.len());
                        let same = |(key, token): (&TermKey, &Token)| *token == Token::Word(*key);
                        if after.len() >= rest.len() && rest.iter().zip(next).all(same) {
                            let to = at + 1 + u16::try_from(rest.len()).unwrap_or(0);
                            met.push(ElementMatch { element: *element, from: at, to });
                        }
                    }
                }
            }
        }
        met.sort_unstable();
        met
    }
}

impl IntentRule {
    /// Whether the rest of the pattern follows the match of its first element.
    fn matches(&self, start: ElementMatch, met: &[ElementMatch], gap: usize) -> bool {
        if self.at_start && start.from > 0 {
            return false;
        }
        let mut end = start.to;
        for (element, optional) in &self.rest {
            let first = met.partition_point(|m| (m.element, m.from) < (*element, end));
            let next = met
                .get(first)
                .filter(|next| next.element == *element && usize::from(next.from - end) <= gap);
            match next {
                Some(next) => end = next.to,
                None if *optional => {}
                None => return false,
            }
        }
        true
    }
}

impl SynonymGroup {
    fn parse(text: &str) -> Self {
        let words: Vec<Box<str>> = text.split('|').map(Box::from).collect();
        let stems: Vec<Box<str>> = words.iter().map(|word| stem::stem(word).into()).collect();
        Self { keys: stems.iter().map(|stem| term_key::of_term(stem)).collect(), stems, words }
    }
}

#[cfg(test)]
mod tests {
    use super::super::analyser::Analyser;
    use super::*;

    #[test]
    fn every_rule_holds_for_its_example() {
        let mut analyser = Analyser::default();
        let mut bad = Vec::new();
        for intents in [Intents::built_in(), Intents::everyday()] {
            for (first, rules) in (0..).zip(&intents.rules) {
                for rule in rules {
                    let tokens = analyser.analyse(&rule.example).tokens;
                    let met = intents.element_matches(&tokens);
                    let mut starts = met.iter().filter(|met| met.element == first);
                    if !starts.any(|start| rule.matches(*start, &met, intents.gap))
                        || rule.implied.is_empty()
                    {
                        bad.push(rule.example.clone());
                    }
                }
            }
        }
        assert!(bad.is_empty(), "{bad:#?}");
    }

    #[test]
    fn a_verb_and_its_particle_stand_close_together() {
        let mut analyser = Analyser::default();
        let mut means = |text: &str, word: &str| {
            let found = Intents::everyday().expansions(&analyser.analyse(text).tokens);
            let mut words = found.iter().flat_map(|expansion| &expansion.implied.words);
            words.any(|other| **other == *word)
        };
        assert!(means("throw that troll out", "kick"));
        assert!(!means("throw a ball as far as you can before you go out", "kick"));
    }

    #[test]
    fn an_expansion_stands_where_its_words_stand() {
        let mut analyser = Analyser::default();
        let mut first = |text: &str| {
            let tokens = analyser.analyse(text).tokens;
            Intents::everyday().expansions(&tokens).iter().map(|found| found.position).min()
        };
        assert_eq!(first("shove it over there"), Some(0));
        assert_eq!(first("would you please shove it over there, and shove it well"), Some(3));
        assert_eq!(first("xyzzy"), None);
    }

    #[test]
    fn elements_stand_in_their_order_and_not_too_far_apart() {
        let intents =
            Intents::parse("@a = one|two words\n^ @a|{path} .. three|four .. |five => x|y z ; -");
        let mut analyser = Analyser::default();
        let mut count = |text: &str| intents.expansions(&analyser.analyse(text).tokens).len();
        for text in ["one three", "two words and four", "a.txt then three", "one three five"] {
            assert_eq!(count(text), 2, "{text}");
        }
        for text in ["three one", "two four", "zero one three", "one", ""] {
            assert_eq!(count(text), 0, "{text}");
        }
        assert_eq!(count(&format!("one {} three", "far ".repeat(MAX_GAP + 1))), 0);
    }
}
