use super::*;

#[test]
fn reductions_match_the_plain_sum_at_every_length() {
    for length in 1..70 {
        let a: Vec<f64> = (0..length).map(|i| (i as f64 * 0.7).sin()).collect();
        let b: Vec<f64> = (0..length).map(|i| (i as f64 * 1.3).cos()).collect();
        let plain_dot: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
        let plain_distance: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
        assert!((dot(&a, &b) - plain_dot).abs() <= 1e-13);
        assert!((distance_squared(&a, &b) - plain_distance).abs() <= 1e-12);
    }
}

#[test]
fn whole_tables_give_the_bits_of_single_rows() {
    for length in 1..70 {
        let numbers = |scale: f64, count: usize| -> Vec<f64> { (0..count).map(|i| (i as f64 * scale).sin()).collect() };
        let (rows, vector) = (numbers(0.7, 3 * length), numbers(1.3, length));
        let mut dots = [0.0; 3];
        dot_with_rows(&rows, &vector, &mut dots);
        for (index, row) in rows.chunks_exact(length).enumerate() {
            assert_eq!(dots[index].to_bits(), dot(row, &vector).to_bits());
            let distance = reduce(row, &vector, |x, y| SquaredDifference.of_numbers(x, y));
            assert_eq!(distance_squared(row, &vector).to_bits(), distance.to_bits());
        }
    }
}

#[test]
fn short_and_sparse_rows_give_the_bits_of_long_ones() {
    for length in 1..70 {
        let rows: Vec<f32> = (0..3 * length).map(|i| (i as f32 * 0.7).sin()).collect();
        let vector: Vec<f64> = (0..length).map(|i| (i as f64 * 1.3).cos()).collect();
        let mut dots = [0.0; 3];
        dot_with_short_rows(&rows, &vector, &mut dots);
        for (found, row) in dots.iter().zip(rows.chunks_exact(length)) {
            let mut row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            assert_eq!(found.to_bits(), dot(&row, &vector).to_bits());
            row.iter_mut().enumerate().for_each(|(i, x)| *x *= f64::from(i % 3 == 1));
            let columns: Vec<u32> = (0..length as u32).filter(|i| row[*i as usize] != 0.0).collect();
            let values: Vec<f64> = columns.iter().map(|i| row[*i as usize]).collect();
            assert_eq!(dot_sparse(&columns, &values, &vector).to_bits(), dot(&row, &vector).to_bits());
        }
    }
}

/// Shorter and longer than a piece, and with so many pieces that threads share them.
#[test]
fn long_sums_have_the_same_bits_however_they_are_made() {
    for length in [100, PIECE, PIECE + 1, 3 * PIECE + 7, FEW + 5] {
        let numbers = |scale: f64, count: usize| -> Vec<f64> { (0..count).map(|i| (i as f64 * scale).sin()).collect() };
        let rows = numbers(0.7, 3 * length);
        let vectors = [1.3, 1.7].map(|scale| numbers(scale, length));
        let made = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| dots_with_rows(&rows, &[&vectors[0], &vectors[1]]))
        };
        let products = made(1);
        assert_eq!(products, made(3));
        let columns: Vec<u32> = (0..length as u32).collect();
        for (k, vector) in vectors.iter().enumerate() {
            let mut all = [0.0; 3];
            dot_with_rows(&rows, vector, &mut all);
            for (place, row) in rows.chunks_exact(length).enumerate() {
                let product = products[3 * k + place];
                let plain: f64 = row.iter().zip(vector).map(|(x, y)| x * y).sum();
                assert!((product - plain).abs() < 1e-9);
                let others = [dot(row, vector), all[place], dot_sparse(&columns, row, vector)];
                assert!(others.iter().all(|other| other.to_bits() == product.to_bits()));
            }
        }
        let zero = vec![0.0; length];
        let (far, along) = way(&vectors[0], &zero, &vectors[1]);
        assert_eq!(far.to_bits(), dot(&vectors[1], &vectors[1]).to_bits());
        assert_eq!(along.to_bits(), dot(&vectors[0], &vectors[1]).to_bits());
        assert_eq!(far.to_bits(), distance_squared(&vectors[1], &zero).to_bits());
        let (mut one, mut other) = (vectors[0].clone(), vectors[0].clone());
        add_all(&mut one, rows.chunks_exact(length).map(|row| (0.3, row)));
        rows.chunks_exact(length).for_each(|row| add_scaled(&mut other, 0.3, row));
        assert_eq!(one, other);
    }
}

#[test]
fn limits_hold_for_every_number() {
    assert!(all_within(&[1.0, -2.0, 0.0], 2.0) && all_within(&[], 0.0));
    for wrong in [2.1, -2.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for position in 0..20 {
            let mut numbers = [1.0; 20];
            numbers[position] = wrong;
            assert!(!all_within(&numbers, 2.0));
            assert_eq!(all_within(&numbers, f64::MAX), wrong.is_finite());
        }
    }
}

#[test]
fn norms_neither_overflow_nor_vanish() {
    assert_eq!(norm(&[3.0, 4.0]), 5.0);
    assert!((norm(&[3e-170, 4e-170]) / 5e-170 - 1.0).abs() < 1e-15);
    assert!((norm(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
    assert_eq!(norm(&[0.0, 0.0]), 0.0);
}

#[test]
fn argmax_prefers_the_lowest_index_and_skips_nan() {
    assert_eq!(argmax([1.0, 3.0, 3.0].into_iter()), Some(1));
    assert_eq!(argmax([f64::NAN, 2.0, f64::NAN].into_iter()), Some(1));
    assert_eq!(argmax([f64::NAN, f64::NEG_INFINITY].into_iter()), Some(1));
    assert_eq!(argmax([f64::NAN, f64::NAN].into_iter()), None);
    assert_eq!(argmax([-1.0, -1.0].into_iter()), Some(0));
}
