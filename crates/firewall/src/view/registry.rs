//! The registry of views: which views apply to which content, and how to render them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::{RawContent, ResponseMode};

use super::generator::{ViewGenerator, ViewSource};
use super::view_kind::{self, DetectedKind, ViewKind};
use super::view_result::ViewResult;
use super::{binary, csv, json, rows, text};
use crate::content::{Content, ValueRenderer};
use crate::error::HandleError;
use crate::query::{ResultSource, ViewRequest, unknown_name_error};

/// The most generators that a host may register.
const MAX_GENERATORS: usize = 256;
/// The longest view name.
const MAX_NAME: usize = 32;

/// The views: built-in ones, and those of the host, which take precedence.
#[derive(Clone, Default)]
pub struct ViewRegistry {
    generators: Vec<(MediaTypePattern, Arc<dyn ViewGenerator>)>,
}

impl ViewRegistry {
    /// Registers views for a media type: `text/html`, `image/*`, `application/*+json`, `*/*`. If
    /// several views for the same content have the same name, the one registered first wins; views
    /// of the host take precedence over built-in ones.
    ///
    /// # Errors
    /// [`HandleError::Config`] for an invalid pattern or name, or too many generators.
    pub fn register(
        &mut self,
        media_type: &str,
        generator: Arc<dyn ViewGenerator>,
    ) -> Result<(), HandleError> {
        let config = |detail: String| HandleError::Config { detail };
        let pattern = MediaTypePattern::parse(media_type).ok_or_else(|| {
            config(format!("`{media_type}` is neither a media type nor a pattern for media types"))
        })?;
        if self.generators.len() >= MAX_GENERATORS {
            return Err(config(format!("there are already {MAX_GENERATORS} view generators")));
        }
        if let Some(bad) = generator.names().iter().find(|name| !is_view_name(name)) {
            return Err(config(format!(
                "`{bad}` is not a view name: lower-case letters, digits and `_`, at most {MAX_NAME}"
            )));
        }
        self.generators.push((pattern, generator));
        Ok(())
    }

    /// The names of the views of some content, sorted.
    #[must_use]
    pub fn names(&self, content: &RawContent) -> Cow<'static, [Cow<'static, str>]> {
        self.names_for(&DetectedKind::detect(content), content)
    }

    fn names_for(
        &self,
        known: &DetectedKind<'_>,
        content: &RawContent,
    ) -> Cow<'static, [Cow<'static, str>]> {
        let builtin_names = known.kind.views();
        if self.generators.is_empty() {
            return Cow::Borrowed(builtin_names);
        }
        let mut names = builtin_names.to_vec();
        let hosts = self.generators_for(known, content);
        names.extend(hosts.flat_map(|host| host.names()).copied().map(Cow::Borrowed));
        names.sort_unstable();
        names.dedup();
        Cow::Owned(names)
    }

    fn generators_for<'r>(
        &'r self,
        known: &DetectedKind<'_>,
        content: &'r RawContent,
    ) -> impl Iterator<Item = &'r Arc<dyn ViewGenerator>> {
        let head = view_kind::leading_bytes(content);
        let media_type = view_kind::media_type_essence(&known.media_type).to_ascii_lowercase();
        let fits = move |(pattern, host): &&(MediaTypePattern, Arc<dyn ViewGenerator>)| {
            pattern.matches(&media_type) && host.accepts(head)
        };
        self.generators.iter().filter(fits).map(|(_, host)| host)
    }

    /// Renders the requested view.
    pub(crate) fn render<'a>(
        &self,
        source: &'a ResultSource<'_>,
        request: &ViewRequest,
        renderer: &mut ValueRenderer<'_>,
    ) -> Result<ViewResult<'a>, HandleError> {
        let content = &source.raw.content;
        let known = DetectedKind::detect(content);
        let name = request.name.as_str();
        if let Some(host) = self.generators_for(&known, content).find(|h| h.names().contains(&name))
        {
            let media_type = known.media_type.as_ref();
            let tree = match content {
                RawContent::Rows(rows) => Some(RawContent::Json(rows.to_value())),
                _ => None,
            };
            let content = tree.as_ref().unwrap_or(content);
            let made = host.render(ViewSource { media_type, content }, request)?;
            return Ok(ViewResult {
                is_unrestricted: false,
                ..ViewResult::unrestricted(into_content(made))
            });
        }
        let names = self.names_for(&known, content);
        if !names.iter().any(|known| known == name) {
            let names: Vec<&str> = names.iter().map(Cow::as_ref).collect();
            return Err(unknown_name_error("view", name, &names));
        }
        match known.kind {
            ViewKind::Json => {
                if let Some(rows) = source.redacted_rows(renderer)
                    && let Some(viewed) = rows::render(rows, request, renderer)?
                {
                    return Ok(viewed);
                }
                json::render(source.redacted_value(renderer)?, request, renderer)
            }
            ViewKind::Csv(delimiter) if csv::NAMES.iter().any(|own| own == name) => {
                csv::render(source.text()?, delimiter, request, renderer)
            }
            ViewKind::Csv(_) | ViewKind::Text => {
                if !renderer.limits.may_show_field("value") {
                    let detail =
                        "lines have no field names, and only named fields may be shown here";
                    return Err(HandleError::Constraint { detail: detail.to_owned() });
                }
                let text = source.redacted_text(renderer)?;
                // In the other modes a text is lines, not rows.
                let is_read_as_rows = renderer.limits.mode == ResponseMode::Auto;
                if is_read_as_rows && source.shows_hidden_cells(text, renderer)? {
                    let detail = "the text is a table with columns that are masked; look at its \
                                  rows: leave out `view`, or use `filter`, `sort` and `fields`";
                    return Err(HandleError::Constraint { detail: detail.to_owned() });
                }
                text::render(text, request, false)
            }
            ViewKind::Binary => {
                super::args::ViewArgs::of(request, &[])?;
                Ok(binary::render(content, source.digest))
            }
        }
    }
}

/// The output of a generator as content.
fn into_content<'a>(made: RawContent) -> Content<'a> {
    match made {
        RawContent::Json(value) => Content::Json(Cow::Owned(value)),
        RawContent::Rows(rows) => Content::Json(Cow::Owned(rows.to_value())),
        RawContent::Text(text) => Content::Json(Cow::Owned(Value::String(text))),
        RawContent::Binary { media_type, bytes } => Content::Binary {
            media_type: crate::content::media_type(&media_type),
            len: bytes.len(),
        },
    }
}

impl fmt::Debug for ViewRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.generators.iter().map(|(pattern, host)| (pattern, host.names()));
        f.debug_map().entries(hosts).finish()
    }
}

fn is_view_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// A media type pattern, in which `*` matches any characters: `text/*`, `application/*+json`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MediaTypePattern {
    main_type: String,
    /// What a subtype must begin with and, if there is a `*`, end with.
    subtype_prefix: String,
    subtype_suffix: Option<String>,
}

impl MediaTypePattern {
    fn parse(text: &str) -> Option<Self> {
        let (kind, sub) = text.split_once('/')?;
        let word =
            |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-_".contains(&b));
        let (before, after) = match sub.split_once('*') {
            Some((before, after)) => (before, Some(after)),
            None => (sub, None),
        };
        let whole = !kind.is_empty() && !sub.is_empty();
        let words = (kind == "*" || word(kind)) && word(before) && after.is_none_or(word);
        (whole && words).then(|| Self {
            main_type: kind.to_ascii_lowercase(),
            subtype_prefix: before.to_ascii_lowercase(),
            subtype_suffix: after.map(str::to_ascii_lowercase),
        })
    }

    fn matches(&self, media_type: &str) -> bool {
        let Some((kind, sub)) = media_type.split_once('/') else { return false };
        let subtype = match &self.subtype_suffix {
            Some(after) => sub
                .strip_prefix(self.subtype_prefix.as_str())
                .is_some_and(|rest| rest.ends_with(after.as_str())),
            None => sub == self.subtype_prefix,
        };
        subtype && (self.main_type == "*" || self.main_type == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_what_they_name() {
        for (pattern, media_type, fits) in [
            ("text/csv", "text/csv", true),
            ("TEXT/CSV", "text/csv", true),
            ("text/*", "text/csv", true),
            ("text/*", "image/png", false),
            ("*/*", "image/png", true),
            ("application/*+json", "application/vnd.a+json", true),
            ("application/*+json", "application/json", false),
            ("text/csv", "text/csvx", false),
        ] {
            assert_eq!(
                MediaTypePattern::parse(pattern).unwrap().matches(media_type),
                fits,
                "{pattern}"
            );
        }
        for bad in ["", "text", "text/", "/csv", "te*t/csv", "a/b*c*", "a/b c"] {
            assert_eq!(MediaTypePattern::parse(bad), None, "{bad}");
        }
    }
}
