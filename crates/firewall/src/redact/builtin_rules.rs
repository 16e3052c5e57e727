//! The built-in rules.

use std::collections::BTreeSet;

use super::engine::DetectionEngine;
use super::rule::Rule;
use super::rule_file::{self, RuleFileError};
use super::scanner::Scanner;
use super::{pem, personal, secrets};

/// The rule files.
const RULE_FILES: &[&str] = &[
    include_str!("../../assets/rules/access.toml"),
    include_str!("../../assets/rules/ai.toml"),
    include_str!("../../assets/rules/api_key.toml"),
    include_str!("../../assets/rules/birth.toml"),
    include_str!("../../assets/rules/chat.toml"),
    include_str!("../../assets/rules/cloud_1.toml"),
    include_str!("../../assets/rules/cloud_2.toml"),
    include_str!("../../assets/rules/codes.toml"),
    include_str!("../../assets/rules/command.toml"),
    include_str!("../../assets/rules/connection.toml"),
    include_str!("../../assets/rules/evidence.toml"),
    include_str!("../../assets/rules/keys.toml"),
    include_str!("../../assets/rules/payment.toml"),
    include_str!("../../assets/rules/places.toml"),
    include_str!("../../assets/rules/places_2.toml"),
    include_str!("../../assets/rules/notes.toml"),
    include_str!("../../assets/rules/shown.toml"),
    include_str!("../../assets/rules/spoken.toml"),
    include_str!("../../assets/rules/spoken_2.toml"),
    include_str!("../../assets/rules/vcs.toml"),
    include_str!("../../assets/rules/vendors_a_c.toml"),
    include_str!("../../assets/rules/vendors_d_g.toml"),
    include_str!("../../assets/rules/vendors_h_n.toml"),
    include_str!("../../assets/rules/vendors_marked.toml"),
    include_str!("../../assets/rules/vendors_o_s.toml"),
    include_str!("../../assets/rules/vendors_t_z.toml"),
];

/// The rules from the rule files.
pub(crate) fn data_rules() -> Result<Vec<Rule>, RuleFileError> {
    let mut rules = Vec::new();
    for file in RULE_FILES {
        rules.extend(rule_file::parse_rules(file)?);
    }
    Ok(rules)
}

/// The scanners, which are rules written as code.
pub(crate) fn scanners() -> Vec<Scanner> {
    vec![pem::SCANNER, secrets::SCANNER, personal::scanner()]
}

/// Compiles the built-in rules and those of an operator's files, limited to these kinds unless none
/// is named.
pub(crate) fn build_engine(
    files: &[String],
    kinds: &BTreeSet<String>,
) -> Result<DetectionEngine, RuleFileError> {
    let mut all = data_rules()?;
    for text in files {
        let added = rule_file::parse_rules(text)?;
        for rule in &added {
            rule.finder
                .check()
                .map_err(|problem| RuleFileError::for_rule(&rule.id, problem.to_string()))?;
            if let Some(known) =
                all.iter().chain(&added).find(|known| has_family_conflict(known, rule))
            {
                let problem = format!(
                    "rule `{}` says that values of the type `{}` are {}; a type has one family",
                    known.id,
                    rule.kind,
                    known.family.as_str()
                );
                return Err(RuleFileError::for_rule(&rule.id, problem));
            }
            if all.iter().any(|known| known.id == rule.id) {
                return Err(RuleFileError::for_rule(&rule.id, "its id is taken by another rule"));
            }
        }
        super::rule_self_test::verify_examples(rule_file::parse_rules(text)?)?;
        all.extend(added);
    }
    DetectionEngine::new(all, &scanners(), kinds)
}

/// True for rules that disagree on the family of a kind of value.
fn has_family_conflict(one: &Rule, other: &Rule) -> bool {
    one.kind == other.kind && one.family != other.family
}
