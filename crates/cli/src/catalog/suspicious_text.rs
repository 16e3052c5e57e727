//! Finds text in a catalog that addresses a model instead of describing an item.
//!
//! Uses the same rules as the gateway when it registers a server's tools, because a model reads a
//! description before any call, with the authority of the operator's own words.

use contextweaver::catalog::load::LoadedCatalog;
use contextweaver::catalog::{Finding, SelectableItem, Severity};
use serde_json::Value;
use weaver_firewall::Suspicion;
use weaver_text::escape;

/// How many places one finding lists.
const MAX_PLACES: usize = 5;
/// The kind that gets a warning of its own.
const HIDDEN: &str = "hidden_text";

/// One finding for each item that addresses a model, and one for each whose schemas or examples
/// hide text. `reported` holds the findings about names and descriptions that hide text.
pub(super) fn findings(loaded: &LoadedCatalog, reported: &[Finding]) -> Vec<Finding> {
    let items = loaded.entries.iter().filter_map(|entry| entry.item.as_ref().ok());
    let mut out = Vec::new();
    for item in items {
        let shown = escape::excerpt(item.source_id(), 80);
        let (hidden, speaking): (Vec<_>, Vec<_>) =
            suspicions(item).into_iter().partition(|one| one.kind == HIDDEN);
        if !speaking.is_empty() {
            out.push(Finding {
                code: "catalog.suspicious_text",
                severity: Severity::Error,
                item: shown.clone(),
                message: format!("it addresses a model: {}", places_text(&speaking)),
                next: "read these words and take them out; the gateway denies a tool that has them",
            });
        }
        let is_reported = |one: &Finding| one.code == "catalog.hidden_text" && one.item == shown;
        if !hidden.is_empty() && !reported.iter().any(is_reported) {
            out.push(Finding {
                code: "catalog.hidden_text",
                severity: Severity::Warning,
                item: shown,
                message: format!(
                    "it holds characters that no reader sees: {}",
                    places_text(&hidden)
                ),
                next: "find out who wrote them, then take them out",
            });
        }
    }
    out
}

fn suspicions(item: &SelectableItem) -> Vec<Suspicion> {
    let text = |text: &str| Value::String(text.to_owned());
    let list = |texts: &[String]| texts.iter().map(|one| text(one)).collect::<Value>();
    let words = [
        ("name", text(&item.name)),
        ("description", text(&item.description)),
        ("namespace", text(&item.namespace)),
        ("tags", list(&item.tags)),
        ("examples", list(&item.examples)),
    ];
    let schemas = [("schema", &item.schema), ("output_schema", &item.output_schema)];
    let schemas =
        schemas.into_iter().filter_map(|(place, schema)| Some((place, schema.as_deref()?)));
    let parts = words.iter().map(|(place, value)| (*place, value)).chain(schemas);
    parts.flat_map(|(place, value)| weaver_firewall::suspicions(place, value)).collect()
}

fn places_text(suspicions: &[Suspicion]) -> String {
    let shown: Vec<String> = suspicions.iter().take(MAX_PLACES).map(ToString::to_string).collect();
    let more = suspicions.len().saturating_sub(MAX_PLACES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}
