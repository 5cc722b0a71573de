//! Pages with marked places: blocks on lines of their own, and figures inside of lines.

const BLOCK: &str = "<!-- results:";
const BLOCK_END: &str = "<!-- /results -->";
const FIGURE: &str = "<!--=";
const CLOSE: &str = "-->";
const FIGURE_END: &str = "<!--/-->";

/// What stands at marked places, by name.
pub trait Source {
    fn block(&self, name: &str) -> Result<String, String>;
    fn figure(&self, name: &str) -> Result<String, String>;
}

/// The page with everything that is marked written anew. A mistake is named by page and line.
pub fn render(page: &str, text: &str, source: &dyn Source) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let place = |message: String| format!("{page}:{number}: {message}");
        let marker = line.trim();
        if marker == BLOCK_END {
            return Err(place(format!("{BLOCK_END} ends nothing")));
        }
        let Some(rest) = marker.strip_prefix(BLOCK) else {
            out += &with_figures(line, source).map_err(place)?;
            out.push('\n');
            continue;
        };
        let name = rest.strip_suffix(CLOSE).ok_or_else(|| place(format!("{BLOCK} has no {CLOSE} on its line")))?.trim();
        let end = lines.find(|(line, _)| line.trim() == BLOCK_END || line.trim().starts_with(BLOCK));
        if end.is_none_or(|(end, _)| end.trim() != BLOCK_END) {
            return Err(place(format!("the block {name:?} has no {BLOCK_END} before the next block")));
        }
        let block = source.block(name).map_err(place)?;
        let (start, block) = (format!("{BLOCK} {name} {CLOSE}\n"), block.trim());
        out += &start;
        if !block.is_empty() {
            out += &format!("\n{block}\n\n");
        }
        out += &format!("{BLOCK_END}\n");
    }
    Ok(out)
}

fn with_figures(line: &str, source: &dyn Source) -> Result<String, String> {
    // Markdown takes a line that begins with a comment for HTML, and ends the paragraph there.
    let begins = |start: &str| start.trim_matches([' ', '-', '*', '>']).is_empty();
    if line.split_once(FIGURE).is_some_and(|(start, _)| begins(start)) {
        return Err("a figure may not begin a line: move a word before it".into());
    }
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, marked)) = rest.split_once(FIGURE) {
        let (name, value) = marked.split_once(CLOSE).ok_or_else(|| format!("{FIGURE} has no {CLOSE} on its line"))?;
        let missing = || format!("the figure {name:?} has no {FIGURE_END} on its line");
        let (old, after) = value.split_once(FIGURE_END).ok_or_else(missing)?;
        if old.contains("<!--") {
            return Err(missing());
        }
        out += &format!("{}{FIGURE}{name}{CLOSE}{}{FIGURE_END}", no_end(before)?, source.figure(name)?);
        rest = after;
    }
    Ok(out + no_end(rest)?)
}

fn no_end(text: &str) -> Result<&str, String> {
    if text.contains(FIGURE_END) { Err(format!("{FIGURE_END} ends nothing")) } else { Ok(text) }
}
