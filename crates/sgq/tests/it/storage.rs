//! How the table of last gradients is kept: every format against its definition, and what is refused.

use sgq::{
    Format, LastGradient, Method, Oracle, Place, Problem, Random, Session, Settings, SettingsError, Sight, Storage,
    TellError, bonus, expected_improvement, method,
    problem::{Loss, Quadratic, Regression, Rows},
    session::RestoreError,
    storage::StorageError,
};

const USERS: usize = 14;
const DIM: usize = 37;
const STEP: f64 = 0.4;

/// Logistic, one row a user, of which one has no numbers at all and the others a quarter.
fn sparse_problem(l2: f64) -> Regression {
    let mut random = Random::new(11, "storage");
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for user in 0..USERS {
        for column in 0..DIM as u32 {
            if user != 3 && random.unit() < 0.25 {
                columns.push(column);
                values.push(random.unit() - 0.4);
            }
        }
        starts.push(values.len());
    }
    let targets = (0..USERS).map(|user| if user % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let blocks: Vec<usize> = (0..=USERS).collect();
    let rows = Rows::Sparse { dim: DIM, starts, columns, values };
    Regression::new(rows, targets, &blocks, Loss::Logistic, l2).unwrap()
}

/// The same without a penalty: the problem needs one for its optimum, the users' gradients do not.
struct WithoutPenalty(Regression);

impl Oracle for WithoutPenalty {
    fn users(&self) -> usize {
        USERS
    }

    fn dim(&self) -> usize {
        DIM
    }

    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]) {
        self.0.gradient(user, point, gradient);
        for (value, x) in gradient.iter_mut().zip(point) {
            *value -= self.0.l2() * x;
        }
    }
}

fn settings(problem: &Regression, storage: impl Into<Storage>) -> Settings {
    let start = (0..DIM).map(|k| (k as f64).sin()).collect();
    Settings::for_problem(start, problem).step_size(STEP).seed(5).storage(storage)
}

fn answer(session: &mut Session<'_>, oracle: &dyn Oracle) -> usize {
    let query = session.ask().unwrap().unwrap();
    let mut gradient = vec![0.0; oracle.dim()];
    oracle.gradient(query.user, &query.point, &mut gradient);
    session.tell(query.ticket, &gradient).unwrap();
    query.user
}

/// What a session with a table holds.
fn table<'a>(session: &'a Session<'_>) -> &'a LastGradient {
    session.belief().unwrap()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// Two sessions side by side do the same, to the bit.
fn same_runs(one: &mut Session<'_>, other: &mut Session<'_>, oracle: &dyn Oracle, steps: usize) {
    for _ in 0..steps {
        assert_eq!(answer(one, oracle), answer(other, oracle));
        assert_eq!(bits(one.point()), bits(other.point()));
        let (one, other) = (table(one), table(other));
        assert_eq!(bits(one.mean()), bits(other.mean()));
        for user in 0..USERS {
            // By value: a zero may have lost its sign.
            assert_eq!(one.gradient(user), other.gradient(user));
            assert_eq!(one.gradient_norm(user).to_bits(), other.gradient_norm(user).to_bits());
        }
    }
}

/// Methods that have a table.
const METHODS: [fn() -> Method; 3] = [|| method::sgq(0.3), method::saga, || method::saga_sgq(0.3)];

/// What is to be kept of a gradient at a point.
type Keep = fn(&[f64], &[f64]) -> Vec<f64>;

/// Runs a method, and does everything again by the definition: what is kept, its norm, the mean, whom to ask, how to move.
fn check_by_definition(method: Method, corrects: bool, storage: Storage, keep: Keep, tolerance: f64) {
    let problem = sparse_problem(0.1);
    let smoothness = problem.smoothness().unwrap().to_vec();
    let mean_smoothness = smoothness.iter().sum::<f64>() / USERS as f64;
    let mut session = Session::new(method, settings(&problem, storage)).unwrap();
    let mut rows = vec![vec![0.0; DIM]; USERS];
    let mut points = vec![vec![0.0; DIM]; USERS];
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    let mut guided = 0;
    for step in 0..150 {
        let query = session.ask().unwrap().unwrap();
        let (user, x) = (query.user, query.point.to_vec());
        let mean: Vec<f64> = (0..DIM).map(|k| rows.iter().map(|row| row[k]).sum::<f64>() / USERS as f64).collect();
        if query.explored == Some(false) {
            guided += 1;
            let norm = |a: &[f64]| dot(a, a).sqrt();
            let errors: Vec<f64> = (0..USERS)
                .map(|i| smoothness[i] * norm(&points[i].iter().zip(&x).map(|(a, b)| a - b).collect::<Vec<_>>()))
                .collect();
            let mean_error = errors.iter().sum::<f64>() / USERS as f64;
            let score = |i: usize| {
                let (inner, length) = (dot(&mean, &rows[i]), norm(&rows[i]));
                expected_improvement(STEP, mean_smoothness, inner, length)
                    + bonus(STEP, mean_smoothness, norm(&mean), length, errors[i], mean_error)
            };
            assert!((0..USERS).all(|other| score(other) <= score(user) + 1e-9), "step {step}");
        }
        let mut gradient = vec![0.0; DIM];
        problem.gradient(user, &x, &mut gradient);
        session.tell(query.ticket, &gradient).unwrap();
        if step >= USERS {
            for k in 0..DIM {
                let direction = if corrects { gradient[k] - rows[user][k] + mean[k] } else { gradient[k] };
                assert!((session.point()[k] - (x[k] - STEP * direction)).abs() <= 1e-12, "step {step}");
            }
        }
        rows[user] = keep(&x, &gradient);
        points[user] = x;
        for (i, row) in rows.iter().enumerate() {
            let found = table(&session).gradient(i);
            assert!(found.iter().zip(row).all(|(a, b)| (a - b).abs() <= tolerance), "step {step}, user {i}");
            assert!((table(&session).gradient_norm(i) - dot(row, row).sqrt()).abs() <= 1e-12);
        }
    }
    assert!(guided == 0 || guided > 50);
}

fn check_all_by_definition(storage: impl Into<Storage>, keep: Keep, tolerance: f64) {
    let storage = storage.into();
    check_by_definition(method::sgq(0.3), false, storage.clone(), keep, tolerance);
    check_by_definition(method::saga(), true, storage.clone(), keep, tolerance);
    check_by_definition(method::saga_sgq(0.3), true, storage, keep, tolerance);
}

#[test]
fn f64_keeps_everything() {
    check_all_by_definition(Format::F64, |_, gradient| gradient.to_vec(), 0.0);
}

#[test]
fn f32_rounds_rows_and_uses_them_as_rounded() {
    let rounded: Keep = |_, gradient| gradient.iter().map(|value| f64::from(*value as f32)).collect();
    check_all_by_definition(Format::F32, rounded, 0.0);
}

#[test]
fn sparse_rows_are_kept_without_the_penalty() {
    let keep: Keep = |x, gradient| gradient.iter().zip(x).map(|(value, x)| 0.1 * x + (value - 0.1 * x)).collect();
    check_all_by_definition(Format::Sparse { l2: 0.1 }, keep, 0.0);
    check_all_by_definition(Format::Sparse { l2: 0.0 }, |_, gradient| gradient.to_vec(), 0.0);
}

#[test]
fn scalars_give_the_rows_back() {
    let storage = sparse_problem(0.1).scalar_storage().unwrap();
    check_all_by_definition(storage, |_, gradient| gradient.to_vec(), 1e-14);
}

#[test]
fn sparse_runs_without_a_penalty_are_those_of_f64() {
    let problem = WithoutPenalty(sparse_problem(0.1));
    for method in METHODS {
        let open = |format: Format| Session::new(method(), settings(&problem.0, format)).unwrap();
        same_runs(&mut open(Format::Sparse { l2: 0.0 }), &mut open(Format::F64), &problem, 200);
    }
}

#[test]
fn a_run_in_a_file_is_that_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let problem = sparse_problem(0.1);
    for format in [Format::F64, Format::F32] {
        for method in METHODS {
            let open = |storage: Storage| Session::new(method(), settings(&problem, storage)).unwrap();
            let storage = Storage::from(format.clone());
            let mut in_file = open(storage.clone().in_folder(folder.path()));
            same_runs(&mut in_file, &mut open(storage.in_memory()), &problem, 100);
            let copy = table(&in_file).clone();
            assert!(copy == *table(&in_file));
            answer(&mut in_file, &problem);
            assert!(copy != *table(&in_file));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        }
    }
}

#[test]
fn runs_go_on_from_a_snapshot_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let problem = sparse_problem(0.1);
    let storages = [
        Storage::default(),
        Format::F32.into(),
        problem.sparse_storage(),
        problem.scalar_storage().unwrap(),
        Storage::default().in_folder(folder.path()),
        Storage::from(Format::F32).in_folder(folder.path()),
    ];
    for storage in storages {
        for method in METHODS {
            for queries in [0, 5, 60] {
                let mut session = Session::new(method(), settings(&problem, storage.clone())).unwrap();
                (0..queries).for_each(|_| _ = answer(&mut session, &problem));
                let bytes = session.snapshot().unwrap();
                let mut later = Session::restore(method(), &bytes, Sight::Blind).unwrap();
                assert_eq!(later.snapshot().unwrap(), bytes);
                same_runs(&mut later, &mut session, &problem, 40);
                assert_eq!(later.snapshot().unwrap(), session.snapshot().unwrap());
            }
        }
    }
}

/// After the first sweep, when all users share one point, by the lengths of snapshots.
#[test]
fn smaller_formats_are_smaller() {
    let problem = sparse_problem(0.1);
    let length = |storage: Storage| {
        let mut session = Session::new(method::saga(), settings(&problem, storage)).unwrap();
        for _ in 0..USERS {
            answer(&mut session, &problem);
        }
        session.snapshot().unwrap().len()
    };
    let numbers = USERS * DIM;
    let f64s = length(Storage::default());
    assert_eq!(f64s - length(Format::F32.into()), 4 * numbers);
    assert!(f64s - length(problem.sparse_storage()) > 4 * numbers);
    // Nothing is zero with the penalty left in: columns are kept besides the numbers.
    assert!(length(Format::Sparse { l2: 0.0 }.into()) > f64s);
}

#[test]
fn answers_too_large_for_f32_are_refused() {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let settings = Settings::for_problem(vec![5.0], &toy).step_size(0.015).storage(Format::F32);
    let mut session = Session::new(method::sgq(0.3), settings).unwrap();
    let query = session.ask().unwrap().unwrap();
    let error = session.tell(query.ticket, &[-1e39]).unwrap_err();
    assert_eq!(error, TellError::TooLargeForF32 { user: 0, coordinate: 0, value: -1e39 });
    assert!(error.to_string().contains("f64"), "{error}");
    assert_eq!((session.queries(), session.ask().unwrap()), (0, Some(query.clone())));
    // The largest that fits, and one so small that it is zero.
    session.tell(query.ticket, &[f64::from(f32::MAX)]).unwrap();
    let query = session.ask().unwrap().unwrap();
    session.tell(query.ticket, &[1e-60]).unwrap();
    assert_eq!((table(&session).gradient(1)[0], table(&session).gradient_norm(1)), (0.0, 0.0));
    assert_eq!(session.queries(), 2);
    // A method without a table keeps nothing that could be too large.
    let settings = Settings::for_problem(vec![5.0], &toy).step_size(1e-39).storage(Format::F32);
    let mut session = Session::new(method::sgd(), settings).unwrap();
    let query = session.ask().unwrap().unwrap();
    assert_eq!(session.tell(query.ticket, &[-1e39]), Ok(()));
}

#[test]
fn scalars_refuse_gradients_of_another_form() {
    let problem = sparse_problem(0.1);
    let mut session = Session::new(method::saga(), settings(&problem, problem.scalar_storage().unwrap())).unwrap();
    for user in 0..USERS {
        let query = session.ask().unwrap().unwrap();
        let mut gradient = vec![0.0; DIM];
        problem.gradient(user, &query.point, &mut gradient);
        let mut wrong = gradient.clone();
        wrong[7] += 1e-3;
        // User 3 has no numbers, so that its gradient is the penalty and nothing else.
        let error = session.tell(query.ticket, &wrong).unwrap_err();
        assert!(matches!(error, TellError::NotOfOneRow { user: refused, .. } if refused == user), "{error}");
        assert_eq!((session.queries(), session.ask().unwrap()), (user as u64, Some(query.clone())));
        session.tell(query.ticket, &gradient).unwrap();
    }
    let rows = Rows::Dense { dim: 1, values: vec![1.0, 2.0, 3.0] };
    let several = Regression::new(rows, vec![1.0; 3], &[0, 1, 3], Loss::Squares, 0.1).unwrap();
    assert_eq!(several.scalar_storage(), None);
}

#[test]
fn zeros_take_no_room_and_do_no_harm() {
    let problem = sparse_problem(0.1);
    let storages =
        [Format::F32.into(), Format::Sparse { l2: 0.0 }.into(), problem.sparse_storage(), Storage::default()];
    for storage in storages {
        let start = Settings::for_problem(vec![0.0; DIM], &problem).step_size(STEP).storage(storage.clone());
        let mut session = Session::new(method::saga_sgq(0.3), start).unwrap();
        for _ in 0..50 {
            let query = session.ask().unwrap().unwrap();
            session.tell(query.ticket, &[0.0; DIM]).unwrap();
        }
        assert_eq!(session.point(), [0.0; DIM]);
        assert!((0..USERS).all(|user| table(&session).gradient_norm(user) == 0.0));
        let later = Session::restore(method::saga_sgq(0.3), &session.snapshot().unwrap(), Sight::Blind).unwrap();
        assert_eq!(table(&later).mean(), [0.0; DIM]);
    }
}

fn refused(storage: Storage, users: usize, dim: usize) -> SettingsError {
    Session::new(method::saga(), Settings::new(vec![0.0; dim], users).step_size(0.1).storage(storage)).unwrap_err()
}

#[test]
fn a_table_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (users, dim) = (1_000_000_000, 1_000_000);
    for (storage, needed) in [(Storage::default(), "8.00 PB"), (Format::F32.into(), "4.00 PB")] {
        let storages = [
            (storage.clone().in_memory(), "in memory", "of memory"),
            (storage.clone().in_folder(folder.path()), "in a file in", "of disk in"),
            (storage, "in a file in", "of memory, and "),
        ];
        for (storage, place, room) in storages {
            let error = refused(storage.clone(), users, dim);
            assert!(matches!(error, SettingsError::Storage(StorageError::DoesNotFit { .. })), "{error}");
            let words = error.to_string();
            for part in [needed, place, room, "1,000,000,000 users × 1,000,000 parameters", "fewer users or parameters"]
            {
                assert!(words.contains(part), "{words}: {part}");
            }
        }
    }
    let missing = folder.path().join("not there");
    let words = refused(Storage::default().in_folder(&missing), 4, 4).to_string();
    assert!(words.contains("not there") && words.contains("give another folder"), "{words}");
    let problem = sparse_problem(0.1);
    for storage in [problem.sparse_storage(), problem.scalar_storage().unwrap()] {
        assert_eq!(refused(storage.in_folder(folder.path()), USERS, DIM), StorageError::NotInAFile.into());
    }
    assert_eq!(refused(Format::Sparse { l2: -1.0 }.into(), 2, 2), StorageError::L2(-1.0).into());
    let scalars = problem.scalar_storage().unwrap();
    assert_eq!(
        refused(scalars.clone(), USERS + 1, DIM),
        SettingsError::Mismatch { what: "rows", expected: USERS, found: USERS + 1 }
    );
    assert!(matches!(refused(scalars, USERS, DIM + 1), SettingsError::Mismatch { what: "parameters", .. }));
}

#[test]
fn a_snapshot_without_room_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let problem = sparse_problem(0.1);
    let storage = Storage::from(Format::F32).in_folder(folder.path());
    let mut session = Session::new(method::saga(), settings(&problem, storage.clone())).unwrap();
    (0..30).for_each(|_| {
        answer(&mut session, &problem);
    });
    let bytes = session.snapshot().unwrap();
    drop(folder);
    let error = Session::restore(method::saga(), &bytes, Sight::Blind).unwrap_err();
    assert!(matches!(error, RestoreError::Settings(SettingsError::Storage(StorageError::File { .. }))), "{error}");
    // The session that is there is not disturbed, and can be saved again.
    answer(&mut session, &problem);
    assert!(session.snapshot().is_ok());
}

#[test]
fn storage_is_described_and_not_printed() {
    let problem = sparse_problem(0.1);
    let storage = problem.scalar_storage().unwrap();
    let mut session = Session::new(method::saga(), settings(&problem, storage.clone())).unwrap();
    answer(&mut session, &problem);
    let words = format!("{:?}", table(&session));
    assert!(words.contains("Scalars { l2: 0.1, .. }") && words.len() < 300, "{words}");
    let words = |storage: Storage| storage.estimate(2_000_000, 500).to_string();
    assert_eq!(words(storage), "16.0 MB in memory and 242 MB besides: 2,000,000 users × 1 number in f64");
    assert_eq!(
        words(problem.sparse_storage()),
        "64.0 MB in memory and 242 MB besides, and 12 bytes for each number that is not zero: 2,000,000 users × 500 parameters"
    );
    let in_file = Storage::default().in_folder("some/where");
    assert_eq!(in_file.place, Place::File("some/where".into()));
    assert_eq!(words(in_file), "8.00 GB in a file in some/where: 2,000,000 users × 500 parameters in f64");
}
