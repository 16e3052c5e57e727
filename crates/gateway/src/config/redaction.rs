//! The operator's redaction rules, which can only add masks.

use weaver_firewall::Firewall;
use weaver_policy::DocumentFinding;

use super::expansion::ExpansionContext;
use super::node::Node;
use crate::bounded_file;

/// The largest rule file.
const MAX_RULES: usize = 1 << 20;

/// Reads and validates the rule files of a list.
pub(super) fn read(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for item in node.list() {
        let Some(name) = item.text() else { continue };
        let path = context.base.join(name);
        context.record_source_file(&path);
        let text = match bounded_file::read_text(&path, MAX_RULES) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("{}: {error}", path.display());
                findings.push(item.finding("config.rules", message, "name a file of rules"));
                continue;
            }
        };
        texts.push(text);
        if let Err(error) = firewall(&texts) {
            let message = format!("{}: {error}", path.display());
            let remedy = "correct it, then try it with `weaver redact check`";
            findings.push(item.finding("config.rules", message, remedy));
            texts.pop();
        }
    }
    texts
}

/// A firewall with these rules in addition to the built-in ones.
pub(crate) fn firewall(rules: &[String]) -> Result<Firewall, weaver_firewall::RuleFileError> {
    rules.iter().fold(Firewall::builder(), |builder, text| builder.rules(text)).build()
}
