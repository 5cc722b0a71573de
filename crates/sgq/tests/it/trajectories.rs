//! Whom every method asks and where it ends up, to the bit: the same in Rust and in Python, whose tests read the same file.

use std::{env, fmt::Write, fs};

use sgq::{Session, Settings, Sight, method::METHODS, problem::Quadratic};

const FIXTURE: &str = include_str!("../fixtures/trajectories.tsv");
const CENTERS: [[f64; 2]; 4] = [[2.0, 0.5], [1.0, -1.5], [-1.0, 0.25], [-2.0, 3.0]];
const CURVATURES: [f64; 4] = [1.0, 2.0, 0.5, 3.0];

/// One line a method, in the order of the list: its name, the users asked, and the last point in hexadecimal. With the
/// environment variable `SGQ_WRITE_TRAJECTORIES=1` this test writes the file anew: look at the difference before you commit it.
#[test]
fn every_method_goes_the_same_way_everywhere() {
    // f_i(x) = ½ c_i ‖x − b_i‖², for the methods that see more than answers.
    let rows = CURVATURES.map(|curvature| vec![0.5 * curvature; 2]);
    let problem = Quadratic::diagonal(&rows, &CENTERS.map(Vec::from)).unwrap();
    let mut found = String::new();
    for entry in METHODS {
        let settings =
            Settings::new(vec![5.0, -3.0], 4).smoothness(CURVATURES.to_vec()).step_size(0.05).budget(60).seed(7);
        let mut session = Session::with_sight(entry.method(), settings, Sight::Problem(&problem)).unwrap();
        let mut users = Vec::new();
        while let Some(query) = session.ask().unwrap() {
            let (center, curvature) = (CENTERS[query.user], CURVATURES[query.user]);
            let gradient = [0, 1].map(|k| curvature * (query.point[k] - center[k]));
            users.push(query.user.to_string());
            session.tell(query.ticket, &gradient).unwrap();
        }
        let point: Vec<_> = session.point().iter().map(|x| format!("{:016x}", x.to_bits())).collect();
        writeln!(found, "{}\t{}\t{}", entry.name, users.concat(), point.join(" ")).unwrap();
    }
    if env::var_os("SGQ_WRITE_TRAJECTORIES").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/trajectories.tsv");
        return fs::write(file, found).unwrap();
    }
    for (found, frozen) in found.lines().zip(FIXTURE.lines()) {
        assert_eq!(found, frozen);
    }
    assert_eq!(found.lines().count(), FIXTURE.lines().count(), "a method has no line in trajectories.tsv");
}
