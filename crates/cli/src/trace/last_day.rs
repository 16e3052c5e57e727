//! `weaver trace` without a subcommand: the calls of the last day, or of the terms, one a line.

mod call;
mod caller_names;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use weaver_trace_store::Reader;
use weaver_trace_store::query::{EventFilter, LogQuery, QueryError, run_query};
use weaver_types::{Clock as _, EventKind, LocaleCode, SystemClock};

use self::call::{Call, CallStatus};
use self::caller_names::ShownNames;
use crate::output::OutputFormat;
use crate::shared_args::ConfigArg;
use crate::{Exit, Failure, config_path, output};

/// The time that counts as today: the last 24 hours, because the user's time zone is unknown.
const ONE_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The most lines; older calls are counted only.
const MAX_LINES: usize = 40;
/// The most pages of events that are read.
const MAX_PAGES: usize = 40;
/// The widest column of tools; a longer name moves the rest of its line.
const MAX_TOOL_WIDTH: usize = 40;

/// What happened in the last 24 hours.
pub(crate) struct LastDay {
    calls: Vec<Call>,
    /// There are more events than were read.
    is_truncated: bool,
    /// How numbers and dates are formatted.
    locale: LocaleCode,
}

impl LastDay {
    pub(crate) fn of(reader: &Reader, locale: LocaleCode) -> Result<Self, QueryError> {
        let since = SystemClock::default().now().before(ONE_DAY);
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
        let names = ShownNames::of(self.calls.iter().map(|call| &call.caller));
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

/// Prints the last day of a ledger, or the calls that match the terms. Times are in UTC, as in the
/// log.
pub(super) fn run(
    config: &ConfigArg,
    store: Option<&Path>,
    terms: &[String],
    format: OutputFormat,
) -> Result<Exit, Failure> {
    let (store, locale) = match store {
        Some(store) => (store.to_owned(), LocaleCode::default()),
        None => {
            let config = config_path::load_ignoring_unset_variables(&config.resolve()?)?;
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
    use weaver_types::Timestamp;

    use super::*;

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
