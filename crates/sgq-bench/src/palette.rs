//! The colours of curves, once for all: figures, reports and pages take them from here.
//!
//! Seven colours that stay apart for readers with any common colour blindness, in a version for white paper and one for a
//! dark screen: as the palette of Okabe and Ito, but darker where theirs is too faint for a line on white (its orange has a
//! contrast of 2.25, its sky blue 2.31). Each has a contrast of at least 3 with its paper, and any two differ by at least 15
//! in CIELAB, as they are and as protanopes, deuteranopes and tritanopes see them; theirs differ by 16.

/// Hands the colours to another macro: a number, the colour on white paper, and the colour on dark paper, seven times.
macro_rules! palette {
    ($use:ident) => {
        $use! {
            0 "#00508E" "#2B7FCB"
            1 "#A93319" "#E0651C"
            2 "#04A460" "#11A87C"
            3 "#B97FA3" "#CF7FB5"
            4 "#C38509" "#E9B036"
            5 "#4880F5" "#7FC6F5"
            6 "#000000" "#FFFFFF"
        }
    };
}

macro_rules! constants {
    ($($number:literal $light:literal $dark:literal)*) => {
        /// The colours on white paper.
        pub const LIGHT: [&str; 7] = [$($light),*];
        /// The same on dark paper.
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

    /// How readers see colours, as matrices on linear RGB: Machado, Oliveira and Fernandes (2009), severity 1.
    const VISIONS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn dot(weights: [f64; 3], colour: [f64; 3]) -> f64 {
        weights.iter().zip(colour).map(|(weight, part)| weight * part).sum()
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let light = |colour| dot([0.2126, 0.7152, 0.0722], linear(colour)) + 0.05;
        f64::max(light(one) / light(other), light(other) / light(one))
    }

    fn lab(colour: &str, vision: [[f64; 3]; 3]) -> [f64; 3] {
        let seen = vision.map(|row| dot(row, linear(colour)).clamp(0.0, 1.0));
        let root = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = root(dot([0.4124, 0.3576, 0.1805], seen) / 0.9505);
        let y = root(dot([0.2126, 0.7152, 0.0722], seen));
        let z = root(dot([0.0193, 0.1192, 0.9505], seen) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn curves_show_on_their_paper_and_stay_apart_for_every_reader() {
        for (palette, paper) in [(LIGHT, "#ffffff"), (DARK, "#15171a")] {
            for (place, colour) in palette.iter().enumerate() {
                assert!(contrast(colour, paper) >= 3.0, "{colour} on {paper}: {:.2}", contrast(colour, paper));
                for other in &palette[..place] {
                    for vision in VISIONS {
                        let (one, two) = (lab(colour, vision), lab(other, vision));
                        let apart = one.iter().zip(two).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(apart >= 15.0, "{colour} and {other}: {apart:.1}");
                    }
                }
            }
        }
    }

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
