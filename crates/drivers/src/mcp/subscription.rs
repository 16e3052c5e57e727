//! The subscription filter: which notifications a client asks for.

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
    /// The server may send notifications other than list changes. In the legacy era these are not asked for.
    unsolicited: bool,
    /// The resources whose changes are asked for.
    pub(crate) uris: BTreeSet<String>,
}

impl SubscriptionFilter {
    /// The filter for all list changes that a server with these capabilities announces.
    pub(crate) fn from_capabilities(capabilities: &Value) -> Self {
        let announces = |list: &str| {
            let list_changed =
                capabilities.get(list).and_then(|capability| capability.get("listChanged"));
            list_changed == Some(&Value::Bool(true))
        };
        let (tools, resources, prompts) =
            (announces("tools"), announces("resources"), announces("prompts"));
        let unsolicited = capabilities.get("logging").is_some_and(|logging| !logging.is_null())
            || capabilities.pointer("/resources/subscribe") == Some(&Value::Bool(true));
        Self { tools, resources, prompts, unsolicited, uris: BTreeSet::new() }
    }

    /// The lists whose changes are asked for.
    pub(crate) fn lists(&self) -> Vec<ServerList> {
        let of = [
            (ServerList::Tools, self.tools),
            (ServerList::Resources, self.resources),
            (ServerList::ResourceTemplates, self.resources),
            (ServerList::Prompts, self.prompts),
        ];
        of.into_iter().filter_map(|(list, is_told)| is_told.then_some(list)).collect()
    }

    /// True if there is nothing to listen for.
    pub(crate) fn is_empty(&self, era: Era) -> bool {
        match era {
            Era::Legacy => *self == Self::default(),
            Era::Modern => *self == Self { unsolicited: self.unsolicited, ..Self::default() },
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
        let mut filter = SubscriptionFilter::from_capabilities(&capabilities);
        assert_eq!(filter.params()["notifications"], json!({"promptsListChanged": true}));
        filter.uris.insert("a://b".to_owned());
        assert_eq!(filter.params()["notifications"]["resourceSubscriptions"], json!(["a://b"]));
        assert!(SubscriptionFilter::from_capabilities(&Value::Null).is_empty(Era::Legacy));
        let logging = SubscriptionFilter::from_capabilities(&json!({"logging": {}}));
        assert!(!logging.is_empty(Era::Legacy) && logging.is_empty(Era::Modern));
    }
}
