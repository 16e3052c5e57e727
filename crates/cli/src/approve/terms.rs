//! The terms of a standing approval: read from flags or a file, and shown before they are signed.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use weaver_gateway::bounded_file;
use weaver_policy::approval::{APPROVAL_VERSION, Nonce, StandingApproval};
use weaver_policy::{ArgumentPredicate, Pattern};
use weaver_types::canonical::{self, Profile};
use weaver_types::{LogId, OsRandom, StandingApprovalId, Tenant, Timestamp};

use super::args::StandingGrant;
use super::{duration, terminal_text};
use crate::{Exit, Failure};

/// The largest file of terms, in bytes.
const MAX_TERMS_BYTES: usize = 256 * 1024;
/// The fields of the terms in which a single value stands for a list of one.
const LIST_FIELDS: [&str; 5] = ["capability", "principals", "agents", "arguments", "folders"];
/// The same for the predicates in a condition on arguments.
const LIST_PREDICATES: [&str; 7] =
    ["in", "prefix", "suffix", "glob", "inside", "domains", "provenance"];

/// The terms as written in flags or a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Terms {
    capability: Vec<Pattern>,
    principals: Vec<Pattern>,
    #[serde(default)]
    agents: Vec<Pattern>,
    #[serde(default)]
    arguments: Vec<ArgumentPredicate>,
    #[serde(default)]
    folders: Vec<String>,
    uses: u32,
    expires: String,
}

impl Terms {
    pub(super) fn read(args: &StandingGrant) -> Result<Self, Failure> {
        match &args.file {
            Some(path) => Self::from_file(path),
            None => Self::from_flags(args),
        }
    }

    pub(crate) fn from_file(path: &Path) -> Result<Self, Failure> {
        let invalid = |problem: String| {
            Failure::new(Exit::Invalid, "approve.terms", format!("{}: {problem}", path.display()))
                .with_next_step("`weaver approve standing grant --help` shows one")
        };
        let text = bounded_file::read_text(path, MAX_TERMS_BYTES)
            .map_err(|error| invalid(error.to_string()))?;
        let table: toml::Table =
            toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        let value = wrap_single_values(toml_to_json(toml::Value::Table(table)), &LIST_FIELDS);
        serde_json::from_value(value).map_err(|error| invalid(error.to_string()))
    }

    fn from_flags(args: &StandingGrant) -> Result<Self, Failure> {
        let pattern = |text: &String| {
            Pattern::parse(text).map_err(|error| {
                let shown = terminal_text::escape_line(text, 80);
                let message = format!("`{shown}` is not a pattern: {error}");
                Failure::new(Exit::Usage, "approve.terms", message)
                    .with_next_step("write 1 to 512 bytes; `*` stands for anything")
            })
        };
        let all = |texts: &[String]| texts.iter().map(pattern).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            capability: all(&args.capability)?,
            principals: all(&args.principal)?,
            agents: all(&args.agent)?,
            arguments: args
                .argument
                .iter()
                .map(|text| parse_condition(text))
                .collect::<Result<_, _>>()?,
            folders: args.folder.clone(),
            uses: args.uses.unwrap_or_default(),
            expires: args.expires.clone().unwrap_or_default(),
        })
    }

    /// Makes the statement to sign, for this log.
    pub(crate) fn standing(
        self,
        log: LogId,
        tenant: Tenant,
        now: Timestamp,
    ) -> Result<StandingApproval, Failure> {
        let random = |error| Failure::new(Exit::Internal, "approve.random", error);
        Ok(StandingApproval {
            v: APPROVAL_VERSION,
            id: StandingApprovalId::random(&OsRandom).map_err(random)?,
            log,
            tenant,
            capability: self.capability,
            principals: self.principals,
            agents: self.agents,
            arguments: self.arguments,
            folders: self.folders,
            expires: duration::parse_time(&self.expires, now)?,
            uses: self.uses,
            opened_at: now,
            nonce: Nonce::random(&OsRandom).map_err(random)?,
        })
    }
}

/// Parses one condition on the arguments, written as in policies.
fn parse_condition(text: &str) -> Result<ArgumentPredicate, Failure> {
    let wrong = |problem: String| {
        let message =
            format!("`{}` is not a condition: {problem}", terminal_text::escape_line(text, 80));
        Failure::new(Exit::Usage, "approve.terms", message)
            .with_next_step("write, for example, '{ at = \"/to\", domains = \"example.com\" }'")
    };
    let table: toml::Table = toml::from_str(&format!("it = {text}"))
        .map_err(|error| wrong(error.message().to_owned()))?;
    let mut fields = table.into_iter();
    let (Some((_, value)), None) = (fields.next(), fields.next()) else {
        return Err(wrong("it is more than one value".to_owned()));
    };
    let value = wrap_single_values(toml_to_json(value), &LIST_PREDICATES);
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}

/// Converts TOML to JSON; a date becomes its text.
fn toml_to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(truth) => Value::from(truth),
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(items) => Value::Array(items.into_iter().map(toml_to_json).collect()),
        toml::Value::Table(table) => Value::Object(
            table.into_iter().map(|(key, value)| (key, toml_to_json(value))).collect(),
        ),
    }
}

/// Wraps a single value in a list, in the fields that hold lists.
fn wrap_single_values(mut value: Value, names: &[&str]) -> Value {
    let Value::Object(fields) = &mut value else { return value };
    for (name, field) in fields.iter_mut().filter(|(name, _)| names.contains(&name.as_str())) {
        if !field.is_array() {
            *field = Value::Array(vec![field.take()]);
        }
        if let (true, Value::Array(items)) = (name == "arguments", field) {
            items
                .iter_mut()
                .for_each(|item| *item = wrap_single_values(item.take(), &LIST_PREDICATES));
        }
    }
    value
}

/// The full content of a standing approval, rendered from the bytes that are signed.
pub(super) fn statement_text(standing: &StandingApproval) -> Result<String, Failure> {
    let unprintable = |error: canonical::CanonicalError| {
        Failure::new(Exit::Invalid, "approve.terms", format!("it has no canonical form: {error}"))
    };
    let bytes = canonical::serialize(standing, Profile::Foreign).map_err(unprintable)?;
    let value = canonical::parse(&bytes, Profile::Foreign).map_err(unprintable)?;
    let digest = standing.signed_digest().map_err(unprintable)?;
    Ok(format!(
        "{}\nfrom {} until {}\ndigest: {digest}\n",
        terminal_text::escape_json_pretty(&value),
        standing.opened_at,
        standing.expires,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_value_stands_for_a_list_of_one() {
        let text = r#"
            capability = "mail.send"
            principals = ["owner"]
            arguments = { at = "/to", suffix = "@example.com", in = [1] }
            uses = 1
            expires = 2027-01-31T00:00:00Z
        "#;
        let value = wrap_single_values(
            super::toml_to_json(toml::Value::Table(toml::from_str(text).unwrap())),
            &LIST_FIELDS,
        );
        assert_eq!(value["capability"], json!(["mail.send"]));
        assert_eq!(value["arguments"][0]["suffix"], json!(["@example.com"]));
        assert_eq!(value["expires"], json!("2027-01-31T00:00:00Z"));
    }

    #[test]
    fn a_condition_is_one_table() {
        assert!(parse_condition(r#"{ at = "/to", suffix = "@example.com" }"#).is_ok());
        let more = "{ at = \"/to\", present = true }\nx = 1";
        for wrong in ["", "1", "{ at = \"/to\" }", "{ at = \"/to\", sufix = \"x\" }", more] {
            assert_eq!(parse_condition(wrong).unwrap_err().code, "approve.terms", "{wrong}");
        }
    }
}
