//! The registry of views: which apply to which content, and how they are made.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::RawContent;

use super::generator::{ViewGenerator, ViewSource};
use super::kind::{self, DetectedKind, Kind};
use super::view_result::ViewResult;
use super::{binary, csv, json, rows, text};
use crate::content::{Content, ValueRenderer};
use crate::error::HandleError;
use crate::query::{Source, ViewRequest, unknown};

/// The most generators that a host registers.
const MAX_GENERATORS: usize = 256;
/// The longest name of a view.
const MAX_NAME: usize = 32;

/// The views: those that are built in, and those of the host, which come first.
#[derive(Clone, Default)]
pub struct ViewRegistry {
    hosts: Vec<(Pattern, Arc<dyn ViewGenerator>)>,
}

impl ViewRegistry {
    /// Adds views of a media type: `text/html`, `image/*`, `application/*+json`, `*/*`. Where a
    /// name is taken, also by a built-in view, whoever was registered first for that content has
    /// it, and the host comes before what is built in.
    ///
    /// # Errors
    /// [`HandleError::Config`], for a pattern or a name that is none, or too many generators.
    pub fn register(
        &mut self,
        media_type: &str,
        generator: Arc<dyn ViewGenerator>,
    ) -> Result<(), HandleError> {
        let config = |detail: String| HandleError::Config { detail };
        let pattern = Pattern::parse(media_type)
            .ok_or_else(|| config(format!("`{media_type}` is no media type or pattern of one")))?;
        if self.hosts.len() >= MAX_GENERATORS {
            return Err(config(format!("there are {MAX_GENERATORS} generators of views already")));
        }
        if let Some(bad) = generator.names().iter().find(|name| !is_name(name)) {
            return Err(config(format!(
                "`{bad}` is no name of a view: lower-case letters, digits and `_`, at most {MAX_NAME}"
            )));
        }
        self.hosts.push((pattern, generator));
        Ok(())
    }

    /// The names of the views that content has, sorted.
    #[must_use]
    pub fn names(&self, content: &RawContent) -> Cow<'static, [Cow<'static, str>]> {
        self.of(&DetectedKind::of(content), content)
    }

    fn of(
        &self,
        known: &DetectedKind<'_>,
        content: &RawContent,
    ) -> Cow<'static, [Cow<'static, str>]> {
        let own = known.kind.views();
        if self.hosts.is_empty() {
            return Cow::Borrowed(own);
        }
        let mut names = own.to_vec();
        let hosts = self.matching(known, content);
        names.extend(hosts.flat_map(|host| host.names()).copied().map(Cow::Borrowed));
        names.sort_unstable();
        names.dedup();
        Cow::Owned(names)
    }

    fn matching<'r>(
        &'r self,
        known: &DetectedKind<'_>,
        content: &'r RawContent,
    ) -> impl Iterator<Item = &'r Arc<dyn ViewGenerator>> {
        let head = kind::head(content);
        let media_type = kind::essence(&known.media_type).to_ascii_lowercase();
        let fits = move |(pattern, host): &&(Pattern, Arc<dyn ViewGenerator>)| {
            pattern.fits(&media_type) && host.accepts(head)
        };
        self.hosts.iter().filter(fits).map(|(_, host)| host)
    }

    /// The view that is asked for.
    pub(crate) fn render<'a>(
        &self,
        source: &'a Source<'_>,
        request: &ViewRequest,
        renderer: &mut ValueRenderer<'_>,
    ) -> Result<ViewResult<'a>, HandleError> {
        let content = &source.raw.content;
        let known = DetectedKind::of(content);
        let name = request.name.as_str();
        if let Some(host) = self.matching(&known, content).find(|h| h.names().contains(&name)) {
            let media_type = known.media_type.as_ref();
            let tree = match content {
                RawContent::Rows(rows) => Some(RawContent::Json(rows.to_value())),
                _ => None,
            };
            let content = tree.as_ref().unwrap_or(content);
            let made = host.render(ViewSource { media_type, content }, request)?;
            return Ok(ViewResult { free: false, ..ViewResult::free(owned(made)) });
        }
        let names = self.of(&known, content);
        if !names.iter().any(|known| known == name) {
            let names: Vec<&str> = names.iter().map(Cow::as_ref).collect();
            return Err(unknown("view", name, &names));
        }
        match known.kind {
            Kind::Json => {
                if let Some(rows) = source.redacted_rows(renderer)
                    && let Some(viewed) = rows::render(rows, request, renderer)?
                {
                    return Ok(viewed);
                }
                json::render(source.redacted_value(renderer)?, request, renderer)
            }
            Kind::Csv(delimiter) if csv::NAMES.iter().any(|own| own == name) => {
                csv::render(source.text()?, delimiter, request, renderer)
            }
            Kind::Csv(_) | Kind::Text => {
                if !renderer.limits.admits("value") {
                    let detail = "lines are no fields, and only some fields may be seen here";
                    return Err(HandleError::Constraint { detail: detail.to_owned() });
                }
                text::render(source.redacted_text(renderer)?, request)
            }
            Kind::Binary => {
                super::args::Args::of(request, &[])?;
                Ok(binary::render(content, source.digest))
            }
        }
    }
}

/// What a host made, as content.
fn owned<'a>(made: RawContent) -> Content<'a> {
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
        let hosts = self.hosts.iter().map(|(pattern, host)| (pattern, host.names()));
        f.debug_map().entries(hosts).finish()
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// A media type, in which `*` stands for any word: `text/*`, `application/*+json`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    kind: String,
    /// What a subtype begins and ends with; equal where `*` is missing.
    before: String,
    after: Option<String>,
}

impl Pattern {
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
            kind: kind.to_ascii_lowercase(),
            before: before.to_ascii_lowercase(),
            after: after.map(str::to_ascii_lowercase),
        })
    }

    fn fits(&self, media_type: &str) -> bool {
        let Some((kind, sub)) = media_type.split_once('/') else { return false };
        let subtype = match &self.after {
            Some(after) => sub
                .strip_prefix(self.before.as_str())
                .is_some_and(|rest| rest.ends_with(after.as_str())),
            None => sub == self.before,
        };
        subtype && (self.kind == "*" || self.kind == kind)
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
            assert_eq!(Pattern::parse(pattern).unwrap().fits(media_type), fits, "{pattern}");
        }
        for bad in ["", "text", "text/", "/csv", "te*t/csv", "a/b*c*", "a/b c"] {
            assert_eq!(Pattern::parse(bad), None, "{bad}");
        }
    }
}
