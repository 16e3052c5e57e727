//! Asks a model to select a card, and reads its answer.

use serde_json::{Value, json};
use thiserror::Error;
use weaver_text::{escape, suggest};

use crate::card::ChoiceCard;

/// The longest answer that is compared with cards, in bytes.
const MAX_ANSWER: usize = 4096;
/// The most candidates that an error names.
const MAX_CANDIDATES: usize = 20;

/// The provider's format in which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SelectionFormat {
    /// A plain JSON Schema of an object with `selection`.
    JsonSchema,
    /// A function of OpenAI's Chat Completions API, strict.
    OpenAi,
    /// A function of OpenAI's Responses API, strict.
    OpenAiResponses,
    /// A tool of Anthropic's Messages API.
    Anthropic,
    /// A function declaration of Gemini.
    Gemini,
}

/// A schema whose only valid answers are the ids of the cards. `None` without cards.
///
/// ```
/// use contextweaver::card::{SelectionFormat, selection_schema};
///
/// assert_eq!(selection_schema(&[], SelectionFormat::JsonSchema), None);
/// ```
#[must_use]
pub fn selection_schema(cards: &[ChoiceCard], format: SelectionFormat) -> Option<Value> {
    if cards.is_empty() {
        return None;
    }
    let ids: Vec<&str> = cards.iter().map(ChoiceCard::display_id).collect();
    let what = "The id of the tool that fits best";
    let mut schema = json!({
        "type": "object",
        "properties": { "selection": { "type": "string", "description": what, "enum": ids } },
        "required": ["selection"],
    });
    if let (true, Some(object)) = (format != SelectionFormat::Gemini, schema.as_object_mut()) {
        object.insert("additionalProperties".to_owned(), json!(false));
    }
    let (name, description) = ("select_tool", "Select one of the tools that were shown.");
    Some(match format {
        SelectionFormat::JsonSchema => schema,
        SelectionFormat::OpenAi => json!({ "type": "function", "function": {
            "name": name, "description": description, "strict": true, "parameters": schema } }),
        SelectionFormat::OpenAiResponses => json!({ "type": "function", "name": name,
            "description": description, "strict": true, "parameters": schema }),
        SelectionFormat::Anthropic => {
            json!({ "name": name, "description": description, "input_schema": schema })
        }
        SelectionFormat::Gemini => {
            json!({ "name": name, "description": description, "parameters": schema })
        }
    })
}

/// Why an answer selects no card. The message may be shown to the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// The answer is empty.
    #[error("nothing was selected: answer with the id of one card")]
    Empty,
    /// No card has this id.
    #[error("no card has the id `{text}`{}", nearest.as_ref().map_or_else(
        || ": answer with the id of one card".to_owned(),
        |id| format!(": did you mean `{id}`?")
    ))]
    Unknown {
        /// The answer, escaped and shortened.
        text: String,
        /// The nearest id, if one is near.
        nearest: Option<String>,
    },
    /// The answer matches several cards.
    #[error("`{text}` may be any of {}: answer with a whole id", candidates.join(", "))]
    Ambiguous {
        /// The answer, escaped and shortened.
        text: String,
        /// The ids that match, at most 20.
        candidates: Vec<String>,
    },
}

impl SelectionError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "selection.empty",
            Self::Unknown { .. } => "selection.unknown",
            Self::Ambiguous { .. } => "selection.ambiguous",
        }
    }
}

/// The card that an answer selects: the one with exactly this id, else the only one whose id equals
/// the answer without regard to case, else the only one whose id starts with it. A selection grants
/// no permission.
///
/// # Errors
/// [`SelectionError`]; an answer that matches several cards is an error that names them.
pub fn validate_selection<'a>(
    cards: &'a [ChoiceCard],
    answer: &str,
) -> Result<&'a ChoiceCard, SelectionError> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Err(SelectionError::Empty);
    }
    let text = || escape::excerpt(answer, 80);
    if answer.len() > MAX_ANSWER {
        return Err(SelectionError::Unknown { text: text(), nearest: None });
    }
    let exact = |card: &&ChoiceCard| card.display_id() == answer || card.id.as_str() == answer;
    if let Some(card) = cards.iter().find(exact) {
        return Ok(card);
    }
    let folded = answer.to_lowercase();
    let matching_cards = |fit: fn(&str, &str) -> bool| -> Vec<&'a ChoiceCard> {
        let ids =
            |card: &ChoiceCard| [card.display_id().to_lowercase(), card.id.as_str().to_lowercase()];
        cards.iter().filter(|card| ids(card).iter().any(|id| fit(id, &folded))).collect()
    };
    let matchers: [fn(&str, &str) -> bool; 2] =
        [|id, text| id == text, |id, text| id.starts_with(text)];
    for matcher in matchers {
        match matching_cards(matcher).as_slice() {
            [] => {}
            [card] => return Ok(card),
            several => {
                let ids =
                    several.iter().take(MAX_CANDIDATES).map(|card| card.display_id().to_owned());
                return Err(SelectionError::Ambiguous { text: text(), candidates: ids.collect() });
            }
        }
    }
    let nearest = suggest::nearest(answer, cards.iter().map(ChoiceCard::display_id));
    Err(SelectionError::Unknown { text: text(), nearest: nearest.map(str::to_owned) })
}
