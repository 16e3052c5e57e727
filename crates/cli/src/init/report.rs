//! Prints what was set up, and the next step.

use serde_json::{Value, json};
use weaver_gateway::config::Config;
use weaver_gateway::setup::{Review, SecretLocation, Selection};
use zeroize::Zeroizing;

use super::{shell_path, table};
use crate::output::OutputFormat;
use crate::{Failure, output};

/// A generated passphrase, which is shown once and stored nowhere.
pub(super) struct GeneratedPassphrase(pub(super) Zeroizing<String>);

/// How the reason begins for which a server that did not start is skipped.
pub(super) const DID_NOT_START: &str = "it did not start: ";

/// A finished setup.
pub(super) struct Report<'a> {
    pub(super) config: &'a Config,
    pub(super) selection: &'a Selection,
    pub(super) review: &'a Review,
    pub(super) generated: Option<GeneratedPassphrase>,
    /// Whether the user has just seen the table of tools.
    pub(super) reviewed: bool,
}

impl Report<'_> {
    pub(super) fn print(&self, format: OutputFormat) -> Result<(), Failure> {
        if format == OutputFormat::Json {
            let mut value = review_value(self.review, self.selection);
            let base = self.config.base();
            let more = json!({
                "config": self.config.file.display().to_string(),
                "keys": {
                    "root": base.join(".weaver/keys/root.key").display().to_string(),
                    "owner": base.join(".weaver/keys/owner.key").display().to_string(),
                },
                "work_folder": self.config.work_folder,
                "passphrase": self.generated.as_ref().map(|one| one.0.as_str()),
                "next": "weaver connect",
            });
            if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
                value.extend(more);
            }
            output::json(&value)?;
            return Ok(());
        }
        output::text(&self.text())?;
        Ok(())
    }

    fn text(&self) -> String {
        let Self { config, selection, review, generated, reviewed } = self;
        let mut out = String::from("\n");
        if !reviewed {
            out = format!(
                "{}\n{}\n\n",
                table::review_table(review, selection),
                table::summary(review)
            );
        }
        let good = output::good("ready");
        out.push_str(&format!("{good}: {}, signed and checked\n", config.file.display()));
        let lines = [
            ("policy", "policy/policy.toml", "what is allowed, held and refused"),
            ("contracts", "policy/contracts.toml", "what each tool does, with the reason"),
            ("keys", ".weaver/keys/", "root.key signs documents, owner.key releases held calls"),
        ];
        for (what, path, why) in lines {
            out.push_str(&format!("  {what:<10} {path:<24} {}\n", output::dim(why)));
        }
        if let Some(work) = &config.work_folder {
            let why = output::dim("servers work there, and are denied the folder of weaver.toml");
            out.push_str(&format!("  {:<10} {:<24} {why}\n", "work", work.display().to_string()));
        }
        if !selection.secrets.is_empty() {
            let many = selection.secrets.len();
            let many = format!("{}, for you alone", output::counted(many, "secret"));
            let place = match selection.secret_location {
                SecretLocation::EnvironmentFile => ".weaver/secrets.env",
                SecretLocation::Keychain => "the system's keychain",
            };
            out.push_str(&format!("  {:<10} {place:<24} {}\n", "secrets", output::dim(&many)));
        }
        if let Some(note) = table::personal_data_note(review) {
            out.push_str(&format!("\n{note}\n"));
        }
        if let Some(passphrase) = generated {
            out.push_str(&format!(
                "\nThe passphrase of both keys, shown once and kept nowhere. Write it down now:\n\n    {}\n",
                output::bold(&passphrase.0)
            ));
        }
        let is_default =
            crate::config_path::find_default().is_some_and(|found| found == config.file);
        let option = if is_default {
            String::new()
        } else {
            format!(" --config {}", shell_path(&config.file))
        };
        let away = selection.skipped.iter().filter(|one| one.reason.starts_with(DID_NOT_START));
        let more_time = more_time(away.clone().map(|one| one.reason.as_str()));
        let away: Vec<&str> = away.map(|one| one.origin.name.as_str()).collect();
        if !away.is_empty() {
            out.push_str(&format!(
                "\n{}: {} did not start and stayed with the clients; once they do, take them in with\n  \
                 weaver update{more_time}\n",
                output::bold("left out"),
                weaver_text::escape::line(&away.join(", "))
            ));
        }
        out.push_str(&format!(
            "\nnext: {}   puts your clients behind it; `weaver disconnect` takes that back\n",
            output::bold(&format!("weaver connect{option}"))
        ));
        out
    }
}

/// The option with which servers that had these problems are tried again: more time helps only those
/// that gave no answer.
pub(super) fn more_time<'p>(mut problems: impl Iterator<Item = &'p str>) -> &'static str {
    let is_slow = problems.any(|problem| problem.contains("no answer within"));
    if is_slow { " --timeout 300" } else { "" }
}

/// Prints as JSON what would be set up.
pub(super) fn review_json(review: &Review, selection: &Selection) -> Result<(), Failure> {
    output::json(&review_value(review, selection))?;
    Ok(())
}

fn review_value(review: &Review, selection: &Selection) -> Value {
    let servers: Vec<Value> = selection
        .servers
        .iter()
        .map(|server| {
            let origins: Vec<Value> = server
                .origins
                .iter()
                .map(|one| json!({ "client": one.client, "file": one.file.display().to_string(), "name": one.name }))
                .collect();
            json!({ "name": server.name, "origins": origins })
        })
        .collect();
    let left: Vec<Value> = selection
        .skipped
        .iter()
        .map(|one| {
            json!({ "client": one.origin.client, "file": one.origin.file.display().to_string(),
                "name": one.origin.name, "reason": one.reason })
        })
        .collect();
    let tools: Vec<Value> = review
        .rows()
        .iter()
        .map(|row| {
            json!({ "id": row.id, "permission": row.permission.as_str(), "effect": table::effect(&row.proposal),
                "doubt": row.doubt, "reason": row.proposal.reasons.get("effects") })
        })
        .collect();
    let secrets: Vec<&str> = selection.secrets.iter().map(|one| one.variable.as_str()).collect();
    json!({ "posture": review.posture().as_str(), "servers": servers, "left_out": left,
        "tools": tools, "secrets": secrets, "secrets_in": selection.secret_location.as_str() })
}

#[cfg(test)]
mod tests {
    use super::more_time;

    #[test]
    fn more_time_is_for_servers_that_gave_no_answer() {
        let option = |problems: &[&'static str]| more_time(problems.iter().copied());
        assert_eq!(option(&["it did not start: `npx` ended (exit status: 1)"]), "");
        let slow = "it did not start: no answer within 60 seconds";
        assert_eq!(option(&["it did not start: no such program", slow]), " --timeout 300");
    }
}
