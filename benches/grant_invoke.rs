//! A grant, and a grant with its invocation, on a ledger in memory.
//!
//! The tool is an inline function that gives five rows of three fields, the answer a summary. For
//! orientation: agent-kernel (Python), with the same workload on a machine of this kind, needs
//! 26 µs and 128 µs of CPU time. Measure it beside this one before comparing.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use weaver_benches::kernel::Desk;

/// A ledger in memory keeps everything, so a fresh one is taken after so many calls.
const CALLS: u64 = 1_000;

fn timed(iterations: u64, call: impl Fn(&Desk)) -> Duration {
    let mut spent = Duration::ZERO;
    let mut left = iterations;
    while left > 0 {
        let desk = Desk::new().expect("a kernel");
        let now = left.min(CALLS);
        let start = Instant::now();
        for _ in 0..now {
            call(&desk);
        }
        spent += start.elapsed();
        left -= now;
    }
    spent
}

fn grant_invoke(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernel");
    group.bench_function("grant", |bencher| {
        bencher.iter_custom(|iterations| {
            timed(iterations, |desk| assert!(black_box(desk.grant()).token.is_some()))
        });
    });
    group.bench_function("grant_invoke", |bencher| {
        bencher.iter_custom(|iterations| {
            timed(iterations, |desk| {
                let done = black_box(desk.grant_and_invoke());
                assert!(done.and_then(|done| done.result).is_some_and(|result| result.success));
            })
        });
    });
    group.finish();
}

criterion_group!(benches, grant_invoke);
criterion_main!(benches);
