//! The weights of the features.

/// One signed byte for each place. Its length is a power of two.
const TABLE: &[u8] = include_bytes!("../../../assets/classifier_weights.bin");

/// The sum of the weights of the features, in 32nds of a logit. A token is a secret above zero.
pub(super) fn sum(features: &[u32]) -> i32 {
    let weight = |feature: &u32| {
        let place = usize::try_from(*feature).unwrap_or_default() & (TABLE.len() - 1);
        TABLE.get(place).map_or(0, |byte| i32::from(byte.cast_signed()))
    };
    features.iter().map(weight).sum()
}

/// The number of weights.
#[cfg(test)]
pub(super) fn table_len() -> usize {
    TABLE.len()
}
