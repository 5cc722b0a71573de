//! Methods and parts by name: what they are made of, their settings, and that every combination works.

use std::ops::ControlFlow;

use sgq::{
    Choice, ChoiceError, Chosen, LastGradient, Method, Oracle, Random, Reply, Scene, Session, Setting, SettingError,
    Settings, Sight, Step, Update,
    belief::{BELIEFS, Nothing},
    choice::{CHOICES, Purpose, Shuffled, SurrogateEi, Uniform},
    drive::{Observer, drive},
    method::{self, ComposeError, METHODS},
    problem::{DenseQuadratic, Loss, Regression, Rows},
    setting::{Range, Value},
    update::{BestStep, Saga, Sgd, UPDATES},
};

use crate::random_problem::{log_steps, random_quadratic, safe_settings};

fn problem() -> (DenseQuadratic, Settings) {
    let (problem, start) = random_quadratic(&mut Random::new(3, "catalogue"), 6, 3);
    let settings = safe_settings(&problem, start).seed(5);
    (problem, settings)
}

fn users_and_points(session: &mut Session<'_>, problem: &dyn Oracle) -> Vec<(usize, usize, Vec<u64>)> {
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect();
    log_steps(session, problem, 60).iter().map(|step| (step.user, step.queries, bits(&step.point_after))).collect()
}

#[test]
fn parts_keep_their_settings() {
    let (problem, settings) = problem();
    let run = |method: Method| users_and_points(&mut Session::new(method, settings.clone()).unwrap(), &problem);
    let mut sgq = Method::compose(None, "surrogate-ei", "sgd").unwrap();
    sgq.set("p", Value::Number(0.6)).unwrap();
    sgq.set("bonus", Value::Number(5.0)).unwrap();
    let choice = SurrogateEi::new(0.6).bonus_weight(5.0);
    assert_eq!(run(sgq), run(Method::new("x", LastGradient::new(), choice, Sgd)));
    let shuffled = Method::compose(None, "shuffled", "saga").unwrap();
    assert_eq!(run(shuffled), run(Method::new("x", LastGradient::new(), Shuffled::new(), Saga)));
}

/// Every combination opens, and goes on from its snapshot; whatever does not fit says what that is.
#[test]
fn every_combination_opens_and_restores() {
    let (problem, settings) = problem();
    let sight = Sight::Problem(&problem);
    // Whatever fits a belief on its own says by that what it reads.
    let reads = |choice: &str, update: &str, belief: &str| Method::compose(Some(belief), choice, update).is_ok();
    let mut opened = 0;
    for choice in CHOICES {
        for update in UPDATES {
            // With a part that reads nothing beside it: which belief each of the two needs.
            let needs = |belief: &str| {
                let [choice, update] = [reads(choice.name, "sgd", belief), reads("uniform", update.name, belief)];
                choice && update
            };
            let simplest = ["nothing", "last-gradient", "model"].into_iter().find(|belief| needs(belief));
            let method = match Method::compose(None, choice.name, update.name) {
                Err(error) => {
                    let expected = ComposeError::DoNotFit { belief: None, choice: choice.name, update: update.name };
                    assert_eq!(error, expected);
                    assert_eq!(simplest, None, "{error}");
                    continue;
                }
                Ok(method) => method.named("x"),
            };
            assert_eq!(method.part_names(), [simplest.unwrap(), choice.name, update.name]);
            let mut session = Session::with_sight(method.clone(), settings.clone(), sight.clone()).unwrap();
            log_steps(&mut session, &problem, 9);
            let bytes = session.snapshot().unwrap();
            let mut later = Session::restore(method.clone(), &bytes, sight.clone()).unwrap();
            assert_eq!(users_and_points(&mut later, &problem), users_and_points(&mut session, &problem), "{method}");
            assert!(Session::restore(method.named("y"), &bytes, sight.clone()).is_err());
            for other in UPDATES.iter().filter(|other| other.name != update.name) {
                if let Ok(impostor) = Method::compose(None, choice.name, other.name) {
                    assert!(Session::restore(impostor.named("x"), &bytes, sight.clone()).is_err());
                }
            }
            opened += 1;
        }
    }
    // The first 12 choices and 18 updates, of which 2 and 5 read the table, and 1 and 1 the model.
    assert!(opened >= 12 * 18 - 2 - 5, "{opened}");
    // What these read is not to be had from a simpler belief.
    let by_table =
        ["projection", "surrogate-ei", "best-step", "saga", "aggregated", "doubly-aggregated", "quasi-newton"];
    for (part, belief) in by_table
        .map(|part| (part, "last-gradient"))
        .into_iter()
        .chain([("informative", "model"), ("to-minimiser", "model")])
    {
        let is_choice = CHOICES.iter().any(|choice| choice.name == part);
        let fits = |belief| if is_choice { reads(part, "sgd", belief) } else { reads("uniform", part, belief) };
        let fitting: Vec<_> = ["nothing", "last-gradient", "model"].into_iter().filter(|belief| fits(belief)).collect();
        assert_eq!(fitting, [belief], "{part}");
    }
    for (choice, update, belief) in [
        ("shuffled", "svrg", "nothing"),
        ("surrogate-ei", "sgd", "last-gradient"),
        ("uniform", "saga", "last-gradient"),
        ("informative", "to-minimiser", "model"),
        ("informative", "sgd", "model"),
    ] {
        assert_eq!(Method::compose(None, choice, update).unwrap().part_names()[0], belief);
    }
    assert!(Method::compose(None, "surrogate-ei", "to-minimiser").is_err());
}

/// A belief may be given, as long as both parts can read it.
#[test]
fn a_belief_can_be_given() {
    assert_eq!(BELIEFS.iter().map(|entry| entry.name).collect::<Vec<_>>(), ["nothing", "last-gradient", "model"]);
    for belief in BELIEFS {
        let method = Method::compose(Some(belief.name), "uniform", "sgd").unwrap();
        assert_eq!(method.part_names(), [belief.name, "uniform", "sgd"]);
    }
    assert_eq!(
        Method::compose(Some("nothing"), "uniform", "saga").unwrap_err(),
        ComposeError::DoNotFit { belief: Some("nothing".into()), choice: "uniform", update: "saga" }
    );
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let known = |what: &str| -> Vec<&str> {
        match what {
            "method" => METHODS.iter().map(|entry| entry.name).collect(),
            "belief" => BELIEFS.iter().map(|entry| entry.name).collect(),
            "choice" => CHOICES.iter().map(|entry| entry.name).collect(),
            _ => UPDATES.iter().map(|entry| entry.name).collect(),
        }
    };
    for (what, refused) in [
        ("method", Method::by_name("?")),
        ("belief", Method::compose(Some("?"), "uniform", "sgd")),
        ("choice", Method::compose(None, "?", "sgd")),
        ("update", Method::compose(None, "uniform", "?")),
    ] {
        assert_eq!(refused.unwrap_err(), ComposeError::Unknown { what, name: "?".into(), names: known(what) });
    }
}

#[test]
fn every_entry_is_described_and_found_by_name() {
    for entry in METHODS {
        assert_eq!(Method::by_name(entry.name).unwrap(), entry.method());
        assert_eq!(entry.method().name(), entry.name);
        assert!(!entry.summary.is_empty() && !entry.charges.is_empty(), "{}", entry.name);
        assert!(!entry.summary.starts_with(' '), "{}", entry.name);
    }
    let mut names: Vec<_> = METHODS.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), METHODS.len());
    let summaries = [
        CHOICES.iter().map(|entry| entry.summary).collect::<Vec<_>>(),
        UPDATES.iter().map(|entry| entry.summary).collect(),
    ];
    assert!(summaries.iter().flatten().all(|summary| !summary.is_empty()));
}

/// Every method built in, and every one that can be put together.
fn every_method() -> Vec<Method> {
    let mut methods: Vec<_> = METHODS.iter().map(|entry| entry.method()).collect();
    for choice in CHOICES {
        methods.extend(UPDATES.iter().filter_map(|update| Method::compose(None, choice.name, update.name).ok()));
    }
    methods
}

/// What a setting reads it can be set to, and nothing changes by it; anything else is refused by name.
#[test]
fn settings_are_read_and_set_by_name() {
    let mut seen = Vec::new();
    for method in every_method() {
        let mut same = method.clone();
        for setting in method.settings() {
            assert_eq!(method.setting(setting.name), setting.value);
            if let Some(value) = setting.value {
                same.set(setting.name, value).unwrap();
            }
            let wrong = match setting.expected {
                "true or false" => Value::Number(0.5),
                _ => Value::Switch(true),
            };
            let SettingError::Kind { name, value, expected } = same.set(setting.name, wrong).unwrap_err() else {
                panic!("{}", setting.name)
            };
            assert_eq!((name, value, expected), (setting.name, wrong.to_string().into(), setting.expected));
            seen.push(setting.name);
        }
        assert_eq!(same, method);
        let known = method.settings().iter().map(|setting| setting.name).collect();
        let unknown = SettingError::Unknown { method: method.name().into(), name: "no such".into(), known };
        assert_eq!(same.set("no such", Value::Count(1)).unwrap_err(), unknown);
        assert_eq!(method.setting("no such"), None);
    }
    seen.sort_unstable();
    seen.dedup();
    let all = [
        "at_start",
        "bonus",
        "candidates",
        "cost_aware",
        "exact_start",
        "inner_steps",
        "lazy",
        "learned",
        "mixture",
        "momentum",
        "p",
        "probability",
        "rank",
        "sharp",
        "step_after_sweep",
    ];
    assert_eq!(seen, all);
    // Those that follow from the number of users take a value all the same, and whole numbers are numbers.
    for (name, setting, value, set) in [
        ("svrg", "inner_steps", Value::Count(10), Value::Count(10)),
        ("power-of-choice", "candidates", Value::Count(3), Value::Count(3)),
        ("l-svrg", "probability", Value::Number(0.25), Value::Number(0.25)),
        ("l-svrg", "probability", Value::Count(1), Value::Number(1.0)),
        ("sgq", "p", Value::Count(1), Value::Number(1.0)),
    ] {
        let method = Method::by_name(name).unwrap();
        if setting != "p" {
            assert_eq!(method.setting(setting), None);
        }
        assert_eq!(method.with(setting, value).unwrap().setting(setting), Some(set));
    }
}

#[test]
fn values_out_of_range_are_refused() {
    for (name, setting, value, number) in [
        ("sgq", "p", Value::Number(1.5), 1.5),
        ("sgq", "bonus", Value::Number(-1.0), -1.0),
        ("sgq", "bonus", Value::Number(f64::INFINITY), f64::INFINITY),
        ("srg", "mixture", Value::Count(0), 0.0),
        ("katyusha", "momentum", Value::Number(0.75), 0.75),
        ("l-svrg", "probability", Value::Number(0.0), 0.0),
        ("svrg", "inner_steps", Value::Count(0), 0.0),
        ("fednl", "rank", Value::Count(0), 0.0),
    ] {
        let refused = Method::by_name(name).unwrap().with(setting, value).unwrap_err();
        assert_eq!(refused.setting(), Some(setting));
        assert!(matches!(refused, SettingError::Range { value, .. } if value == number), "{refused}");
    }
}

/// What is refused is not set either.
#[test]
fn a_refused_value_changes_nothing() {
    for (name, setting, value) in [
        ("sgq", "p", Value::Number(1.5)),
        ("sgq", "lazy", Value::Number(0.5)),
        ("srg", "mixture", Value::Count(0)),
        ("l-svrg", "probability", Value::Number(-1.0)),
        ("svrg", "inner_steps", Value::Count(0)),
    ] {
        let (mut method, before) = (Method::by_name(name).unwrap(), Method::by_name(name).unwrap());
        assert!(method.set(setting, value).is_err());
        assert_eq!(method, before, "{setting} = {value}");
    }
}

#[test]
fn methods_are_equal_by_name_parts_and_settings() {
    let sgd = || Method::new("sgd", Nothing, Uniform, Sgd);
    assert_eq!(sgd(), method::sgd());
    assert_ne!(sgd().named("other"), method::sgd());
    assert_ne!(Method::new("sgd", LastGradient::new(), Uniform, Sgd), method::sgd());
    assert_ne!(Method::new("sgd", Nothing, Shuffled::new(), Sgd), method::sgd());
    assert_ne!(Method::new("saga", LastGradient::new(), Uniform, Sgd), method::saga());
    assert_eq!(method::sgq(0.3), Method::by_name("sgq").unwrap());
    assert_ne!(method::sgq(0.2), method::sgq(0.3));
    assert_ne!(method::svrg(10), method::svrg(None));
    assert_eq!(method::svrg(10), method::svrg(Some(10)));
    assert_eq!(method::sgq(0.2).with("p", Value::Number(0.3)).unwrap(), method::sgq(0.3));
    // Two parts may share the name of a setting: either makes a difference.
    let sharp = |choice, update| {
        let (choice, update) = (SurrogateEi::new(0.3).sharp(choice), BestStep::new().sharp(update));
        Method::new("x", LastGradient::new(), choice, update)
    };
    assert_eq!(sharp(true, true), sharp(true, true));
    assert_ne!(sharp(true, false), sharp(false, false));
    assert_ne!(sharp(false, true), sharp(false, false));
    // No two of all methods are the same.
    let methods = every_method();
    for (number, one) in methods.iter().enumerate() {
        assert!(methods[..number].iter().all(|other| other != one), "{one}");
    }
}

#[test]
fn methods_are_shown_in_a_line() {
    for (method, line) in [
        (method::sgd(), "sgd: nothing + uniform + sgd"),
        (method::svrg(None), "svrg: nothing + uniform + svrg"),
        (method::svrg(10), "svrg: nothing + uniform + svrg, inner_steps = 10"),
        (
            method::sgq(0.3),
            "sgq: last-gradient + surrogate-ei + sgd, p = 0.3, bonus = 1, sharp = false, cost_aware = false, lazy = false, learned = false",
        ),
        (method::frugal(), "frugal: model + informative + to-minimiser, learned = false"),
        (method::saga().named("mine"), "mine: last-gradient + uniform + saga, lazy = false, learned = false"),
    ] {
        assert_eq!(method.to_string(), line);
    }
}

/// Two users with one row each: `L_1 = 1 + λ`, `L_2 = 9 + λ`, and f's own `L` is `5 + λ`.
#[test]
fn default_steps_are_what_the_formulas_say() {
    let rows = Rows::Dense { dim: 1, values: vec![1.0, 3.0] };
    let problem = Regression::new(rows, vec![1.0, 1.0], &[0, 1, 2], Loss::Squares, 1.0).unwrap();
    let settings = Settings::for_problem(vec![0.0], &problem);
    let expected = [
        ("sgd", "1/(2 L_max)", 20.0),
        ("importance-sgd", "1/(2 mean L_i)", 12.0),
        ("sgq", "1/(2 L_max)", 20.0),
        ("saga", "1/(3 L_max)", 30.0),
        ("sag", "1/(16 L_max)", 160.0),
        ("iag", "1/(n L)", 12.0),
        ("svrg", "1/(10 L_max)", 100.0),
        ("l-svrg", "1/(6 L_max)", 60.0),
        ("katyusha", "1/(3 L_max)", 30.0),
        ("sarah", "1/(2 L_max)", 20.0),
        ("mifa", "1/(16 L_max)", 160.0),
        ("iqn", "1/L_max", 10.0),
        ("dave-qn", "1/L_max", 10.0),
        ("gd", "1/L", 6.0),
    ];
    for (name, formula, inverse) in expected {
        let step = Method::by_name(name).unwrap().default_step(&settings).unwrap().unwrap();
        assert_eq!(step.formula, formula, "{name}");
        assert!((step.size * inverse - 1.0).abs() < 1e-12, "{name}: {}", step.size);
        // A session that is told nothing takes it.
        let session = Session::new(Method::by_name(name).unwrap(), settings.clone()).unwrap();
        assert_eq!(session.step_size(), step.size, "{name}");
    }
    for name in ["frugal", "practical-sgq", "fisher-scoring", "nim", "stochastic-newton", "fednl"] {
        assert_eq!(Method::by_name(name).unwrap().default_step(&settings), Ok(None));
    }
}

/// A setting that two parts share is changed for both, or for neither.
#[test]
fn a_shared_setting_is_changed_for_all_or_none() {
    #[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
    struct Biased(f64);

    impl Choice<Nothing> for Biased {
        fn settings(&mut self) -> Vec<Setting<'_>> {
            vec![Setting::number("bias", &mut self.0, Range::closed(0.0, 1.0), "")]
        }

        fn choose(&mut self, _scene: &Scene<'_, Nothing>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
            Ok(Chosen::user(0))
        }
    }

    impl Update<Nothing> for Biased {
        fn settings(&mut self) -> Vec<Setting<'_>> {
            vec![Setting::number("bias", &mut self.0, Range::below(0.0, 0.5), "")]
        }

        fn step(&mut self, step: Step<'_, Nothing>, _random: &mut Random, point: &mut [f64]) -> bool {
            point[0] -= step.size * (step.reply.gradient[0] + self.0);
            true
        }
    }

    let mut method = Method::new("biased", Nothing, Biased(0.1), Biased(0.1));
    let before = method.clone();
    for refused in [0.8, 0.5] {
        let error = method.set("bias", refused.into()).unwrap_err();
        assert_eq!(error.to_string(), format!("bias is {refused}: it must lie in [0, 0.5)"));
        assert_eq!(method, before);
    }
    method.set("bias", 0.25.into()).unwrap();
    assert_eq!(method.to_string(), "biased: nothing + Biased + Biased, bias = 0.25");
    // Its update alone, as an author would test it.
    let reply = Reply::new(0, &[1.0], &[2.0], Purpose::Step);
    let mut point = [1.0];
    assert!(Biased(0.5).step(Step::new(&mut Nothing, reply, 0.1), &mut Random::new(1, "test"), &mut point));
    assert_eq!(point, [0.75]);
}

/// GPFL asks everybody first, also where there is no sweep to do so.
#[test]
fn gpfl_can_start_at_once() {
    let (problem, settings) = problem();
    let lazy = method::gpfl().with("lazy", true.into()).unwrap();
    let mut session = Session::new(lazy, settings).unwrap();
    let users: Vec<usize> = log_steps(&mut session, &problem, 6).iter().map(|step| step.user).collect();
    assert_eq!(users, [0, 1, 2, 3, 4, 5]);
}

/// Whoever is at hand must be the session's users.
#[test]
fn other_users_are_refused_before_anybody_is_asked() {
    struct Nobody;
    impl Observer for Nobody {
        fn told(&mut self, _session: &Session<'_>) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
    }
    let (_, settings) = problem();
    let mut session = Session::new(method::sgd(), settings.budget(3)).unwrap();
    for (users, dim, expected) in [(2, 3, "the problem has 2 users"), (6, 2, "the problem has 2 parameters")] {
        let (other, _) = random_quadratic(&mut Random::new(1, "other"), users, dim);
        let error = drive(&mut session, &other, &mut Nobody).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
