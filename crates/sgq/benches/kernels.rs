//! The inner loops by themselves: single vectors, and whole tables in the first-level cache, in the second-level one and in
//! memory. `plain` is the same sum in the registers that the compiler finds by itself; the others pick the widest ones at run time.

#[allow(dead_code, unused_imports)] // the library uses all of it, and runs its tests
#[path = "../src/kernel.rs"]
mod kernel;

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput};

const LENGTHS: [usize; 4] = [10, 100, 1_000, 10_000];

/// Rows of [`DIM`] numbers: 16 kB, 512 kB and 80 MB.
const TABLES: [(&str, usize); 3] = [("first-level cache", 20), ("second-level cache", 640), ("memory", 100_000)];
const DIM: usize = 100;

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    vectors(&mut criterion);
    tables(&mut criterion);
    criterion.final_summary();
}

fn vectors(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("vectors");
    for length in LENGTHS {
        let (a, b) = (numbers(0.7, length), numbers(1.3, length));
        group.throughput(Throughput::Bytes(2 * bytes(length)));
        for (name, of) in [
            ("dot", kernel::dot as fn(&[f64], &[f64]) -> f64),
            ("dot, plain", plain_dot),
            ("distance", kernel::distance),
            ("distance, plain", plain_distance),
        ] {
            group.bench_function(BenchmarkId::new(name, length), |bencher| {
                bencher.iter(|| of(black_box(&a), black_box(&b)));
            });
        }
    }
    group.finish();
}

fn tables(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tables");
    let vector = numbers(1.3, DIM);
    for (place, rows) in TABLES {
        let table = numbers(0.7, rows * DIM);
        let mut out = vec![0.0; rows];
        group.throughput(Throughput::Bytes(bytes(table.len())));
        group.bench_function(BenchmarkId::new("dot_with_rows", place), |bencher| {
            bencher.iter(|| kernel::dot_with_rows(black_box(&table), black_box(&vector), black_box(&mut out)));
        });
        for (name, of) in [
            ("dot with rows, plain", plain_dot as fn(&[f64], &[f64]) -> f64),
            ("distance to rows", kernel::distance),
            ("distance to rows, plain", plain_distance),
        ] {
            group.bench_function(BenchmarkId::new(name, place), |bencher| {
                bencher.iter(|| {
                    for (row, out) in black_box(&table).chunks_exact(DIM).zip(&mut out) {
                        *out = of(row, black_box(&vector));
                    }
                    black_box(&mut out);
                });
            });
        }
    }
    group.finish();
}

fn plain_dot(a: &[f64], b: &[f64]) -> f64 {
    plain(a, b, |x, y| x * y)
}

fn plain_distance(a: &[f64], b: &[f64]) -> f64 {
    plain(a, b, |x, y| (x - y) * (x - y)).sqrt()
}

/// The kernel's sum in its 16 lanes, which it keeps to itself.
#[inline(always)]
fn plain(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<16>();
    let (b_blocks, b_rest) = b.as_chunks::<16>();
    let mut lanes = [0.0; 16];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..16 {
            lanes[lane] += term(x[lane], y[lane]);
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += term(*x, *y);
    }
    lanes.iter().sum()
}

fn numbers(scale: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| (i as f64 * scale).sin()).collect()
}

fn bytes(numbers: usize) -> u64 {
    (numbers * size_of::<f64>()) as u64
}
