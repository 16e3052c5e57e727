//! Parses ages as people type them, such as `90d`.

use std::time::Duration;

use crate::argument_error::ArgumentError;

const UNITS: [(char, u64); 5] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400), ('w', 604_800)];

/// Parses a number with a unit, such as `90d`.
pub(crate) fn parse(text: &str) -> Result<Duration, ArgumentError> {
    let split = || {
        let unit = text.chars().next_back()?;
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let number = text.strip_suffix(unit)?;
        let plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = if plain { number.parse().ok()? } else { return None };
        number.checked_mul(*seconds).map(Duration::from_secs)
    };
    split().ok_or(ArgumentError::Age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read() {
        assert_eq!(parse("90d"), Ok(Duration::from_secs(90 * 86_400)));
        assert_eq!(parse("2w"), Ok(Duration::from_secs(14 * 86_400)));
        for wrong in ["", "d", "90", "-1d", "+1d", "1.5h", "1 h", "ß", "99999999999999999999s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
