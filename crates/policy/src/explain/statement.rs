//! What keeps the statement of a call from being harmless, in words. No decision reads them.

use serde_json::Value;

use crate::argument::{ArgumentPredicate, harmless_sql};
use crate::match_conditions::MatchConditions;

impl MatchConditions {
    /// What keeps a statement in these arguments from being harmless, where one of the conditions
    /// asks for a harmless one.
    pub(crate) fn statement_obstacle(&self, arguments: &Value) -> Option<String> {
        let own = self.arguments.iter().find_map(|one| one.statement_obstacle(arguments));
        let inner = [&self.not, &self.unless].into_iter().flatten().map(|inner| &**inner);
        own.or_else(|| {
            self.any.iter().chain(inner).find_map(|inner| inner.statement_obstacle(arguments))
        })
    }
}

impl ArgumentPredicate {
    /// What keeps the statement in these arguments from being harmless, or from being a read, as a
    /// phrase; `None` if nothing does, or if the condition is about something else.
    fn statement_obstacle(&self, arguments: &Value) -> Option<String> {
        let find = match (self.harmless_sql, self.reading_sql) {
            (_, Some(_)) => harmless_sql::find_obstacle_to_reading,
            (Some(_), None) => harmless_sql::find_obstacle,
            (None, None) => return None,
        };
        find(self.at.find(arguments)?.as_str()?)
    }
}
