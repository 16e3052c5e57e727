//! The answers of a review, from a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use weaver_gateway::bounded_file;
use weaver_gateway::setup::{Permission, Posture, Review};

use crate::{Exit, Failure};

/// The largest file, in bytes.
const MAX_FILE: usize = 1024 * 1024;

/// What was answered.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) posture: Option<Posture>,
    tools: BTreeMap<String, Permission>,
    /// Servers that are not taken over.
    pub(super) leave: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    posture: Option<String>,
    #[serde(default)]
    tools: BTreeMap<String, String>,
    #[serde(default)]
    leave: BTreeSet<String>,
}

fn refused(path: &Path, message: impl std::fmt::Display) -> Failure {
    let message = format!("{}: {message}", path.display());
    Failure::new(Exit::Invalid, "init.answers", message)
        .next("`weaver init --help` shows an answers file")
}

impl Answers {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = bounded_file::text(path, MAX_FILE).map_err(|error| refused(path, error))?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| refused(path, format!("not JSON: {error}")))?;
        if !value.is_object() {
            return Err(refused(path, "this is no JSON object"));
        }
        let wire: Wire = serde_json::from_value(value).map_err(|error| refused(path, error))?;
        let posture = wire.posture.map(|word| super::posture(&word)).transpose()?;
        let permission = |(id, word): (String, String)| match Permission::parse(&word) {
            Some(permission) => Ok((id, permission)),
            None => Err(refused(path, format!("`{word}` for `{id}` is none of allow, ask, deny"))),
        };
        let tools = wire.tools.into_iter().map(permission).collect::<Result<_, _>>()?;
        Ok(Self { posture, tools, leave: wire.leave })
    }

    /// Says that a gateway that is there has a policy of its own, where an answer is about a tool that
    /// is new to it. Answers about what is there already change nothing.
    pub(super) fn refuse_new_tools(
        &self,
        path: &Path,
        is_new: impl Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        match self.tools.keys().find(|id| is_new(id)) {
            Some(id) => {
                let message =
                    format!("the answer for `{id}` cannot be given to a gateway that is there");
                Err(refused(path, message).next(format!(
                    "leave `{id}` out of the answers, and say in the policy what is to become of it: \
                     `weaver policy edit`"
                )))
            }
            None => Ok(()),
        }
    }

    /// Applies the answers about tools.
    pub(super) fn apply(&self, path: &Path, review: &mut Review) -> Result<(), Failure> {
        for (id, permission) in &self.tools {
            review.set(id, *permission).map_err(|error| refused(path, error))?;
        }
        Ok(())
    }
}
