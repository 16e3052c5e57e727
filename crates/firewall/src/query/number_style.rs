//! The ways in which the texts of a column write numbers: plainly, as databases send exact ones, or for
//! people, with a decimal comma, groups of three digits and a currency sign.

use super::cell::Cell;

const CURRENCY_SIGNS: [char; 5] = ['$', '€', '£', '¥', '₹'];
/// The longest text that is read so.
const MAX_BYTES: usize = 60;

/// How the texts of one column write numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberStyle {
    /// `1234.5`
    Plain,
    /// `1.234,5`, `1 234,5`
    DecimalComma,
    /// `1,234.5`
    GroupedByComma,
}

/// The numbers that all of these texts write in one style, each with its text; `None` where one of them
/// writes none, or where nothing shows what a comma means: `1,234` is 1234 in one country and 1.234 in
/// another.
pub(super) fn numbers_of_column(texts: &[&str]) -> Option<Vec<Cell>> {
    [NumberStyle::Plain, NumberStyle::DecimalComma, NumberStyle::GroupedByComma]
        .into_iter()
        .find_map(|style| style.read_all(texts))
}

impl NumberStyle {
    fn read_all(self, texts: &[&str]) -> Option<Vec<Cell>> {
        let mut is_shown = self == Self::Plain;
        let cells = texts.iter().map(|text| {
            is_shown |= self.is_shown_by(text);
            Cell::decimal_of(&self.plain(text)?, text)
        });
        let cells: Vec<Cell> = cells.collect::<Option<_>>()?;
        is_shown.then_some(cells)
    }

    /// Whether a text that this style reads could not be read in the other one with a comma.
    fn is_shown_by(self, text: &str) -> bool {
        let commas = text.matches(',').count();
        let after = text.rsplit(',').next().unwrap_or_default();
        let digits = after.bytes().filter(u8::is_ascii_digit).count();
        match self {
            Self::Plain => true,
            Self::DecimalComma => commas == 1 && (digits != 3 || text.contains('.')),
            Self::GroupedByComma => commas > 1 || commas == 1 && after.contains('.'),
        }
    }

    /// The same number as a program writes it.
    fn plain(self, text: &str) -> Option<String> {
        if self == Self::Plain {
            return Some(text.to_owned());
        }
        if text.len() > MAX_BYTES {
            return None;
        }
        let (sign, rest) = match text.trim().strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text.trim()),
        };
        let rest = rest.trim_start_matches(CURRENCY_SIGNS).trim_end_matches(CURRENCY_SIGNS).trim();
        let (groups, decimals, separators) = match self {
            Self::Plain | Self::DecimalComma => (
                rest.split(',').next()?,
                rest.split_once(',').map(|(_, after)| after),
                ['.', ' ', '\u{a0}', '\u{202f}'],
            ),
            Self::GroupedByComma => {
                (rest.split('.').next()?, rest.split_once('.').map(|(_, after)| after), [','; 4])
            }
        };
        let mut parts = groups.split(separators);
        let first = parts.next()?;
        let rest: Vec<&str> = parts.collect();
        let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let are_groups = rest.is_empty() && are_digits(first)
            || first.len() <= 3
                && are_digits(first)
                && rest.iter().all(|part| part.len() == 3 && are_digits(part));
        let whole = [first].into_iter().chain(rest).collect::<String>();
        match decimals {
            _ if !are_groups => None,
            None => Some(format!("{sign}{whole}")),
            Some(decimals) => are_digits(decimals).then(|| format!("{sign}{whole}.{decimals}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(texts: &[&str]) -> Option<Vec<f64>> {
        let cells = numbers_of_column(texts)?;
        Some(cells.iter().map(|cell| cell.number().unwrap().as_f64().unwrap()).collect())
    }

    #[test]
    fn a_column_writes_numbers_in_one_style() {
        for (texts, expected) in [
            (&["633.00", "-1"][..], vec![633.0, -1.0]),
            (&["998,73", "2738,63", "0,00"], vec![998.73, 2738.63, 0.0]),
            (&["1.998,73", "12", "-1.000.000,5"], vec![1998.73, 12.0, -1_000_000.5]),
            (&["1 234,50", "2\u{a0}000"], vec![1234.5, 2000.0]),
            (&["1,234.50", "7"], vec![1234.5, 7.0]),
            (&["1,234,567", "1,234"], vec![1_234_567.0, 1234.0]),
            (&["$1,000.50", "$2", "-$3.25"], vec![1000.5, 2.0, -3.25]),
            (&["12,50 €", "1.000,00 €"], vec![12.5, 1000.0]),
        ] {
            assert_eq!(numbers(texts), Some(expected), "{texts:?}");
        }
        for texts in [
            &["1,234", "2,345"][..],
            &["1,5", "x"],
            &["1,5", "1.5"],
            &["1,23,4", "1,5"],
            &["12.34,5"],
            &["1,5,6"],
            &["007,5"],
            &["1,", "2,5"],
            &[",5"],
            &["€"],
            &["2026-01-02", "1,5"],
            &["192.168.001,5", "10.0.0.1"],
        ] {
            assert_eq!(numbers(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn a_number_is_shown_as_it_was_written() {
        let cells = numbers_of_column(&["1.998,73"]).unwrap();
        assert_eq!(cells[0].to_value(), serde_json::json!("1.998,73"));
    }
}
