//! Lines are dark enough on white, light enough on a dark paper, and told apart by every reader.

use super::{COLOURS, COLOURS_ON_DARK};

type Colour = [f64; 3];

/// The darkest and the lightest that a page with a dark paper is.
const DARK_PAPERS: [&str; 2] = ["#0b0c0e", "#1e2126"];

/// Machado, Oliveira and Fernandes (2009), all of a cone missing, on linear sRGB.
const READERS: [(&str, [Colour; 3]); 4] = [
    ("three kinds of cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ("protanopia", [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
    ("tritanopia", [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
];

/// Of `#rrggbb`, in linear sRGB.
fn linear(hex: &str) -> Colour {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    [part(1), part(3), part(5)]
}

fn times(matrix: &[Colour; 3], colour: Colour) -> Colour {
    matrix.map(|row| row.iter().zip(colour).map(|(weight, part)| weight * part).sum())
}

/// The ratio of WCAG.
pub(crate) fn contrast(one: &str, other: &str) -> f64 {
    let luminance =
        |hex: &str| linear(hex).iter().zip([0.2126, 0.7152, 0.0722]).map(|(part, weight)| part * weight).sum::<f64>();
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

/// In OKLab, where black and white are 1 apart and equal distances look alike.
fn lab(colour: Colour) -> Colour {
    let cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ];
    let opposed = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ];
    times(&opposed, times(&cones, colour.map(|part| part.clamp(0.0, 1.0))).map(f64::cbrt))
}

/// The smallest distance between two of the palette, for one reader.
fn nearest(palette: &[&str], reader: &[Colour; 3]) -> f64 {
    let seen: Vec<Colour> = palette.iter().map(|hex| lab(times(reader, linear(hex)))).collect();
    let distance = |one: &Colour, other: &Colour| {
        one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt()
    };
    let pairs =
        seen.iter().enumerate().flat_map(|(index, one)| seen[index + 1..].iter().map(move |other| (one, other)));
    pairs.map(|(one, other)| distance(one, other)).fold(f64::INFINITY, f64::min)
}

#[test]
fn every_line_stands_out_from_its_paper() {
    for colour in COLOURS {
        assert!(contrast(colour, "#ffffff") >= 3.4, "{colour}: {}", contrast(colour, "#ffffff"));
    }
    for (colour, paper) in COLOURS_ON_DARK.iter().flat_map(|colour| DARK_PAPERS.map(|paper| (colour, paper))) {
        assert!(contrast(colour, paper) >= 3.9, "{colour} on {paper}: {}", contrast(colour, paper));
    }
    // The measure is that of WCAG.
    assert!(
        (contrast("#E69F00", "#ffffff") - 2.25).abs() < 0.01 && (contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9
    );
}

#[test]
fn no_reader_takes_one_colour_for_another() {
    for (reader, matrix) in &READERS {
        for palette in [COLOURS, COLOURS_ON_DARK] {
            assert!(nearest(&palette, matrix) > 0.105, "{reader}: {}", nearest(&palette, matrix));
        }
    }
    // The palette of Okabe and Ito, without its yellow, is nearer than that: the test can tell.
    let okabe = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
    assert!(nearest(&okabe, &READERS[2].1) < 0.08);
}
