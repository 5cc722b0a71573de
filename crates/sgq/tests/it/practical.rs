//! SGQ's options: a lazy start, learned `L_i` and the best step, alone and together, against a naive version of each.

use sgq::{
    Format, LastGradient, Method, Need, Oracle, Problem, Random, Session, SettingError, Settings, SettingsError, Sight,
    StepSize, StepSizeError,
    choice::{Search, SurrogateEi, Uniform},
    method,
    problem::{DenseQuadratic, Quadratic},
    setting::Value,
    update::{BestStep, Saga, Sgd},
};

use crate::{
    naive,
    random_problem::{Logged, log_steps, random_quadratic},
};

const STEPS: usize = 150;

/// Which options are on.
#[derive(Clone, Copy, Debug)]
struct Options {
    lazy: bool,
    learned: bool,
    best_step: bool,
    sharp: bool,
    bonus_weight: f64,
}

impl Options {
    fn every() -> impl Iterator<Item = Self> {
        (0..32).map(|bits: u32| Self {
            lazy: bits & 1 != 0,
            learned: bits & 2 != 0,
            best_step: bits & 4 != 0,
            sharp: bits & 8 != 0,
            bonus_weight: if bits & 16 != 0 { 0.1 } else { 1.0 },
        })
    }

    /// By name, as files and `--set` have it.
    fn method(self) -> Method {
        let Self { lazy, learned, best_step, sharp, bonus_weight } = self;
        let update = if best_step { "best-step" } else { "sgd" };
        let mut method = Method::compose(None, "surrogate-ei", update).unwrap();
        for (name, on) in [("lazy", lazy), ("learned", learned), ("sharp", sharp)] {
            method.set(name, Value::Switch(on)).unwrap();
        }
        method.with("p", Value::Number(0.3)).unwrap().with("bonus", Value::Number(bonus_weight)).unwrap()
    }
}

fn table<'a>(session: &'a Session<'_>) -> &'a LastGradient {
    session.belief().unwrap()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn norm(a: &[f64]) -> f64 {
    distance(a, &vec![0.0; a.len()])
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The lowest index among those with the largest number.
fn argmax(numbers: &[f64]) -> usize {
    (0..numbers.len()).fold(0, |best, index| if numbers[index] > numbers[best] { index } else { best })
}

/// Straight from the equations of docs/sgq-in-practice.md, everything anew at each step. What is drawn at random is taken
/// from the log; that a draw was due is checked.
struct Naive<'a> {
    problem: &'a DenseQuadratic,
    options: Options,
    step_size: f64,
    x: Vec<f64>,
    /// The last answer of each user, and where it was given.
    answers: Vec<Option<(Vec<f64>, Vec<f64>)>>,
    queries: usize,
    bounds: Vec<Option<f64>>,
    longest: f64,
}

impl Naive<'_> {
    fn asked(&self) -> Vec<usize> {
        (0..self.answers.len()).filter(|user| self.answers[*user].is_some()).collect()
    }

    /// ḡ = the mean over those who were asked
    fn mean_gradient(&self) -> Vec<f64> {
        let asked = self.asked();
        let of = |k: usize| asked.iter().map(|user| self.answers[*user].as_ref().unwrap().1[k]).sum::<f64>();
        (0..self.x.len()).map(|k| of(k) / asked.len() as f64).collect()
    }

    /// f's own smoothness says nothing of the mean over a few users.
    fn is_sharp(&self) -> bool {
        self.options.sharp && self.asked().len() == self.answers.len()
    }

    /// L = the mean of the L_i, or of the bounds that were learned; f's own where that is asked for
    fn constant(&self) -> Option<f64> {
        let learned: Vec<f64> = self.bounds.iter().flatten().copied().collect();
        match self.options {
            _ if self.is_sharp() => self.problem.objective_smoothness(),
            Options { learned: true, .. } => mean(&learned),
            _ => mean(self.problem.smoothness().unwrap()),
        }
    }

    fn scores(&self) -> Vec<f64> {
        let learned: Vec<f64> = self.bounds.iter().flatten().copied().collect();
        let each: Vec<f64> = match self.options.learned {
            true => self.bounds.iter().map(|bound| bound.unwrap_or(mean(&learned).unwrap())).collect(),
            false => self.problem.smoothness().unwrap().to_vec(),
        };
        let g_bar = self.mean_gradient();
        let answers: Vec<_> = self.answers.iter().map(|answer| answer.clone().unwrap()).collect();
        // ε_i = L_i ‖x_τi − x‖
        let errors: Vec<f64> = each.iter().zip(&answers).map(|(l, (point, _))| l * distance(point, &self.x)).collect();
        let mean_error = mean(&errors).unwrap();
        let w = self.options.bonus_weight;
        let score = |(error, (_, g)): (&f64, &(Vec<f64>, Vec<f64>))| match self.options.best_step {
            // (⟨ḡ, g̃_i⟩ + w (‖ḡ‖ ε_i + ‖g̃_i‖ ε̄ + ε_i ε̄)) / ‖g̃_i‖
            true => {
                let bonus = norm(&g_bar) * error + norm(g) * mean_error + error * mean_error;
                (dot(&g_bar, g) + w * bonus) / norm(g)
            }
            false => {
                let l = self.constant().unwrap();
                let improvement = naive::expected_improvement(self.step_size, l, &g_bar, g);
                improvement + w * naive::bonus(self.step_size, l, &g_bar, g, *error, mean_error)
            }
        };
        errors.iter().zip(&answers).map(score).collect()
    }

    fn choose(&self, logged: &Logged) -> usize {
        let asked = self.asked();
        let users = self.answers.len();
        if asked.len() < users {
            let far = |user: &Option<(Vec<f64>, Vec<f64>)>| user.as_ref().map_or(0.0, |(at, _)| distance(at, &self.x));
            let far: Vec<f64> = self.answers.iter().map(far).collect();
            let farthest = argmax(&far);
            let repeats = self.queries - asked.len();
            if self.options.best_step && self.options.learned && repeats < asked.len() && far[farthest] > 0.0 {
                return farthest;
            }
            assert!(!asked.contains(&logged.user), "everybody is asked before anybody is asked again");
            return logged.user;
        }
        if self.options.learned && self.bounds.iter().all(Option::is_none) {
            assert_eq!(logged.explored, Some(true), "at random until something is learned");
        }
        if logged.explored == Some(true) { logged.user } else { argmax(&self.scores()) }
    }

    fn take(&mut self, user: usize) -> Vec<f64> {
        let mut gradient = vec![0.0; self.x.len()];
        self.problem.gradient(user, &self.x, &mut gradient);
        self.queries += 1;
        // L_i ← max(L_i, ‖g − g̃_i‖ / ‖x − x_τi‖)
        if let Some((point, before)) = &self.answers[user] {
            let (change, moved) = (distance(&gradient, before), distance(&self.x, point));
            if moved > 0.0 && change > 1e-6 * norm(&gradient).max(norm(before)) {
                self.bounds[user] = Some(self.bounds[user].unwrap_or(0.0).max(change / moved));
            }
        }
        self.answers[user] = Some((self.x.clone(), gradient.clone()));
        gradient
    }

    fn step(&mut self, g: &[f64]) {
        if norm(g) == 0.0 {
            return;
        }
        let mut alpha = self.step_size;
        if self.options.best_step {
            // α = ⟨ḡ, g⟩ / (L ‖g‖²), from 0 to 1/L
            let best = |l: f64| (dot(&self.mean_gradient(), g) / (l * norm(g) * norm(g))).clamp(0.0, 1.0 / l);
            alpha = self.constant().map_or(f64::INFINITY, best);
            if self.options.learned && !self.is_sharp() {
                let first = 0.01 * norm(&self.x).max(1.0);
                let limit = if self.longest == 0.0 { first } else { 1.5 * self.longest };
                alpha = alpha.min(limit / norm(g));
                self.longest = self.longest.max(alpha * norm(g));
            }
        }
        self.x = self.x.iter().zip(g).map(|(x, g)| x - alpha * g).collect();
    }
}

fn compare(seed: u64, options: Options) {
    let mut random = Random::new(seed, "practical");
    let users = if seed.is_multiple_of(10) { 1 } else { 2 + random.index(40) };
    let dim = 1 + random.index(10);
    let (problem, start) = random_quadratic(&mut random, users, dim);
    let step_size = 0.1 / problem.smoothness().unwrap().iter().copied().fold(0.0, f64::max);
    let settings = Settings::for_problem(start.clone(), &problem).step_size(step_size).seed(seed);
    let mut session = Session::new(options.method(), settings).unwrap();
    let log = log_steps(&mut session, &problem, STEPS);
    let mut naive = Naive {
        problem: &problem,
        options,
        step_size,
        x: start,
        answers: vec![None; users],
        queries: 0,
        bounds: vec![None; users],
        longest: 0.0,
    };
    if !options.lazy {
        (0..users).for_each(|user| drop(naive.take(user)));
    }
    for (number, logged) in log.iter().enumerate() {
        let place = format!("problem {seed}, step {number}, {options:?}");
        let user = naive.choose(logged);
        assert_eq!(logged.user, user, "{place}");
        let gradient = naive.take(user);
        naive.step(&gradient);
        assert_eq!(logged.queries, naive.queries, "{place}");
        // A bound that is learned from answers close to each other loses some digits.
        let tolerance = if options.learned { 1e-9 } else { 1e-12 };
        let off = distance(&logged.point_after, &naive.x);
        assert!(off <= tolerance * norm(&naive.x).max(1.0), "off by {off} in {place}");
    }
}

#[test]
fn every_combination_of_options_is_its_naive_version() {
    for options in Options::every() {
        (0..12).for_each(|seed| compare(seed, options));
    }
}

/// A session that is told the same answers as another, from a snapshot in the middle of each phase on.
#[test]
fn every_combination_of_options_restores_to_the_bit() {
    let (problem, start) = random_quadratic(&mut Random::new(1, "restored"), 12, 4);
    let settings = Settings::for_problem(start, &problem).step_size(0.05).seed(3);
    for options in Options::every() {
        for steps in [0, 1, 2, 7, 30, 80] {
            let mut session = Session::new(options.method(), settings.clone()).unwrap();
            log_steps(&mut session, &problem, steps);
            // With a question open.
            let query = session.ask().unwrap();
            let mut later = Session::restore(options.method(), &session.snapshot().unwrap(), Sight::Blind).unwrap();
            assert_eq!(later.ask().unwrap(), query);
            let bits = |session: &mut Session<'_>| -> Vec<(usize, Vec<u64>)> {
                let log = log_steps(session, &problem, 40);
                log.iter().map(|step| (step.user, step.point_after.iter().map(|x| x.to_bits()).collect())).collect()
            };
            assert_eq!(bits(&mut later), bits(&mut session), "{options:?} after {steps}");
        }
    }
}

/// The search by bounds goes on after a lazy start as the scan does, and is passed over where it does not know the score.
#[test]
fn the_lazy_search_agrees_with_the_scan() {
    let (problem, start) = random_quadratic(&mut Random::new(5, "search"), 60, 5);
    let settings = || Settings::for_problem(start.clone(), &problem).step_size(0.02).seed(3);
    macro_rules! users {
        ($table:expr, $update:expr, $search:expr) => {{
            let method = Method::new("x", $table, SurrogateEi::new(0.1).search($search), $update);
            let mut session = Session::new(method, settings()).unwrap();
            log_steps(&mut session, &problem, 400).iter().map(|step| step.user).collect::<Vec<_>>()
        }};
    }
    let table = |lazy, learning| LastGradient::new().lazy(lazy).learning(learning);
    for (lazy, learning) in [(true, false), (false, true), (true, true)] {
        let with = |search| users!(table(lazy, learning), Sgd, search);
        assert_eq!(with(Search::Lazy), with(Search::Scan));
        let with = |search| users!(table(lazy, learning), BestStep::new(), search);
        assert_eq!(with(Search::Lazy), with(Search::Scan));
    }
}

/// Rows of those who were not asked are zero in every format, and rounding teaches no curvature.
#[test]
fn tables_of_other_formats_do_as_well() {
    let (problem, start) = random_quadratic(&mut Random::new(2, "formats"), 10, 3);
    let gap = |format: Format| {
        let settings = Settings::new(start.clone(), 10).seed(3).storage(format);
        let mut session = Session::new(method::practical_sgq(0.3), settings).unwrap();
        log_steps(&mut session, &problem, 600);
        (problem.gap(session.point()).unwrap(), table(&session).learned().unwrap().mean().unwrap())
    };
    let (exact, constant) = gap(Format::F64);
    assert_eq!(gap(Format::Sparse { l2: 0.0 }), (exact, constant));
    let (rounded, of_rounded) = gap(Format::F32);
    let at_start = problem.gap(&start).unwrap();
    assert!(exact < 1e-4 * at_start && rounded < 1e-4 * at_start, "{exact} and {rounded} of {at_start}");
    assert!((of_rounded / constant - 1.0).abs() < 0.2, "{of_rounded} and {constant}");
}

/// Nobody gives any constant, any step size, or waits for a sweep; the optimum of the paper's problem is found all the same.
#[test]
fn nothing_needs_to_be_known() {
    let centers = [2.0, 1.0, -1.0, -2.0];
    for seed in 0..20 {
        let settings = Settings::new(vec![5.0], 4).budget(200).seed(seed);
        let mut session = Session::new(method::practical_sgq(0.3), settings).unwrap();
        let mut first = None;
        while let Some(query) = session.ask().unwrap() {
            session.tell(query.ticket, &[2.0 * (query.point[0] - centers[query.user])]).unwrap();
            first.get_or_insert(session.point()[0]);
        }
        // The first answer moves the point, a hundredth of its length.
        assert!((first.unwrap() - 4.95).abs() < 1e-12);
        assert!(session.point()[0].abs() < 1e-3, "{:?}", session.point());
        let learned = table(&session).learned().unwrap();
        (0..4).for_each(|user| assert!((learned.of(user).unwrap() - 2.0).abs() < 1e-6));
    }
}

/// The mean is over those who were asked, and is only said to be that of all when it is.
#[test]
fn a_lazy_table_waits_for_nobody() {
    let problem = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let method = Method::new("x", LastGradient::new().lazy(true), SurrogateEi::new(0.3), Sgd);
    let settings = Settings::for_problem(vec![5.0], &problem).step_size(0.015).gradient_tolerance(1e6);
    let mut session = Session::new(method, settings).unwrap();
    let log = log_steps(&mut session, &problem, 2);
    let sum = log[0].gradient[0] + log[1].gradient[0];
    assert_eq!(table(&session).mean(), [sum / 2.0]);
    assert_eq!((table(&session).unasked(), session.surrogate_gradient_norm()), (2, None));
    assert_eq!(log[1].queries, 2);
    log_steps(&mut session, &problem, 2);
    // The tolerance is reached at once, but not before everybody was asked.
    assert_eq!(table(&session).unasked(), 0);
    assert!(session.surrogate_gradient_norm().is_some() && session.stop_reason().is_some());
}

/// Where all gradients are zero, the best step stays where it is, and nothing is divided by zero.
#[test]
fn users_without_a_gradient_do_no_harm() {
    for lazy in [false, true] {
        for learning in [false, true] {
            let table = LastGradient::new().lazy(lazy).learning(learning);
            let method = Method::new("x", table, SurrogateEi::new(0.0), BestStep::new());
            let mut session = Session::new(method, Settings::new(vec![1.0, 2.0], 3).smoothness(vec![1.0; 3])).unwrap();
            for _ in 0..20 {
                let query = session.ask().unwrap().unwrap();
                session.tell(query.ticket, &[0.0, 0.0]).unwrap();
            }
            assert_eq!(session.point(), [1.0, 2.0]);
        }
    }
}

#[test]
fn what_cannot_work_is_refused() {
    use SettingsError as E;
    let bare = || Settings::new(vec![5.0], 4).step_size(0.1);
    let lazy = || LastGradient::new().lazy(true);
    let learning = || LastGradient::new().learning(true);
    let choice = || SurrogateEi::new(0.3);
    macro_rules! refused {
        ($settings:expr, $belief:expr, $choice:expr, $update:expr) => {
            Session::new(Method::new("x", $belief, $choice, $update), $settings).unwrap_err()
        };
    }
    let unmet = |need| E::Unmet { method: "x".to_owned(), need };
    let no_theorem = || E::StepSize(StepSizeError::NoTheorem { method: "x".to_owned() });
    assert_eq!(refused!(bare(), lazy(), choice(), Sgd), unmet(Need::Smoothness));
    assert_eq!(refused!(bare(), LastGradient::new(), Uniform, BestStep::new()), unmet(Need::Smoothness));
    assert!(Session::new(Method::new("x", learning(), choice(), Sgd), bare()).is_ok());
    assert!(Session::new(Method::new("x", learning(), Uniform, BestStep::new()), bare()).is_ok());
    // What was learned is in the table; a choice that reads what was given has nothing to read.
    let by_smoothness = sgq::choice::BySmoothness;
    assert_eq!(refused!(bare(), learning(), by_smoothness, BestStep::new()), unmet(Need::Smoothness));
    assert!(Session::new(Method::new("x", lazy().learning(true), choice(), Saga), bare()).is_ok());
    let no_weight = choice().bonus_weight(f64::NAN);
    let refused = refused!(bare(), learning(), no_weight, BestStep::new());
    assert!(matches!(refused, E::Setting(SettingError::Range { name: "bonus", value, .. }) if value.is_nan()));
    // Theorem 2 is about the paper's method, and has nothing to say of these.
    let theory = || bare().smoothness(vec![2.0; 4]).pl_constant(2.0).step_size(StepSize::Theory);
    assert!(Session::new(method::sgq(0.3), theory()).is_ok());
    assert_eq!(refused!(theory(), lazy(), choice(), Sgd), no_theorem());
    assert_eq!(refused!(theory(), learning(), choice(), Sgd), no_theorem());
    assert_eq!(
        Session::new(Method::new("x", LastGradient::new(), choice(), BestStep::new()), theory()).unwrap().theorem(),
        None
    );
}

/// Each switch turns the option of its name, and the paper's method has none of them on.
#[test]
fn settings_are_off_and_can_be_turned_on() {
    let mut method = Method::compose(None, "surrogate-ei", "best-step").unwrap().named("x");
    assert!(!method.has_step_size() && method.keeps_table());
    let names: Vec<_> = method.settings().iter().map(|setting| setting.name).collect();
    assert_eq!(names, ["p", "bonus", "sharp", "cost_aware", "lazy", "learned"]);
    let off = Method::new("x", LastGradient::new(), SurrogateEi::new(0.3), BestStep::new());
    assert_eq!(method, off);
    for name in ["lazy", "learned", "sharp"] {
        assert_eq!(method.setting(name), Some(Value::Switch(false)));
        method.set(name, Value::Switch(true)).unwrap();
    }
    // The choice's own `sharp` goes with the update's: with the best step, scores do without L.
    let table = LastGradient::new().lazy(true).learning(true);
    let (choice, update) = (SurrogateEi::new(0.3).sharp(true), BestStep::new().sharp(true));
    assert_eq!(method, Method::new("x", table, choice, update));
    assert_ne!(method, off);
}
