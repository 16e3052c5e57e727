//! Number and date formats for the people of a run.
//!
//! Nothing that is hashed, decided on or logged uses these formats.

use crate::run::LocaleCode;
#[cfg(feature = "calendar")]
use crate::time::Timestamp;

impl LocaleCode {
    /// The BCP 47 tag.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EnUs => "en-US",
            Self::EnIn => "en-IN",
            Self::HiIn => "hi-IN",
        }
    }

    /// An integer with digit grouping: thousands, or in India thousands, lakhs and crores.
    #[must_use]
    pub fn number(self, value: i64) -> String {
        let digits = value.unsigned_abs().to_string();
        let length = digits.len();
        let is_border = |left: usize| match self {
            Self::EnUs => left.is_multiple_of(3),
            Self::EnIn | Self::HiIn => left >= 3 && (left - 3).is_multiple_of(2),
        };
        let mut out = String::with_capacity(length * 2);
        if value < 0 {
            out.push('-');
        }
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && is_border(length - at) {
                out.push(',');
            }
            out.push(digit);
        }
        out
    }

    /// The UTC date of a time: month first in the United States, day first in India.
    #[cfg(feature = "calendar")]
    #[must_use]
    pub fn date(self, at: Timestamp) -> String {
        let text = at.rfc3339();
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
        match self {
            Self::EnUs => format!("{month}/{day}/{year}"),
            Self::EnIn | Self::HiIn => format!("{day}/{month}/{year}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [LocaleCode; 3] = [LocaleCode::EnUs, LocaleCode::EnIn, LocaleCode::HiIn];

    #[test]
    fn numbers_have_the_groups_of_the_locale() {
        for (value, us, india) in [
            (0, "0", "0"),
            (-7, "-7", "-7"),
            (999, "999", "999"),
            (1_000, "1,000", "1,000"),
            (123_456, "123,456", "1,23,456"),
            (-12_345_678, "-12,345,678", "-1,23,45,678"),
        ] {
            assert_eq!(ALL.map(|locale| locale.number(value)), [us, india, india]);
        }
        for value in [i64::MIN, i64::MAX] {
            assert_eq!(LocaleCode::HiIn.number(value).replace(',', ""), value.to_string());
        }
    }

    #[test]
    fn dates_have_the_form_of_the_locale() {
        let at = Timestamp::from_micros(1_800_000_000_000_000);
        assert_eq!(ALL.map(|locale| locale.date(at)), ["01/15/2027", "15/01/2027", "15/01/2027"]);
        assert_eq!(ALL.map(LocaleCode::as_str), ["en-US", "en-IN", "hi-IN"]);
    }
}
