//! A name or a short description that asks for the conversation itself: `conversation_history`,
//! "The full chat transcript".
//!
//! Such words alone name what the caller is to give. Behind a verb or a preposition they name where
//! a tool looks ("search for in conversation history"), and ask for nothing.

/// What ends a text that asks for the conversation.
const NOUNS: [&str; 17] = [
    "conversation history",
    "conversation transcript",
    "conversation so far",
    "chat history",
    "chat transcript",
    "chat so far",
    "full conversation",
    "system prompt content",
    "system prompt contents",
    "system prompt text",
    "system prompt dump",
    "previous results",
    "previous calls",
    "previous messages",
    "previous tool results",
    "previous tool calls",
    "previous tool messages",
];

/// Words that may stand before it: articles, qualifiers, and those that ask for a thing.
const QUALIFIERS: [&str; 54] = [
    "a", "additional", "agent", "ai", "all", "also", "and", "any", "as", "assistant", "attach",
    "caller", "client", "complete", "contains", "containing", "content", "contents", "context",
    "copy", "current", "data", "dump", "entire", "exact", "extra", "full", "include", "includes",
    "including", "input", "json", "llm", "model", "note", "of", "our", "pass", "paste", "payload",
    "plus", "provide", "raw", "recent", "required", "string", "supply", "text", "the", "user",
    "user's", "verbatim", "with", "your",
];

/// Words of a name that say what the tool itself does with the conversation, or where.
const READING_WORDS: [&str; 32] = [
    "across", "browse", "clear", "count", "delete", "export", "fetch", "filter", "find", "from",
    "get", "has", "import", "in", "inspect", "is", "list", "load", "lookup", "max", "open",
    "query", "read", "reset", "scan", "search", "show", "summarise", "summarize", "through",
    "view", "within",
];

/// Whether a text in small letters asks for the conversation. Of a name any words may stand before
/// it but those that read.
pub(crate) fn asks_for_conversation(text: &str, is_name: bool) -> bool {
    let text = text.trim_end_matches(['.', ':', ' ']);
    NOUNS.iter().filter_map(|noun| text.strip_suffix(noun)).any(|before| {
        let mut words = before.split_ascii_whitespace();
        (before.is_empty() || before.ends_with(' '))
            && if is_name {
                words.all(|word| !READING_WORDS.contains(&word))
            } else {
                words.all(|word| QUALIFIERS.contains(&word))
            }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tool_description_scan::suspicions;

    #[test]
    fn what_asks_for_the_conversation_is_told_from_what_looks_into_it() {
        for text in [
            "conversation history",
            "conversation_history",
            "userConversationHistory",
            "sidenote_chat_history",
            "The full conversation history.",
            "Your complete chat transcript",
            "Include the entire conversation so far",
            "pass the conversation history in",
            "Provide all previous messages",
            "Attach the chat history to the request",
            "context with the full conversation",
            "previous_tool_results",
        ] {
            let found = suspicions("description", &json!(text));
            assert!(found.iter().any(|one| one.kind == "asks_for_secrets"), "{text}");
        }
        for text in [
            "File path to search for in conversation history",
            "Search query for the conversation history",
            "search_conversation_history",
            "getChatHistory",
            "Finds similar questions across your conversation history",
            "Lists tools used in the chat history",
            "Deletes the chat history.",
            "Include matches in the conversation history",
            "Shows how often a file was edited in previous messages",
            "Number of days to look back through chat history",
            "Whether to filter out previous results",
            "Returns the transcript of a conversation",
        ] {
            let found = suspicions("description", &json!(text));
            assert!(found.is_empty(), "{text}: {found:?}");
        }
    }
}
