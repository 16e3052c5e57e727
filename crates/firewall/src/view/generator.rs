//! The view generators that a host registers.

use weaver_types::RawContent;

use crate::error::HandleError;
use crate::query::ViewRequest;

/// What a view is made of: the stored content, unredacted.
#[derive(Clone, Copy)]
pub struct ViewSource<'a> {
    /// The media type: the declared one, or what the content shows itself to be.
    pub media_type: &'a str,
    /// The content.
    pub content: &'a RawContent,
}

/// Makes views of one kind of content.
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
    /// The names of its views: lower-case letters, digits and `_`, at most 32, a letter first.
    fn names(&self) -> &[&'static str];

    /// True for content that it can make views of, judged by its first bytes. By default all that
    /// has the media type.
    fn accepts(&self, _head: &[u8]) -> bool {
        true
    }

    /// A view. It sees the content as it is stored; what it gives is redacted and bounded before
    /// anybody sees it. A value that it takes apart is not recognised any more: leave whole what
    /// might be a secret.
    ///
    /// # Errors
    /// [`HandleError::Query`], when it does not understand the arguments. The text of an error
    /// reaches the model: it must hold nothing of the content.
    fn render(
        &self,
        source: ViewSource<'_>,
        request: &ViewRequest,
    ) -> Result<RawContent, HandleError>;
}
