//! An index from capability ids to the rules that may match them.
//!
//! An inverted index over the patterns of the rules. Exact ids are hashed, fixed prefixes and
//! suffixes are hashed once for each length that occurs, and everything else is in one residual
//! list. A lookup costs one hash per length, however many rules there are. The result is always a
//! superset of the matching rules: each rule is listed under each of its patterns, and rules that
//! the index cannot narrow down are always candidates. The index thus affects the speed of a
//! decision, never its outcome.

use std::borrow::Cow;

use weaver_text::glob::Kind;

use crate::name_hash::NameMap;
use crate::rule::Rule;

/// Rules by the kind of their capability patterns. A rule is identified by its position in the
/// policy.
#[derive(Debug, Default)]
pub(crate) struct RuleIndex {
    exact: NameMap<Vec<u32>>,
    prefix: AffixIndex,
    suffix: AffixIndex,
    /// Rules about all capabilities, and rules with any other pattern.
    residual: Vec<u32>,
}

/// Rules by a fixed prefix or suffix, and the lengths that occur.
#[derive(Debug, Default)]
struct AffixIndex {
    rules: NameMap<Vec<u32>>,
    lengths: Vec<usize>,
}

impl AffixIndex {
    fn insert(&mut self, affix: &str, rule: u32) {
        self.rules.entry(affix.to_owned()).or_default().push(rule);
    }

    fn index_lengths(&mut self) {
        self.lengths = self.rules.keys().map(String::len).collect();
        self.lengths.sort_unstable();
        self.lengths.dedup();
    }

    fn collect<'i>(&self, affix: impl Fn(usize) -> Option<&'i str>, out: &mut Vec<u32>) {
        for length in &self.lengths {
            if let Some(rules) = affix(*length).and_then(|affix| self.rules.get(affix)) {
                out.extend_from_slice(rules);
            }
        }
    }
}

impl RuleIndex {
    /// Indexes the rules.
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (position, rule) in (0_u32..).zip(rules) {
            if rule.matches.capability.is_empty() {
                index.residual.push(position);
            }
            for pattern in &rule.matches.capability {
                match pattern.glob().kind() {
                    Kind::Exact(id) => index.exact.entry(id.to_owned()).or_default().push(position),
                    Kind::Prefix("") | Kind::General => index.residual.push(position),
                    Kind::Prefix(text) => index.prefix.insert(text, position),
                    Kind::Suffix(text) => index.suffix.insert(text, position),
                }
            }
        }
        // A rule with two general patterns was added twice.
        index.residual.dedup();
        index.prefix.index_lengths();
        index.suffix.index_lengths();
        index
    }

    /// The positions of the rules that may match this id, in order and without duplicates. Rules
    /// with a general pattern are included whether or not it matches.
    pub(crate) fn candidates(&self, id: &str) -> Cow<'_, [u32]> {
        let mut out = self.exact.get(id).cloned().unwrap_or_default();
        self.prefix.collect(|length| id.get(..length), &mut out);
        self.suffix.collect(|length| id.get(id.len().checked_sub(length)?..), &mut out);
        if out.is_empty() {
            return Cow::Borrowed(&self.residual);
        }
        out.extend_from_slice(&self.residual);
        out.sort_unstable();
        out.dedup();
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use crate::rule::Effect;

    fn index(patterns: &[&str]) -> RuleIndex {
        let rule =
            |pattern: &&str| Rule::new(*pattern, Effect::Deny).on(Pattern::parse(pattern).unwrap());
        RuleIndex::new(&patterns.iter().map(rule).collect::<Vec<_>>())
    }

    #[test]
    fn rules_about_other_capabilities_are_not_looked_at() {
        let names: Vec<_> = (0..3_000)
            .flat_map(|n| [format!("a{n}.x"), format!("b{n}.*"), format!("*.c{n}")])
            .collect();
        let index = index(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(index.candidates("a7.x").len(), 1);
        assert_eq!(index.candidates("b7.c8").len(), 2);
        assert!(index.candidates("nothing").is_empty());
    }

    #[test]
    fn every_kind_of_pattern_is_found_once() {
        let index = index(&["a.b", "a.*", "*.b", "*", "a*b", "**"]);
        assert_eq!(*index.candidates("a.b"), [0, 1, 2, 3, 4, 5]);
        assert_eq!(*index.candidates("ä"), [3, 4, 5]);
        let both = Rule::new("r", Effect::Deny)
            .on(Pattern::parse("a*").unwrap())
            .on(Pattern::parse("*b").unwrap());
        assert_eq!(*RuleIndex::new(&[both]).candidates("ab"), [0]);
    }
}
