//! The facts of one event, read from its stored bytes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::ledger::{Durability, StoredEvent};
use weaver_types::{EventKind, Timestamp};

use super::field::FilterField;
use super::words;
use crate::entry::EventHeader;

/// The content of one event. Nothing here is verified: it is what the stored bytes say now.
#[derive(Debug, Clone, PartialEq)]
pub struct EventFacts {
    /// The sequence number.
    pub seq: u64,
    /// The header; `None` when this build cannot read it.
    pub header: Option<EventHeader>,
    /// The payload; `None` when pruned, a string when it is not JSON.
    pub payload: Option<Value>,
    /// How durable it was when it was acknowledged.
    pub durability: Durability,
}

impl EventFacts {
    /// Parses a stored event.
    #[must_use]
    pub fn from_event(event: &StoredEvent) -> Self {
        let payload = event.payload.as_deref().map(|bytes| {
            serde_json::from_slice(bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
        });
        Self {
            seq: event.seq,
            header: EventHeader::parse(&event.header).ok(),
            payload,
            durability: event.durability,
        }
    }

    /// What happened.
    #[must_use]
    pub fn kind(&self) -> Option<EventKind> {
        self.header.as_ref().map(|header| header.kind)
    }

    /// When.
    #[must_use]
    pub fn at(&self) -> Option<Timestamp> {
        self.header.as_ref().map(|header| header.at)
    }

    /// In which run.
    #[must_use]
    pub fn run(&self) -> Option<&str> {
        self.header.as_ref()?.run.as_ref().map(|run| run.as_str())
    }

    /// In which call.
    #[must_use]
    pub fn call(&self) -> Option<&str> {
        self.header.as_ref()?.call.as_ref().map(|call| call.as_str())
    }

    /// Who asked.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.text(&["principal"]).or_else(|| self.text(&["fields", "principal"]))
    }

    /// What was asked for.
    #[must_use]
    pub fn capability(&self) -> Option<&str> {
        self.text(&["capability"])
    }

    /// The approval request that was opened, or that released the call.
    #[must_use]
    pub fn request(&self) -> Option<&str> {
        self.text(&["request"]).or_else(|| self.text(&["released_by", "request"]))
    }

    /// The handle of a stored result.
    #[must_use]
    pub fn handle(&self) -> Option<&str> {
        self.text(&["handle"]).or_else(|| self.text(&["frame", "handle"]))
    }

    /// The token that was consumed.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.text(&["token"])
    }

    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> Option<&str> {
        self.text(&["verdict"])
    }

    /// The verdict and reason under full enforcement, if the policy only observed and the verdict
    /// differs.
    #[must_use]
    pub fn not_enforced(&self) -> Option<(&str, &str)> {
        let verdict = self.text(&["would_have", "verdict"])?;
        let reason = self.text(&["would_have", "reason"]).unwrap_or_default();
        (self.verdict() != Some(verdict)).then_some((verdict, reason))
    }

    /// The primary reason of the decision, or the reason of a failure.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.text(&["reason"])
    }

    /// How a call ended: `success`, `failure`, `partial` or `unknown`.
    #[must_use]
    pub fn outcome(&self) -> Option<&'static str> {
        match self.kind()? {
            EventKind::OutcomeUnknown => Some("unknown"),
            EventKind::Outcome => match (self.at_path(&["success"]), self.status()) {
                (_, Some("partial")) => Some("partial"),
                (Some(Value::Bool(true)), _) => Some("success"),
                (Some(_), _) => Some("failure"),
                (None, _) => None,
            },
            _ => None,
        }
    }

    fn status(&self) -> Option<&str> {
        self.text(&["frame", "status"])
    }

    /// Every reason in the event: of the decision, of each check, of each hold, of a failure.
    #[must_use]
    pub fn reasons(&self) -> BTreeSet<&str> {
        let listed = ["checks", "holds"].into_iter().filter_map(|name| self.list(&[name]));
        let each = listed.flatten().filter_map(|said| said.get("reason")?.as_str());
        each.chain(self.reason()).collect()
    }

    /// The label of the event's subject: `(confidentiality, integrity)`.
    #[must_use]
    pub fn label(&self) -> Option<(&str, &str)> {
        let places: [&[&str]; 4] =
            [&["frame", "label"], &["run", "label"], &["label"], &["worst_label"]];
        let label = places.into_iter().find_map(|place| self.at_path(place))?;
        let part = |name| label.get(name).and_then(Value::as_str);
        Some((part("confidentiality")?, part("integrity")?))
    }

    /// The name of the MCP client whose run starts here, as the client gave it.
    #[must_use]
    pub fn client(&self) -> Option<String> {
        self.metadata("client")
    }

    /// The name of the gateway's client over HTTP, whose token the run's calls came with.
    #[must_use]
    pub fn http_client(&self) -> Option<String> {
        self.metadata("http_client")
    }

    fn metadata(&self, name: &str) -> Option<String> {
        let metadata: Value = serde_json::from_str(self.text(&["metadata", "text"])?).ok()?;
        metadata.get(name)?.as_str().map(str::to_owned)
    }

    /// The agents of the event: of the run, and of the principal.
    #[must_use]
    pub fn agents(&self) -> BTreeSet<&str> {
        ["run_agent", "agent"].into_iter().filter_map(|name| self.text(&[name])).collect()
    }

    /// The value at a path of member names.
    #[must_use]
    pub fn at_path(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self.payload.as_ref()?, |value, name| value.get(name))
    }

    /// The non-empty string at a path of member names.
    #[must_use]
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.at_path(path)?.as_str().filter(|text| !text.is_empty())
    }

    /// The unsigned integer at a path of member names.
    #[must_use]
    pub fn number(&self, path: &[&str]) -> Option<u64> {
        self.at_path(path)?.as_u64()
    }

    /// The list at a path of member names.
    #[must_use]
    pub fn list(&self, path: &[&str]) -> Option<&Vec<Value>> {
        self.at_path(path)?.as_array()
    }

    /// Every value of a field.
    pub(super) fn values(&self, field: FilterField) -> Vec<Cow<'_, str>> {
        let one = |value: Option<&'_ str>| value.map(|v| vec![Cow::Owned(v.to_owned())]);
        let found = match field {
            FilterField::Principal => one(self.principal()),
            FilterField::Capability => one(self.capability()),
            FilterField::Run => one(self.run()),
            FilterField::Call => one(self.call()),
            FilterField::Request => one(self.request()),
            FilterField::Handle => one(self.handle()),
            FilterField::Token => one(self.token()),
            FilterField::Event => one(self.kind().map(EventKind::as_str)),
            FilterField::Outcome => one(self.outcome()),
            FilterField::Verdict => one(self.verdict()),
            FilterField::Reason => Some(self.reasons().into_iter().map(Cow::Borrowed).collect()),
            FilterField::Label => {
                self.label().map(|(c, i)| vec![Cow::Borrowed(c), Cow::Borrowed(i)])
            }
            FilterField::Session => one(self.text(&["session_id"])),
            FilterField::UserSid => one(self.text(&["user_sid"])),
            FilterField::Agent => Some(self.agents().into_iter().map(Cow::Borrowed).collect()),
            FilterField::Text => Some(self.words().into_iter().map(Cow::Owned).collect()),
        };
        found.unwrap_or_default()
    }

    fn words(&self) -> BTreeSet<String> {
        self.payload.as_ref().map(words::words_of_payload).unwrap_or_default()
    }
}
