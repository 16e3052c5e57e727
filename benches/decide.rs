//! One decision under 10 to 10,000 rules.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use weaver_benches::rules::Workload;
use weaver_benches::scenario::Scenario;

fn decide(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide");
    for count in [10, 100, 1_000, 10_000] {
        let workload = Workload::of(&Scenario::new(count)).expect("a workload");
        let mut asks = workload.asks.iter().cycle();
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| asks.next().map(|ask| black_box(workload.decide(ask))));
        });
    }
    group.finish();
}

criterion_group!(benches, decide);
criterion_main!(benches);
