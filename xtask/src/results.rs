//! Published figures of the benchmark: taken from the files of a run, kept in docs/results, and written into the pages.

mod ablation;
mod blocks;
mod compare;
mod data;
mod figures;
mod files;
mod held_out;
mod hessians;
mod pages;
mod random;
#[cfg(test)]
mod tests;
mod text;

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use data::Results;
use files::{FURTHER, Files, Further, Kept, read, read_index, write};
use pages::Source;

/// The pages with marked places.
const PAGES: &[&str] = &[
    "README.md",
    "docs/README.md",
    "docs/results.md",
    "docs/frugal.md",
    "docs/fit.md",
    "docs/methods.md",
    "docs/sgq-in-practice.md",
];
const KEPT: &str = "docs/results";
const FIGURES: &str = "docs/figures";
/// What the sets are, from `scripts/datasets.py`.
const INDEX: &str = "data/index.json";
/// What a run must have all of.
const BENCHMARK: &str = "experiments/grouped.toml";

/// Figures of a run, and what they are called in docs/figures.
const DRAWINGS: &[(&str, &str)] = &[
    ("distance.svg", "grouped-distance.svg"),
    ("share.svg", "grouped-share.svg"),
    ("heat-tuned-0.1.svg", "grouped-heat-10.svg"),
    ("heat-tuned-0.01.svg", "grouped-heat-1.svg"),
    ("profile-tuned.svg", "grouped-profile.svg"),
];

/// What stands at every marked place while nothing was taken in yet.
const NO_FIGURE: &str = "…";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
enum Task {
    /// Writes the pages from what is kept, after taking in what is named.
    Write {
        run: Option<PathBuf>,
        further: Vec<(&'static Further, PathBuf)>,
        random: Vec<(String, PathBuf)>,
    },
    Check,
    List,
}

/// `cargo xtask results …`
pub fn run(arguments: &[String]) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    let site = Site { root, pages: PAGES };
    match task(arguments)? {
        Task::Check => site.check(),
        Task::Write { run, further, random } => site.write(run.as_deref(), &further, &random),
        Task::List => {
            let list: Vec<String> =
                site.list()?.into_iter().map(|(name, value)| format!("{name}\t{value}\n")).collect();
            // Whoever reads it may have seen enough before its end.
            let _ = std::io::stdout().write_all(list.concat().as_bytes());
            Ok(())
        }
    }
}

/// Fails where a page is not what docs/results says.
pub fn check() -> Result<(), String> {
    run(&["--check".to_owned()])
}

fn task(arguments: &[String]) -> Result<Task, String> {
    let (mut run, mut random) = (None, Vec::new());
    let mut further: Vec<(&Further, PathBuf)> = Vec::new();
    let mut arguments = arguments.iter().map(|argument| &**argument);
    let first = arguments.clone().next();
    if let (Some("--check" | "--list"), Some(extra)) = (first, arguments.clone().nth(1)) {
        return Err(format!("{extra}: nothing goes with {}", first.unwrap_or_default()));
    }
    while let Some(argument) = arguments.next() {
        match argument {
            "--check" if first == Some(argument) => return Ok(Task::Check),
            "--list" if first == Some(argument) => return Ok(Task::List),
            "--random" => {
                let pair = arguments.next().and_then(|pair| pair.split_once('='));
                let (name, folder) = pair.ok_or("--random wants NAME=FOLDER")?;
                let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-';
                if name.is_empty() || !name.chars().all(is_plain) {
                    return Err(format!("--random {name}: a name has letters, digits and hyphens"));
                }
                random.push((name.to_owned(), folder.into()));
            }
            _ if argument.starts_with('-') => {
                let known = FURTHER.iter().find(|it| argument.strip_prefix("--") == Some(it.name));
                let is_new = |it: &&Further| further.iter().all(|(other, _)| other.name != it.name);
                let it = known.filter(is_new).ok_or_else(|| format!("{argument} is not understood"))?;
                let folder = arguments.next().filter(|folder| !folder.starts_with('-'));
                further.push((it, folder.ok_or_else(|| format!("{argument} wants FOLDER"))?.into()));
            }
            _ if run.is_some() => return Err(format!("{argument} is not understood")),
            _ => run = Some(argument.into()),
        }
    }
    Ok(Task::Write { run, further, random })
}

/// The pages, and what is kept for them.
struct Site<'a> {
    root: &'a Path,
    pages: &'a [&'a str],
}

impl Site<'_> {
    fn kept(&self) -> Result<Kept, String> {
        Kept::read(&self.root.join(KEPT))
    }

    fn list(&self) -> Result<BTreeMap<String, String>, String> {
        let figures = Published::new(&self.kept()?)?.figures;
        match figures.is_empty() {
            true => Err("docs/results has nothing yet: cargo xtask results FOLDER takes in a run".into()),
            false => Ok(figures),
        }
    }

    /// Every page as it is, and as it should be.
    fn rendered(&self, kept: &Kept) -> Result<Vec<(&str, String, String)>, String> {
        let source = Published::new(kept)?;
        let render = |page: &&'_ str| {
            let old = read(&self.root.join(page))?;
            let new = pages::render(page, &old, &source)?;
            Ok((old, new))
        };
        self.pages.iter().map(|page| render(page).map(|(old, new)| (*page, old, new))).collect()
    }

    /// Nothing is written unless every page can be made.
    fn write(
        &self,
        run: Option<&Path>,
        further: &[(&'static Further, PathBuf)],
        random: &[(String, PathBuf)],
    ) -> Result<(), String> {
        let mut kept = self.kept()?;
        let mut writes: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        if let Some(run) = run {
            let index = self.root.join(INDEX);
            let is_part = self.refuse_part(BENCHMARK, &Results::read(&Files::of_run(run, &index, None)?)?).is_err();
            kept.benchmark = Some(match kept.benchmark {
                // The drawings are of all methods, and stay.
                Some(files) if is_part => files.with_part(run)?,
                before => {
                    self.take_drawings(run, DRAWINGS, &mut writes)?;
                    Files::of_run(run, &index, before)?
                }
            });
        }
        for (it, folder) in further {
            self.take_in(it, folder, &mut kept)?;
            self.take_drawings(folder, it.drawings, &mut writes)?;
        }
        for (name, folder) in random {
            let files =
                kept.benchmark.as_mut().ok_or("take in a run of the benchmark first: cargo xtask results FOLDER")?;
            files.add_random(name, folder)?;
        }
        if let Some(files) = kept.benchmark.as_ref().filter(|_| run.is_some()) {
            self.refuse_part(BENCHMARK, &Results::read(files)?)?;
        }
        for (it, _) in further {
            self.refuse_part(it.experiment, &kept.results(it)?.ok_or("nothing was taken in")?)?;
        }
        let pages = self.rendered(&kept)?;
        let to_keep = kept.to_keep();
        for (name, text) in &to_keep {
            writes.push((self.root.join(KEPT).join(name), text.as_bytes().to_vec()));
        }
        let changed = pages.into_iter().filter(|(_, old, new)| !old.lines().eq(new.lines()));
        writes.extend(changed.map(|(page, _, new)| (self.root.join(page), new.into_bytes())));
        for folder in [KEPT, FIGURES].iter().filter(|_| !to_keep.is_empty()) {
            let folder = self.root.join(folder);
            fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        writes.iter().try_for_each(|(path, bytes)| write(path, bytes))
    }

    /// Takes in a further run: all of it, or the part that it is.
    fn take_in(&self, it: &'static Further, folder: &Path, kept: &mut Kept) -> Result<(), String> {
        let mut files = it.of_run(folder)?;
        let results = it.results(&files, None)?;
        if it.in_parts && self.refuse_part(it.experiment, &results).is_err() {
            files = kept.further.get(it.name).map_or(Ok(files.clone()), |kept| it.with_part(kept, &files))?;
        }
        kept.further.insert(it.name, files);
        if let Some(benchmark) = kept.benchmark.as_mut().filter(|_| it.in_parts) {
            benchmark.sets = read_index(&self.root.join(INDEX))?;
        }
        Ok(())
    }

    fn take_drawings(
        &self,
        run: &Path,
        drawings: &[(&str, &str)],
        writes: &mut Vec<(PathBuf, Vec<u8>)>,
    ) -> Result<(), String> {
        for (from, to) in drawings {
            let from = run.join(from);
            let bytes = fs::read(&from).map_err(|error| format!("{}: {error}", from.display()))?;
            writes.push((self.root.join(FIGURES).join(to), bytes));
        }
        Ok(())
    }

    /// Refuses a run of only some problems or methods of an experiment.
    fn refuse_part(&self, experiment: &str, results: &Results) -> Result<(), String> {
        let text = read(&self.root.join(experiment))?;
        let missing =
            |what: &str, is_there: &dyn Fn(&str) -> bool| match names(&text, what).find(|name| !is_there(name)) {
                Some(name) => {
                    Err(format!("the run has no {what} {name:?}, and {experiment} has: take in a run of all of it"))
                }
                None => Ok(()),
            };
        missing("problem", &|name| results.sets.iter().any(|set| set == name))?;
        missing("method", &|name| results.method(name).is_ok())
    }

    fn check(&self) -> Result<(), String> {
        let mut differences = Vec::new();
        for (page, old, new) in self.rendered(&self.kept()?)? {
            differences.extend(
                first_difference(&old, &new).map(|(line, old, new)| {
                    format!("{page}:{line}: the page says\n  {old}\nand docs/results\n  {new}")
                }),
            );
        }
        match differences.is_empty() {
            true => Ok(()),
            false => Err(format!("{}\ncargo xtask results writes the pages anew", differences.join("\n"))),
        }
    }
}

/// The names under all headings of a kind in an experiment's file, whose every line `name = "…"` is one.
fn names<'t>(text: &'t str, kind: &str) -> impl Iterator<Item = &'t str> {
    let heading = format!("[[{kind}]]");
    let mut inside = false;
    text.lines().filter_map(move |line| {
        if line.starts_with('[') {
            inside = line.trim() == heading;
        }
        line.strip_prefix("name = \"").filter(|_| inside)?.split('"').next()
    })
}

/// The number of the first line that differs, and both texts of it. By lines, whatever the checkout ends them with.
fn first_difference<'t>(old: &'t str, new: &'t str) -> Option<(usize, &'t str, &'t str)> {
    let (mut old, mut new) = (old.lines(), new.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old == new => {}
            (old, new) => return Some((number, old.unwrap_or_default(), new.unwrap_or_default())),
        }
    }
    None
}

/// What the files in docs/results say. While a run is not there, its blocks are empty, and no page may have its figures.
#[derive(Default)]
struct Published {
    benchmark: Option<Results>,
    further: BTreeMap<&'static str, Results>,
    figures: BTreeMap<String, String>,
}

impl Published {
    fn new(kept: &Kept) -> Result<Self, String> {
        let benchmark = kept.benchmark.as_ref().map(Results::read).transpose()?;
        let mut further = BTreeMap::new();
        for it in FURTHER {
            further.extend(kept.results(it)?.map(|results| (it.name, results)));
        }
        let mut figures = benchmark.as_ref().map(figures::figures).unwrap_or_default();
        figures.extend(further.get(ablation::NAME).iter().flat_map(|run| ablation::figures(run)));
        figures.extend(further.get(held_out::NAME).iter().flat_map(|run| held_out::figures(run)));
        figures.extend(further.iter().flat_map(|(name, run)| hessians::figures(name, run)));
        Ok(Self { benchmark, further, figures })
    }

    /// The run that a block or a figure is about.
    fn run(&self, name: &str) -> Option<&Results> {
        match FURTHER.iter().find(|it| name.starts_with(it.name)) {
            Some(it) => self.further.get(it.name),
            None => self.benchmark.as_ref(),
        }
    }
}

impl Source for Published {
    fn block(&self, name: &str) -> Result<String, String> {
        match self.run(name) {
            Some(run) => blocks::block(run, name),
            None if blocks::is_block(name) => Ok(String::new()),
            None => Err(format!("there is no block {name:?}: there are {}", blocks::names())),
        }
    }

    fn figure(&self, name: &str) -> Result<String, String> {
        if self.run(name).is_none() {
            return Ok(NO_FIGURE.to_owned());
        }
        let unknown = || format!("there is no figure {name:?}: cargo xtask results --list prints them all");
        self.figures.get(name).cloned().ok_or_else(unknown)
    }
}
