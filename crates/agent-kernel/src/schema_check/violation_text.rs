//! Says what is wrong with a value, so that whoever sent it can correct it in one go.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

/// The most violations that a message names.
const MAX_VIOLATIONS: usize = 5;
/// The longest text of one violation, in characters.
const MAX_PROBLEM_CHARS: usize = 160;
/// The longest list of choices in a message, in characters.
const MAX_CHOICES_CHARS: usize = 600;
/// The longest text that violations are looked for in, in characters. Each alternative of a schema that a
/// value does not fit keeps a copy of it.
const MAX_TEXT_CHARS: usize = 256;
/// How deeply alternatives in each other are looked into.
const MAX_DEPTH: usize = 8;

/// A violation: where it is, as JSON pointer, and what it is. It contains field names, but never
/// values.
struct Violation {
    place: String,
    problem: String,
}

/// The violations of a value, and whether one of them is about the value itself and not a part of
/// it; `None` if there are none. Of a value with more nodes than `max_nodes`, only the beginning is
/// searched: each violation takes memory, and a choice between alternatives has those of all of them.
pub(super) fn violations_text(
    validator: &Validator,
    value: &Value,
    subject: &str,
    max_nodes: u64,
) -> Option<(String, bool)> {
    // Collects no errors, so a large value costs no memory.
    if validator.is_valid(value) {
        return None;
    }
    let mut kept = KeptParts { nodes_left: max_nodes, is_complete: true };
    let beginning = kept.beginning_of(value);
    let is_complete = kept.is_complete && kept.nodes_left > 0;
    let mut found = Vec::new();
    for error in validator.iter_errors(&beginning) {
        if is_complete || !is_of_missing_parts(&error) {
            add_violations(&error, &mut found, 0);
        }
    }
    if found.is_empty() {
        return Some((
            format!("{subject}: a long text, or a part behind the first ones, does not fit"),
            false,
        ));
    }
    let mut texts: Vec<String> = Vec::new();
    let is_whole = found.iter().take(MAX_VIOLATIONS).any(|one| one.place.is_empty());
    for Violation { place, problem } in found {
        let place = if place.is_empty() { subject.to_owned() } else { format!("`{place}`") };
        let text = format!("{place}: {problem}");
        if texts.len() < MAX_VIOLATIONS && !texts.contains(&text) {
            texts.push(text);
        }
    }
    Some((texts.join("; "), is_whole))
}

/// What is kept of a value in which violations are looked for.
struct KeptParts {
    nodes_left: u64,
    /// Whether nothing was left out so far but for want of nodes.
    is_complete: bool,
}

impl KeptParts {
    /// The value with as many nodes as are left: of lists and objects the first parts, and the beginning
    /// of long texts.
    fn beginning_of(&mut self, value: &Value) -> Value {
        self.nodes_left = self.nodes_left.saturating_sub(1);
        match value {
            Value::Array(items) => {
                let mut kept = Vec::new();
                for item in items {
                    if self.nodes_left == 0 {
                        break;
                    }
                    kept.push(self.beginning_of(item));
                }
                Value::Array(kept)
            }
            Value::Object(members) => {
                let mut kept = Map::new();
                for (name, member) in members {
                    if self.nodes_left == 0 {
                        break;
                    }
                    kept.insert(name.clone(), self.beginning_of(member));
                }
                Value::Object(kept)
            }
            Value::String(text) => {
                let beginning = weaver_text::escape::truncate(text, MAX_TEXT_CHARS);
                self.is_complete &= beginning.len() == text.len();
                Value::from(beginning)
            }
            leaf => leaf.clone(),
        }
    }
}

/// Whether an error may be one only of the beginning of a value, since parts of it are missing.
fn is_of_missing_parts(error: &ValidationError<'_>) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::Required { .. }
            | ValidationErrorKind::MinItems { .. }
            | ValidationErrorKind::MinProperties { .. }
            | ValidationErrorKind::Contains
            | ValidationErrorKind::MinLength { .. }
            | ValidationErrorKind::Pattern { .. }
            | ValidationErrorKind::Format { .. }
    )
}

/// Adds an error. Of one about alternatives, the errors of the alternative whose type fits say more:
/// an optional parameter is often a choice between its type and null.
fn add_violations(error: &ValidationError<'_>, found: &mut Vec<Violation>, depth: usize) {
    if found.len() > MAX_VIOLATIONS {
        return;
    }
    let alternatives = match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }
            if depth < MAX_DEPTH =>
        {
            context.as_slice()
        }
        _ => &[],
    };
    let fits = |errors: &&Vec<ValidationError<'static>>| {
        !errors.is_empty() && !errors.iter().any(|one| is_other_type(one, error))
    };
    if let Some(errors) = alternatives.iter().filter(fits).min_by_key(|errors| errors.len()) {
        errors.iter().for_each(|inner| add_violations(inner, found, depth + 1));
        return;
    }
    let problem = match error.kind() {
        ValidationErrorKind::Enum { options } => choices_text(options),
        _ => error.masked().to_string().chars().take(MAX_PROBLEM_CHARS).collect(),
    };
    found.push(Violation { place: error.instance_path().to_string(), problem });
}

/// Whether an error of an alternative says that the value as a whole is of another type.
fn is_other_type(inner: &ValidationError<'_>, outer: &ValidationError<'_>) -> bool {
    let is_type = matches!(
        inner.kind(),
        ValidationErrorKind::Type { .. } | ValidationErrorKind::Constant { .. }
    );
    is_type && inner.instance_path().to_string() == outer.instance_path().to_string()
}

/// What a value may be instead: all choices of the schema, as far as there is room.
fn choices_text(choices: &Value) -> String {
    let texts: Vec<String> =
        choices.as_array().into_iter().flatten().map(Value::to_string).collect();
    let mut room = MAX_CHOICES_CHARS;
    let named = texts.iter().take_while(|text| {
        let left = room.checked_sub(text.chars().count());
        room = left.unwrap_or_default();
        left.is_some()
    });
    let named: Vec<&str> = named.map(String::as_str).collect();
    let more = match texts.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" or {more} more"),
    };
    format!("it is none of {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(schema: &Value, value: &Value) -> String {
        let validator = jsonschema::validator_for(schema).unwrap();
        violations_text(&validator, value, "the arguments", 10_000).unwrap().0
    }

    #[test]
    fn an_optional_parameter_is_told_by_what_it_may_be() {
        let limit = json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]});
        let form = json!({"anyOf": [{"enum": ["concise", "json"]}, {"type": "null"}]});
        let params = json!({"properties": {"limit": limit, "form": form}});
        let schema = json!({"properties": {"params": params}});
        assert_eq!(
            said(&schema, &json!({"params": {"limit": 0, "form": "xml"}})),
            "`/params/form`: it is none of \"concise\", \"json\"; \
             `/params/limit`: value is less than the minimum of 1"
        );
        let wrong = said(&schema, &json!({"params": {"limit": "many"}}));
        assert!(wrong.starts_with("`/params/limit`: value is not valid under any"), "{wrong}");
    }

    #[test]
    fn a_missing_parameter_and_an_unknown_one_are_told_together() {
        let schema = json!({"required": ["path"], "additionalProperties": false,
            "properties": {"path": {"type": "string"}}});
        let text = said(&schema, &json!({"pth": "a"}));
        assert!(text.contains("\"path\" is a required property"), "{text}");
        assert!(text.contains("'pth'"), "{text}");
    }

    #[test]
    fn of_a_large_value_the_beginning_is_searched() {
        let schema = json!({"minItems": 20, "contains": {"const": 30}, "items": {"anyOf": [{"maximum": 40}]}});
        let validator = jsonschema::validator_for(&schema).unwrap();
        let text = |at: usize, max_nodes: u64| {
            let mut items: Vec<Value> = (0..40).map(Value::from).collect();
            *items.get_mut(at).unwrap() = json!(50);
            violations_text(&validator, &json!(items), "the result", max_nodes).unwrap().0
        };
        assert!(text(3, 10).starts_with("`/3`: "), "{}", text(3, 10));
        assert_eq!(
            text(20, 10),
            "the result: a long text, or a part behind the first ones, does not fit"
        );
        assert!(text(20, 100).starts_with("`/20`: "), "{}", text(20, 100));
    }

    #[test]
    fn no_more_than_five_are_told() {
        let schema = json!({"items": {"type": "string"}});
        let text = said(&schema, &Value::Array(vec![json!(1); 1_000]));
        assert_eq!(text.matches("is not of type").count(), 5, "{text}");
    }
}
