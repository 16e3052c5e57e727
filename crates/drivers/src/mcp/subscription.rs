//! What a client wants to be told of: the subscription filter of the modern era.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::config::Era;
use super::server_list::ServerList;

/// Which notifications are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SubscriptionFilter {
    tools: bool,
    resources: bool,
    prompts: bool,
    /// The server may tell something that is no change of a list: in the legacy era, where that
    /// is not asked for.
    unasked: bool,
    /// The resources whose changes are told.
    pub(crate) uris: BTreeSet<String>,
}

impl SubscriptionFilter {
    /// The lists of which a server with these capabilities says that it tells their changes.
    pub(crate) fn of(capabilities: &Value) -> Self {
        let tells = |list: &str| {
            let said = capabilities.get(list).and_then(|said| said.get("listChanged"));
            said == Some(&Value::Bool(true))
        };
        let (tools, resources, prompts) = (tells("tools"), tells("resources"), tells("prompts"));
        let unasked = capabilities.get("logging").is_some_and(|said| !said.is_null())
            || capabilities.pointer("/resources/subscribe") == Some(&Value::Bool(true));
        Self { tools, resources, prompts, unasked, uris: BTreeSet::new() }
    }

    /// The lists whose changes are told.
    pub(crate) fn lists(&self) -> Vec<ServerList> {
        let of = [
            (ServerList::Tools, self.tools),
            (ServerList::Resources, self.resources),
            (ServerList::ResourceTemplates, self.resources),
            (ServerList::Prompts, self.prompts),
        ];
        of.into_iter().filter_map(|(list, is_told)| is_told.then_some(list)).collect()
    }

    /// True where there is nothing to listen for.
    pub(crate) fn is_empty(&self, era: Era) -> bool {
        match era {
            Era::Legacy => *self == Self::default(),
            Era::Modern => *self == Self { unasked: self.unasked, ..Self::default() },
        }
    }

    /// The parameters of `subscriptions/listen`.
    pub(crate) fn params(&self) -> Map<String, Value> {
        let mut filter = Map::new();
        for (key, wanted) in [
            ("toolsListChanged", self.tools),
            ("resourcesListChanged", self.resources),
            ("promptsListChanged", self.prompts),
        ] {
            if wanted {
                filter.insert(key.to_owned(), Value::Bool(true));
            }
        }
        if !self.uris.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(self.uris));
        }
        Map::from_iter([("notifications".to_owned(), Value::Object(filter))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_server_tells_is_asked_for() {
        let capabilities =
            json!({"tools": {}, "prompts": {"listChanged": true}, "resources": {"listChanged": 1}});
        let mut filter = SubscriptionFilter::of(&capabilities);
        assert_eq!(filter.params()["notifications"], json!({"promptsListChanged": true}));
        filter.uris.insert("a://b".to_owned());
        assert_eq!(filter.params()["notifications"]["resourceSubscriptions"], json!(["a://b"]));
        assert!(SubscriptionFilter::of(&Value::Null).is_empty(Era::Legacy));
        let logging = SubscriptionFilter::of(&json!({"logging": {}}));
        assert!(!logging.is_empty(Era::Legacy) && logging.is_empty(Era::Modern));
    }
}
