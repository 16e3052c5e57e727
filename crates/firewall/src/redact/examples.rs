//! Rules held to their own examples.

use std::collections::BTreeSet;

use super::engine::Engine;
use super::file::RuleFileError;
use super::fixpoint;
use super::rule::Rule;

/// Runs every example of every rule, each rule alone.
///
/// # Errors
/// [`RuleFileError::Rule`], naming the first rule that does not do what its examples say.
pub(crate) fn check(rules: Vec<Rule>) -> Result<(), RuleFileError> {
    for rule in rules {
        let (id, masks, keeps) = (rule.id.clone(), rule.masks.clone(), rule.keeps.clone());
        if masks.is_empty() || keeps.is_empty() {
            return Err(RuleFileError::rule(&id, "it needs examples: `masks` and `keeps`"));
        }
        let engine = Engine::new(vec![rule], &[], &BTreeSet::new())?;
        for (text, value) in &masks {
            let found = masked(&engine, text);
            if found != [value.as_str()] {
                let problem = format!("in {text:?} it masks {found:?}, not {value:?}");
                return Err(RuleFileError::rule(&id, problem));
            }
        }
        for text in &keeps {
            let found = masked(&engine, text);
            if !found.is_empty() {
                let problem = format!("in {text:?} it masks {found:?}, not nothing");
                return Err(RuleFileError::rule(&id, problem));
            }
        }
    }
    Ok(())
}

/// What is masked of a text.
pub(crate) fn masked<'t>(engine: &Engine, text: &'t str) -> Vec<&'t str> {
    let found = fixpoint::find_values(engine.all(), text, &[]);
    found.into_iter().filter_map(|f| text.get(f.range)).collect()
}
