//! View generators, which a host registers.

use weaver_types::RawContent;

use crate::error::HandleError;
use crate::query::ViewRequest;

/// The input of a view generator: the stored content, unredacted.
#[derive(Clone, Copy)]
pub struct ViewSource<'a> {
    /// The media type: the declared one, or the detected one.
    pub media_type: &'a str,
    /// The content.
    pub content: &'a RawContent,
}

/// Renders views of one kind of content.
///
/// ```
/// use std::sync::Arc;
/// use weaver_firewall::{Firewall, HandleError, ViewRequest};
/// use weaver_firewall::view::{ViewGenerator, ViewRegistry, ViewSource};
/// use weaver_types::RawContent;
///
/// /// How long a picture is, in bytes.
/// struct Weight;
///
/// impl ViewGenerator for Weight {
///     fn names(&self) -> &[&'static str] {
///         &["weight"]
///     }
///
///     fn render(&self, source: ViewSource<'_>, _: &ViewRequest) -> Result<RawContent, HandleError> {
///         let RawContent::Binary { bytes, .. } = source.content else {
///             return Err(HandleError::Query { detail: "a picture has bytes".to_owned() });
///         };
///         Ok(RawContent::Json(serde_json::json!({ "weight": bytes.len() })))
///     }
/// }
///
/// let mut views = ViewRegistry::default();
/// views.register("image/*", Arc::new(Weight))?;
/// let firewall = Firewall::new().with_views(views);
/// # Ok::<(), HandleError>(())
/// ```
pub trait ViewGenerator: Send + Sync {
    /// The names of its views: lower-case letters, digits and `_`, at most 32, starting with a
    /// letter.
    fn names(&self) -> &[&'static str];

    /// True for content it can render, judged by the first bytes; by default everything of the
    /// media type.
    fn accepts(&self, _head: &[u8]) -> bool {
        true
    }

    /// Renders a view. It gets the content as stored; its output is redacted and bounded before
    /// anybody sees it. A value that it splits is no longer recognised, so it should keep whole
    /// whatever may be a secret.
    ///
    /// # Errors
    /// [`HandleError::Query`] for invalid arguments. The model sees the text of the error, so it
    /// must not contain any of the content.
    fn render(
        &self,
        source: ViewSource<'_>,
        request: &ViewRequest,
    ) -> Result<RawContent, HandleError>;
}
