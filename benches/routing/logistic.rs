//! Logistic regression on a few features.

/// What a ranking shows of itself, with a one before it.
pub(crate) const FEATURES: usize = 4;
pub(crate) type Row = [f64; FEATURES];

const ROUNDS: usize = 30;
/// Holds back weights that the rows say nothing of.
const RIDGE: f64 = 1e-6;

/// The weights under which the outcomes of weighted rows are most likely, by Newton's method.
pub(crate) fn fit(rows: &[(Row, bool, f64)]) -> Row {
    let mut weights = [0.0; FEATURES];
    for _ in 0..ROUNDS {
        let mut slope = weights.map(|weight| -RIDGE * weight);
        let mut bend = [[0.0; FEATURES]; FEATURES];
        for (place, row) in bend.iter_mut().enumerate() {
            row[place] = RIDGE;
        }
        for (row, outcome, weight) in rows {
            let likely = probability(&weights, row);
            let error = weight * (f64::from(u8::from(*outcome)) - likely);
            let steep = weight * (likely * (1.0 - likely)).max(1e-9);
            for (place, value) in row.iter().enumerate() {
                slope[place] += error * value;
                for (other, factor) in row.iter().enumerate() {
                    bend[place][other] += steep * value * factor;
                }
            }
        }
        let step = solve(bend, slope);
        weights.iter_mut().zip(step).for_each(|(weight, step)| *weight += step);
    }
    weights
}

/// How likely the outcome is.
pub(crate) fn probability(weights: &Row, row: &Row) -> f64 {
    let odds: f64 = weights.iter().zip(row).map(|(weight, value)| weight * value).sum();
    1.0 / (1.0 + (-odds).exp())
}

/// Gauss's way, with the largest pivot first.
fn solve(mut matrix: [Row; FEATURES], mut right: Row) -> Row {
    for at in 0..FEATURES {
        let size = |row: usize| matrix[row][at].abs();
        let pivot = (at..FEATURES).max_by(|a, b| size(*a).total_cmp(&size(*b))).unwrap_or(at);
        matrix.swap(at, pivot);
        right.swap(at, pivot);
        if matrix[at][at].abs() < 1e-12 {
            continue;
        }
        for row in (0..FEATURES).filter(|row| *row != at) {
            let factor = matrix[row][at] / matrix[at][at];
            let above = matrix[at];
            matrix[row].iter_mut().zip(above).for_each(|(value, above)| *value -= factor * above);
            right[row] -= factor * right[at];
        }
    }
    let mut solved = [0.0; FEATURES];
    for (at, solved) in solved.iter_mut().enumerate() {
        let pivot = matrix[at][at];
        *solved = if pivot.abs() < 1e-12 { 0.0 } else { right[at] / pivot };
    }
    solved
}
