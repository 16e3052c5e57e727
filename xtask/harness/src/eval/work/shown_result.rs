//! What a model sees of one result, and which further views the gateway offers in it.

use serde_json::Value;

use super::client::Answer;

const TOOL_VIEW: &str = "tool_view";
/// The most text that is printed of the last result of a failed task.
const MAX_PRINTED: usize = 2048;

/// A result as a script reads it.
#[derive(Clone, Debug, Default)]
pub struct ShownResult {
    /// The texts, in order; those of further views are appended.
    pub texts: Vec<String>,
    /// The blocks that are not text.
    pub blocks: Vec<Value>,
    pub is_error: bool,
    /// Calls that show more, as named in the result.
    pub next: Vec<Value>,
}

impl ShownResult {
    /// What an answer shows.
    pub fn from_answer(answer: &Answer) -> Self {
        let result = match &answer.body {
            Ok(result) => result,
            Err(error) => {
                let message = error["message"].as_str().unwrap_or_default().to_owned();
                return Self { texts: vec![message], is_error: true, ..Self::default() };
            }
        };
        let mut shown = Self { is_error: result["isError"] == true, ..Self::default() };
        for block in result["content"].as_array().into_iter().flatten() {
            match block["text"].as_str().filter(|_| block["type"] == "text") {
                Some(text) => shown.add_text(text),
                None => shown.add_block(block),
            }
        }
        if shown.texts.is_empty()
            && let Some(structured) = result.get("structuredContent")
        {
            shown.add_text(&structured.to_string());
        }
        shown
    }

    /// Adds what a further view showed, and takes over its next calls.
    pub fn add(&mut self, more: Self) {
        self.texts.extend(more.texts);
        self.blocks.extend(more.blocks);
        self.next = more.next;
    }

    /// Whether a text contains the fact.
    pub fn shows(&self, fact: &str) -> bool {
        self.texts.iter().any(|text| text.contains(fact))
    }

    /// The first line that contains these words, as shown, without its line end.
    pub fn line(&self, words: &str) -> Option<&str> {
        let lines = self.texts.iter().flat_map(|text| text.split('\n'));
        lines.map(|line| line.strip_suffix('\r').unwrap_or(line)).find(|line| line.contains(words))
    }

    /// The text between `before` and `after`, as shown.
    pub fn between(&self, before: &str, after: &str) -> Option<&str> {
        self.texts.iter().find_map(|text| {
            let (_, rest) = text.split_once(before)?;
            rest.split_once(after).map(|(found, _)| found)
        })
    }

    /// The beginning of everything shown, for a person.
    pub fn beginning(&self) -> String {
        let all = self.texts.join("\n");
        let end = all.floor_char_boundary(MAX_PRINTED);
        all.get(..end).unwrap_or_default().to_owned()
    }

    fn add_text(&mut self, text: &str) {
        self.next.extend(named_calls(text));
        self.texts.push(text.to_owned());
    }

    fn add_block(&mut self, block: &Value) {
        if let Some(text) = block["resource"]["text"].as_str() {
            self.texts.push(text.to_owned());
        }
        self.blocks.push(block.clone());
    }
}

/// The arguments of each `tool_view {…}` that a text names, in order.
pub fn named_calls(text: &str) -> Vec<Value> {
    let mut calls = Vec::new();
    for (at, _) in text.match_indices(TOOL_VIEW) {
        let Some(rest) = text.get(at + TOOL_VIEW.len()..) else { continue };
        let rest = rest.trim_start_matches([' ', '`', ':']);
        if rest.starts_with('{')
            && let Some(Ok(call)) = serde_json::Deserializer::from_str(rest).into_iter().next()
        {
            let call: Value = call;
            if call["handle"].is_string() {
                calls.push(call);
            }
        }
    }
    calls
}

/// The call that a reader who searches for some words would make next.
pub fn next_call(calls: &[Value], words: &str) -> Option<Value> {
    let search = calls.iter().find(|call| call["view"] == "search");
    let mut call = search.or(calls.last())?.clone();
    if search.is_some() {
        call["args"]["text"] = words.into();
    }
    Some(call)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_call_is_read_out_of_the_words() {
        let text = "first {\n… 90 lines left out; to see them: \
            `tool_view {\"handle\":\"hdl_1\",\"view\":\"lines\",\"args\":{\"start\":120}}`";
        let call = json!({ "handle": "hdl_1", "view": "lines", "args": { "start": 120 } });
        assert_eq!(named_calls(text), std::slice::from_ref(&call));
        assert_eq!(next_call(std::slice::from_ref(&call), "x"), Some(call));
        let bare = "more: tool_view {\"handle\":\"hdl_2\"}.";
        assert_eq!(named_calls(bare), [json!({ "handle": "hdl_2" })]);
        assert!(named_calls("use tool_view to see `{}`").is_empty());
        assert_eq!(next_call(&[], "x"), None);
    }

    #[test]
    fn a_search_that_is_named_is_made_with_the_words() {
        let calls = [
            json!({ "handle": "h", "view": "search", "args": { "text": "…" } }),
            json!({ "handle": "h", "view": "lines" }),
        ];
        let found = next_call(&calls, "port").unwrap();
        assert_eq!((&found["view"], &found["args"]["text"]), (&json!("search"), &json!("port")));
    }

    #[test]
    fn an_error_of_the_protocol_is_shown_as_an_error() {
        let answer = Answer { body: Err(json!({ "code": -1, "message": "no such" })), progress: 0 };
        let shown = ShownResult::from_answer(&answer);
        assert!(shown.is_error && shown.shows("no such"));
    }

    #[test]
    fn a_line_is_copied_as_it_was_shown() {
        let shown = ShownResult {
            texts: vec!["a\r\nmail: [EMAIL_1]\r\n".to_owned()],
            ..ShownResult::default()
        };
        assert_eq!(shown.line("mail"), Some("mail: [EMAIL_1]"));
        assert_eq!(shown.between("[", "]"), Some("EMAIL_1"));
        assert_eq!(shown.line("absent"), None);
    }
}
