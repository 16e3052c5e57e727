//! Every interleaving of calls that reserve, settle and give back, by model checking.

use std::sync::Arc;

use loom::sync::atomic::{AtomicU64, Ordering};

#[path = "../../src/budget/meter.rs"]
#[expect(dead_code, reason = "the model looks at a part of it")]
mod meter;

use meter::{AtomicWord, BudgetGrant, Meter};

impl AtomicWord for AtomicU64 {
    fn new(value: u64) -> Self {
        Self::new(value)
    }

    fn load(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    fn exchange(&self, current: u64, new: u64) -> Result<(), u64> {
        self.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire).map(|_| ())
    }
}

type Checked = Arc<Meter<AtomicU64>>;

fn meter(total: u32) -> Checked {
    Arc::new(Meter::new(total, 0))
}

fn tokens(granted: Option<BudgetGrant>) -> u32 {
    granted.map_or(0, |granted| granted.tokens)
}

#[test]
fn what_calls_hold_at_once_never_exceeds_the_total() {
    loom::model(|| {
        let meter = meter(10);
        let calls = [4, 7].map(|want| {
            let meter = Arc::clone(&meter);
            loom::thread::spawn(move || tokens(meter.reserve(want)))
        });
        let mine = tokens(meter.reserve(3));
        let held: u32 = calls.into_iter().map(|call| call.join().unwrap()).sum::<u32>() + mine;
        assert_eq!(held, 10, "all that there is, and no more");
        assert_eq!(meter.remaining(), 0);
        assert!(meter.reserve(1).is_none());
    });
}

#[test]
fn whole_calls_never_use_more_than_the_total_and_lose_nothing() {
    loom::model(|| {
        let meter = meter(10);
        let calls = [(6, 5), (6, 6)].map(|(want, uses)| {
            let meter = Arc::clone(&meter);
            loom::thread::spawn(move || {
                let Some(granted) = meter.reserve(want) else { return 0 };
                let used = granted.tokens.min(uses);
                assert!(meter.used() + granted.tokens <= 10);
                meter.settle(granted.tokens, used);
                used
            })
        });
        let used: u32 = calls.into_iter().map(|call| call.join().unwrap()).sum();
        assert!(used <= 10);
        assert_eq!((meter.used(), meter.remaining()), (used, 10 - used));
    });
}

#[test]
fn growing_takes_all_or_nothing() {
    loom::model(|| {
        let meter = meter(10);
        let calls = [8, 8].map(|by| {
            let meter = Arc::clone(&meter);
            loom::thread::spawn(move || {
                let held = tokens(meter.reserve(1));
                let grown = meter.try_grow(by);
                (held, grown)
            })
        });
        let held: Vec<(u32, bool)> = calls.into_iter().map(|call| call.join().unwrap()).collect();
        let sum: u32 = held.iter().map(|(held, grown)| held + if *grown { 8 } else { 0 }).sum();
        assert!(held.iter().filter(|(_, grown)| *grown).count() <= 1);
        assert_eq!(meter.remaining(), 10 - sum);
    });
}
