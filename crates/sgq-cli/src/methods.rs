//! `sgq methods`: what there is.

use std::{error::Error, fmt::Write as _};

use sgq::catalog::{BELIEFS, CHOICES, Entry, METHODS, PartEntry, STEP_SIZES, UPDATES};

use crate::{Outcome, terminal};

/// List every method and part: what it does, its settings, the queries it charges.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq methods --json\n\nAny choice goes with any update in an experiment file: \
                  choice = \"shuffled\", update = \"saga\".")]
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
        terminal::say(&serde_json::to_string_pretty(&json())?)?;
    } else if args.quiet {
        let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        terminal::say(&names.join("\n"))?;
    } else {
        terminal::say(text().trim_end())?;
    }
    Ok(Outcome::Done)
}

fn text() -> String {
    let mut text = "Methods (method = \"…\")\n".to_owned();
    for method in METHODS {
        let _ = writeln!(text, "  {:<19}{}", method.name, method.summary);
        let _ = writeln!(text, "  {:<19}queries: {}", "", method.charges);
        write_settings(&mut text, &method.recipe.settings());
    }
    write_parts(&mut text, "Choices (choice = \"…\"): whom to ask", CHOICES);
    write_parts(&mut text, "Updates (update = \"…\"): how to move", UPDATES);
    text.push_str("\nBeliefs: what is held of each user; they follow from the choice and the update\n");
    for belief in BELIEFS {
        let _ = writeln!(text, "  {:<19}{}", belief.name, belief.summary);
    }
    text.push_str("\nStep sizes (step_size = …)\n");
    for rule in STEP_SIZES {
        let _ = writeln!(text, "  {:<38}{}", rule.name, rule.summary);
    }
    text
}

fn write_parts<Kind>(text: &mut String, title: &str, parts: &[PartEntry<Kind>]) {
    let _ = writeln!(text, "\n{title}");
    for part in parts {
        let _ = writeln!(text, "  {:<19}{}", part.name, part.summary);
        write_settings(text, part.settings);
    }
}

fn write_settings(text: &mut String, settings: &[Entry]) {
    for setting in settings {
        let _ = writeln!(text, "  {:<19}{}: {}", "", setting.name, setting.summary);
    }
}

fn json() -> serde_json::Value {
    let settings = |settings: &[Entry]| -> serde_json::Value {
        let pairs =
            settings.iter().map(|setting| serde_json::json!({ "name": setting.name, "summary": setting.summary }));
        pairs.collect()
    };
    let methods = METHODS.iter().map(|method| {
        serde_json::json!({
            "name": method.name,
            "summary": method.summary,
            "choice": method.recipe.choice_entry().name,
            "update": method.recipe.update_entry().name,
            "queries": method.charges,
            "oracle": method.recipe.needs_oracle(),
            "settings": settings(&method.recipe.settings()),
        })
    });
    serde_json::json!({
        "methods": methods.collect::<Vec<_>>(),
        "beliefs": settings(BELIEFS),
        "choices": parts(CHOICES, settings),
        "updates": parts(UPDATES, settings),
        "step_sizes": settings(STEP_SIZES),
    })
}

fn parts<Kind>(parts: &[PartEntry<Kind>], settings: impl Fn(&[Entry]) -> serde_json::Value) -> serde_json::Value {
    let parts = parts.iter().map(|part| {
        serde_json::json!({
            "name": part.name,
            "summary": part.summary,
            "settings": settings(part.settings),
        })
    });
    parts.collect()
}
