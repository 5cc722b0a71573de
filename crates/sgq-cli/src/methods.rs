//! `sgq methods`: what there is.

use std::{error::Error, fmt::Write as _};

use serde_json::json;
use sgq::{belief::BELIEFS, choice::CHOICES, method::METHODS, setting::SettingValue, update::UPDATES};
use sgq_bench::experiment::STEP_SIZES;

use crate::{Outcome, terminal};

/// List every method and part: what it does, its settings, the queries it charges.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq methods --json\n\nA choice and an update make a method in an \
                  experiment file: choice = \"shuffled\", update = \"saga\". The belief is the simplest that both can read, \
                  unless the file has one.")]
pub struct Args {
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
    /// Print the names of the methods only
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    if args.json {
        terminal::say(&serde_json::to_string_pretty(&list())?)?;
    } else if args.quiet {
        let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        terminal::say(&names.join("\n"))?;
    } else {
        terminal::say(text().trim_end())?;
    }
    Ok(Outcome::Done)
}

/// Name, summary and settings of a part.
type Described = (&'static str, &'static str, Vec<SettingValue>);

/// The three lists of parts, with what each of them decides.
fn parts() -> [(&'static str, &'static str, Vec<Described>); 3] {
    [
        (
            "beliefs",
            "Beliefs (belief = \"…\"): what is held of each user",
            BELIEFS.iter().map(|part| (part.name, part.summary, part.settings())).collect(),
        ),
        (
            "updates",
            "Updates (update = \"…\"): how to move",
            UPDATES.iter().map(|part| (part.name, part.summary, part.settings())).collect(),
        ),
        (
            "choices",
            "Choices (choice = \"…\"): whom to ask",
            CHOICES.iter().map(|part| (part.name, part.summary, part.settings())).collect(),
        ),
    ]
}

fn text() -> String {
    let mut text = "Methods (method = \"…\")\n".to_owned();
    for entry in METHODS {
        let method = entry.method();
        let _ = writeln!(text, "  {:<19}{}", entry.name, entry.summary);
        let _ = writeln!(text, "  {:<19}queries: {}", "", entry.charges);
        let _ = writeln!(text, "  {:<19}parts: {}", "", method.part_names().join(" + "));
        write_settings(&mut text, &method.settings());
    }
    for (_, title, parts) in parts() {
        let _ = writeln!(text, "\n{title}");
        for (name, summary, settings) in parts {
            let _ = writeln!(text, "  {name:<19}{summary}");
            write_settings(&mut text, &settings);
        }
    }
    text.push_str("\nStep sizes (step_size = …)\n");
    for (rule, summary) in STEP_SIZES {
        let _ = writeln!(text, "  {rule:<38}{summary}");
    }
    text
}

fn write_settings(text: &mut String, settings: &[SettingValue]) {
    for setting in settings {
        let _ = writeln!(text, "  {:<19}{setting}", "");
    }
}

fn list() -> serde_json::Value {
    let methods = METHODS.iter().map(|entry| {
        let method = entry.method();
        let [belief, choice, update] = method.part_names();
        json!({
            "name": entry.name,
            "summary": entry.summary,
            "belief": belief,
            "choice": choice,
            "update": update,
            "queries": entry.charges,
            "oracle": method.needs_oracle(),
            "settings": method.settings(),
        })
    });
    let step_sizes = STEP_SIZES.iter().map(|(name, summary)| json!({ "name": name, "summary": summary }));
    let mut list = json!({
        "methods": methods.collect::<Vec<_>>(),
        "step_sizes": step_sizes.collect::<Vec<_>>(),
    });
    for (kind, _, parts) in parts() {
        let described =
            |(name, summary, settings): &Described| json!({ "name": name, "summary": summary, "settings": settings });
        list[kind] = parts.iter().map(described).collect();
    }
    list
}
