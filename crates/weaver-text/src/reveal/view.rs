//! A decoded reading of a part of a text.

use std::ops::Range;
use std::sync::Arc;

use super::layer::Layers;
use super::map::Map;

/// A decoded reading of a part of a text, with the way back to that text.
#[derive(Debug, Clone)]
pub struct View {
    /// The part as it reads once the layers are undone, with some context around it.
    pub text: String,
    /// What was undone.
    pub layers: Layers,
    span: Range<usize>,
    /// From this text towards the input; the last leads to the input itself.
    maps: Vec<Arc<Map>>,
}

impl View {
    /// A view of `span` in the text of `base`, or in the input if there is no base.
    pub(super) fn new(
        text: String,
        layers: Layers,
        span: Range<usize>,
        map: Arc<Map>,
        base: Option<&Self>,
    ) -> Self {
        let mut maps = vec![map];
        let span = match base {
            Some(base) => {
                maps.extend(base.maps.iter().cloned());
                base.original(span)
            }
            None => span,
        };
        Self { text, layers, span, maps }
    }

    /// The bytes of the input that this view reads.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The smallest range of input bytes that gave these bytes of [`View::text`]: whole characters
    /// and whole escape sequences (of base64, groups of four digits), with all that was hidden
    /// between them. A range outside the text is cut to it; an empty one gives an empty range.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        let end = self.text.ceil_char_boundary(range.end.min(self.text.len()));
        let start = self.text.floor_char_boundary(range.start.min(end));
        if start >= end {
            let at = self.text.len().checked_sub(1).map_or(self.span.start, |last| {
                if start > last {
                    self.walk(self.text.floor_char_boundary(last)..self.text.len()).end
                } else {
                    self.walk(start..self.text.ceil_char_boundary(start + 1)).start
                }
            });
            return at..at;
        }
        self.walk(start..end)
    }

    /// Whether decoding changed anything in this range of [`View::text`] or right beside it. What
    /// is found in a range that it did not change stands in the input as it stands here.
    pub fn touches(&self, range: Range<usize>) -> bool {
        let end = self.text.ceil_char_boundary(range.end.min(self.text.len()).saturating_add(1));
        let start = self.text.floor_char_boundary(range.start.min(end).saturating_sub(1));
        if start >= end {
            return false;
        }
        let mut range = start..end;
        self.maps.iter().any(|map| {
            let copied = map.copied(&range);
            range = map.original(&range);
            !copied
        })
    }

    fn walk(&self, range: Range<usize>) -> Range<usize> {
        self.maps.iter().fold(
            range,
            |range, map| {
                if range.is_empty() { range } else { map.original(&range) }
            },
        )
    }
}
