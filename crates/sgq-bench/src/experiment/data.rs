//! Problems made of users' data.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sgq::problem::Loss;
use sgq_data::{
    Card, Dataset,
    csv::{self, Features},
    libsvm::{self, Users},
};
use toml::de::DeValue;

use super::{
    FileError, NamedProblem,
    file::{read_start, start_at},
    section::{Section, suggestion},
};

/// A regression on a file, whose path counts from where the experiment's own file is.
pub(super) fn read_problem(section: &Section<'_>, name: &str, kind: &str) -> Result<NamedProblem, FileError> {
    let loss = read_loss(section)?;
    let (data, loss) = if kind == "csv" {
        section.allow(&[
            "name",
            "kind",
            "start",
            "file",
            "loss",
            "delta",
            "l2",
            "user",
            "target",
            "features",
            "exclude",
            "factors",
            "weight",
            "drop_missing",
            "drop_constant",
            "standardise",
            "slowness",
            "sites",
        ])?;
        let loss = section.require("loss", loss)?;
        (at_sites(section, read_csv(section, loss)?)?, loss)
    } else {
        section.allow(&[
            "name",
            "kind",
            "start",
            "costs",
            "slowness",
            "file",
            "loss",
            "delta",
            "l2",
            "users",
            "intercept",
        ])?;
        let data = read_libsvm(section, loss)?;
        let guess = match data.target {
            sgq_data::Target::Levels { .. } => Loss::Logistic,
            _ => Loss::Squares,
        };
        (data, loss.unwrap_or(guess))
    };
    let l2 = section.number("l2")?.unwrap_or(0.01);
    let problem = data.regression(loss, l2).map_err(|error| section.complain("file", error))?;
    let card = Card::new(&data, &problem).to_string();
    let start = match read_start(section)? {
        Some(start) if start.len() == 1 => vec![start[0]; data.column_names.len()],
        Some(start) => start,
        None => vec![0.0; data.column_names.len()],
    };
    let problem = start_at(section, name, start, Arc::new(problem))?;
    Ok(NamedProblem { card: Some(card), files: files(section)?, ..problem })
}

/// The data, and whose rows they are where another file says it.
fn files(section: &Section<'_>) -> Result<Vec<PathBuf>, FileError> {
    let mut files = vec![path(section)?];
    if let Some(DeValue::Table(table)) = section.value("users").map(|value| value.get_ref()) {
        let split = Section::new(section.source, section.name_of("users"), section.at.clone(), table);
        if split.text("file")?.is_some() {
            files.push(path(&split)?);
        }
    }
    Ok(files)
}

fn read_loss(section: &Section<'_>) -> Result<Option<Loss>, FileError> {
    const LOSSES: [&str; 4] = ["squares", "logistic", "poisson", "huber"];
    Ok(Some(match section.text("loss")? {
        None => return Ok(None),
        Some("squares") => Loss::Squares,
        Some("logistic") => Loss::Logistic,
        Some("poisson") => Loss::Poisson,
        Some("huber") => Loss::Huber { delta: section.number("delta")?.unwrap_or(1.35) },
        Some(other) => {
            let hint = suggestion(other, LOSSES.into_iter());
            return Err(section.complain("loss", format!("there is no loss {other:?}{hint}")));
        }
    }))
}

fn read_csv(section: &Section<'_>, loss: Loss) -> Result<Dataset, FileError> {
    let (only, except) = (names(section, "features")?, names(section, "exclude")?);
    let features = match (only, except) {
        (Some(_), Some(_)) => return Err(section.complain("exclude", "give either `features` or `exclude`")),
        (Some(only), None) => Features::Only(only),
        (None, Some(except)) => Features::Except(except),
        (None, None) => Features::All,
    };
    let user = section.require("user", section.text("user")?)?;
    let target = section.require("target", section.text("target")?)?;
    let options = csv::Options {
        features,
        factors: names(section, "factors")?.unwrap_or_default(),
        weight: section.text("weight")?.map(str::to_owned),
        drop_missing: switch(section, "drop_missing")?.unwrap_or(false),
        drop_constant: switch(section, "drop_constant")?.unwrap_or(false),
        standardise: switch(section, "standardise")?.unwrap_or(true),
        loss,
        ..csv::Options::new(user, target)
    };
    csv::read(path(section)?, &options).map_err(|error| section.complain("file", error))
}

/// The data of all users at so many sites, where the section says so.
fn at_sites(section: &Section<'_>, data: Dataset) -> Result<Dataset, FileError> {
    let Some(sites) = section.whole("sites")? else {
        return Ok(data);
    };
    let users = data.users();
    let merged = usize::try_from(sites).ok().and_then(|sites| data.merged(sites));
    merged.ok_or_else(|| {
        section.complain("sites", format!("{users} users cannot be at {sites} sites: 1 to {users} can be"))
    })
}

fn read_libsvm(section: &Section<'_>, loss: Option<Loss>) -> Result<Dataset, FileError> {
    let value = section.require("users", section.value("users"))?;
    let wrong = || {
        let expected =
            "expected \"qid\", \"rows\", a number of blocks, { file = \"…\" } or { dirichlet = …, concentration = … }";
        section.complain("users", expected)
    };
    let users = match value.get_ref() {
        DeValue::String(text) if text == "qid" => Users::Qid,
        DeValue::String(text) if text == "rows" => Users::EachRow,
        DeValue::Table(table) => {
            let split = Section::new(section.source, section.name_of("users"), value.span(), table);
            split.allow(&["file", "dirichlet", "concentration", "seed"])?;
            match (split.text("file")?, split.whole("dirichlet")?) {
                (Some(_), None) => {
                    let names = libsvm::read_names(path(&split)?).map_err(|error| split.complain("file", error))?;
                    Users::Names(names)
                }
                (None, Some(users)) => Users::Dirichlet {
                    users: usize::try_from(users).unwrap_or(usize::MAX),
                    concentration: split.number("concentration")?.unwrap_or(0.5),
                    seed: split.whole("seed")?.unwrap_or(0),
                },
                _ => return Err(wrong()),
            }
        }
        value => match super::section::whole(value).and_then(|count| usize::try_from(count).ok()) {
            Some(count) => Users::Blocks(count),
            None => return Err(wrong()),
        },
    };
    let intercept = switch(section, "intercept")?.unwrap_or(true);
    let options = libsvm::Options { loss, intercept, ..libsvm::Options::new(users) };
    libsvm::read(path(section)?, &options).map_err(|error| section.complain("file", error))
}

fn path(section: &Section<'_>) -> Result<PathBuf, FileError> {
    let file = section.require("file", section.text("file")?)?;
    let folder = Path::new(section.source.file).parent().unwrap_or(Path::new(""));
    let path = folder.join(file);
    if !path.exists() {
        let ours = path.parent().is_some_and(|folder| folder.ends_with("data"));
        let hint = if ours { "; the data sets of the suite are made by `python3 scripts/datasets.py`" } else { "" };
        return Err(section.complain("file", format!("there is no file {}{hint}", path.display())));
    }
    Ok(path)
}

fn names(section: &Section<'_>, key: &'static str) -> Result<Option<Vec<String>>, FileError> {
    section.read(key, "a list of names", |value| {
        let items = value.as_array()?.iter();
        items.map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
    })
}

fn switch(section: &Section<'_>, key: &'static str) -> Result<Option<bool>, FileError> {
    section.read(key, "true or false", DeValue::as_bool)
}
