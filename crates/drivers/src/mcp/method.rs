//! The requests that a client makes of a server beside its lists.

use serde_json::{Map, Value};

/// What a request asks of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Call a tool.
    CallTool,
    /// Read a resource.
    ReadResource,
    /// Get a prompt, filled in.
    GetPrompt,
    /// Ask for values that an argument of a prompt or a template could have.
    Complete,
    /// Ask to be told when a resource changes (legacy era).
    Subscribe,
    /// Ask no longer to be told (legacy era).
    Unsubscribe,
    /// Name the level from which on log messages are wanted (legacy era).
    SetLogLevel,
}

impl Method {
    /// The word of the protocol.
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

    /// Whether the header `Mcp-Name` of the modern era repeats the name.
    pub(crate) fn has_name_header(self) -> bool {
        matches!(self, Self::CallTool | Self::ReadResource | Self::GetPrompt)
    }

    /// The parameters of a request for this name with these arguments.
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
