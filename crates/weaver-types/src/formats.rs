//! The tool formats of MCP and of model providers: capabilities as tool definitions, a model's
//! calls as capability ids with arguments, results as messages, and tool lists as drafts.
//!
//! Names are encoded so that no two capabilities share one and each name leads back to its id.
//! What a format cannot say is left out and named in [`ToolSet::notes`]; the kernel checks
//! arguments against the capability's own schema all the same. Nothing here permits anything: a
//! call that was read is a request like any other, and a justification in it is a model's.
//!
//! ```
//! use weaver_types::ToolSpec;
//! use weaver_types::formats::{AnswerContent, Format, Offer, ToolSet, answer};
//!
//! let search = ToolSpec::new("notes.search", "Search").arg("q", "string", true).build()?;
//! let tools = ToolSet::new(Format::OpenAiResponses, [&search], Offer::default())?;
//! assert_eq!(tools.definitions()[0]["name"], "notes__search");
//!
//! let call = tools.read(
//!     r#"{"type":"function_call","call_id":"1","name":"notes__search","arguments":"{\"q\":\"x\"}"}"#,
//! )?;
//! assert_eq!(call.capability_id.as_str(), "notes.search");
//! let said = AnswerContent::error(Some(&call.capability_id), "not_found", "no such note");
//! assert_eq!(answer(Format::OpenAiResponses, call.to(), &said)["call_id"], "1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod call;
mod definition;
mod error;
mod gemini;
mod import;
mod name;
mod nullable;
mod strict_schema;
mod tool_set;
mod upstream;

pub use answer::{AnswerContent, AnswerTo, answer};
pub use call::{JUSTIFICATION, MAX_MESSAGE, ToolCall};
pub use error::{CallError, ImportError, NameError};
pub use import::{draft, drafts};
pub use name::{ToolNames, tool_name};
pub use tool_set::{Note, Offer, ToolSet};
pub use upstream::upstream_digest;

/// A format in which tools are offered and called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The Model Context Protocol.
    Mcp,
    /// OpenAI's Responses API.
    OpenAiResponses,
    /// OpenAI's Chat Completions API, and what speaks it.
    OpenAiChat,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Mcp, Self::OpenAiResponses, Self::OpenAiChat, Self::Anthropic, Self::Gemini];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::OpenAiResponses => "openai_responses",
            Self::OpenAiChat => "openai_chat",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The longest name of a tool, in bytes.
    #[must_use]
    pub fn max_name(self) -> usize {
        match self {
            Self::Mcp => 128,
            Self::OpenAiResponses | Self::OpenAiChat | Self::Anthropic => 64,
            Self::Gemini => 63,
        }
    }
}
