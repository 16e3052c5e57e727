//! Rules compiled for the decision: an index by name, and every match as bits.
//!
//! A decision may look at hundreds of rules, and most of them fail on something that has few values: a
//! rung, a class, a role. Each such value has one bit, so that a match becomes masks, as in a bitmap
//! index, and a few instructions settle it. The masks agree with [`Match::applies_to`] wherever they
//! say yes or no; where names, patterns, times or arguments matter too they say unknown, and the match
//! itself is evaluated. A property test compares the two.

use std::borrow::Cow;
use std::collections::BTreeSet;

use weaver_text::glob::Kind;
use weaver_types::SensitivityTag;

use crate::hash::NameMap;
use crate::index::RuleIndex;
use crate::matching::{Match, Sensitivity};
use crate::name_condition::NameCondition;
use crate::query::Query;
use crate::rule::Rule;
use crate::truth::Truth;

/// How many names of roles fit into the bits of a word.
const MAX_ROLES: usize = 64;

/// The rules of a policy in a form that decides fast.
#[derive(Debug, Default)]
pub(crate) struct CompiledRules {
    index: RuleIndex,
    matches: Vec<CompiledMatch>,
    details: Vec<Box<str>>,
    roles: NameMap<u8>,
}

/// A match as bits, with the matches nested in it.
#[derive(Debug)]
struct CompiledMatch {
    own: BitFilter,
    any: Vec<CompiledMatch>,
    /// What must not hold.
    not: Vec<CompiledMatch>,
}

/// What a match asks for of everything that has few values, one bit for each value.
#[derive(Debug, Clone, Copy)]
struct BitFilter {
    /// The values that are not asked for; a query with one of them does not match.
    excluded: u32,
    /// The kinds of sensitive data, one of which is asked for; 0 for none.
    sensitivity: u8,
    /// Whether the match asks for more than bits can say.
    more: bool,
    roles_any: u64,
    roles_all: u64,
}

/// Whether the name of the capability still has to be compared with patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameTest {
    /// The index found the rule by the name, or the match names no capability.
    Settled,
    Pending,
}

/// A set of roles as bits.
#[derive(Debug, Clone, Copy)]
struct RoleBits {
    bits: u64,
    /// Whether a role of the set has no bit, so that names have to be compared.
    partial: bool,
}

/// The same bits for a query.
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
            // That the id fits an exact pattern, a prefix or a suffix is known from the index.
            let general = |kind| matches!(kind, Kind::General);
            let patterns = &rule.matches.capability;
            let general = patterns.iter().any(|pattern| general(pattern.glob().kind()));
            let name = if general { NameTest::Pending } else { NameTest::Settled };
            let compiled = out.compile(&rule.matches, name);
            out.matches.push(compiled);
            out.details.push(detail(rule).into_boxed_str());
        }
        out
    }

    fn compile(&mut self, matches: &Match, name: NameTest) -> CompiledMatch {
        let own = self.filter(matches, name);
        let mut nested = |one: &Match| {
            let named = !one.capability.is_empty();
            self.compile(one, if named { NameTest::Pending } else { NameTest::Settled })
        };
        let any = matches.any.iter().map(&mut nested).collect();
        let not = [&matches.not, &matches.unless].into_iter().flatten();
        CompiledMatch { own, any, not: not.map(|one| nested(one)).collect() }
    }

    fn filter(&mut self, matches: &Match, name: NameTest) -> BitFilter {
        let any = self.role_bits(&matches.roles.any);
        let all = self.role_bits(&matches.roles.all);
        let sensitivity = matches.sensitivity.iter().map(|one| 1 << (*one as u8));
        BitFilter {
            excluded: excluded(matches),
            sensitivity: sensitivity.fold(0, |all, one: u8| all | one),
            more: name == NameTest::Pending || asks_more(matches) || any.partial || all.partial,
            roles_any: if any.partial { 0 } else { any.bits },
            roles_all: if all.partial { 0 } else { all.bits },
        }
    }

    fn role_bits(&mut self, roles: &BTreeSet<String>) -> RoleBits {
        let (mut bits, mut partial) = (0, false);
        for role in roles {
            let next = u8::try_from(self.roles.len()).unwrap_or(u8::MAX);
            match self.roles.get(role) {
                Some(place) => bits |= 1 << place,
                None if self.roles.len() < MAX_ROLES => {
                    self.roles.insert(role.clone(), next);
                    bits |= 1 << next;
                }
                None => partial = true,
            }
        }
        RoleBits { bits, partial }
    }

    /// The places of the rules that may match a capability, in order.
    pub(crate) fn candidates(&self, id: &str) -> Cow<'_, [u32]> {
        self.index.candidates(id)
    }

    pub(crate) fn bits(&self, query: &Query<'_>) -> QueryBits {
        let roles = query.principal.roles.iter().filter_map(|role| self.roles.get(role));
        QueryBits {
            values: values(query),
            sensitivity: sensitivity(query),
            roles: roles.fold(0, |all, place| all | 1 << place),
        }
    }

    /// Whether a rule matches, as far as the bits say.
    pub(crate) fn evaluate_bits(&self, rule: usize, bits: QueryBits) -> Truth {
        self.matches.get(rule).map_or(Truth::Unknown, |compiled| compiled.truth(bits))
    }

    /// The words of a rule, for the contributions that it makes.
    pub(crate) fn detail(&self, rule: usize) -> &str {
        self.details.get(rule).map_or("", |detail| detail)
    }
}

impl CompiledMatch {
    /// Whether the match applies: as the match itself says it, but unknown wherever more than bits
    /// has to be looked at.
    fn truth(&self, bits: QueryBits) -> Truth {
        let mut out = self.own.truth(bits);
        if out == Truth::No {
            return out;
        }
        if !self.any.is_empty() {
            let any = self.any.iter().map(|one| one.truth(bits)).max();
            out = out.min(any.unwrap_or(Truth::No));
        }
        self.not.iter().fold(out, |out, not| out.min(!not.truth(bits)))
    }
}

impl BitFilter {
    fn truth(&self, bits: QueryBits) -> Truth {
        let out = self.excluded & bits.values != 0
            || (self.sensitivity != 0 && self.sensitivity & bits.sensitivity == 0)
            || (self.roles_any != 0 && self.roles_any & bits.roles == 0)
            || self.roles_all & bits.roles != self.roles_all;
        match (out, self.more) {
            (true, _) => Truth::No,
            (false, true) => Truth::Unknown,
            (false, false) => Truth::Yes,
        }
    }
}

fn detail(rule: &Rule) -> String {
    if rule.reason.is_empty() {
        format!("rule `{}`", rule.name)
    } else {
        format!("rule `{}`: {}", rule.name, rule.reason)
    }
}

/// Where the bits of each kind of value begin in a word.
mod place {
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

/// The values that a match rules out, of all kinds that have few.
fn excluded(matches: &Match) -> u32 {
    // A kind of which nothing is said rules nothing out; otherwise everything but what is said.
    fn others(bits: impl Iterator<Item = u32>, from: u32, to: u32) -> u32 {
        let said = bits.fold(0_u32, |all, bit| all | 1 << bit);
        let kind = (1_u32 << to) - (1_u32 << from);
        if said == 0 { 0 } else { kind & !(said << from) }
    }
    others(matches.impact.iter().map(|v| *v as u32), place::IMPACT, place::WORLD)
        | others(matches.world.iter().map(|v| *v as u32), place::WORLD, place::CLASS)
        | others(matches.class.iter().map(|v| *v as u32), place::CLASS, place::RUNG)
        | others(matches.rung.iter().map(|v| *v as u32), place::RUNG, place::SINK)
        | others(matches.sink.iter().map(|v| *v as u32), place::SINK, place::MODE)
        | others(matches.mode.iter().map(|v| *v as u32), place::MODE, place::CONFIDENTIALITY)
        | others(
            matches.confidentiality.iter().map(|v| *v as u32),
            place::CONFIDENTIALITY,
            place::INTEGRITY,
        )
        | others(matches.integrity.iter().map(|v| *v as u32), place::INTEGRITY, place::OPERATION)
        | others(matches.operation.iter().map(|v| *v as u32), place::OPERATION, place::END)
}

/// The values of a query, one of each kind.
fn values(query: &Query<'_>) -> u32 {
    let capability = query.capability;
    let effects = capability.spec().effects;
    1 << (place::IMPACT + effects.impact as u32)
        | 1 << (place::WORLD + effects.world as u32)
        | 1 << (place::CLASS + capability.class() as u32)
        | 1 << (place::RUNG + capability.rung() as u32)
        | 1 << (place::SINK + capability.sink() as u32)
        | 1 << (place::MODE + query.mode as u32)
        | 1 << (place::CONFIDENTIALITY + query.label.confidentiality as u32)
        | 1 << (place::INTEGRITY + query.label.integrity as u32)
        | 1 << (place::OPERATION + query.operation as u32)
}

fn sensitivity(query: &Query<'_>) -> u8 {
    let tags = &query.capability.spec().sensitivity;
    if tags.is_empty() {
        return 1 << (Sensitivity::None as u8);
    }
    let bit = |tag: &SensitivityTag| {
        let kind = match tag {
            SensitivityTag::Memory => Sensitivity::Memory,
            SensitivityTag::Pii => Sensitivity::Pii,
            SensitivityTag::Pci => Sensitivity::Pci,
            SensitivityTag::Secrets => Sensitivity::Secrets,
        };
        1 << (kind as u8)
    };
    tags.iter().map(bit).fold(0, |all, one: u8| all | one)
}

/// Whether a match itself asks for anything but the capability's name that has no bits.
fn asks_more(matches: &Match) -> bool {
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
