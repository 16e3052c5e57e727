//! `weaver trace` without arguments: today's calls, in lines that a person reads.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_text::escape;
use weaver_trace_store::Reader;
use weaver_trace_store::query::{Facts, Filter, QueryError, Question, ask};
use weaver_types::{Clock as _, EventKind, LocaleCode, SystemClock, Timestamp};

use crate::output::OutputFormat;
use crate::{Exit, Failure, config_path, output};

/// How far back today reaches: the machine's own day is not known here, so it is the last 24 hours.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The most lines; older ones are counted.
const MAX_LINES: usize = 40;
/// The most pages that are read.
const MAX_PAGES: usize = 40;
/// How much of an argument or reason a line shows, in characters.
const MAX_SHOWN: usize = 70;

/// What happened in the last 24 hours.
pub(crate) struct LastDay {
    calls: Vec<Call>,
    /// There was more than is read here.
    cut: bool,
    /// How counts and days are written.
    locale: LocaleCode,
}

/// One call, from its decision to its end.
#[derive(Debug, Clone, Default)]
struct Call {
    at: Option<Timestamp>,
    id: String,
    tool: String,
    fate: Fate,
    why: String,
    /// What it would have been, under a policy that observes, where that is something else.
    would_have: Option<String>,
}

/// What became of a call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    #[default]
    Running,
    Done,
    Failed,
    Asked,
    Held,
    Denied,
}

impl Fate {
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
        let day = i64::try_from(DAY.as_micros()).unwrap_or(i64::MAX);
        let since = Timestamp::from_micros(now.micros().saturating_sub(day));
        let filter = Filter::default().within(Some(since), None);
        let mut question = Question { limit: 1_000, ..Question::newest(filter) };
        let mut events = Vec::new();
        let mut cut = true;
        for _ in 0..MAX_PAGES {
            let page = ask(reader, None, &question)?;
            events.extend(page.events);
            match page.next {
                Some(next) => question.after = Some(next),
                None => {
                    cut = false;
                    break;
                }
            }
        }
        let mut calls: Vec<Call> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for facts in events.iter().rev() {
            // To look at a result again is no call of its tool.
            let Some(id) = facts.call().filter(|_| facts.kind() != Some(EventKind::HandleResolved))
            else {
                continue;
            };
            let place = *places.entry(id.to_owned()).or_insert_with(|| {
                calls.push(Call { id: id.to_owned(), ..Call::default() });
                calls.len() - 1
            });
            if let Some(call) = calls.get_mut(place) {
                call.take_in(facts);
            }
        }
        calls.retain(|call| !call.tool.is_empty());
        Ok(Self { calls, cut, locale })
    }

    fn count(&self, fate: Fate) -> usize {
        self.calls.iter().filter(|call| call.fate == fate).count()
    }

    fn number(&self, count: usize) -> String {
        self.locale.number(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// How many calls there were, and what became of them.
    pub(crate) fn summary(&self) -> String {
        if self.calls.is_empty() {
            return "no calls in the last 24 hours".to_owned();
        }
        let fates = Fate::ALL.iter().map(|fate| (*fate, self.count(*fate)));
        let parts = fates.filter(|(_, many)| *many > 0);
        let parts: Vec<String> =
            parts.map(|(fate, many)| format!("{} {}", self.number(many), fate.word())).collect();
        let many = self.calls.len();
        let more = if self.cut { " and more" } else { "" };
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
        let mut day = None;
        for call in self.calls.iter().skip(hidden) {
            let date = call.at.map(|at| self.locale.date(at));
            if date.is_some() && date != day {
                let heading = format!("{}, UTC\n", date.as_deref().unwrap_or_default());
                out.push_str(&output::dim(&heading));
                day = date;
            }
            out.push_str(&call.line());
        }
        out.push_str(&format!("{}\n", self.summary()));
        if let Some(call) = self.calls.iter().rev().find(|call| call.fate >= Fate::Asked) {
            out.push_str(&format!(
                "next: {}\n",
                output::bold(&format!("weaver trace why {}", call.id))
            ));
        }
        out
    }
}

impl Call {
    fn take_in(&mut self, facts: &Facts) {
        if self.at.is_none() {
            self.at = facts.at();
        }
        if let Some(tool) = facts.capability() {
            tool.clone_into(&mut self.tool);
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
                self.fate = match facts.verdict() {
                    Some("ask") => Fate::Asked,
                    Some("hold") => Fate::Held,
                    _ => Fate::Denied,
                };
                facts.reason().unwrap_or_default().clone_into(&mut self.why);
            }
            Some(EventKind::Outcome) => {
                self.fate =
                    if facts.outcome() == Some("success") { Fate::Done } else { Fate::Failed };
                if self.fate == Fate::Failed {
                    facts.outcome().unwrap_or_default().clone_into(&mut self.why);
                }
            }
            Some(EventKind::OutcomeUnknown) => self.fate = Fate::Failed,
            _ => {}
        }
    }

    fn line(&self) -> String {
        let time = self.at.map(|at| at.rfc3339()).unwrap_or_default();
        let time = time.get(11..19).unwrap_or_default();
        let word = format!("{:<9}", self.fate.word());
        let word = match self.fate {
            Fate::Done => output::good(&word),
            Fate::Failed | Fate::Denied => output::bad(&word),
            Fate::Held | Fate::Asked | Fate::Running => output::bold(&word),
        };
        let tool = escape::shorten(&escape::line(&self.tool), MAX_SHOWN).into_owned();
        let why = match (&self.would_have, self.why.as_str()) {
            (None, why) => why.to_owned(),
            (Some(would), "") => would.clone(),
            (Some(would), why) => format!("{why}; {would}"),
        };
        let why = why.replace('_', " ");
        let why = output::dim(&escape::shorten(&escape::line(&why), MAX_SHOWN));
        format!("{time}  {word}  {tool}  {why}  {}\n", output::dim(&escape::line(&self.id)))
    }

    fn json(&self) -> Value {
        json!({ "at": self.at.map(|at| at.rfc3339()), "call": self.id, "capability": self.tool,
            "fate": self.fate.word(), "reason": self.why, "would_have": self.would_have })
    }
}

/// Prints the story of this configuration's or this ledger's day. Times are in UTC, as in the log.
pub(super) fn run(
    named: Option<&Path>,
    store: Option<&Path>,
    format: OutputFormat,
) -> Result<Exit, Failure> {
    let (store, locale) = match store {
        Some(store) => (store.to_owned(), LocaleCode::default()),
        None => {
            let config = config_path::configured(&config_path::find(named)?)?;
            (config.store, config.run.locale)
        }
    };
    let reader = super::open(&store)?;
    let today = LastDay::of(&reader, locale).map_err(|error| super::log::failed(&store, error))?;
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
    fn counts_and_days_are_written_for_the_people_of_the_configuration() {
        let call = |at: &str| Call {
            at: Timestamp::parse_rfc3339(at),
            tool: "files.read".to_owned(),
            fate: Fate::Done,
            ..Call::default()
        };
        let mut calls = vec![call("2027-01-14T10:00:00Z"); 100_000];
        calls.extend([call("2027-01-14T23:59:59Z"), call("2027-01-15T00:00:01Z")]);
        let mut today = LastDay { calls, cut: false, locale: LocaleCode::EnUs };
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
