//! Reads the answers of a review from a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use weaver_gateway::bounded_file;
use weaver_gateway::setup::{Posture, Review, ToolChoice};

use crate::{Exit, Failure};

/// The largest file, in bytes.
const MAX_FILE_BYTES: usize = 1024 * 1024;

/// The answers in a file.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) posture: Option<Posture>,
    tools: BTreeMap<String, ToolChoice>,
    /// Servers that stay as they are.
    pub(super) leave: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswersFile {
    posture: Option<String>,
    #[serde(default)]
    tools: BTreeMap<String, String>,
    #[serde(default)]
    leave: BTreeSet<String>,
}

fn invalid_answers(path: &Path, message: impl std::fmt::Display) -> Failure {
    let message = format!("{}: {message}", path.display());
    Failure::new(Exit::Invalid, "init.answers", message)
        .with_next_step("`weaver init --help` shows an answers file")
}

impl Answers {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = bounded_file::read_text(path, MAX_FILE_BYTES)
            .map_err(|error| invalid_answers(path, error))?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| invalid_answers(path, format!("not JSON: {error}")))?;
        if !value.is_object() {
            return Err(invalid_answers(path, "this is not a JSON object"));
        }
        let file: AnswersFile =
            serde_json::from_value(value).map_err(|error| invalid_answers(path, error))?;
        let posture = file.posture.map(|word| super::parse_posture(&word)).transpose()?;
        let choice = |(id, word): (String, String)| match ToolChoice::parse(&word) {
            Some(choice) => Ok((id, choice)),
            None => Err(invalid_answers(
                path,
                format!("`{word}` for `{id}` is none of allow, ask, deny, reads, fetches, writes"),
            )),
        };
        let tools = file.tools.into_iter().map(choice).collect::<Result<_, _>>()?;
        Ok(Self { posture, tools, leave: file.leave })
    }

    /// Fails if an answer is about a tool that is new to an existing gateway: its policy decides
    /// about new tools. Answers about tools that it has change nothing.
    pub(super) fn refuse_new_tools(
        &self,
        path: &Path,
        is_new: impl Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        match self.tools.keys().find(|id| is_new(id)) {
            Some(id) => {
                let message =
                    format!("the answer for `{id}` cannot be given to a gateway that is there");
                Err(invalid_answers(path, message).with_next_step(format!(
                    "leave `{id}` out of the answers, and say in the policy what is to become of it: \
                     `weaver policy edit`"
                )))
            }
            None => Ok(()),
        }
    }

    /// Applies the answers about tools.
    pub(super) fn apply(&self, path: &Path, review: &mut Review) -> Result<(), Failure> {
        for (id, choice) in &self.tools {
            review.choose(id, *choice).map_err(|error| invalid_answers(path, error))?;
        }
        Ok(())
    }
}
