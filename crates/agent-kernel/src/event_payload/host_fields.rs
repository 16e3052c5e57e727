//! The fields of an event that the host supplies for a run: agent, sessions, metadata.

use serde_json::{Value, json};
use weaver_firewall::Firewall;
use weaver_types::canonical::{self, Profile};
use weaver_types::{AgentId, RunContext};

use super::request_text;

/// The longest metadata that is recorded, in bytes of JSON after redaction.
const MAX_METADATA_BYTES: usize = 4 * 1024;
/// The agent of a run whose host named none.
const DEFAULT_AGENT: &str = "default";

/// The names by which a host finds the events of a run. Empty ones are left out, and so is the
/// default agent.
#[derive(Debug, Default)]
pub(crate) struct HostFields<'a> {
    pub(crate) run_agent: Option<&'a AgentId>,
    pub(crate) session_id: Option<String>,
    pub(crate) user_sid: Option<String>,
}

impl<'a> HostFields<'a> {
    pub(crate) fn of(run: &'a RunContext, firewall: &Firewall) -> Self {
        let named = |text: &str| (!text.is_empty()).then(|| request_text(firewall, text));
        Self {
            run_agent: Some(&run.agent).filter(|agent| agent.as_str() != DEFAULT_AGENT),
            session_id: named(&run.settings.session_id),
            user_sid: named(&run.settings.user_sid),
        }
    }
}

/// The metadata of a run for the log: redacted, or only its size if it is too long or has no
/// canonical form. `None` if there is none.
pub(crate) fn redacted_metadata(run: &RunContext, firewall: &Firewall) -> Option<Value> {
    let metadata = &run.settings.metadata;
    if metadata.is_empty() {
        return None;
    }
    let (redacted, _) = firewall.redact_value(&json!(metadata));
    let text = canonical::to_bytes(&redacted, Profile::Foreign).ok();
    let bytes = text.as_ref().map(Vec::len);
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.filter(|text| text.len() <= MAX_METADATA_BYTES);
    Some(json!({ "bytes": bytes, "text": text }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weaver_types::{ManualClock, OsRandom, RunSettings, Timestamp};

    use super::*;

    fn run(settings: RunSettings) -> RunContext {
        let clock = ManualClock::new(Timestamp::from_micros(1));
        RunContext::create(settings, &clock, &OsRandom).unwrap()
    }

    fn recorded(metadata: &[(&str, Value)]) -> Option<Value> {
        let metadata = metadata.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let metadata: BTreeMap<String, Value> = metadata.collect();
        metadata_of(metadata)
    }

    fn metadata_of(metadata: BTreeMap<String, Value>) -> Option<Value> {
        let run = run(RunSettings { metadata, ..RunSettings::default() });
        super::redacted_metadata(&run, &Firewall::new())
    }

    #[test]
    fn metadata_is_recorded_redacted_and_where_it_is_long_by_its_size_alone() {
        assert_eq!(recorded(&[]), None);
        let short = recorded(&[("ticket", json!(7))]).unwrap();
        assert_eq!(short, json!({ "bytes": 12, "text": "{\"ticket\":7}" }));
        let secret = recorded(&[("mail", json!("jane.roe@corp.example.org"))]).unwrap();
        assert!(!secret.to_string().contains("jane.roe"), "{secret}");
        let sized = |bytes: usize| {
            let around = json!({ "x": "" }).to_string().len();
            let words: String = "ab ".chars().cycle().take(bytes - around).collect();
            recorded(&[("x", json!(words))]).unwrap()
        };
        let longest = sized(4_096);
        assert_eq!(longest["bytes"], 4_096);
        assert!(longest["text"].is_string());
        assert_eq!(sized(4_097), json!({ "bytes": 4_097, "text": null }));
    }

    #[test]
    fn only_what_the_host_named_is_told_of_a_run() {
        let firewall = Firewall::new();
        let plain = run(RunSettings::default());
        let fields = HostFields::of(&plain, &firewall);
        assert!(fields.run_agent.is_none() && fields.session_id.is_none());
        assert!(fields.user_sid.is_none());
        let settings = RunSettings {
            session_id: "s-1".to_owned(),
            user_sid: "of jane.roe@corp.example.org".to_owned(),
            ..RunSettings::default()
        };
        let mut named = run(settings);
        named.agent = AgentId::parse("scribe").unwrap();
        let fields = HostFields::of(&named, &firewall);
        assert_eq!(fields.run_agent.map(AgentId::as_str), Some("scribe"));
        assert_eq!(fields.session_id.as_deref(), Some("s-1"));
        assert!(!fields.user_sid.unwrap().contains("jane.roe"));
    }
}
