//! Writes the wire format of Protocol Buffers: fields with a number and a type, one after the other.

/// A message as it is written.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// The types of fields on the wire.
#[derive(Clone, Copy)]
enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
    Fixed32 = 5,
}

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn raw_varint(&mut self, mut value: u64) {
        // Seven bits a byte, the lowest first; the high bit says that more follow.
        while value >= 0x80 {
            self.0.push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
            value >>= 7;
        }
        self.0.push(u8::try_from(value).unwrap_or_default());
    }

    fn tag(&mut self, field: u32, of: WireType) {
        self.raw_varint(u64::from(field) << 3 | of as u64);
    }

    pub(super) fn varint(&mut self, field: u32, value: u64) {
        self.tag(field, WireType::Varint);
        self.raw_varint(value);
    }

    pub(super) fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, WireType::Fixed64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn fixed32(&mut self, field: u32, value: u32) {
        self.tag(field, WireType::Fixed32);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn double(&mut self, field: u32, value: f64) {
        self.fixed64(field, value.to_bits());
    }

    pub(super) fn bytes(&mut self, field: u32, value: &[u8]) {
        self.tag(field, WireType::Length);
        self.raw_varint(u64::try_from(value.len()).unwrap_or(u64::MAX));
        self.0.extend_from_slice(value);
    }

    pub(super) fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    pub(super) fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// A list of numbers of 64 bits, packed.
    pub(super) fn packed_fixed64(&mut self, field: u32, values: impl Iterator<Item = u64>) {
        let packed: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
        self.bytes(field, &packed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_encoding_guide_come_out_as_it_has_them() {
        let mut message = Message::default();
        message.varint(1, 150);
        message.text(2, "testing");
        message.message(3, |inner| inner.varint(1, 150));
        let wanted = b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01";
        assert_eq!(message.into_bytes(), wanted);
    }
}
