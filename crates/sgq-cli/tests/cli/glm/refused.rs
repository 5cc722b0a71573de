//! What has no coefficients, and what cannot be read: columns, lines and characters are named, and nobody is asked.

use super::*;

/// Refused with these words, before anybody was asked or anything written.
fn is_refused(place: &TempDir, more: &[&str], expected: &[&str]) {
    let told = refuses(place.path(), &arguments(&[more, &["--ledger", "study.sgq"]].concat()));
    assert!(expected.iter().all(|words| told.contains(words)), "{more:?}: {told}");
    for name in ["o", "study.sgq"] {
        assert!(!place.path().join(name).exists(), "{more:?}: {name} was written");
    }
}

#[test]
fn a_formula_error_has_its_place() {
    let place = place(&patients(&SMALL));
    for (formula, at, words) in [
        ("died ~ age ++* sex", 12, "expected a term"),
        ("died ~ age | sex", 11, "random effects are not understood"),
        ("~ age", 0, "there is no target"),
        ("died ~ age + `sex", 13, "is never closed"),
    ] {
        let told = refuses(place.path(), &arguments(&["--formula", formula]));
        assert!(told.contains(words), "{formula}: {told}");
        let lines: Vec<&str> = told.lines().collect();
        let line = lines.iter().position(|line| line.trim() == formula).unwrap_or_else(|| panic!("{told}"));
        let (begin, caret) = (lines[line].find(formula).unwrap(), lines[line + 1].find('^').unwrap());
        assert_eq!((caret - begin, lines[line + 1].trim()), (at, "^"), "{formula}: {told}");
        assert!(told.contains(&format!("at character {}", at + 1)), "{formula}: {told}");
    }
    is_refused(&place, &["--formula", "died ~ agee + sex"], &["there is no column \"agee\"; did you mean \"age\"?"]);
    is_refused(&place, &["--formula", "died ~ log(sex)"], &["patients.csv: line 2: \"sex\" is"]);
}

#[test]
fn separation_names_the_columns() {
    let mut all = patients(&SMALL);
    // Everybody in the west survives; and whoever is over 62 dies.
    all.iter_mut().filter(|it| it.ward == "west").for_each(|it| it.died = 0.0);
    let by_level = place(&all);
    all.iter_mut().for_each(|it| it.died = f64::from(u8::from(it.age > 62.0)));
    let complete = place(&all);
    let count = all.iter().filter(|it| it.ward == "west").count();
    let rows = all.len();
    let died = ["--formula", "died ~ age + ward"];
    let advice = "or give a penalty (--l2 0.01)";
    let level =
        format!("ward=west (to -infinity) has no finite estimate: it predicts {count} of {rows} rows perfectly");
    is_refused(&by_level, &died, &[&level, advice, "no finite coefficients are the most likely ones"]);
    let age = "age (to +infinity) have no finite estimate: together they predict ";
    is_refused(&complete, &died, &[age, &format!("{rows} of {rows} rows perfectly"), advice]);
    // A count that is always zero.
    let mut counts = patients(&SMALL);
    counts.iter_mut().filter(|it| it.ward == "north").for_each(|it| it.falls = 0.0);
    let counts = place(&counts);
    let falls = ["--formula", "falls ~ age + ward", "--family", "poisson"];
    is_refused(&counts, &falls, &["ward=north (to -infinity)", "with counts of 0, perfectly"]);
    for (place, options) in [(&by_level, &died[..]), (&complete, &died), (&counts, &falls)] {
        let model = fit(place.path(), &[options, &["--l2", "0.01"]].concat());
        assert_eq!((&model["converged"], &model["l2"]), (&true.into(), &0.01.into()));
        assert!(estimates(&model).iter().all(|value| value.abs() < 1e3));
    }
}

#[test]
fn collinear_columns_are_named() {
    let all = patients(&SMALL);
    let text = csv(&all).lines().enumerate().fold(String::new(), |text, (number, line)| match number {
        0 => format!("{text}{line},months,adult\n"),
        _ => {
            let age: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
            format!("{text}{line},{},{}\n", 12.0 * age, 3.0 * age - 18.0)
        }
    });
    let place = folder_with("patients.csv", &text);
    for (formula, words) in [
        ("died ~ age + sex + months", "months is a multiple of age; leave it out, or give a penalty (--l2 0.01)"),
        ("score ~ age + sex + adult", "adult is a linear combination of intercept, age; leave it out"),
    ] {
        is_refused(&place, &["--formula", formula], &[words]);
        let model = fit(place.path(), &["--formula", formula, "--l2", "0.01"]);
        assert_eq!(model["converged"], true);
        fs::remove_dir_all(place.path().join("o")).unwrap();
    }
}

#[test]
fn slips_are_named_by_line() {
    let text = csv(&patients(&SMALL));
    let age = text.lines().nth(7).unwrap().split(',').nth(1).unwrap().to_owned();
    let slip = text.replacen(&format!(",{age},"), ",1O,", 1);
    let line = slip.lines().position(|line| line.contains(",1O,")).unwrap() + 1;
    let place = folder_with("patients.csv", &slip);
    let total: usize = SMALL.iter().sum();
    is_refused(
        &place,
        &["--target", "died", "--features", "age,sex"],
        &[
            &format!("patients.csv: column \"age\" has numbers in {} rows and something else in 1", total - 1),
            &format!("line {line} has \"1O\", which is not a finite number"),
            "factor(age) in the formula, or --factors age",
        ],
    );
}

#[test]
fn missing_values_are_counted() {
    let all = patients(&SMALL);
    let text: String = csv(&all)
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let mut cells: Vec<&str> = line.split(',').collect();
            match number {
                4 | 9 | 70 => cells[1] = "",
                5 | 6 => cells[3] = "NA",
                7 => (cells[1], cells[3]) = ("NA", ""),
                // It is not among the columns of the formula.
                8 => cells[7] = "",
                _ => {}
            }
            cells.join(",") + "\n"
        })
        .collect();
    let place = folder_with("patients.csv", &text);
    let options = ["--formula", "died ~ age + ward"];
    let used = all.len() - 6;
    let model = fit(place.path(), &[&options[..], &["--precision", "1e-7", "--close"]].concat());
    assert_eq!((&model["rows"], &model["rows_missing"]), (&used.into(), &6.into()));
    let complete: Vec<Patient> =
        (1..).zip(&all).filter(|(line, _)| ![4, 5, 6, 7, 9, 70].contains(line)).map(|(_, it)| it.clone()).collect();
    // The hospital with a single patient is still there.
    let plain = glm(Kind::Binomial, &rows(&complete, |it| it.died, &[|it| it.age, in_north, in_west]));
    agree(&model, &plain, 1e-6, "complete rows");
    for more in [&[][..], &["--close"], &["--method", "saga"]] {
        let text = shown(place.path(), &[&options[..], more].concat());
        let words = format!("  rows               {used} used, 6 left out with missing values (age 4, ward 3)\n");
        assert!(text.contains(&words) && text.matches("\n  rows    ").count() == 1, "{text}");
    }
    let refused = [&options[..], &["--refuse-missing"]].concat();
    fs::remove_dir_all(place.path().join("o")).unwrap();
    let words = format!("6 of {} rows have missing values (\"age\": 4, \"ward\": 3): fill them in", all.len());
    is_refused(&place, &refused, &[&words, "or leave out --refuse-missing"]);
}
