//! The words of a tool's name, which say what its arguments are for: `message` is the text that
//! `send_message` sends, and the object that `delete_message` deletes.

use weaver_text::split;
use weaver_types::SinkKind;

use super::{ArgumentRole, argument_role, requires_user_words};

/// Verbs whose noun is new content and not an object that exists.
const CREATING_VERBS: [&str; 20] = [
    "create", "add", "post", "write", "reply", "send", "leave", "append", "draft", "publish",
    "make", "new", "insert", "upload", "update", "edit", "set", "put", "compose", "answer",
];
/// Verbs that send something which exists already.
const SHARING_VERBS: [&str; 12] = [
    "share", "forward", "copy", "resend", "export", "transfer", "attach", "publish", "email",
    "mail", "deliver", "print",
];
/// Words at the end of a name that say which property of a noun is meant.
const PROPERTIES: [&str; 8] = ["type", "kind", "name", "text", "value", "level", "title", "names"];
/// Words of texts and settings that decide what a call to a strict sink does, unless they are
/// optional and another argument names the object.
const DECIDING_WORDS: [&str; 13] = [
    "content", "details", "detail", "query", "prompt", "instruction", "instructions", "count",
    "unit", "units", "status", "macro", "script",
];
/// Words of settings that say who gets access, and decide even where they are optional.
const ACCESS_WORDS: [&str; 5] = ["permission", "permissions", "visibility", "role", "policy"];
/// Words of moments and durations that decide how long access lasts.
const PERIOD_WORDS: [&str; 6] =
    ["until", "expires", "expiry", "expiration", "duration", "validity"];
/// Words of settings that decide how often something is paid.
const REPEAT_WORDS: [&str; 5] = ["recurring", "recurrence", "frequency", "interval", "repeat"];

/// The words of the name of a tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolWords {
    words: Vec<String>,
}

impl ToolWords {
    /// The words of the last segment of a capability's id.
    pub(crate) fn of(id: &str) -> Self {
        let name = id.rsplit(['.', '/', ':']).next().unwrap_or_default();
        Self { words: split::identifier(name) }
    }

    fn verb(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// All words, for those that a user may have put beside the name of an object.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Whether the tool reads a document and does not show it, as a browser does.
    pub(crate) fn reads_documents(&self) -> bool {
        const READERS: [&str; 6] = ["convert", "markdown", "read", "parse", "ocr", "transcribe"];
        self.has_any(&READERS) && !self.is_browser()
    }

    /// Whether the tool makes a document or a picture of a text, and so fetches what the text refers to.
    pub(crate) fn renders(&self) -> bool {
        const RENDERERS: [&str; 16] = [
            "render", "convert", "export", "pdf", "screenshot", "png", "svg", "image", "compile",
            "print", "preview", "diagram", "chart", "docx", "pptx", "epub",
        ];
        self.has_any(&RENDERERS)
    }

    /// Whether the tool opens pages of the web.
    pub(crate) fn is_browser(&self) -> bool {
        const BROWSERS: [&str; 20] = [
            "browser", "page", "navigate", "tab", "web", "website", "site", "screenshot",
            "webpage", "webpages", "url", "urls", "html", "crawl", "scrape", "visit", "goto",
            "chrome", "puppeteer", "playwright",
        ];
        self.has_any(&BROWSERS)
    }

    fn has_any(&self, known: &[&str]) -> bool {
        self.words.iter().any(|word| known.contains(&word.as_str()))
    }

    /// Whether this is the first word, which says what is done.
    pub(crate) fn is_verb(&self, word: &str) -> bool {
        self.verb() == word
    }

    /// Whether an argument is named like the noun of the tool: `order` of `pay_order`.
    fn has_noun(&self, name: &str) -> bool {
        let mut words = split::identifier(name);
        if words.len() > 1 && words.last().is_some_and(|last| PROPERTIES.contains(&last.as_str())) {
            words.pop();
        }
        let Some(last) = words.last() else { return false };
        self.words.iter().skip(1).any(|word| singular(word) == singular(last))
    }

    /// Whether the noun that an argument is named like exists already, so that the argument says
    /// which one is meant.
    pub(crate) fn names_object(&self, name: &str, sink: SinkKind) -> bool {
        if !self.has_noun(name) || sink == SinkKind::None {
            return false;
        }
        let creates = CREATING_VERBS.contains(&self.verb());
        match argument_role(name) {
            ArgumentRole::Other => !creates || self.verb() == "send",
            ArgumentRole::Text if requires_user_words(sink) => !creates,
            ArgumentRole::Text | ArgumentRole::Time => SHARING_VERBS.contains(&self.verb()),
            ArgumentRole::Setting if requires_user_words(sink) => true,
            ArgumentRole::Setting => SHARING_VERBS.contains(&self.verb()) || self.verb() == "send",
            _ => false,
        }
    }
}

/// Whether a text, a moment or a setting with this name decides what a call to a strict sink does.
pub(super) fn decides_strictly(name: &str, sink: SinkKind) -> bool {
    let words = split::identifier(name);
    let known =
        |list: &[&str]| words.iter().rev().take(2).any(|word| list.contains(&word.as_str()));
    requires_user_words(sink) && known(&DECIDING_WORDS) || lasts(name, sink)
}

/// Whether a setting with this name says who gets access.
pub(crate) fn grants_access(name: &str, sink: SinkKind) -> bool {
    let words = split::identifier(name);
    requires_user_words(sink)
        && words.iter().rev().take(2).any(|word| ACCESS_WORDS.contains(&word.as_str()))
}

/// Whether an argument with this name says how long access lasts, or for how much time or how often
/// something is paid.
pub(crate) fn lasts(name: &str, sink: SinkKind) -> bool {
    let words = split::identifier(name);
    matches!(sink, SinkKind::Credential | SinkKind::Payment)
        && words.iter().any(|word| {
            let pays = sink == SinkKind::Payment && REPEAT_WORDS.contains(&word.as_str());
            pays || PERIOD_WORDS.contains(&word.as_str())
        })
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|rest| rest.len() > 2).unwrap_or(word)
}
