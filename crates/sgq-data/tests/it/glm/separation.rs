//! Data without a finite optimum.

use sgq_data::glm::{Family, Separation, SeparationError, Trend, separation};

use super::{Case, Numbers, reference};

fn found(case: &Case) -> Vec<Separation> {
    separation(&case.observations(), &case.names, &case.scale).unwrap()
}

/// Both on the columns as they are and standardised.
fn everywhere(case: &Case, check: impl Fn(&[Separation])) {
    check(&found(case));
    check(&found(&case.standardised()));
}

fn columns(separation: &Separation) -> Vec<(&str, Trend)> {
    separation.columns.iter().map(|(name, trend)| (name.as_str(), *trend)).collect()
}

fn sign(positive: bool) -> f64 {
    if positive { 1.0 } else { -1.0 }
}

/// Rows with an intercept, two numbers and a level; a target from them.
fn data(family: Family, seed: u64, rows: usize, target: impl Fn(&[f64], &mut Numbers) -> f64) -> Case {
    let mut numbers = Numbers(seed);
    let lines: Vec<Vec<f64>> = (0..rows)
        .map(|_| {
            vec![1.0, numbers.normal(), 50.0 + 10.0 * numbers.normal(), f64::from(u8::from(numbers.uniform() < 0.3))]
        })
        .collect();
    let targets = lines.iter().map(|line| target(line, &mut numbers)).collect();
    Case::new(family, &lines, targets, vec![0, rows / 2, rows])
}

#[test]
fn a_threshold_separates_completely() {
    for seed in 0..20 {
        let case = data(Family::Binomial, seed, 60, |line, _| sign(line[2] > 52.0));
        everywhere(&case, |found| {
            assert_eq!(found.len(), 1);
            assert!(found[0].is_complete());
            assert_eq!(columns(&found[0]), [("intercept", Trend::Down), ("x2", Trend::Up)]);
            let threshold = -found[0].direction[0] / found[0].direction[2];
            assert!((48.0..56.0).contains(&threshold), "{threshold}");
        });
    }
}

#[test]
fn a_level_separates_in_part() {
    for seed in 0..20 {
        let target = |line: &[f64], numbers: &mut Numbers| sign(line[3] == 1.0 || numbers.uniform() < 0.5);
        everywhere(&data(Family::Binomial, 100 + seed, 80, target), |found| {
            assert_eq!(columns(&found[0]), [("x3", Trend::Up)]);
            assert!(!found[0].is_complete() && found.len() == 1);
            let text = found[0].to_string();
            assert!(
                text.starts_with("the coefficient of x3 (to +infinity) has no finite estimate: it predicts "),
                "{text}"
            );
        });
    }
}

#[test]
fn only_a_combination_of_two_columns_separates() {
    for seed in 0..20 {
        let case = data(Family::Binomial, 200 + seed, 70, |line, _| sign(line[1] + 0.1 * line[2] > 5.0));
        everywhere(&case, |found| {
            assert!(found[0].is_complete());
            let names: Vec<&str> = columns(&found[0]).iter().map(|(name, _)| *name).collect();
            assert!(names.contains(&"x1") && names.contains(&"x2"), "{names:?}");
        });
    }
}

/// Ties at the threshold, of both levels: all others are separated.
#[test]
fn a_threshold_with_ties_separates_in_part() {
    for seed in 0..20 {
        let mut case = data(Family::Binomial, 300 + seed, 60, |line, _| sign(line[1] > 0.0));
        let sgq::problem::Rows::Dense { values, .. } = &mut case.rows else { panic!("dense") };
        values[1] = 0.0;
        values.copy_within(0..4, 4);
        (case.targets[0], case.targets[1]) = (1.0, -1.0);
        everywhere(&case, |found| {
            assert_eq!(columns(&found[0]), [("x1", Trend::Up)]);
            assert_eq!((found[0].rows, found[0].of_rows), (58, 60));
        });
    }
}

/// A level whose counts are all zero.
#[test]
fn counts_that_are_all_zero_at_a_level_are_separated() {
    for family in [Family::Poisson, Family::NegativeBinomial { theta: 1.5 }] {
        for seed in 0..20 {
            let target = |line: &[f64], numbers: &mut Numbers| {
                if line[3] == 1.0 { 0.0 } else { (3.0 * numbers.uniform()).floor() }
            };
            everywhere(&data(family, 400 + seed, 60, target), |found| {
                assert_eq!(found.len(), 1);
                assert_eq!(columns(&found[0]), [("x3", Trend::Down)]);
            });
        }
    }
    let zero = data(Family::Poisson, 1, 20, |_, _| 0.0);
    let all = found(&zero);
    assert!(all[0].is_complete() && all[0].counts);
    assert_eq!(columns(&all[0]), [("intercept", Trend::Down)]);
    let text = "the coefficient of intercept (to -infinity) has no finite estimate: it predicts 20 of 20 rows, with counts \
                of 0, perfectly";
    assert_eq!(all[0].to_string(), text);
}

/// Counts of zero at a numeric threshold are not separated while positive counts vary on both numbers, and a level can be.
#[test]
fn counts_beyond_a_threshold_are_not_separated() {
    for seed in 0..30 {
        let target = |line: &[f64], numbers: &mut Numbers| {
            if line[1] > 0.3 { 0.0 } else { 1.0 + (3.0 * numbers.uniform()).floor() }
        };
        everywhere(&data(Family::Poisson, 450 + seed, 60, target), |found| assert_eq!(found, []));
    }
}

#[test]
fn every_separated_level_is_named() {
    for seed in 0..20 {
        let mut numbers = Numbers(500 + seed);
        let lines: Vec<Vec<f64>> = (0..90)
            .map(|row| {
                let level = |k: usize| f64::from(u8::from(row % 4 == k));
                vec![1.0, numbers.normal(), level(1), level(2), level(3)]
            })
            .collect();
        let target = |line: &Vec<f64>| sign(line[2] == 1.0 || (line[4] != 1.0 && numbers.uniform() < 0.5));
        let targets = lines.iter().map(target).collect();
        let case = Case::new(Family::Binomial, &lines, targets, vec![0, 90]);
        everywhere(&case, |found| {
            let mut all: Vec<_> = found.iter().flat_map(columns).collect();
            all.sort_by_key(|(name, _)| *name);
            assert_eq!(all, [("x2", Trend::Up), ("x4", Trend::Down)]);
        });
    }
}

/// A linear program says the same of every data set, and of every row.
#[test]
fn it_finds_what_a_linear_program_finds() {
    let (mut separated, mut complete) = (0, 0);
    let all = reference::separable();
    for (index, known) in all.iter().enumerate() {
        let lines: Vec<Vec<f64>> = known.rows.chunks(known.dim).map(<[f64]>::to_vec).collect();
        let family = if known.counts { Family::Poisson } else { Family::Binomial };
        let case = Case::new(family, &lines, known.targets.clone(), vec![0, lines.len()]);
        let found = found(&case);
        let rows = found.first().map_or(0, |first| first.rows);
        assert_eq!(rows, known.separated, "{index}: {found:?}");
        found.iter().for_each(|one| proof(&case, one));
        separated += usize::from(rows > 0);
        complete += usize::from(rows == lines.len());
    }
    assert!(separated > 60 && complete > 20 && all.len() - separated > 60, "{separated} {complete}");
}

/// Where the optimum is finite nothing is told, however far out it is.
#[test]
fn there_are_no_false_alarms() {
    let mut finite = 0;
    for seed in 0..300 {
        let strength = [0.5, 2.0, 6.0][seed as usize % 3];
        let binomial = data(Family::Binomial, 1000 + seed, 40, |line, numbers| {
            sign(numbers.uniform() < 1.0 / (1.0 + (-strength * line[1]).exp()))
        });
        let counts = data(Family::Poisson, 2000 + seed, 40, |line, numbers| {
            ((line[1] * 0.5 * strength).exp() * numbers.uniform() * 2.0).floor()
        });
        for case in [binomial, counts] {
            // The optimum is far out, or not there, where a separating direction was found: then a proof exists, and only then.
            let separated = !found(&case).is_empty();
            assert_eq!(separated, !found(&case.standardised()).is_empty());
            if !separated {
                let point = case.standardised().optimum();
                assert!(point.iter().all(|value| value.abs() < 200.0), "{seed}: {point:?}");
                finite += 1;
            } else {
                for one in found(&case) {
                    proof(&case, &one);
                }
            }
        }
    }
    assert!(finite > 500, "{finite}");
}

/// One row on the wrong side keeps everything finite.
#[test]
fn one_row_on_the_wrong_side_is_enough() {
    for seed in 0..50 {
        let mut case = data(Family::Binomial, 5000 + seed, 60, |line, _| sign(line[1] > 0.0));
        let sgq::problem::Rows::Dense { values, dim } = &case.rows else { panic!("dense") };
        // Mixed at each level of x3, and surrounded: the largest x1 of each level is negative, and the smallest positive.
        for level in [0.0, 1.0] {
            let rows = || (0..60).filter(|row| values[row * dim + 3] == level);
            let by = |row: &usize| values[row * dim + 1];
            let largest = rows().max_by(|a, b| by(a).total_cmp(&by(b))).unwrap();
            let smallest = rows().min_by(|a, b| by(a).total_cmp(&by(b))).unwrap();
            (case.targets[largest], case.targets[smallest]) = (-1.0, 1.0);
        }
        everywhere(&case, |found| found.iter().for_each(|one| proof(&case, one)));
    }
}

/// The first direction is what it says, on the original columns.
fn proof(case: &Case, separation: &Separation) {
    if separation.of_rows < case.targets.len() {
        return;
    }
    let mut strictly = 0;
    for row in 0..case.targets.len() {
        let z = case.rows.dot(row, &separation.direction);
        let y = case.targets[row];
        let rounding = 1e-9;
        if separation.counts {
            assert!(if y > 0.0 { z.abs() <= rounding } else { z <= rounding });
        } else {
            assert!(y * z >= -rounding);
        }
        strictly += usize::from(z.abs() > rounding);
    }
    assert!(strictly > 0);
}

/// Weights of 0, collinear columns, and families that are never separated.
#[test]
fn what_does_not_matter_does_not() {
    let mut case = data(Family::Binomial, 7, 60, |line, _| sign(line[1] > 0.0));
    case.targets[0] = -case.targets[0];
    case.weights = Some((0..60).map(|row| f64::from(u8::from(row != 0))).collect());
    assert_eq!(columns(&found(&case)[0]).last(), Some(&("x1", Trend::Up)));
    let mut numbers = Numbers(8);
    let lines: Vec<Vec<f64>> = (0..60)
        .map(|_| {
            let (a, b) = (numbers.normal(), numbers.normal());
            vec![1.0, a, b, a + b, 0.0]
        })
        .collect();
    let targets = (0..60).map(|_| sign(numbers.uniform() < 0.5)).collect();
    let collinear = Case::new(Family::Binomial, &lines, targets, vec![0, 60]);
    assert_eq!(found(&collinear), []);
    for family in [Family::Gaussian, Family::Gamma, Family::Huber { delta: 1.0 }] {
        assert_eq!(found(&Case { family, ..case.clone() }), []);
    }
    let refusal = separation(&case.observations(), &case.names[1..], &case.scale).unwrap_err();
    assert_eq!(refusal, SeparationError::Length { what: "names of coefficients", found: 3, expected: 4 });
    let sparse = {
        let values: Vec<f64> = lines.concat();
        sgq::problem::Rows::Sparse {
            dim: 5,
            starts: (0..=60).map(|row| 5 * row).collect(),
            columns: (0..300).map(|cell| cell % 5).collect(),
            values,
        }
    };
    let targets = lines.iter().map(|line| sign(line[2] > 0.1)).collect();
    let dense = Case { targets, ..collinear };
    assert_eq!(found(&Case { rows: sparse, ..dense.clone() }), found(&dense));
    assert!(found(&dense)[0].is_complete());
}
