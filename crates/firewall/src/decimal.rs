//! Formats unsigned integers.

/// Appends a number in decimal.
pub(crate) fn push_decimal(out: &mut String, mut number: u64) {
    // Fast path: most counts have one digit.
    if number < 10 {
        return out.push(last_digit(number).into());
    }
    let mut digits = [0; 20];
    let mut from = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = last_digit(number);
        from -= 1;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(digits.iter().skip(from).copied().map(char::from));
}

/// The last digit of a number.
pub(crate) fn last_digit(number: u64) -> u8 {
    b'0' + u8::try_from(number % 10).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_has_its_digits() {
        for (number, text) in [
            (0, "0"),
            (9, "9"),
            (10, "10"),
            (11, "11"),
            (99, "99"),
            (100, "100"),
            (1_050, "1050"),
            (u64::MAX, "18446744073709551615"),
        ] {
            let mut out = "n".to_owned();
            push_decimal(&mut out, number);
            assert_eq!(out, format!("n{text}"));
        }
    }

    proptest! {
        #[test]
        fn a_number_is_written_as_the_formatter_does(number: u64, by in 0..64_u32) {
            for number in [number, number >> by, 0, u64::MAX] {
                let mut out = String::new();
                push_decimal(&mut out, number);
                prop_assert_eq!(out, number.to_string());
            }
        }
    }
}
