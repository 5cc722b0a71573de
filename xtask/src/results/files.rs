//! The files that published figures are made of: taken from a run's folder, kept in docs/results.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{data::Results, held_out, random};

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
        it.results(files, sets).map(Some)
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
    /// Whether a run of only some of its methods or problems is taken in too, and the others stay as they were kept.
    pub in_parts: bool,
}

pub const FURTHER: &[Further] = &[
    summary_only("ablation", "experiments/ablation.toml"),
    Further {
        files: &[("summary.csv", ""), ("limit.csv", "-limit")],
        drawings: &[
            ("curves-contraception.svg", "hessians-contraception.svg"),
            ("curves-guprenat.svg", "hessians-guprenat.svg"),
            ("curves-benefits.svg", "hessians-benefits.svg"),
        ],
        ..summary_only("hessians", "experiments/hessians.toml")
    },
    Further {
        files: &[("summary.csv", ""), ("tuning.csv", "-tuning")],
        in_parts: true,
        ..summary_only(held_out::NAME, "experiments/held-out.toml")
    },
    summary_only("sites", "experiments/sites.toml"),
    summary_only("open", "experiments/open.toml"),
];

const fn summary_only(name: &'static str, experiment: &'static str) -> Further {
    Further { name, experiment, files: &[("summary.csv", "")], drawings: &[], in_parts: false }
}

impl Further {
    fn kept_names(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(|(_, ending)| format!("{}{ending}.csv", self.name))
    }

    pub fn of_run(&self, run: &Path) -> Result<Vec<String>, String> {
        self.files.iter().map(|(file, _)| read(&run.join(file))).collect()
    }

    /// What its files say, with what is known of the sets.
    pub fn results(&self, texts: &[String], sets: Option<&str>) -> Result<Results, String> {
        let text = |wanted: &str| {
            let mut files = self.files.iter().zip(texts);
            files.find(|((file, _), _)| *file == wanted).map(|(_, text)| &**text)
        };
        let summary = text("summary.csv").unwrap_or_default();
        let mut results = Results::of_summary(&format!("{}.csv", self.name), summary)?;
        text("limit.csv").map(|limit| results.add_limits(limit)).transpose()?;
        text("tuning.csv").map(|tuning| results.add_efforts(tuning)).transpose()?;
        sets.map(|sets| results.add_sets(sets)).transpose()?;
        Ok(results)
    }

    /// What is kept, with a run's rows instead of those of the same problem and method.
    pub fn with_part(&self, kept: &[String], run: &[String]) -> Result<Vec<String>, String> {
        let tables = self.files.iter().zip(kept.iter().zip(run));
        tables
            .map(|((file, _), (kept, run))| {
                with_rows(kept, run).map_err(|error| format!("{}, {file}: {error}", self.name))
            })
            .collect()
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
            sets: read_index(index)?,
            random: kept.map(|kept| kept.random).unwrap_or_default(),
        })
    }

    /// What is kept, with the rows of a run of some methods in the place of theirs.
    pub fn with_part(mut self, run: &Path) -> Result<Self, String> {
        for (name, table) in [("summary.csv", &mut self.summary), ("tuning.csv", &mut self.tuning)] {
            let part = read(&run.join(name))?;
            *table = with_rows(table, &part).map_err(|error| format!("{}, {name}: {error}", run.display()))?;
        }
        Ok(self)
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

/// A table with the rows of another in the place of its own for the same problem and method, its first two columns.
fn with_rows(table: &str, other: &str) -> Result<String, String> {
    let of = |text: &str| {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        reader.records().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
    };
    let key = |row: &csv::StringRecord| (row.get(0).map(str::to_owned), row.get(1).map(str::to_owned));
    let (rows, others) = (of(table)?, of(other)?);
    if rows.first() != others.first() {
        return Err("other columns than those that are kept: take in a run of all of it".into());
    }
    let mut fresh: BTreeMap<_, Vec<&csv::StringRecord>> = BTreeMap::new();
    others.iter().for_each(|row| fresh.entry(key(row)).or_default().push(row));
    let replaced: BTreeSet<_> = fresh.keys().cloned().collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in &rows {
        let new = fresh.remove(&key(row)).unwrap_or_default();
        let old = [row].into_iter().filter(|row| !replaced.contains(&key(row)));
        new.into_iter().chain(old).try_for_each(|row| writer.write_record(row)).map_err(|error| error.to_string())?;
    }
    let left = fresh.into_values().flatten();
    left.into_iter().try_for_each(|row| writer.write_record(row)).map_err(|error| error.to_string())?;
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

pub fn read_index(path: &Path) -> Result<String, String> {
    read(path).map_err(|error| format!("{error}: python3 scripts/datasets.py makes it"))
}

/// Replaces a file whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    fs::write(&new, bytes).and_then(|()| fs::rename(&new, path)).map_err(|error| format!("{}: {error}", path.display()))
}
