//! What events say of the host's side of a run: its agent, its sessions, its metadata.

use serde_json::{Value, json};
use weaver_firewall::Firewall;
use weaver_types::canonical::{self, Profile};
use weaver_types::{AgentId, RunContext};

use super::words;

/// The longest metadata that is recorded, in bytes of JSON after redaction.
const MAX_METADATA: usize = 4 * 1024;
/// The agent of a run that nobody named.
const UNNAMED: &str = "default";

/// The names by which a host finds the events of a run again. What is empty is left out, and so is
/// the agent that nobody named.
#[derive(Debug, Default)]
pub(crate) struct HostFields<'a> {
    pub(crate) run_agent: Option<&'a AgentId>,
    pub(crate) session_id: Option<String>,
    pub(crate) user_sid: Option<String>,
}

impl<'a> HostFields<'a> {
    pub(crate) fn of(run: &'a RunContext, firewall: &Firewall) -> Self {
        let named = |text: &str| (!text.is_empty()).then(|| words(firewall, text));
        Self {
            run_agent: Some(&run.agent).filter(|agent| agent.as_str() != UNNAMED),
            session_id: named(&run.settings.session_id),
            user_sid: named(&run.settings.user_sid),
        }
    }
}

/// The metadata of a run as the log has it: redacted, and where it is long or has no canonical
/// form, its size alone. `None` where there is none.
pub(crate) fn metadata(run: &RunContext, firewall: &Firewall) -> Option<Value> {
    let given = &run.settings.metadata;
    if given.is_empty() {
        return None;
    }
    let (redacted, _) = firewall.redact_value(&json!(given));
    let text = canonical::to_bytes(&redacted, Profile::Foreign).ok();
    let bytes = text.as_ref().map(Vec::len);
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.filter(|text| text.len() <= MAX_METADATA);
    Some(json!({ "bytes": bytes, "text": text }))
}
