//! `weaver trace` without a subcommand: the calls of the last day, or of the terms, one a line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::query::{EventFacts, EventFilter, LogQuery, QueryError, run_query};
use weaver_types::{Clock as _, EventKind, LocaleCode, SystemClock, Timestamp};

use crate::output::OutputFormat;
use crate::{Exit, Failure, config_path, output};

/// The time that counts as today: the last 24 hours, because the user's time zone is unknown.
const ONE_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The most lines; older calls are counted only.
const MAX_LINES: usize = 40;
/// The most pages of events that are read.
const MAX_PAGES: usize = 40;
/// The longest argument or reason in a line, in characters.
const MAX_TEXT_CHARS: usize = 70;
/// The widest column of tools; a longer name moves the rest of its line.
const MAX_TOOL_WIDTH: usize = 40;
/// How a refused look into a stored result names its subject.
const HANDLE_PREFIX: &str = "handle:";
/// The reason of a query that cannot be read: its caller can correct it.
const MALFORMED: &str = "invalid_constraint";

/// What happened in the last 24 hours.
pub(crate) struct LastDay {
    calls: Vec<Call>,
    /// There are more events than were read.
    is_truncated: bool,
    /// How numbers and dates are formatted.
    locale: LocaleCode,
}

/// One call, from its decision to its end.
#[derive(Debug, Clone, Default)]
struct Call {
    at: Option<Timestamp>,
    id: String,
    tool: String,
    status: CallStatus,
    /// What it was called with, as `name: value`.
    arguments: String,
    /// Whose call it is.
    caller: CallerNames,
    why: String,
    /// The verdict under a policy that only observes, if it differs.
    would_have: Option<String>,
}

/// Whose call it is, as far as the log tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct CallerNames {
    principal: String,
    /// The client over HTTP, whose token it came with.
    token: String,
    /// The program, as it calls itself.
    client: String,
}

/// Which names tell the callers of a list apart.
#[derive(Debug, Clone, Copy, Default)]
struct ShownNames {
    principal: bool,
    token: bool,
    client: bool,
}

impl ShownNames {
    /// Names that several of the calls differ in. A token is always named: it stands for somebody on
    /// another machine.
    fn of(calls: &[Call]) -> Self {
        let differs = |name: fn(&CallerNames) -> &str| {
            let names: BTreeSet<&str> = calls.iter().map(|call| name(&call.caller)).collect();
            names.len() > 1
        };
        Self {
            principal: differs(|caller| &caller.principal),
            token: calls.iter().any(|call| !call.caller.token.is_empty()),
            client: differs(|caller| &caller.client),
        }
    }
}

impl CallerNames {
    fn note(&mut self, facts: &EventFacts) {
        let fill = |name: &mut String, value: Option<String>| {
            if name.is_empty() {
                *name = value.unwrap_or_default();
            }
        };
        fill(&mut self.principal, facts.principal().map(str::to_owned));
        fill(&mut self.token, facts.http_client());
        fill(&mut self.client, facts.client());
    }

    /// The caller in one column: `ana (token ci, cursor)`.
    fn text(&self, shown: ShownNames) -> String {
        let named = |is_shown: bool, name: &str| is_shown && !name.is_empty();
        let token = match named(shown.token, &self.token) {
            true => format!("token {}", self.token),
            false => String::new(),
        };
        let client = if named(shown.client, &self.client) { self.client.as_str() } else { "" };
        let rest: Vec<&str> =
            [token.as_str(), client].into_iter().filter(|text| !text.is_empty()).collect();
        let rest = rest.join(", ");
        let principal = named(shown.principal || !token.is_empty(), &self.principal);
        match (principal, rest.is_empty()) {
            (true, true) => self.principal.clone(),
            (true, false) => format!("{} ({rest})", self.principal),
            (false, _) => rest,
        }
    }
}

/// The state of a call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallStatus {
    #[default]
    Running,
    Done,
    Failed,
    Asked,
    Held,
    Denied,
}

impl CallStatus {
    const ALL: [Self; 6] =
        [Self::Done, Self::Failed, Self::Held, Self::Denied, Self::Asked, Self::Running];

    fn word(self) -> &'static str {
        match self {
            Self::Running => "under way",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Asked => "sent back",
            Self::Held => "held",
            Self::Denied => "denied",
        }
    }
}

impl LastDay {
    pub(crate) fn of(reader: &Reader, locale: LocaleCode) -> Result<Self, QueryError> {
        let now = SystemClock::default().now();
        let day = i64::try_from(ONE_DAY.as_micros()).unwrap_or(i64::MAX);
        let since = Timestamp::from_micros(now.micros().saturating_sub(day));
        Self::matching(reader, EventFilter::default().within(Some(since), None), locale)
    }

    /// The calls with events that match the filter.
    fn matching(
        reader: &Reader,
        filter: EventFilter,
        locale: LocaleCode,
    ) -> Result<Self, QueryError> {
        let mut question = LogQuery { limit: 1_000, ..LogQuery::newest(filter) };
        let mut events = Vec::new();
        let mut is_truncated = true;
        for _ in 0..MAX_PAGES {
            let page = run_query(reader, None, &question)?;
            events.extend(page.events);
            match page.next {
                Some(next) => question.after = Some(next),
                None => {
                    is_truncated = false;
                    break;
                }
            }
        }
        let mut calls: Vec<Call> = Vec::new();
        let mut indexes: BTreeMap<String, usize> = BTreeMap::new();
        for facts in events.iter().rev() {
            // Viewing a stored result again is no call of its tool.
            let Some(id) = facts.call().filter(|_| facts.kind() != Some(EventKind::HandleResolved))
            else {
                continue;
            };
            let index = *indexes.entry(id.to_owned()).or_insert_with(|| {
                calls.push(Call { id: id.to_owned(), ..Call::default() });
                calls.len() - 1
            });
            if let Some(call) = calls.get_mut(index) {
                call.apply_event(facts);
            }
        }
        calls.retain(|call| !call.tool.is_empty());
        Ok(Self { calls, is_truncated, locale })
    }

    fn count(&self, status: CallStatus) -> usize {
        self.calls.iter().filter(|call| call.status == status).count()
    }

    fn number(&self, count: usize) -> String {
        self.locale.number(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// The number of calls by state.
    pub(crate) fn summary(&self) -> String {
        if self.calls.is_empty() {
            return "no calls in the last 24 hours".to_owned();
        }
        let fates = CallStatus::ALL.iter().map(|status| (*status, self.count(*status)));
        let parts = fates.filter(|(_, many)| *many > 0);
        let parts: Vec<String> = parts
            .map(|(status, many)| format!("{} {}", self.number(many), status.word()))
            .collect();
        let many = self.calls.len();
        let more = if self.is_truncated { " and more" } else { "" };
        let observed = self.calls.iter().filter(|call| call.would_have.is_some()).count();
        let observed = match observed {
            0 => String::new(),
            observed => format!("; {} not enforced", self.number(observed)),
        };
        let calls = if many == 1 { "call" } else { "calls" };
        format!("{} {calls}{more}: {}{observed}", self.number(many), parts.join(", "))
    }

    fn text(&self) -> String {
        let hidden = self.calls.len().saturating_sub(MAX_LINES);
        let mut out = String::new();
        if hidden > 0 {
            out.push_str(&output::dim(&format!(
                "{} earlier calls: `weaver trace list since:24h`\n",
                self.number(hidden)
            )));
        }
        let shown = || self.calls.iter().skip(hidden);
        let tool_width = shown().map(|call| call.shown_tool().chars().count()).max();
        let tool_width = tool_width.unwrap_or_default().min(MAX_TOOL_WIDTH);
        let names = ShownNames::of(&self.calls);
        let mut day = None;
        for call in shown() {
            let date = call.at.map(|at| self.locale.date(at));
            if date.is_some() && date != day {
                let heading = format!("{}, UTC\n", date.as_deref().unwrap_or_default());
                out.push_str(&output::dim(&heading));
                day = date;
            }
            out.push_str(&call.line(tool_width, names));
        }
        out.push_str(&format!("{}\n", self.summary()));
        if let Some(call) = self.calls.iter().rev().find(|call| call.status >= CallStatus::Asked) {
            out.push_str(&format!(
                "next: {}\n",
                output::bold(&format!("weaver trace why {}", call.id))
            ));
        }
        out
    }
}

impl Call {
    fn apply_event(&mut self, facts: &EventFacts) {
        if self.at.is_none() {
            self.at = facts.at();
        }
        self.caller.note(facts);
        if let Some(tool) = facts.capability() {
            // A refused look into a stored result names its handle.
            let tool = if tool.starts_with(HANDLE_PREFIX) { "tool_view" } else { tool };
            tool.clone_into(&mut self.tool);
        }
        if let Some(arguments) = facts.text(&["arguments", "text"]) {
            self.arguments = arguments_line(arguments);
        }
        if let Some((verdict, reason)) = facts.not_enforced() {
            let word = match verdict {
                "ask" => "sent back",
                "hold" => "held",
                "deny" => "denied",
                other => other,
            };
            self.would_have = Some(format!("would have been {word}: {reason}"));
        }
        match facts.kind() {
            Some(EventKind::Refused) => {
                self.status = match facts.verdict() {
                    Some("ask") => CallStatus::Asked,
                    Some("hold") => CallStatus::Held,
                    _ if facts.reason() == Some(MALFORMED) => CallStatus::Asked,
                    _ => CallStatus::Denied,
                };
                facts.reason().unwrap_or_default().clone_into(&mut self.why);
            }
            Some(EventKind::Outcome) => {
                self.status = if facts.outcome() == Some("success") {
                    CallStatus::Done
                } else {
                    CallStatus::Failed
                };
                if self.status == CallStatus::Failed {
                    facts.outcome().unwrap_or_default().clone_into(&mut self.why);
                }
            }
            Some(EventKind::OutcomeUnknown) => self.status = CallStatus::Failed,
            _ => {}
        }
    }

    fn shown_tool(&self) -> String {
        escape::shorten(&escape::line(&self.tool), MAX_TEXT_CHARS).into_owned()
    }

    fn line(&self, tool_width: usize, names: ShownNames) -> String {
        let time = self.at.map(|at| at.rfc3339()).unwrap_or_default();
        let time = time.get(11..19).unwrap_or_default();
        let word = format!("{:<9}", self.status.word());
        let word = match self.status {
            CallStatus::Done => output::good(&word),
            CallStatus::Failed | CallStatus::Denied => output::bad(&word),
            CallStatus::Held | CallStatus::Asked | CallStatus::Running => output::bold(&word),
        };
        let tool = self.shown_tool();
        let why = match (&self.would_have, self.why.as_str()) {
            (None, why) => why.to_owned(),
            (Some(would), "") => would.clone(),
            (Some(would), why) => format!("{why}; {would}"),
        };
        let why = why.replace('_', " ");
        let why = escape::shorten(&escape::line(&why), MAX_TEXT_CHARS).into_owned();
        let why = if why.is_empty() { why } else { output::dim(&format!("  {why}")) };
        let id = output::dim(&escape::line(&self.id));
        let caller = self.caller.text(names);
        let arguments = [self.arguments.as_str(), caller.as_str()];
        let arguments = arguments.into_iter().filter(|text| !text.is_empty());
        let arguments: String = arguments.map(|text| format!("  {}", escape::line(text))).collect();
        format!("{time}  {word}  {tool:<tool_width$}  {id}{arguments}{why}\n")
    }

    fn json(&self) -> Value {
        let CallerNames { principal, token, client } = &self.caller;
        json!({ "at": self.at.map(|at| at.rfc3339()), "call": self.id, "capability": self.tool,
            "principal": principal, "token": token, "client": client,
            "arguments": self.arguments, "fate": self.status.word(), "reason": self.why, "would_have": self.would_have })
    }
}

/// Arguments as `name: value`, shortened.
fn arguments_line(text: &str) -> String {
    let line = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => {
            let plain =
                |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let fields = fields.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        _ => text.to_owned(),
    };
    escape::shorten(&escape::line(&line), MAX_TEXT_CHARS).into_owned()
}

/// Prints the last day of a ledger, or the calls that match the terms. Times are in UTC, as in the
/// log.
pub(super) fn run(
    named: Option<&Path>,
    store: Option<&Path>,
    terms: &[String],
    format: OutputFormat,
) -> Result<Exit, Failure> {
    let (store, locale) = match store {
        Some(store) => (store.to_owned(), LocaleCode::default()),
        None => {
            let config = config_path::load_ignoring_unset_variables(&config_path::resolve(named)?)?;
            (config.store_path, config.run.locale)
        }
    };
    let reader = super::open_ledger(&store)?;
    let today = match terms {
        [] => LastDay::of(&reader, locale),
        terms => LastDay::matching(&reader, super::log::parse_filter(terms)?, locale),
    };
    let today = today.map_err(|error| super::log::failed(&store, error))?;
    if format == OutputFormat::Json {
        for call in &today.calls {
            output::json(&call.json())?;
        }
    } else {
        output::text(&today.text())?;
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_a_call_was_made_with() {
        for (arguments, line) in [
            (r#"{"path":"/a/b","limit":3}"#, "limit: 3, path: /a/b"),
            (r#"{"text":"two\nlines"}"#, "text: two\\nlines"),
            ("cut off", "cut off"),
            ("{}", ""),
        ] {
            assert_eq!(arguments_line(arguments), line);
        }
        assert_eq!(arguments_line(&"x".repeat(80)).chars().count(), MAX_TEXT_CHARS);
    }

    #[test]
    fn calls_of_several_people_or_tokens_are_told_apart() {
        let call = |principal: &str, token: &str, client: &str| Call {
            caller: CallerNames {
                principal: principal.to_owned(),
                token: token.to_owned(),
                client: client.to_owned(),
            },
            ..Call::default()
        };
        let columns = |calls: &[Call]| -> Vec<String> {
            let names = ShownNames::of(calls);
            calls.iter().map(|call| call.caller.text(names)).collect()
        };
        let alone = call("owner", "", "cursor");
        assert_eq!(columns(&[alone.clone(), alone.clone()]), ["", ""]);
        assert_eq!(columns(&[alone.clone(), call("owner", "", "claude")]), ["cursor", "claude"]);
        assert_eq!(columns(&[alone.clone(), call("guest", "", "cursor")]), ["owner", "guest"]);
        // Twelve developers with the same client.
        let team = [call("dev1", "dev1", "ts"), call("dev2", "laptop", "ts")];
        assert_eq!(columns(&team), ["dev1 (token dev1)", "dev2 (token laptop)"]);
        let one_principal = [call("dev1", "ci", "ts"), call("dev1", "", "cursor")];
        assert_eq!(columns(&one_principal), ["dev1 (token ci, ts)", "cursor"]);
        assert_eq!(columns(&[call("dev1", "ci", "ts")]), ["dev1 (token ci)"]);
    }

    #[test]
    fn counts_and_days_are_written_for_the_people_of_the_configuration() {
        let call = |at: &str| Call {
            at: Timestamp::parse_rfc3339(at),
            tool: "files.read".to_owned(),
            status: CallStatus::Done,
            ..Call::default()
        };
        let mut calls = vec![call("2027-01-14T10:00:00Z"); 100_000];
        calls.extend([call("2027-01-14T23:59:59Z"), call("2027-01-15T00:00:01Z")]);
        let mut today = LastDay { calls, is_truncated: false, locale: LocaleCode::EnUs };
        let shown = |today: &LastDay| anstream::adapter::strip_str(&today.text()).to_string();
        let text = shown(&today);
        assert!(text.starts_with("99,962 earlier calls"), "{text}");
        assert!(text.contains("\n01/14/2027, UTC\n10:00:00"), "{text}");
        assert!(text.contains("\n01/15/2027, UTC\n00:00:01"), "{text}");
        assert_eq!(text.matches(", UTC\n").count(), 2, "once a day");
        assert_eq!(today.summary(), "100,002 calls: 100,002 done");
        today.locale = LocaleCode::EnIn;
        assert_eq!(today.summary(), "1,00,002 calls: 1,00,002 done");
        assert!(shown(&today).contains("\n15/01/2027, UTC\n"), "{}", shown(&today));
    }
}
