//! The file format: one table for the experiment, one for each problem, one for each method.

use std::{fmt, sync::Arc};

use sgq::{
    Detail, Method, Need, SettingError, SettingsError, StepSize,
    drive::{Behaviour, Slowness},
    method::ComposeError,
    problem::{DenseQuadratic, ProblemError, Quadratic},
    setting::Value,
};
use sgq_data::first_few;
use toml::de::{DeTable, DeValue};

use crate::output::file_name;

use super::{
    Experiment, FileError, MAX_BUDGET, MAX_OPEN, MAX_TRIALS, NamedMethod, NamedProblem, TunedSetting, TunedValue,
    Tuning, data, open,
    section::{Section, Source, number, numbers, suggestion, whole},
    users,
};

/// What is said of a step size beside `[tuning]`.
const TUNED: &str =
    "with [tuning] every method's steps are searched for, and its own default is tried: take this one out";

fn same(found: Option<&str>, name: &str) -> bool {
    found.is_some_and(|found| found.eq_ignore_ascii_case(name))
}

/// Reads an experiment, with `only` these of its problems, or with all where there are none.
pub(super) fn read(file: &str, text: &str, only: &[String]) -> Result<Experiment, FileError> {
    let source = Source { file, text };
    let root = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        source.error(&at, error.message().replace('\n', "; "))
    })?;
    let section = Section::new(&source, "", 0..0, root.get_ref());

    section.allow(&[
        "name",
        "title",
        "trials",
        "budget",
        "seed",
        "step_size",
        "targets",
        "gap_axis",
        "relative",
        "tuning",
        "users",
        "problem",
        "method",
    ])?;
    check_name(&section)?;
    let name = section.text("name")?.unwrap_or("experiment");
    let title = section.text("title")?.unwrap_or(name);
    if title.contains(char::is_control) {
        return Err(section.complain("title", "a title is one line without control characters"));
    }
    let trials = limited(&section, "trials", MAX_TRIALS)?.unwrap_or(200);
    let budget = section.require("budget", limited(&section, "budget", MAX_BUDGET)?)?;
    let seed = section.whole("seed")?.unwrap_or(0);
    let targets = read_targets(&section)?;
    let gap_axis = read_axis(&section)?;
    let relative = section.read("relative", "true or false", DeValue::as_bool)?.unwrap_or(false);
    let tuning = read_tuning(&section)?;
    if tuning.is_some() && targets.is_empty() {
        return Err(section.complain("targets", "there is nothing to tune for: give at least one gap"));
    }
    // With tuning every method tries a grid of steps; until then it has some step.
    let shared_step = read_step_size(&section)?;
    if shared_step.is_some() && tuning.is_some() {
        return Err(section.complain("step_size", TUNED));
    }
    let shared_step = shared_step.or(tuning.as_ref().map(|_| StepSize::Constant(1.0)));

    let users = users::read(&section)?;
    let answers = users.as_ref().and_then(|users| users.answers).unwrap_or_default();
    let users = users.map(|users| users.behaviour);

    let mut problems: Vec<NamedProblem> = Vec::new();
    let tables = section.tables("problem")?;
    let named = |name: &str| tables.iter().any(|table| table.text("name").is_ok_and(|found| same(found, name)));
    if let Some(unknown) = only.iter().find(|name| !named(name)) {
        let names: Vec<&str> = tables.iter().filter_map(|table| table.text("name").ok().flatten()).collect();
        let message = format!("the experiment has no problem {unknown:?}; there are: {}", first_few(&names));
        return Err(section.complain("problem", message));
    }
    // What is left out is not even read: its data may not be there.
    let wanted = |table: &&Section<'_>| {
        only.is_empty() || only.iter().any(|name| table.text("name").is_ok_and(|found| same(found, name)))
    };
    for table in tables.iter().filter(wanted) {
        let problem = read_problem(table)?;
        check_slowness(table, &problem, users.as_ref())?;
        refuse_twice(table, problems.iter().map(|other| &*other.name), &problem.name)?;
        problems.push(problem);
    }
    section.require("problem", problems.first())?;
    let mut methods: Vec<NamedMethod> = Vec::new();
    for table in section.tables("method")? {
        let method = read_method(&table, shared_step.as_ref(), answers)?;
        if tuning.is_some() && table.value("step_size").is_some() {
            return Err(table.complain("step_size", TUNED));
        }
        if tuning.is_none() && table.value("tune").is_some() {
            return Err(table.complain("tune", "nothing is tuned without [tuning]: take it out, or add [tuning]"));
        }
        refuse_twice(&table, methods.iter().map(|other| &*other.name), &method.name)?;
        for problem in &problems {
            open(problem, &method, budget, seed).map_err(|error| blame_method(&section, &table, problem, error))?;
            check_tuned(&table, &method, problem)?;
        }
        methods.push(method);
    }
    section.require("method", methods.first())?;

    Ok(Experiment {
        name: name.to_owned(),
        title: title.to_owned(),
        trials,
        budget,
        seed,
        targets,
        gap_axis,
        relative,
        tuning,
        users,
        problems,
        methods,
    })
}

fn read_tuning(section: &Section<'_>) -> Result<Option<Tuning>, FileError> {
    let Some(value) = section.value("tuning") else {
        return Ok(None);
    };
    let wrong = || section.complain("tuning", "write it under a heading [tuning]");
    let table = value.get_ref().as_table().ok_or_else(wrong)?;
    let tuning = Section::new(section.source, "tuning", value.span(), table);
    tuning.allow(&["trials", "from", "to"])?;
    let trials = limited(&tuning, "trials", MAX_TRIALS)?.unwrap_or(Tuning::TRIALS);
    let power = |key, default| {
        let found = tuning.read(key, "a whole power of two between -20 and 20", |value| {
            number(value).filter(|power| power.fract() == 0.0 && power.abs() <= 20.0)
        })?;
        Ok(found.map_or(default, |power| power as i32))
    };
    let (from, to) = (power("from", Tuning::POWERS.0)?, power("to", Tuning::POWERS.1)?);
    if from > to {
        return Err(tuning.complain("from", format!("the first power, {from}, is above the last, {to}")));
    }
    Ok(Some(Tuning { trials, from, to, rates: Tuning::RATES.to_vec() }))
}

/// Names stand in tables, in figures and in the names of files.
fn check_name(section: &Section<'_>) -> Result<(), FileError> {
    // A file's name may have 255 bytes, and ours add some of their own.
    const LONGEST: usize = 200;
    let name = section.text("name")?.unwrap_or("-");
    if name.trim().is_empty() || name.len() > LONGEST || name.contains(char::is_control) {
        let message = format!("a name is not empty, has at most {LONGEST} bytes and no control characters");
        return Err(section.complain("name", message));
    }
    Ok(())
}

fn refuse_twice<'n>(
    section: &Section<'_>,
    mut others: impl Iterator<Item = &'n str>,
    name: &str,
) -> Result<(), FileError> {
    // Names become file names, so they must differ there too.
    if others.any(|other| file_name(other) == file_name(name)) {
        let message = format!("the name {name:?} is taken: give each one a `name` of its own");
        return Err(section.complain("name", message));
    }
    Ok(())
}

fn limited(section: &Section<'_>, key: &'static str, most: u64) -> Result<Option<u64>, FileError> {
    let Some(found) = section.whole(key)? else {
        return Ok(None);
    };
    if (1..=most).contains(&found) {
        Ok(Some(found))
    } else {
        Err(section.complain(key, format!("{} is not between 1 and {most}", found)))
    }
}

fn read_targets(section: &Section<'_>) -> Result<Vec<f64>, FileError> {
    let Some(found) = section.numbers("targets")? else {
        return Ok(vec![10.0, 5.0, 1.0, 0.5, 0.1, 0.05]);
    };
    let mut targets = found;
    if targets.iter().any(|gap| !(*gap > 0.0 && gap.is_finite())) {
        return Err(section.complain("targets", "every gap must be positive and finite"));
    }
    targets.sort_by(|a, b| b.total_cmp(a));
    targets.dedup();
    Ok(targets)
}

fn read_axis(section: &Section<'_>) -> Result<Option<(f64, f64)>, FileError> {
    let Some(found) = section.numbers("gap_axis")? else {
        return Ok(None);
    };
    match found[..] {
        [low, high] if low > 0.0 && low < high && high.is_finite() => Ok(Some((low, high))),
        _ => Err(section.complain("gap_axis", "expected [low, high] with 0 < low < high")),
    }
}

fn read_step_size(section: &Section<'_>) -> Result<Option<StepSize>, FileError> {
    let Some(value) = section.value("step_size") else {
        return Ok(None);
    };
    let expected = "expected a number, \"auto\", \"theory\", { initial = …, rate = … }, the same with root = true, \
                    { size = …, warm_up = …, fall = … }, or { pieces = [[0, …], …] }";
    let wrong = || section.complain("step_size", expected);
    let rule = match value.get_ref() {
        DeValue::String(text) if text == "theory" => StepSize::Theory,
        DeValue::String(text) if text == "auto" => StepSize::Auto,
        DeValue::Table(table) => {
            let what = section.name_of("step_size");
            let rule = Section::new(section.source, what, value.span(), table);
            rule.allow(&["initial", "rate", "root", "size", "warm_up", "fall", "pieces"])?;
            let pieces = rule.read("pieces", "a list of [step, size] pairs", |value| {
                let pieces = value.as_array()?.iter();
                pieces
                    .map(|piece| match piece.get_ref().as_array()? {
                        pair if pair.len() == 2 => Some((whole(pair[0].get_ref())?, number(pair[1].get_ref())?)),
                        _ => None,
                    })
                    .collect::<Option<Vec<_>>>()
            })?;
            let (initial, rate) = (rule.number("initial")?, rule.number("rate")?);
            let root = rule.read("root", "true or false", DeValue::as_bool)?;
            let warm_up = (rule.number("size")?, rule.read("warm_up", "a whole number of steps", whole)?);
            let fall = rule.number("fall")?;
            if fall.is_some() && warm_up.1.is_none() {
                return Err(wrong());
            }
            match (pieces, initial, rate, root, warm_up) {
                (Some(pieces), None, None, None, (None, None)) => StepSize::Piecewise(pieces),
                (None, Some(initial), Some(rate), Some(true), (None, None)) => StepSize::RootDecay { initial, rate },
                (None, Some(initial), Some(rate), _, (None, None)) => StepSize::Decay { initial, rate },
                (None, None, None, None, (Some(size), Some(steps))) => {
                    StepSize::WarmUp { size, steps, fall: fall.unwrap_or(0.0) }
                }
                _ => return Err(wrong()),
            }
        }
        value => StepSize::Constant(number(value).ok_or_else(wrong)?),
    };
    Ok(Some(rule))
}

fn read_problem(section: &Section<'_>) -> Result<NamedProblem, FileError> {
    check_name(section)?;
    let name = section.require("name", section.text("name")?)?;
    let kind = section.require("kind", section.text("kind")?)?;
    match kind {
        "quadratic" => {}
        "csv" | "libsvm" => return data::read_problem(section, name, kind),
        _ => {
            let hint = suggestion(kind, ["quadratic", "csv", "libsvm"].into_iter());
            return Err(section.complain("kind", format!("there is no problem {kind:?}{hint}")));
        }
    }
    section.allow(&["name", "kind", "curvature", "center", "start", "costs", "slowness"])?;
    let curvature = section.read(
        "curvature",
        "numbers (one for each user), rows of numbers, or square matrices",
        Curvature::from_value,
    )?;
    let curvature = section.require("curvature", curvature)?;
    let center = section.read("center", "a list with one number, or one row of numbers, for each user", |value| {
        rows(value).or_else(|| scalars(value))
    })?;
    let center = section.require("center", center)?;
    let start = section.require("start", read_start(section)?)?;
    let problem = curvature.into_problem(&center).map_err(|error| blame_problem(section, error))?;
    if problem.smoothness().is_some_and(|each| each.iter().all(|l| *l == 0.0)) {
        return Err(section.complain("curvature", "every number is 0: there is nothing to minimise"));
    }
    start_at(section, name, start, problem)
}

pub(super) fn read_start(section: &Section<'_>) -> Result<Option<Vec<f64>>, FileError> {
    section.read("start", "a number or a list of numbers", |value| {
        number(value).map(|x| vec![x]).or_else(|| numbers(value))
    })
}

/// Checks that the problem can start there.
pub(super) fn start_at(
    section: &Section<'_>,
    name: &str,
    start: Vec<f64>,
    problem: Arc<dyn sgq::Problem + Send>,
) -> Result<NamedProblem, FileError> {
    if start.len() != problem.dim() {
        let message = format!("{} coordinates, but the problem has dimension {}", start.len(), problem.dim());
        return Err(section.complain("start", message));
    }
    if let Some(bad) = start.iter().find(|x| !x.is_finite()) {
        return Err(section.complain("start", format!("{bad} is not finite")));
    }
    if !problem.gap(&start).is_some_and(f64::is_finite) {
        return Err(section.complain("start", "the objective there is too large for a number: start closer"));
    }
    let costs = section.numbers("costs")?;
    if let Some(costs) = &costs {
        if costs.len() != problem.users() {
            let message = format!("{} costs for {} users: give one for each", costs.len(), problem.users());
            return Err(section.complain("costs", message));
        }
        if let Some(bad) = costs.iter().find(|cost| !(**cost > 0.0 && cost.is_finite())) {
            return Err(section.complain("costs", format!("a query costs {bad}: it must be positive and finite")));
        }
    }
    let slowness = section.numbers("slowness")?;
    Ok(NamedProblem { name: name.to_owned(), start, problem, card: None, costs, slowness, files: Vec::new() })
}

/// Refuses numbers of slowness that these users cannot have.
fn check_slowness(section: &Section<'_>, problem: &NamedProblem, users: Option<&Behaviour>) -> Result<(), FileError> {
    let Some(slowness) = &problem.slowness else {
        return Ok(());
    };
    let complain = |message: &dyn fmt::Display| Err(section.complain("slowness", message));
    match users {
        None => complain(&"users take no time without [users]: take it out, or add [users]"),
        Some(users) if users.slowness != Slowness::Same => {
            complain(&"give either `spread` in [users] or `slowness` in each problem")
        }
        Some(_) => {
            let behaviour = Behaviour { slowness: Slowness::Each(slowness.clone()), ..Behaviour::default() };
            behaviour.check(problem.problem.users()).or_else(|error| complain(&error))
        }
    }
}

/// How a quadratic's curvature is written: the depth of the list says which kind it is.
enum Curvature {
    /// `a_i1 … a_id`: one row for each user, or one number where d = 1.
    Diagonal(Vec<Vec<f64>>),
    /// `A_i`: the rows of a symmetric matrix for each user.
    Dense(Vec<Vec<Vec<f64>>>),
}

impl Curvature {
    fn from_value(value: &DeValue<'_>) -> Option<Self> {
        if let Some(rows) = scalars(value).or_else(|| rows(value)) {
            return Some(Self::Diagonal(rows));
        }
        let matrices = value.as_array()?.iter();
        matrices.map(|matrix| rows(matrix.get_ref())).collect::<Option<_>>().map(Self::Dense)
    }

    fn into_problem(self, center: &[Vec<f64>]) -> Result<Arc<dyn sgq::Problem + Send>, ProblemError> {
        let matrices = match self {
            Self::Diagonal(rows) => return Ok(Arc::new(Quadratic::diagonal(&rows, center)?)),
            Self::Dense(matrices) => matrices,
        };
        for (user, rows) in matrices.iter().enumerate() {
            let dim = rows.len();
            if let Some(row) = rows.iter().find(|row| row.len() != dim) {
                return Err(ProblemError::NotSquare { user, rows: dim, found: row.len() });
            }
        }
        let flat: Vec<Vec<f64>> = matrices.iter().map(|rows| rows.concat()).collect();
        Ok(Arc::new(DenseQuadratic::new(&flat, center)?))
    }
}

fn scalars(value: &DeValue<'_>) -> Option<Vec<Vec<f64>>> {
    Some(numbers(value)?.into_iter().map(|x| vec![x]).collect())
}

fn rows(value: &DeValue<'_>) -> Option<Vec<Vec<f64>>> {
    let rows = value.as_array()?.iter();
    rows.map(|row| numbers(row.get_ref())).collect()
}

fn blame_problem(section: &Section<'_>, error: ProblemError) -> FileError {
    let key = match error {
        ProblemError::NoUsers
        | ProblemError::Overflow { what: "minimiser" | "minimum" }
        | ProblemError::NoParameters { .. }
        | ProblemError::Length { what: "center", .. }
        | ProblemError::NotFinite { what: "center", .. } => "center",
        _ => "curvature",
    };
    section.complain(key, error)
}

fn read_method(
    section: &Section<'_>,
    shared_step: Option<&StepSize>,
    answers: Detail,
) -> Result<NamedMethod, FileError> {
    check_name(section)?;
    let mut keys =
        vec!["name", "method", "belief", "choice", "update", "step_size", "tune", "open", "answers", "users"];
    let base = section.text("method")?;
    let belief = section.text("belief")?;
    let choice = section.text("choice")?;
    let update = section.text("update")?;
    let found = match (&base, &choice, &update) {
        (Some(method), None, None) if belief.is_none() => Method::by_name(method),
        (None, Some(choice), Some(update)) => Method::compose(belief, choice, update),
        _ => {
            let message = "a method needs either `method` alone, or both `choice` and `update`, and perhaps a `belief`";
            return Err(section.source.error(&section.at, message));
        }
    };
    let mut method = found.map_err(|error| match &error {
        ComposeError::Unknown { what, name, names } => {
            section.complain(what, format!("{error}{}", suggestion(name, names.iter().copied())))
        }
        _ => section.complain(if belief.is_some() { "belief" } else { "choice" }, error),
    })?;
    let settings = method.settings();
    keys.extend(settings.iter().map(|setting| setting.name));
    section.allow(&keys)?;
    let name = match (section.text("name")?, base, choice, update) {
        (Some(name), ..) => name.to_owned(),
        (None, Some(method), ..) => method.to_owned(),
        (None, None, Some(choice), Some(update)) => format!("{} + {}", choice, update),
        _ => String::new(),
    };
    for setting in settings {
        let key = setting.name;
        if let Some(value) = section.read(key, setting.expected, setting_value)? {
            method.set(key, value).map_err(|error| match error {
                SettingError::Kind { expected, .. } => section.complain(key, format!("expected {expected}")),
                error => section.complain(key, error),
            })?;
        }
    }
    let own = read_step_size(section)?;
    if own.is_some() && !method.has_step_size() {
        return Err(section.complain("step_size", "the method has no step size: take this one out"));
    }
    let step_size = own.or_else(|| shared_step.cloned());
    let step_size = match method.has_step_size() {
        true => section.require("step_size", step_size)?,
        // It is not looked at.
        false => StepSize::Constant(1.0),
    };
    let tuned = read_tuned(section, &method)?;
    let open = limited(section, "open", MAX_OPEN)?.unwrap_or(1) as usize;
    let users = users::read(section)?;
    let told = users.as_ref().and_then(|users| users.answers);
    let answers = users::read_answers(section)?.or(told).unwrap_or(answers);
    let users = users.map(|users| users.behaviour);
    Ok(NamedMethod { method: method.named(&*name), name, step_size, tuned, open, answers, users })
}

/// `tune = { setting = [values] }`.
fn read_tuned(section: &Section<'_>, method: &Method) -> Result<Vec<TunedSetting>, FileError> {
    let Some(value) = section.value("tune") else {
        return Ok(Vec::new());
    };
    let expected = "expected lists of values, such as { momentum = [0.5, 0.9], inner_steps = [\"0.5n\", \"1n\"] }";
    let wrong = || section.complain("tune", expected);
    let table = value.get_ref().as_table().ok_or_else(wrong)?;
    let settings = method.settings();
    let mut tuned = Vec::new();
    for (key, values) in table {
        let key = &**key.get_ref();
        let Some(setting) = settings.iter().find(|setting| setting.name == key) else {
            let hint = match key {
                "step_size" => "; steps are always searched for".to_owned(),
                _ if settings.is_empty() => "; it has none".to_owned(),
                _ => suggestion(key, settings.iter().map(|setting| setting.name)),
            };
            return Err(section.complain("tune", format!("the method has no setting {key:?}{hint}")));
        };
        let mut read = Vec::new();
        for value in values.get_ref().as_array().filter(|values| !values.is_empty()).ok_or_else(wrong)? {
            read.push(tuned_value(value.get_ref()).ok_or_else(wrong)?);
        }
        tuned.push(TunedSetting { name: setting.name, values: read });
    }
    Ok(tuned)
}

/// Refuses a value that a method cannot have on a problem.
fn check_tuned(section: &Section<'_>, method: &NamedMethod, problem: &NamedProblem) -> Result<(), FileError> {
    let users = problem.problem.users();
    for (tuned, value) in method.tuned.iter().flat_map(|tuned| tuned.values.iter().map(move |value| (tuned, value))) {
        let tried = method.method.clone().with(tuned.name, value.with_users(users)).map_err(|error| error.to_string());
        let tried = tried.and_then(|tried| tried.settings_for(users).map_err(|error| error.to_string()));
        tried.map_err(|error| section.complain("tune", format!("{error} (on problem {:?})", problem.name)))?;
    }
    Ok(())
}

/// A setting's value, or `"0.5n"`: a part of the users.
fn tuned_value(value: &DeValue<'_>) -> Option<TunedValue> {
    match value.as_str() {
        Some(text) => {
            let part: f64 = text.strip_suffix('n')?.trim().parse().ok()?;
            (part > 0.0 && part.is_finite()).then_some(TunedValue::PartOfUsers(part))
        }
        None => setting_value(value).map(TunedValue::Fixed),
    }
}

/// A setting's value: a number keeps its kind, so that a count is not mistaken for a part.
fn setting_value(value: &DeValue<'_>) -> Option<Value> {
    let switch = value.as_bool().map(Value::Switch);
    switch.or_else(|| whole(value).map(Value::Count)).or_else(|| number(value).map(Value::Number))
}

/// Puts a session's refusal at the key that caused it.
fn blame_method(root: &Section<'_>, section: &Section<'_>, problem: &NamedProblem, error: SettingsError) -> FileError {
    let key = match &error {
        SettingsError::Setting(error) => error.setting().unwrap_or("method"),
        SettingsError::StepSize(_) => "step_size",
        SettingsError::Unmet { need: Need::OneAtATime, .. } => "open",
        _ => "method",
    };
    if key == "step_size" && section.value(key).is_none() {
        return root.complain(key, error);
    }
    let on = match key {
        "method" => format!(" on problem {:?}", problem.name),
        _ => String::new(),
    };
    section.complain(key, format!("{error}{on}"))
}
