//! Proposition 3 as an experiment: how Lemma 1's `c̃` grows with the number of users.
//!
//! ```sh
//! cargo run --release -p sgq-bench --example growth
//! ```
//!
//! Users `(x − b_i)²` with centers drawn anew in each trial, seen from `x = 3` with the largest step that Assumption 4 speaks
//! of, `α = 1/(2L)`. Writes growth.csv, growth.svg and growth.png to out/growth.

use std::{error::Error, f64::consts::TAU, fmt::Write as _, path::Path};

use sgq::{Random, problem::Quadratic, random::derive_seed, simulate::in_parallel, theory::Spread};
use sgq_bench::{
    figure::{Curve, Figure, Point},
    output::{Claim, Folder},
    readable::short,
};

const TRIALS: u64 = 300;
const USERS: [usize; 9] = [4, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000];

/// How the users' centers are drawn.
#[derive(Clone, Copy)]
enum Centers {
    Uniform,
    Normal,
    Exponential,
    OneOdd,
}

impl Centers {
    const ALL: [Self; 4] = [Self::Uniform, Self::Normal, Self::Exponential, Self::OneOdd];

    fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform: improvements bounded",
            Self::Normal => "normal: a light left tail",
            Self::Exponential => "exponential: a heavier one",
            Self::OneOdd => "one odd user: n − 1",
        }
    }

    /// The center of one user, with mean 0 and variance 1 but for the odd one.
    fn draw(self, user: usize, random: &mut Random) -> f64 {
        // In (0, 1]: its logarithm is finite.
        let unit = 1.0 - random.unit();
        match self {
            Self::Uniform => 12f64.sqrt() * (unit - 0.5),
            Self::Normal => (-2.0 * unit.ln()).sqrt() * (TAU * random.unit()).cos(),
            Self::Exponential => -unit.ln() - 1.0,
            Self::OneOdd => f64::from(u8::from(user == 0)),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut csv = "centers,users,median,quantile_99,largest\n".to_owned();
    let mut curves = Vec::new();
    println!("c̃ with n users: median of {TRIALS} trials (and their 99th percentile)\n");
    print!("  {:<32}", "n");
    USERS.iter().for_each(|users| print!("{users:>17}"));
    println!();
    for centers in Centers::ALL {
        let mut points = Vec::new();
        print!("  {:<32}", centers.name());
        for users in USERS {
            let sorted = imbalances(centers, users)?;
            let quantile = |part: f64| sorted[((sorted.len() - 1) as f64 * part).round() as usize];
            let (median, high, largest) = (quantile(0.5), quantile(0.99), quantile(1.0));
            writeln!(csv, "{},{users},{median:?},{high:?},{largest:?}", centers.name())?;
            points.push(Point { x: (users as f64).log10(), mean: median, error: f64::NAN });
            print!("{:>17}", format!("{} ({})", short(median), short(high)));
        }
        println!();
        curves.push(Curve { label: centers.name().into(), points, ..Curve::default() });
    }
    let figure = Figure {
        title: "Lemma 1's c̃ against the number of users (Proposition 3)".into(),
        x_label: "log₁₀ of the number of users".into(),
        y_label: format!("c̃, median of {TRIALS} trials"),
        curves,
        y_range: Some((0.5, 1e3)),
        parts: false,
    };
    let claim = Claim::new("growth", &()).writes(["growth.csv", "growth.svg", "growth.png"]);
    let mut folder = Folder::open(Path::new("out/growth"), claim)?;
    folder.write("growth.csv", csv)?;
    folder.write_figure("growth", &figure)?;
    folder.commit()?;
    println!("\n  written to out/growth: {}", folder.written().join(" "));
    Ok(())
}

/// `c̃` of every trial, smallest first.
fn imbalances(centers: Centers, users: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    let trial = |trial: u64| -> Result<f64, Box<dyn Error + Send + Sync>> {
        let mut random = Random::new(derive_seed(1, centers.name(), trial), "centers");
        let centers: Vec<f64> = (0..users).map(|user| centers.draw(user, &mut random)).collect();
        let problem = Quadratic::scalar(&vec![1.0; users], &centers)?;
        let spread = Spread::at(&problem, &[3.0], 0.5).ok_or("the gradients are not finite")?;
        Ok(spread.imbalance.ok_or("no two improvements differ")?)
    };
    let trials = in_parallel(TRIALS, &false.into(), trial).map_err(|error| error.to_string())?;
    let mut imbalances = trials.unwrap_or_default();
    imbalances.sort_by(f64::total_cmp);
    Ok(imbalances)
}
