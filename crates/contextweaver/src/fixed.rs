//! Arithmetic in whole numbers, so that a score is the same on every machine.
//!
//! A fixed-point number here is a `u64` in units of 1/65,536.

/// One.
pub(crate) const ONE: u64 = 1 << 16;

/// The product of two fixed-point numbers.
pub(crate) fn mul(a: u64, b: u64) -> u64 {
    narrow((u128::from(a) * u128::from(b)) >> 16)
}

/// `num / den` as a fixed-point number; zero for a zero denominator.
pub(crate) fn ratio(num: u64, den: u64) -> u64 {
    narrow((u128::from(num) << 16).checked_div(u128::from(den)).unwrap_or(0))
}

/// The natural logarithm of `num / den`, or zero where that is at most one.
pub(crate) fn ln(num: u64, den: u64) -> u64 {
    /// The logarithm of two, in units of 2⁻³².
    const LN_2: u64 = 2_977_044_472;
    if den == 0 || num <= den {
        return 0;
    }
    // A number from 1 up to, not including, 2, in units of 2⁻³¹, after `whole` halvings.
    let x = (u128::from(num) << 31) / u128::from(den);
    let whole = x.ilog2().saturating_sub(31);
    let mut x = u64::try_from(x >> whole).unwrap_or(1 << 31);
    let mut log2 = u64::from(whole) << 20;
    // Each squaring gives the next binary digit of the logarithm.
    for digit in (0..20).rev() {
        x = (x * x) >> 31;
        if x >= 1 << 32 {
            x >>= 1;
            log2 |= 1 << digit;
        }
    }
    narrow((u128::from(log2) * u128::from(LN_2)) >> 36)
}

fn narrow(x: u128) -> u64 {
    u64::try_from(x).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_agree_with_floating_point() {
        for (num, den) in [(2, 1), (10, 1), (200_001, 1), (3, 2), (1001, 1000), (u64::MAX, 1)] {
            #[expect(clippy::cast_precision_loss, reason = "a test of about five digits")]
            let (ours, float) = (ln(num, den) as f64 / ONE as f64, (num as f64 / den as f64).ln());
            assert!((ours - float).abs() < 3e-5, "ln({num}/{den}) = {ours}, not {float}");
        }
        assert_eq!((ln(1, 1), ln(1, 2), ln(5, 0)), (0, 0, 0));
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(mul(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(ratio(u64::MAX, 1), u64::MAX);
        assert_eq!(ratio(1, 0), 0);
        assert_eq!(mul(3 * ONE, ONE / 2), ONE + ONE / 2);
    }
}
