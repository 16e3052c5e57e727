//! Checks rules against their own examples.

use std::collections::BTreeSet;

use super::engine::DetectionEngine;
use super::fixpoint;
use super::rule::Rule;
use super::rule_file::RuleFileError;

/// Runs every example of every rule, with that rule alone.
///
/// # Errors
/// [`RuleFileError::Rule`], naming the first rule whose examples fail.
pub(crate) fn verify_examples(rules: Vec<Rule>) -> Result<(), RuleFileError> {
    for rule in rules {
        let (id, masks, keeps) = (rule.id.clone(), rule.masks.clone(), rule.keeps.clone());
        if masks.is_empty() || keeps.is_empty() {
            return Err(RuleFileError::for_rule(&id, "it needs examples: `masks` and `keeps`"));
        }
        let engine = DetectionEngine::new(vec![rule], &[], &BTreeSet::new())?;
        for (text, value) in &masks {
            let found = masked_values(&engine, text);
            if found != [value.as_str()] {
                let problem = format!("in {text:?} it masks {found:?}, not {value:?}");
                return Err(RuleFileError::for_rule(&id, problem));
            }
        }
        for text in &keeps {
            let found = masked_values(&engine, text);
            if !found.is_empty() {
                let problem = format!("in {text:?} it masks {found:?}, not nothing");
                return Err(RuleFileError::for_rule(&id, problem));
            }
        }
    }
    Ok(())
}

/// The texts that are masked.
pub(crate) fn masked_values<'t>(engine: &DetectionEngine, text: &'t str) -> Vec<&'t str> {
    let found = fixpoint::find_values(engine.all_rules(), text, &[]);
    found.into_iter().filter_map(|f| text.get(f.range)).collect()
}
