//! Routing over a thousand tools: building the index, ranking, and cards.

use std::hint::black_box;

use contextweaver::route::Router;
use criterion::{Criterion, criterion_group, criterion_main};
use weaver_benches::tools::{catalog, goals};

fn route(criterion: &mut Criterion) {
    let catalog = catalog().expect("a catalog");
    let goals = goals();
    let mut group = criterion.benchmark_group("route");
    group.bench_function("index_1000", |bencher| {
        bencher.iter(|| black_box(Router::new(catalog.clone())).is_ok());
    });
    let router = Router::new(catalog.clone()).expect("an index");
    let mut each = goals.iter().cycle();
    group.bench_function("rank_1000", |bencher| {
        bencher.iter(|| each.next().map(|goal| black_box(router.route(goal, 10))));
    });
    group.finish();
}

criterion_group!(benches, route);
criterion_main!(benches);
