//! The files that published figures are made of: taken from a run's folder, kept in docs/results.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{data::Results, random};

/// What is kept; nothing of a run that was not taken in yet.
pub struct Kept {
    pub benchmark: Option<Files>,
    /// The files of further runs, by the runs' names, as [`Further::files`] has them.
    pub further: BTreeMap<&'static str, Vec<String>>,
}

impl Kept {
    pub fn read(folder: &Path) -> Result<Self, String> {
        let is_kept = |it: &&Further| it.kept_names().all(|name| folder.join(name).exists());
        let further = FURTHER.iter().filter(is_kept).map(|it| {
            let files = it.kept_names().map(|name| read(&folder.join(name)));
            Ok((it.name, files.collect::<Result<_, String>>()?))
        });
        Ok(Self { benchmark: Files::kept(folder)?, further: further.collect::<Result<_, String>>()? })
    }

    /// What to write into the folder, by name.
    pub fn to_keep(&self) -> Vec<(String, &str)> {
        let further = FURTHER.iter().filter_map(|it| Some((it, self.further.get(it.name)?)));
        let further = further.flat_map(|(it, texts)| it.kept_names().zip(texts.iter().map(|text| &**text)));
        self.benchmark.iter().flat_map(Files::to_keep).chain(further).collect()
    }

    /// What a further run says, with what is known of the sets.
    pub fn results(&self, it: &Further) -> Result<Option<Results>, String> {
        let Some(files) = self.further.get(it.name) else {
            return Ok(None);
        };
        let sets = self.benchmark.as_ref().map(|benchmark| &*benchmark.sets);
        let mut texts = files.iter().map(|text| &**text);
        let summary = texts.next().unwrap_or_default();
        Results::of_further(&format!("{}.csv", it.name), summary, texts.next(), sets).map(Some)
    }
}

/// A run beside the benchmark, which the command line, blocks and figures call by its name.
#[derive(Debug, PartialEq)]
pub struct Further {
    pub name: &'static str,
    /// What it must have all of.
    pub experiment: &'static str,
    /// Its files that are kept, and what is added to its name there.
    files: &'static [(&'static str, &'static str)],
    /// Its figures, and what they are called in docs/figures.
    pub drawings: &'static [(&'static str, &'static str)],
}

pub const FURTHER: &[Further] = &[
    Further { name: "ablation", experiment: "experiments/ablation.toml", files: &[("summary.csv", "")], drawings: &[] },
    Further {
        name: "hessians",
        experiment: "experiments/hessians.toml",
        files: &[("summary.csv", ""), ("limit.csv", "-limit")],
        drawings: &[
            ("curves-contraception.svg", "hessians-contraception.svg"),
            ("curves-guprenat.svg", "hessians-guprenat.svg"),
            ("curves-benefits.svg", "hessians-benefits.svg"),
        ],
    },
    Further { name: "sites", experiment: "experiments/sites.toml", files: &[("summary.csv", "")], drawings: &[] },
    Further { name: "open", experiment: "experiments/open.toml", files: &[("summary.csv", "")], drawings: &[] },
];

impl Further {
    fn kept_names(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(|(_, ending)| format!("{}{ending}.csv", self.name))
    }

    pub fn of_run(&self, run: &Path) -> Result<Vec<String>, String> {
        self.files.iter().map(|(file, _)| read(&run.join(file))).collect()
    }
}

/// The texts of the benchmark's files, by what they hold.
pub struct Files {
    pub summary: String,
    pub tuning: String,
    pub limit: String,
    /// What the sets are, from `scripts/datasets.py`.
    pub sets: String,
    /// The summaries of runs of `sgq bench random`, by name.
    pub random: BTreeMap<String, String>,
}

impl Files {
    /// Those that are kept; none where no run was taken in yet.
    fn kept(folder: &Path) -> Result<Option<Self>, String> {
        if !folder.join("summary.csv").exists() {
            return Ok(None);
        }
        let mut random = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some(name) = name.strip_prefix("random-").and_then(|name| name.strip_suffix(".json")) {
                random.insert(name.to_owned(), read(&path)?);
            }
        }
        let text = |name: &str| read(&folder.join(name));
        let (summary, tuning, limit) = (text("summary.csv")?, text("tuning.csv")?, text("limit.csv")?);
        Ok(Some(Self { summary, tuning, limit, sets: text("sets.json")?, random }))
    }

    /// Those of a run of the benchmark. Runs on random problems stay as they were kept.
    pub fn of_run(run: &Path, index: &Path, kept: Option<Self>) -> Result<Self, String> {
        let text = |name: &str| read(&run.join(name));
        Ok(Self {
            summary: text("summary.csv")?,
            tuning: text("tuning.csv")?,
            limit: text("limit.csv")?,
            sets: read(index).map_err(|error| format!("{error}: python3 scripts/datasets.py makes it"))?,
            random: kept.map(|kept| kept.random).unwrap_or_default(),
        })
    }

    /// Takes in a run of `sgq bench random`.
    pub fn add_random(&mut self, name: &str, run: &Path) -> Result<(), String> {
        let file = run.join("summary.json");
        let small = random::without_cells(&read(&file)?).map_err(|error| format!("{}: {error}", file.display()))?;
        self.random.insert(name.to_owned(), small);
        Ok(())
    }

    fn to_keep(&self) -> Vec<(String, &str)> {
        let named = [("summary.csv", &self.summary), ("tuning.csv", &self.tuning), ("limit.csv", &self.limit)];
        let named = named.into_iter().chain([("sets.json", &self.sets)]).map(|(name, text)| (name.to_owned(), &**text));
        named.chain(self.random.iter().map(|(name, text)| (format!("random-{name}.json"), &**text))).collect()
    }
}

pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Replaces a file whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    fs::write(&new, bytes).and_then(|()| fs::rename(&new, path)).map_err(|error| format!("{}: {error}", path.display()))
}
