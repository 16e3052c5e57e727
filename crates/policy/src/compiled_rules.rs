//! Rules compiled for fast decisions: an index by capability id, and bit masks for match
//! conditions.
//!
//! A decision may look at hundreds of rules, and most of them fail on a property with few values: a
//! rung, a class, a role. Each such value gets one bit, so conditions become masks, as in a bitmap
//! index, and a few instructions decide them. If the masks say yes or no, they agree with
//! [`MatchConditions::applies_to`]. If names, patterns, times or arguments matter too, the masks say unknown,
//! and the conditions themselves are evaluated. A property test compares the two.

use std::borrow::Cow;
use std::collections::BTreeSet;

use weaver_text::glob::Kind;

use crate::applicability::QueryValues;
use crate::field_condition::FieldCondition;
use crate::match_conditions::{MatchConditions, MatchField, keyword_bits};
use crate::name_hash::NameMap;
use crate::query::PolicyQuery;
use crate::rule::Rule;
use crate::rule_index::RuleIndex;
use crate::truth::Truth;

/// How many role names fit into the bits of one word.
const MAX_ROLES: usize = 64;

/// The rules of a policy, compiled for fast evaluation.
#[derive(Debug, Default)]
pub(crate) struct CompiledRules {
    index: RuleIndex,
    matches: Vec<CompiledMatch>,
    descriptions: Vec<Box<str>>,
    roles: NameMap<u8>,
}

/// Match conditions as bits, with the nested conditions.
#[derive(Debug)]
struct CompiledMatch {
    own_bits: BitFilter,
    any: Vec<CompiledMatch>,
    /// Conditions that must not hold.
    not: Vec<CompiledMatch>,
}

/// The conditions on fields with few values, one bit per value.
#[derive(Debug, Clone, Copy)]
struct BitFilter {
    /// The keywords that the conditions admit, in the lane of their field.
    admitted: u64,
    /// Whether there are conditions that bits cannot express.
    needs_evaluation: bool,
    roles_any: u64,
    roles_all: u64,
}

/// Whether the capability's id must still be compared with patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameComparison {
    /// The index found the rule by the id, or the conditions name no capability.
    Settled,
    Pending,
}

/// A set of roles as bits.
#[derive(Debug, Clone, Copy)]
struct RoleBits {
    bits: u64,
    /// Whether a role has no bit, so role names must be compared.
    partial: bool,
}

/// The properties of a query as bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueryBits {
    /// The keywords that the query meets, in the lane of their field.
    keywords: u64,
    roles: u64,
}

/// The fields that list keywords, side by side in one word.
///
/// Each has a lane with one bit per keyword and a guard bit above them. Adding a lane full of ones
/// carries into the guard exactly if the lane was not empty, so a single addition finds out whether
/// every lane has a bit (Knuth, *The Art of Computer Programming*, 7.1.3, on broadword computing).
struct KeywordLanes {
    /// All bits for keywords.
    full: u64,
    /// The guard bits.
    guards: u64,
}

const LANES: KeywordLanes = KeywordLanes::new(MatchConditions::FIELDS);

impl KeywordLanes {
    /// Does not compile once the lanes need more than one word.
    const fn new(mut fields: &[MatchField]) -> Self {
        let (mut full, mut guards, mut offset) = (0, 0, 0);
        while let [field, rest @ ..] = fields {
            if field.keyword_count > 0 {
                full |= ((1 << field.keyword_count) - 1) << offset;
                guards |= 1 << (offset + field.keyword_count);
                offset += field.keyword_count + 1;
            }
            fields = rest;
        }
        Self { full, guards }
    }

    /// Puts the bits of each field, in the order of [`MatchConditions::FIELDS`], into its lane.
    fn pack(bits: impl Iterator<Item = u64>) -> u64 {
        let (mut out, mut offset) = (0, 0);
        for (field, bits) in MatchConditions::FIELDS.iter().zip(bits) {
            if field.keyword_count > 0 {
                out |= bits << offset;
                offset += field.keyword_count + 1;
            }
        }
        out
    }

    /// Whether no lane is empty.
    fn all_have_a_bit(word: u64) -> bool {
        (word + LANES.full) & LANES.guards == LANES.guards
    }
}

impl CompiledRules {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut out = Self { index: RuleIndex::new(rules), ..Self::default() };
        for rule in rules {
            // The index already proves that the id matches an exact pattern, a prefix or a suffix.
            let general = |kind| matches!(kind, Kind::General);
            let patterns = &rule.matches.capability;
            let general = patterns.iter().any(|pattern| general(pattern.glob().kind()));
            let name = if general { NameComparison::Pending } else { NameComparison::Settled };
            let compiled = out.compile(&rule.matches, name);
            out.matches.push(compiled);
            out.descriptions.push(rule_description(rule).into_boxed_str());
        }
        out
    }

    fn compile(&mut self, matches: &MatchConditions, name: NameComparison) -> CompiledMatch {
        let own_bits = self.bit_filter(matches, name);
        let mut nested = |one: &MatchConditions| {
            let named = !one.capability.is_empty();
            self.compile(one, if named { NameComparison::Pending } else { NameComparison::Settled })
        };
        let any = matches.any.iter().map(&mut nested).collect();
        let not = [&matches.not, &matches.unless].into_iter().flatten();
        CompiledMatch { own_bits, any, not: not.map(|one| nested(one)).collect() }
    }

    fn bit_filter(&mut self, matches: &MatchConditions, name: NameComparison) -> BitFilter {
        let any = self.role_bits(&matches.roles.any);
        let all = self.role_bits(&matches.roles.all);
        BitFilter {
            admitted: admitted_keywords(matches),
            needs_evaluation: name == NameComparison::Pending
                || has_conditions_beyond_bits(matches)
                || any.partial
                || all.partial,
            roles_any: if any.partial { 0 } else { any.bits },
            roles_all: if all.partial { 0 } else { all.bits },
        }
    }

    fn role_bits(&mut self, roles: &BTreeSet<String>) -> RoleBits {
        let (mut bits, mut partial) = (0, false);
        for role in roles {
            let next = u8::try_from(self.roles.len()).unwrap_or(u8::MAX);
            match self.roles.get(role) {
                Some(bit_offset) => bits |= 1 << bit_offset,
                None if self.roles.len() < MAX_ROLES => {
                    self.roles.insert(role.clone(), next);
                    bits |= 1 << next;
                }
                None => partial = true,
            }
        }
        RoleBits { bits, partial }
    }

    /// The indexes of the rules that may match a capability, in ascending order.
    pub(crate) fn candidates(&self, id: &str) -> Cow<'_, [u32]> {
        self.index.candidates(id)
    }

    pub(crate) fn query_bits(&self, query: &PolicyQuery<'_>) -> QueryBits {
        let roles = query.principal.roles.iter().filter_map(|role| self.roles.get(role));
        let values = QueryValues::of(query);
        QueryBits {
            keywords: KeywordLanes::pack(keyword_bits(&values.capability, &values.call)),
            roles: roles.fold(0, |all, bit_offset| all | 1 << bit_offset),
        }
    }

    /// Whether a rule matches, judged by its bits alone.
    pub(crate) fn evaluate_bits(&self, rule: usize, bits: QueryBits) -> Truth {
        self.matches.get(rule).map_or(Truth::Unknown, |compiled| compiled.evaluate(bits))
    }

    /// The description of a rule, for the results that it produces.
    pub(crate) fn rule_description(&self, rule: usize) -> &str {
        self.descriptions.get(rule).map_or("", |detail| detail)
    }
}

impl CompiledMatch {
    /// Whether the conditions apply. The result is that of the conditions themselves, or unknown if
    /// bits do not suffice.
    fn evaluate(&self, bits: QueryBits) -> Truth {
        let mut out = self.own_bits.evaluate(bits);
        if out == Truth::No {
            return out;
        }
        if !self.any.is_empty() {
            let any = self.any.iter().map(|one| one.evaluate(bits)).max();
            out = out.min(any.unwrap_or(Truth::No));
        }
        self.not.iter().fold(out, |out, not| out.min(!not.evaluate(bits)))
    }
}

impl BitFilter {
    fn evaluate(&self, bits: QueryBits) -> Truth {
        let out = !KeywordLanes::all_have_a_bit(self.admitted & bits.keywords)
            || (self.roles_any != 0 && self.roles_any & bits.roles == 0)
            || self.roles_all & bits.roles != self.roles_all;
        match (out, self.needs_evaluation) {
            (true, _) => Truth::No,
            (false, true) => Truth::Unknown,
            (false, false) => Truth::Yes,
        }
    }
}

/// The keywords that the top-level conditions admit. An empty condition admits every keyword.
fn admitted_keywords(matches: &MatchConditions) -> u64 {
    let admitted = matches.fields().map(|(field, condition)| match condition {
        FieldCondition::Keywords(0) => (1 << field.keyword_count) - 1,
        FieldCondition::Keywords(keywords) => keywords,
        _ => 0,
    });
    KeywordLanes::pack(admitted)
}

/// Whether the top-level conditions include any that bits cannot express, apart from the
/// capability's id and the roles.
fn has_conditions_beyond_bits(matches: &MatchConditions) -> bool {
    let beyond_bits = |(field, condition): (MatchField, FieldCondition<'_>)| {
        field.keyword_count == 0
            && !matches!(field.name, "capability" | "roles")
            && !condition.is_empty()
    };
    matches.fields().any(beyond_bits) || !matches.arguments.is_empty()
}

fn rule_description(rule: &Rule) -> String {
    if rule.reason.is_empty() {
        format!("rule `{}`", rule.name)
    } else {
        format!("rule `{}`: {}", rule.name, rule.reason)
    }
}

#[cfg(test)]
mod tests;
