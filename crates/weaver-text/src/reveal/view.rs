//! Decoded views of a text with a map back to the input.

use std::ops::Range;
use std::sync::Arc;

use super::layer::Layers;
use super::map::OffsetMap;

/// A part of a text in decoded form, with a map back to the input.
#[derive(Debug, Clone)]
pub struct View {
    /// The decoded part with context around it.
    pub text: String,
    /// The layers that were decoded.
    pub layers: Layers,
    span: Range<usize>,
    /// One map for each pass, from this text towards the input.
    maps: Vec<Arc<OffsetMap>>,
}

impl View {
    /// A view of `span` in the text of `base`, or in the input if there is no base.
    pub(super) fn new(
        text: String,
        layers: Layers,
        span: Range<usize>,
        map: Arc<OffsetMap>,
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

    /// The range of the input that this view covers.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The smallest range of input bytes that these bytes of [`View::text`] were decoded from:
    /// whole characters and escape sequences (of base64, groups of four digits), with everything
    /// removed between them. The range is clamped to the text; an empty range gives an empty range.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        let end = self.text.ceil_char_boundary(range.end.min(self.text.len()));
        let start = self.text.floor_char_boundary(range.start.min(end));
        if start >= end {
            let at = self.text.len().checked_sub(1).map_or(self.span.start, |last| {
                if start > last {
                    self.to_input(self.text.floor_char_boundary(last)..self.text.len()).end
                } else {
                    self.to_input(start..self.text.ceil_char_boundary(start + 1)).start
                }
            });
            return at..at;
        }
        self.to_input(start..end)
    }

    /// Whether decoding changed this range of [`View::text`] or the bytes directly beside it. If
    /// not, the range is equal to its part of the input.
    pub fn touches(&self, range: Range<usize>) -> bool {
        let end = self.text.ceil_char_boundary(range.end.min(self.text.len()).saturating_add(1));
        let start = self.text.floor_char_boundary(range.start.min(end).saturating_sub(1));
        if start >= end {
            return false;
        }
        let mut range = start..end;
        self.maps.iter().any(|map| {
            let copied = map.is_copied(&range);
            range = map.original(&range);
            !copied
        })
    }

    fn to_input(&self, range: Range<usize>) -> Range<usize> {
        self.maps.iter().fold(
            range,
            |range, map| {
                if range.is_empty() { range } else { map.original(&range) }
            },
        )
    }
}
