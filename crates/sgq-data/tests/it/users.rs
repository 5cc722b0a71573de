//! Who the users of a LIBSVM file are.

use std::fs;

use sgq_data::{
    Dataset,
    libsvm::{LibsvmError, Options, Users, from_reader, read_names},
};

/// A file in which row `r` has the one feature `r`, so that rows are known by it.
fn split(labels: &[u32], users: Users) -> Result<Dataset, LibsvmError> {
    let lines = labels.iter().enumerate().map(|(row, label)| format!("{label} qid:{} 1:{row}\n", 9 - row % 3));
    let text: String = lines.collect::<String>() + "# end\n";
    from_reader(text.as_bytes(), &Options { intercept: false, ..Options::new(users) })
}

fn members(data: &Dataset) -> Vec<Vec<usize>> {
    let row = |row: usize| data.rows.dot(row, &[1.0]) as usize;
    data.blocks.windows(2).map(|block| (block[0]..block[1]).map(row).collect()).collect()
}

#[test]
fn by_qid_in_numeric_order() {
    let data = split(&[0, 1, 2, 0, 1], Users::Qid).unwrap();
    assert_eq!(data.user_names, ["7", "8", "9"]);
    assert_eq!(members(&data), [vec![2], vec![1, 4], vec![0, 3]]);
    assert_eq!(data.targets, [2.0, 1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn by_a_name_for_each_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.txt");
    fs::write(&path, "b\r\na \nb\n\n").unwrap();
    let names = read_names(&path).unwrap();
    assert_eq!(names, ["b", "a", "b"]);
    let data = split(&[0, 1, 2], Users::Names(names.clone())).unwrap();
    assert_eq!(
        (members(&data), &data.user_names[..]),
        (vec![vec![1], vec![0, 2]], &["a".to_owned(), "b".to_owned()][..])
    );
    let error = split(&[0, 1], Users::Names(names)).unwrap_err().to_string();
    assert_eq!(error, "3 users' names, but 2 rows: give one name for each row");
    let empty = split(&[0, 1], Users::Names(vec!["a".into(), String::new()])).unwrap_err().to_string();
    assert_eq!(empty, "the user's name on line 2 is empty");
    fs::write(&path, b"a\ncaf\xe9\n").unwrap();
    let error = read_names(&path).unwrap_err().to_string();
    assert!(error.ends_with("users.txt: line 2: the text is not UTF-8: convert the file to it"), "{error}");
    assert!(read_names(folder.path().join("none")).unwrap_err().to_string().contains("none: cannot be read"));
}

#[test]
fn by_blocks_as_equal_as_can_be() {
    let data = split(&[0; 11], Users::Blocks(3)).unwrap();
    assert_eq!(data.blocks, [0, 4, 8, 11]);
    assert_eq!(data.user_names, ["0", "1", "2"]);
    assert_eq!(split(&[0; 3], Users::EachRow).unwrap().blocks, [0, 1, 2, 3]);
    for users in [0, 4] {
        let error = split(&[0; 3], Users::Blocks(users)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{users} users cannot share 3 rows")), "{error}");
    }
}

fn dirichlet(labels: &[u32], users: usize, concentration: f64, seed: u64) -> Vec<Vec<usize>> {
    members(&split(labels, Users::Dirichlet { users, concentration, seed }).unwrap())
}

#[test]
fn a_dirichlet_split_gives_every_row_once_and_leaves_nobody_empty() {
    let labels: Vec<u32> = (0..60).map(|row| row % 3).collect();
    for (seed, concentration) in [(1, 1e-300), (2, 0.01), (3, 1.0), (4, 1e9)] {
        for users in [1, 7, 60] {
            let split = dirichlet(&labels, users, concentration, seed);
            assert!(split.len() == users && split.iter().all(|rows| !rows.is_empty() && rows.is_sorted()));
            let mut all: Vec<usize> = split.into_iter().flatten().collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..60));
        }
    }
    assert_eq!(dirichlet(&labels, 7, 0.5, 3), dirichlet(&labels, 7, 0.5, 3));
    assert_ne!(dirichlet(&labels, 7, 0.5, 3), dirichlet(&labels, 7, 0.5, 4));
}

/// Of `m` rows of a label a user has a number with mean `m/n` and the Dirichlet-multinomial variance
/// `m (1/n) (1 − 1/n) (m + nα) / (1 + nα)`.
#[test]
fn a_dirichlet_split_has_the_right_moments() {
    let (rows, users, trials) = (40usize, 4usize, 4000u64);
    // A second label keeps everybody from being empty, so that no row is moved.
    let labels: Vec<u32> = (0..rows).map(|_| 0).chain((0..400).map(|_| 1)).collect();
    for concentration in [0.2, 1.0, 20.0] {
        let (mut sum, mut squares, mut with_rows) = (0.0, 0.0, 0u64);
        for seed in 0..trials {
            let split = dirichlet(&labels, users, concentration, seed);
            let mine = split[1].iter().filter(|row| **row < rows).count() as f64;
            sum += mine;
            squares += mine * mine;
            with_rows += u64::from(split.iter().all(|rows| rows.len() > 1));
        }
        let mean = sum / trials as f64;
        let variance = squares / trials as f64 - mean * mean;
        let (m, n, total) = (rows as f64, users as f64, users as f64 * concentration);
        let expected = m / n * (1.0 - 1.0 / n) * (m + total) / (1.0 + total);
        // Five standard errors of the mean; those of the variance are near √(3 / trials) for so heavy a tail.
        assert!((mean - m / n).abs() < 5.0 * (expected / trials as f64).sqrt(), "{concentration}: mean {mean}");
        assert!((variance / expected - 1.0).abs() < 0.12, "{concentration}: variance {variance}, expected {expected}");
        assert!(concentration < 1.0 || with_rows > trials * 9 / 10);
    }
}

#[test]
fn a_dirichlet_split_needs_classes_and_a_concentration() {
    for concentration in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = split(&[0, 1], Users::Dirichlet { users: 2, concentration, seed: 0 }).unwrap_err().to_string();
        assert!(error.starts_with("the concentration is"), "{error}");
    }
    let labels: Vec<u32> = (0..101).collect();
    let error = split(&labels, Users::Dirichlet { users: 2, concentration: 1.0, seed: 0 }).unwrap_err().to_string();
    assert!(error.starts_with("a Dirichlet split needs classes"), "{error}");
}
