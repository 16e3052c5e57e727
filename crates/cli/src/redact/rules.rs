//! `weaver redact rules` and `weaver redact check`.

use std::path::Path;

use serde_json::json;
use weaver_firewall::{Firewall, RuleFileError};
use weaver_text::escape;

use super::args::RuleFile;
use super::masker::{self, firewall};
use crate::output::OutputFormat;
use crate::{Exit, Failure, output};

/// The longest example that is shown to people, in characters.
const MAX_EXAMPLE_CHARS: usize = 60;

/// Lists the rules in force.
pub(super) fn list_rules(rules: &RuleFile, format: OutputFormat) -> Result<Exit, Failure> {
    let firewall = firewall(rules, &[], None)?;
    let mut text = String::new();
    for rule in firewall.rules() {
        if format == OutputFormat::Json {
            let entry = json!({ "id": &*rule.id, "type": &*rule.kind, "masks": rule.masks });
            text.push_str(&format!("{entry}\n"));
            continue;
        }
        let example = rule.masks.first().map_or("", |(_, value)| value.as_str());
        let example = escape::excerpt(example, MAX_EXAMPLE_CHARS);
        let line = format!("{:<36}{:<24}{example}", rule.id, rule.kind);
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    output::text(&text)?;
    Ok(Exit::Ok)
}

/// Checks a rule file against its own examples.
pub(super) fn check_rules(file: &Path, format: OutputFormat) -> Result<Exit, Failure> {
    let text = masker::read_rules(file)?;
    let built_in = Firewall::new().rules().len();
    let firewall = Firewall::builder().rules(text).build().map_err(|error| {
        let exit = match error {
            RuleFileError::Rule { .. } => Exit::Failed,
            _ => Exit::Invalid,
        };
        Failure::new(exit, error.code(), format!("{}: {error}", file.display()))
            .with_next_step("see `weaver redact check --help` for the form of a rule")
    })?;
    let own = firewall.rules().len().saturating_sub(built_in);
    if format == OutputFormat::Json {
        output::json(&json!({ "ok": true, "file": file.display().to_string(), "rules": own }))?;
    } else {
        let rules = if own == 1 { "rule does" } else { "rules do" };
        let good = output::good("ok");
        output::line(&format!("{good}: {}: {own} {rules} what the examples say", file.display()))?;
    }
    Ok(Exit::Ok)
}
