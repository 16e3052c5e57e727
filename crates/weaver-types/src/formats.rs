//! Tool formats of MCP and of model providers. Converts capabilities to tool definitions, a model's
//! calls to capability ids with arguments, results to messages, and tool lists to drafts.
//!
//! Names are encoded so that no two capabilities share one and each name leads back to its id.
//! Whatever a format cannot express is left out and listed in [`ToolSet::limitations`]; the kernel
//! checks arguments against the capability's own schema in any case. Nothing here grants
//! permission: a parsed call is a request like any other, and a justification in it is the model's.
//!
//! ```
//! use weaver_types::ToolSpec;
//! use weaver_types::formats::{AnswerContent, ToolFormat, ToolSet, ToolSetOptions, answer_message};
//!
//! let search = ToolSpec::new("notes.search", "Search").arg("q", "string", true).build()?;
//! let tools = ToolSet::new(ToolFormat::OpenAiResponses, [&search], ToolSetOptions::default())?;
//! assert_eq!(tools.definitions()[0]["name"], "notes__search");
//!
//! let call = tools.read(
//!     r#"{"type":"function_call","call_id":"1","name":"notes__search","arguments":"{\"q\":\"x\"}"}"#,
//! )?;
//! assert_eq!(call.capability_id.as_str(), "notes.search");
//! let content = AnswerContent::error(Some(&call.capability_id), "not_found", "no such note");
//! assert_eq!(answer_message(ToolFormat::OpenAiResponses, call.call_reference(), &content)["call_id"], "1");
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

pub use answer::{AnswerContent, CallReference, answer_message};
pub use call::{JUSTIFICATION_ARGUMENT, MAX_MESSAGE_BYTES, ToolCall};
pub use error::{CallError, ImportError, NameError};
pub use import::{draft_from_tool, drafts_from_tools};
pub use name::{ToolNames, tool_name};
pub use tool_set::{FormatLimitation, ToolSet, ToolSetOptions};
pub use upstream::upstream_digest;

/// A format in which tools are offered to a model and called by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ToolFormat {
    /// The Model Context Protocol.
    Mcp,
    /// OpenAI's Responses API.
    OpenAiResponses,
    /// OpenAI's Chat Completions API and compatible ones.
    OpenAiChat,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
}

crate::words! { ToolFormat: "Its stable name.", all "All of them.";
    Mcp = "mcp", OpenAiResponses = "openai_responses", OpenAiChat = "openai_chat",
    Anthropic = "anthropic", Gemini = "gemini",
}

impl ToolFormat {
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
