//! What a standing approval says: read from flags or a file, and shown before it is signed.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use weaver_gateway::bounded_file;
use weaver_policy::approval::{APPROVAL_VERSION, Nonce, StandingApproval};
use weaver_policy::{ArgumentPredicate, Pattern};
use weaver_types::canonical::{self, Profile};
use weaver_types::{LogId, OsRandom, StandingId, Tenant, Timestamp};

use super::args::StandingGrant;
use super::{duration, screen};
use crate::{Exit, Failure};

/// The largest file of terms, in bytes.
const MAX_TERMS: usize = 256 * 1024;
/// Where one value may stand for a list of one.
const LISTS: [&str; 4] = ["capability", "principals", "agents", "arguments"];
/// The same inside a condition on arguments.
const TESTS: [&str; 7] = ["in", "prefix", "suffix", "glob", "inside", "domains", "provenance"];

/// What somebody wrote down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Terms {
    capability: Vec<Pattern>,
    principals: Vec<Pattern>,
    #[serde(default)]
    agents: Vec<Pattern>,
    #[serde(default)]
    arguments: Vec<ArgumentPredicate>,
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
                .next("`weaver approve standing grant --help` shows one")
        };
        let text =
            bounded_file::text(path, MAX_TERMS).map_err(|error| invalid(error.to_string()))?;
        let table: toml::Table =
            toml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        let value = listed(json(toml::Value::Table(table)), &LISTS);
        serde_json::from_value(value).map_err(|error| invalid(error.to_string()))
    }

    fn from_flags(args: &StandingGrant) -> Result<Self, Failure> {
        let pattern = |text: &String| {
            Pattern::parse(text).map_err(|error| {
                let shown = screen::line(text, 80);
                let message = format!("`{shown}` is not a pattern: {error}");
                Failure::new(Exit::Usage, "approve.terms", message)
                    .next("write 1 to 512 bytes; `*` stands for anything")
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
                .map(|text| condition(text))
                .collect::<Result<_, _>>()?,
            uses: args.uses.unwrap_or_default(),
            expires: args.expires.clone().unwrap_or_default(),
        })
    }

    /// The statement to sign, for this log.
    pub(crate) fn standing(
        self,
        log: LogId,
        tenant: Tenant,
        now: Timestamp,
    ) -> Result<StandingApproval, Failure> {
        let random = |error| Failure::new(Exit::Internal, "approve.random", error);
        Ok(StandingApproval {
            v: APPROVAL_VERSION,
            id: StandingId::random(&OsRandom).map_err(random)?,
            log,
            tenant,
            capability: self.capability,
            principals: self.principals,
            agents: self.agents,
            arguments: self.arguments,
            expires: duration::point(&self.expires, now)?,
            uses: self.uses,
            opened_at: now,
            nonce: Nonce::random(&OsRandom).map_err(random)?,
        })
    }
}

/// One condition on the arguments, as policies write it.
fn condition(text: &str) -> Result<ArgumentPredicate, Failure> {
    let wrong = |problem: String| {
        let message = format!("`{}` is not a condition: {problem}", screen::line(text, 80));
        Failure::new(Exit::Usage, "approve.terms", message)
            .next("write, for example, '{ at = \"/to\", suffix = \"@example.com\" }'")
    };
    let table: toml::Table = toml::from_str(&format!("it = {text}"))
        .map_err(|error| wrong(error.message().to_owned()))?;
    let mut fields = table.into_iter();
    let (Some((_, value)), None) = (fields.next(), fields.next()) else {
        return Err(wrong("it is more than one value".to_owned()));
    };
    let value = listed(json(value), &TESTS);
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}

/// TOML as JSON; a date is its text.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(truth) => Value::from(truth),
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(items) => Value::Array(items.into_iter().map(json).collect()),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect())
        }
    }
}

/// Makes one value a list of one where a list is meant.
fn listed(mut value: Value, names: &[&str]) -> Value {
    let Value::Object(fields) = &mut value else { return value };
    for (name, field) in fields.iter_mut().filter(|(name, _)| names.contains(&name.as_str())) {
        if !field.is_array() {
            *field = Value::Array(vec![field.take()]);
        }
        if let (true, Value::Array(items)) = (name == "arguments", field) {
            items.iter_mut().for_each(|item| *item = listed(item.take(), &TESTS));
        }
    }
    value
}

/// Everything that a standing approval says, from the bytes that are signed.
pub(super) fn shown(standing: &StandingApproval) -> Result<String, Failure> {
    let unprintable = |error: canonical::CanonicalError| {
        Failure::new(Exit::Invalid, "approve.terms", format!("it has no canonical form: {error}"))
    };
    let bytes = canonical::of(standing, Profile::Foreign).map_err(unprintable)?;
    let value = canonical::parse(&bytes, Profile::Foreign).map_err(unprintable)?;
    let digest = standing.signed_digest().map_err(unprintable)?;
    Ok(format!(
        "{}\nfrom {} until {}\ndigest: {digest}\n",
        screen::pretty(&value),
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
        let value = listed(super::json(toml::Value::Table(toml::from_str(text).unwrap())), &LISTS);
        assert_eq!(value["capability"], json!(["mail.send"]));
        assert_eq!(value["arguments"][0]["suffix"], json!(["@example.com"]));
        assert_eq!(value["expires"], json!("2027-01-31T00:00:00Z"));
    }

    #[test]
    fn a_condition_is_one_table() {
        assert!(condition(r#"{ at = "/to", suffix = "@example.com" }"#).is_ok());
        let more = "{ at = \"/to\", present = true }\nx = 1";
        for wrong in ["", "1", "{ at = \"/to\" }", "{ at = \"/to\", sufix = \"x\" }", more] {
            assert_eq!(condition(wrong).unwrap_err().code, "approve.terms", "{wrong}");
        }
    }
}
