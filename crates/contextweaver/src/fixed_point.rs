//! Fixed-point arithmetic, so that scores are the same on every machine.
//!
//! A fixed-point number here is a `u64` in units of 1/65,536.

/// One.
pub(crate) const ONE: u64 = 1 << 16;

/// The product of two fixed-point numbers.
pub(crate) fn mul(a: u64, b: u64) -> u64 {
    saturate((u128::from(a) * u128::from(b)) >> 16)
}

/// `num / den` as a fixed-point number; zero for a zero denominator.
pub(crate) fn ratio(num: u64, den: u64) -> u64 {
    // A 64-bit division is several times faster than a 128-bit one.
    match num < 1 << 48 {
        true => (num << 16).checked_div(den).unwrap_or(0),
        false => saturate((u128::from(num) << 16).checked_div(u128::from(den)).unwrap_or(0)),
    }
}

/// The natural logarithm of `num / den`, or zero if the quotient is at most one.
pub(crate) fn ln(num: u64, den: u64) -> u64 {
    /// The logarithm of two, in units of 2⁻³².
    const LN_2: u64 = 2_977_044_472;
    if den == 0 || num <= den {
        return 0;
    }
    let log2 = log2(num).saturating_sub(log2(den));
    ((log2 >> 8) * LN_2) >> 40
}

/// The table of logarithms has this power of two of steps between one and two.
const STEP_BITS: u32 = 8;

/// The binary logarithms of 1, 1 + 1/256, ... 2, in units of 2⁻³².
#[expect(clippy::indexing_slicing, reason = "worked out while it is compiled")]
static LOGARITHMS: [u64; (1 << STEP_BITS) + 1] = {
    let mut table = [1 << 32; (1 << STEP_BITS) + 1];
    let mut step = 0;
    while step < 1 << STEP_BITS {
        // Each squaring gives the next binary digit of the logarithm.
        let mut x = ((1 << STEP_BITS) + step as u64) << (31 - STEP_BITS);
        let (mut log, mut digit) = (0, 32);
        while digit > 0 {
            digit -= 1;
            x = (x * x) >> 31;
            if x >= 1 << 32 {
                x >>= 1;
                log |= 1 << digit;
            }
        }
        table[step] = log;
        step += 1;
    }
    table
};

/// The binary logarithm in units of 2⁻³², by linear interpolation in the table.
fn log2(x: u64) -> u64 {
    let whole = x.checked_ilog2().unwrap_or(0);
    // The mantissa: the binary digits after the leading one.
    let rest = (x << (63 - whole)) << 1;
    let step = usize::try_from(rest >> (64 - STEP_BITS)).unwrap_or(0);
    let at = |step: usize| LOGARITHMS.get(step).copied().unwrap_or(1 << 32);
    let (low, high) = (at(step), at(step + 1));
    let between = (rest << STEP_BITS) >> 32;
    (u64::from(whole) << 32) + low + (((high - low) * between) >> 32)
}

fn saturate(x: u128) -> u64 {
    u64::try_from(x).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_agree_with_floating_point() {
        for (num, den) in [(2, 1), (10, 1), (200_001, 1), (3, 2), (1001, 1000), (u64::MAX, 1)] {
            let (ours, float) = (ln(num, den) as f64 / ONE as f64, (num as f64 / den as f64).ln());
            assert!((ours - float).abs() < 3e-5, "ln({num}/{den}) = {ours}, not {float}");
        }
        assert_eq!((ln(1, 1), ln(1, 2), ln(5, 0)), (0, 0, 0));
    }

    #[test]
    fn what_is_rarer_has_the_greater_logarithm() {
        let rarity = |seen: u64| ln(2 * 100_000 + 2, 2 * seen + 1);
        assert!((0..100_000).all(|seen| rarity(seen) >= rarity(seen + 1)));
    }

    #[test]
    fn short_and_long_divisions_agree() {
        for (num, den) in [((1 << 48) - 1, 3), (1 << 48, 3), (5 << 45, u64::MAX), (7, 9)] {
            let long = (u128::from(num) << 16) / u128::from(den);
            assert_eq!(u128::from(ratio(num, den)), long, "{num}/{den}");
        }
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(mul(u64::MAX, u64::MAX), u64::MAX);
        assert_eq!(ratio(u64::MAX, 1), u64::MAX);
        assert_eq!(ratio(1, 0), 0);
        assert_eq!(mul(3 * ONE, ONE / 2), ONE + ONE / 2);
    }
}
