//! Which rules may match a capability, without looking at all of them.
//!
//! An inverted index over the patterns of the rules: ids by hash, fixed beginnings and endings by
//! hash once for each length that occurs, everything else in one list. A lookup costs as many hashes
//! as there are lengths, however many rules there are. The answer is a superset of the rules that
//! match, never a subset: each rule stands under every one of its patterns, and what the index cannot
//! narrow down is always among the candidates. So it changes how fast a decision is and not which.

use std::borrow::Cow;

use weaver_text::glob::Kind;

use crate::hash::NameMap;
use crate::rule::Rule;

/// Rules by the kind of their capability patterns. A rule is named by its place in the policy.
#[derive(Debug, Default)]
pub(crate) struct RuleIndex {
    exact: NameMap<Vec<u32>>,
    prefix: Affixes,
    suffix: Affixes,
    /// Rules about every capability, and rules with any other pattern.
    residual: Vec<u32>,
}

/// Rules by the text that a name begins or ends with, with the lengths that occur.
#[derive(Debug, Default)]
struct Affixes {
    rules: NameMap<Vec<u32>>,
    lengths: Vec<usize>,
}

impl Affixes {
    fn insert(&mut self, affix: &str, rule: u32) {
        self.rules.entry(affix.to_owned()).or_default().push(rule);
    }

    fn finish(&mut self) {
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
        for (place, rule) in (0_u32..).zip(rules) {
            if rule.matches.capability.is_empty() {
                index.residual.push(place);
            }
            for pattern in &rule.matches.capability {
                match pattern.glob().kind() {
                    Kind::Exact(id) => index.exact.entry(id.to_owned()).or_default().push(place),
                    Kind::Prefix("") | Kind::General => index.residual.push(place),
                    Kind::Prefix(text) => index.prefix.insert(text, place),
                    Kind::Suffix(text) => index.suffix.insert(text, place),
                }
            }
        }
        // A rule with two general patterns stands there twice.
        index.residual.dedup();
        index.prefix.finish();
        index.suffix.finish();
        index
    }

    /// The places of the rules that may match this id, in order, each once. Rules with a general
    /// pattern are among them whether it fits or not.
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
