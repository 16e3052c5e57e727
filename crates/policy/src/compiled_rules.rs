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
use weaver_types::SensitivityTag;

use crate::match_conditions::{MatchConditions, SensitivityCondition};
use crate::name_condition::NameCondition;
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

/// The conditions on properties with few values, one bit per value.
#[derive(Debug, Clone, Copy)]
struct BitFilter {
    /// The values that the conditions rule out. A query with one of them does not match.
    excluded_values: u32,
    /// The kinds of sensitive data, one of which is required; 0 for no condition.
    sensitivity: u8,
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
    values: u32,
    sensitivity: u8,
    roles: u64,
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
        let sensitivity = matches.sensitivity.iter().map(|one| 1 << (*one as u8));
        BitFilter {
            excluded_values: excluded_values(matches),
            sensitivity: sensitivity.fold(0, |all, one: u8| all | one),
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
        QueryBits {
            values: query_values(query),
            sensitivity: query_sensitivity(query),
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
        let out = self.excluded_values & bits.values != 0
            || (self.sensitivity != 0 && self.sensitivity & bits.sensitivity == 0)
            || (self.roles_any != 0 && self.roles_any & bits.roles == 0)
            || self.roles_all & bits.roles != self.roles_all;
        match (out, self.needs_evaluation) {
            (true, _) => Truth::No,
            (false, true) => Truth::Unknown,
            (false, false) => Truth::Yes,
        }
    }
}

fn rule_description(rule: &Rule) -> String {
    if rule.reason.is_empty() {
        format!("rule `{}`", rule.name)
    } else {
        format!("rule `{}`: {}", rule.name, rule.reason)
    }
}

/// The first bit of each property. The widths are the numbers of enum variants, so a new variant
/// must move the offsets that follow.
mod bit_offset {
    pub(super) const IMPACT: u32 = 0;
    pub(super) const WORLD: u32 = 3;
    pub(super) const CLASS: u32 = 5;
    pub(super) const RUNG: u32 = 9;
    pub(super) const SINK: u32 = 15;
    pub(super) const MODE: u32 = 20;
    pub(super) const CONFIDENTIALITY: u32 = 23;
    pub(super) const INTEGRITY: u32 = 27;
    pub(super) const OPERATION: u32 = 29;
    pub(super) const END: u32 = 31;
}

/// The values that the conditions rule out, over all properties with few values.
fn excluded_values(matches: &MatchConditions) -> u32 {
    // An empty set rules nothing out; otherwise everything that is not listed is ruled out.
    fn complement(bits: impl Iterator<Item = u32>, from: u32, to: u32) -> u32 {
        let listed = bits.fold(0_u32, |all, bit| all | 1 << bit);
        let kind = (1_u32 << to) - (1_u32 << from);
        if listed == 0 { 0 } else { kind & !(listed << from) }
    }
    complement(matches.impact.iter().map(|v| *v as u32), bit_offset::IMPACT, bit_offset::WORLD)
        | complement(matches.world.iter().map(|v| *v as u32), bit_offset::WORLD, bit_offset::CLASS)
        | complement(matches.class.iter().map(|v| *v as u32), bit_offset::CLASS, bit_offset::RUNG)
        | complement(matches.rung.iter().map(|v| *v as u32), bit_offset::RUNG, bit_offset::SINK)
        | complement(matches.sink.iter().map(|v| *v as u32), bit_offset::SINK, bit_offset::MODE)
        | complement(
            matches.mode.iter().map(|v| *v as u32),
            bit_offset::MODE,
            bit_offset::CONFIDENTIALITY,
        )
        | complement(
            matches.confidentiality.iter().map(|v| *v as u32),
            bit_offset::CONFIDENTIALITY,
            bit_offset::INTEGRITY,
        )
        | complement(
            matches.integrity.iter().map(|v| *v as u32),
            bit_offset::INTEGRITY,
            bit_offset::OPERATION,
        )
        | complement(
            matches.operation.iter().map(|v| *v as u32),
            bit_offset::OPERATION,
            bit_offset::END,
        )
}

/// The values of a query, one bit per property.
fn query_values(query: &PolicyQuery<'_>) -> u32 {
    let capability = query.capability;
    let effects = capability.spec().effects;
    1 << (bit_offset::IMPACT + effects.impact as u32)
        | 1 << (bit_offset::WORLD + effects.world as u32)
        | 1 << (bit_offset::CLASS + capability.class() as u32)
        | 1 << (bit_offset::RUNG + capability.rung() as u32)
        | 1 << (bit_offset::SINK + capability.sink() as u32)
        | 1 << (bit_offset::MODE + query.mode as u32)
        | 1 << (bit_offset::CONFIDENTIALITY + query.label.confidentiality as u32)
        | 1 << (bit_offset::INTEGRITY + query.label.integrity as u32)
        | 1 << (bit_offset::OPERATION + query.operation as u32)
}

fn query_sensitivity(query: &PolicyQuery<'_>) -> u8 {
    let tags = &query.capability.spec().sensitivity;
    if tags.is_empty() {
        return 1 << (SensitivityCondition::None as u8);
    }
    let bit = |tag: &SensitivityTag| {
        let kind = match tag {
            SensitivityTag::Memory => SensitivityCondition::Memory,
            SensitivityTag::Pii => SensitivityCondition::Pii,
            SensitivityTag::Pci => SensitivityCondition::Pci,
            SensitivityTag::Secrets => SensitivityCondition::Secrets,
        };
        1 << (kind as u8)
    };
    tags.iter().map(bit).fold(0, |all, one: u8| all | one)
}

/// Whether the top-level conditions include any, apart from the capability's id, that bits cannot
/// express.
fn has_conditions_beyond_bits(matches: &MatchConditions) -> bool {
    matches.tags != NameCondition::default()
        || !matches.intent.is_empty()
        || !matches.scope.is_empty()
        || !matches.principal.is_empty()
        || !matches.attributes.is_empty()
        || !matches.agent.is_empty()
        || matches.time.is_some()
        || !matches.arguments.is_empty()
}

#[cfg(test)]
mod tests;
