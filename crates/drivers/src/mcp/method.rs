//! The methods of requests other than those for lists.

use serde_json::{Map, Value};

/// The method of a request to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Call a tool.
    CallTool,
    /// Read a resource.
    ReadResource,
    /// Get a prompt with its arguments filled in.
    GetPrompt,
    /// Ask for completions of an argument of a prompt or resource template.
    Complete,
    /// Subscribe to changes of a resource (legacy era).
    Subscribe,
    /// Cancel a subscription (legacy era).
    Unsubscribe,
    /// Set the lowest level of log messages to receive (legacy era).
    SetLogLevel,
}

impl Method {
    /// The method name in the protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::SetLogLevel => "logging/setLevel",
        }
    }

    /// Whether the `Mcp-Name` header of the modern era repeats the name.
    pub(crate) fn has_name_header(self) -> bool {
        matches!(self, Self::CallTool | Self::ReadResource | Self::GetPrompt)
    }

    /// The parameters of a request with this name and these arguments.
    pub(crate) fn params(self, name: &str, arguments: Map<String, Value>) -> Map<String, Value> {
        let named = |key: &str| Map::from_iter([(key.to_owned(), Value::from(name))]);
        match self {
            Self::CallTool | Self::GetPrompt => {
                let mut params = named("name");
                params.insert("arguments".to_owned(), Value::Object(arguments));
                params
            }
            Self::ReadResource | Self::Subscribe | Self::Unsubscribe => named("uri"),
            Self::SetLogLevel => named("level"),
            Self::Complete => arguments,
        }
    }
}
