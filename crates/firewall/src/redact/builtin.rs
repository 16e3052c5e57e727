//! The built-in rules.

use std::collections::BTreeSet;

use super::engine::Engine;
use super::file::{self, RuleFileError};
use super::rule::Rule;
use super::scanner::Scanner;
use super::{pem, personal, secrets};

/// Rules as data.
const FILES: &[&str] = &[
    include_str!("../../assets/rules/access.toml"),
    include_str!("../../assets/rules/ai.toml"),
    include_str!("../../assets/rules/api_key.toml"),
    include_str!("../../assets/rules/chat.toml"),
    include_str!("../../assets/rules/cloud_1.toml"),
    include_str!("../../assets/rules/cloud_2.toml"),
    include_str!("../../assets/rules/command.toml"),
    include_str!("../../assets/rules/connection.toml"),
    include_str!("../../assets/rules/payment.toml"),
    include_str!("../../assets/rules/spoken.toml"),
    include_str!("../../assets/rules/vcs.toml"),
    include_str!("../../assets/rules/vendors_a_c.toml"),
    include_str!("../../assets/rules/vendors_d_g.toml"),
    include_str!("../../assets/rules/vendors_h_n.toml"),
    include_str!("../../assets/rules/vendors_o_s.toml"),
    include_str!("../../assets/rules/vendors_t_z.toml"),
];

/// The rules as data.
pub(crate) fn rules() -> Result<Vec<Rule>, RuleFileError> {
    let mut rules = Vec::new();
    for file in FILES {
        rules.extend(file::read(file)?);
    }
    Ok(rules)
}

/// The rules as code.
pub(crate) fn scanners() -> Vec<Scanner> {
    vec![pem::SCANNER, secrets::SCANNER, personal::scanner()]
}

/// All built-in rules and those of an operator's files, only for these kinds unless none is named.
pub(crate) fn engine(files: &[String], kinds: &BTreeSet<String>) -> Result<Engine, RuleFileError> {
    let mut all = rules()?;
    for text in files {
        let added = file::read(text)?;
        for rule in &added {
            rule.pattern
                .check()
                .map_err(|problem| RuleFileError::rule(&rule.id, problem.to_string()))?;
            if let Some(known) = all.iter().chain(&added).find(|known| differ(known, rule)) {
                let problem = format!(
                    "rule `{}` says that values of the type `{}` are {}; a type has one family",
                    known.id,
                    rule.kind,
                    known.family.as_str()
                );
                return Err(RuleFileError::rule(&rule.id, problem));
            }
            if all.iter().any(|known| known.id == rule.id) {
                return Err(RuleFileError::rule(&rule.id, "its id is taken by another rule"));
            }
        }
        super::examples::check(file::read(text)?)?;
        all.extend(added);
    }
    Engine::new(all, &scanners(), kinds)
}

/// True for rules that disagree on what a kind of value is.
fn differ(one: &Rule, other: &Rule) -> bool {
    one.kind == other.kind && one.family != other.family
}
