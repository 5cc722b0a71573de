//! The colours of curves, once for all: figures, reports and pages take them from here.
//!
//! Blue, vermilion, green, pink, brown, sky blue and black. As in the palette of Okabe and Ito, readers with any common colour
//! blindness can tell all of them apart; its orange and sky blue, which are too faint for a line on white, are a brown and a
//! darker blue here. `figure::palette_tests` measures it.

/// Hands the colours to another macro: a number, the colour on white paper, and the colour on dark paper, seven times.
macro_rules! palette {
    ($use:ident) => {
        $use! {
            0 "#004a9f" "#3982ff"
            1 "#dd4008" "#ff9301"
            2 "#00846a" "#3ecb8b"
            3 "#ca58b4" "#c498dd"
            4 "#7c3010" "#a87255"
            5 "#0a8cf2" "#aadaff"
            6 "#000000" "#ffffff"
        }
    };
}

macro_rules! constants {
    ($($number:literal $light:literal $dark:literal)*) => {
        /// The colours on white paper.
        pub const LIGHT: [&str; 7] = [$($light),*];
        /// The same hues in the same order on dark paper.
        pub const DARK: [&str; 7] = [$($dark),*];
    };
}

/// The custom properties `--curve-0` … `--curve-6`; and figures, which are drawn for white paper, take them inside a page.
macro_rules! css {
    ($($number:literal $light:literal $dark:literal)*) => {
        concat!(
            ":root {", $(" --curve-", $number, ": ", $light, ";",)* " }\n",
            "@media screen and (prefers-color-scheme: dark) {\n  :root {",
            $(" --curve-", $number, ": ", $dark, ";",)* " }\n}\n",
            $(
                ".figure [stroke='", $light, "'] { stroke: var(--curve-", $number, "); } ",
                ".figure [fill='", $light, "'] { fill: var(--curve-", $number, "); }\n",
            )*
        )
    };
}

palette!(constants);

/// The palette as CSS, and the style of every page.
pub const THEME_CSS: &str = concat!(palette!(css), include_str!("../assets/web/theme.css"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dark_screen_has_its_own_colours() {
        let (light, dark) = THEME_CSS.split_once("dark").unwrap();
        assert!(LIGHT.iter().all(|colour| light.contains(colour)) && DARK.iter().all(|colour| dark.contains(colour)));
    }

    #[test]
    fn python_has_the_same_colours() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/sgq/plot.py");
        // Only the workspace has it; the published crate has not.
        if let Ok(text) = std::fs::read_to_string(path) {
            assert!(text.contains(&format!("COLOURS = {LIGHT:?}")), "{path} has other colours than {LIGHT:?}");
        }
    }
}
