//! A share with its confidence interval.

/// A number of hits out of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub hits: usize,
    pub all: usize,
}

impl Share {
    /// Counts one more.
    pub fn count(&mut self, hit: bool) {
        self.hits += usize::from(hit);
        self.all += 1;
    }

    /// The share; 1 if there is nothing.
    pub fn value(self) -> f64 {
        if self.all == 0 { 1.0 } else { self.hits as f64 / self.all as f64 }
    }

    /// Wilson's score interval at 95 %.
    pub fn interval(self) -> (f64, f64) {
        const Z: f64 = 1.959_963_984_540_054;
        if self.all == 0 {
            return (0.0, 1.0);
        }
        let (n, p) = (self.all as f64, self.value());
        let middle = p + Z * Z / (2.0 * n);
        let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let whole = 1.0 + Z * Z / n;
        (((middle - spread) / whole).max(0.0), ((middle + spread) / whole).min(1.0))
    }

    /// The share of both together.
    pub fn join(self, other: Self) -> Self {
        Self { hits: self.hits + other.hits, all: self.all + other.all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        let (low, high) = Share { hits: 925, all: 929 }.interval();
        assert!((low - 0.98901).abs() < 1e-4 && (high - 0.99832).abs() < 1e-4, "{low} {high}");
        let (low, high) = Share { hits: 10, all: 10 }.interval();
        assert!((low - 0.7225).abs() < 1e-3 && (high - 1.0).abs() < 1e-9, "{low} {high}");
    }
}
