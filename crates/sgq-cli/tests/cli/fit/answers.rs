//! What is asked, how much of it at once, and what it costs.

use super::*;

/// A fit whose rows count alike, without a penalty, one question at a time and gradients alone is the fit without these options.
#[test]
fn the_defaults_of_new_options_change_nothing() {
    let place = place();
    let plain = fit(place.path(), &[]);
    let said = fit(
        place.path(),
        &["--weigh", "rows", "--l2", "0", "--open", "1", "--answers", "gradient", "--precision", "0.01"],
    );
    assert_eq!(plain, said);
    assert_eq!(plain["settings"]["answers"], "gradient");
    assert_eq!(plain["asked"]["cost"].as_f64(), plain["queries"].as_f64());
    let dim = plain["coefficients"].as_array().unwrap().len() as u64;
    // The first question has two numbers for each coefficient, and two more.
    assert_eq!(plain["numbers"], plain["queries"].as_u64().unwrap() * dim + 7 * (2 * dim + 2));
    assert_eq!((&plain["first_answers"], &plain["closing_answers"]), (&Value::from(7), &Value::from(0)));
}

#[test]
fn hessians_are_counted_where_they_are_asked_for() {
    let place = place();
    let seen = fit(place.path(), &["--method", "ciag", "--budget", "30"]);
    let paid = fit(place.path(), &["--method", "ciag", "--budget", "30", "--answers", "hessian"]);
    assert_eq!(standardised(&seen), standardised(&paid));
    assert!(seen["sees_more"].is_string() && paid["sees_more"].is_null());
    let dim = seen["coefficients"].as_array().unwrap().len() as u64;
    let sent = &paid["asked"]["numbers_of"];
    assert_eq!(sent["gradients"], 30 * dim);
    assert_eq!(sent["losses"], 30);
    assert_eq!(sent["hessians"], 30 * dim * (dim + 1) / 2);
    let first = 7 * (2 * dim + 2);
    assert_eq!(paid["numbers"], 30 * (dim + 1 + dim * (dim + 1) / 2) + first);
    assert_eq!(seen["numbers"], 30 * dim + first);
    let shown = succeeds(
        place.path(),
        &[&LOGISTIC[..], &["--method", "ciag", "--budget", "30", "--answers", "hessian"]].concat(),
    );
    assert!(
        shown.contains(" in gradients, 30 in losses, ") && shown.contains(" in Hessians, 70 at first\n"),
        "{shown}"
    );
    assert!(!shown.contains("sees more than it pays for"), "{shown}");
    let few = fit(place.path(), &["--numbers-budget", "50"]);
    assert!(few["stop"].as_str().unwrap().contains("budget in numbers"), "{}", few["stop"]);
    assert!(few["asked"]["numbers_of"]["gradients"].as_u64().unwrap() <= 50);
}

#[test]
fn several_questions_may_be_out() {
    let place = place();
    let several = fit(place.path(), &["--open", "3", "--budget", "120", "--tol", "off"]);
    assert_eq!((several["settings"]["open"].as_u64(), several["queries"].as_u64()), (Some(3), Some(120)));
    assert_eq!(several, fit(place.path(), &["--open", "3", "--budget", "120", "--tol", "off"]));
    assert!(several["diagnostic"]["relative_gap"].as_f64().unwrap() < 1e-2);
    let shown = succeeds(place.path(), &[&LOGISTIC[..], &["--open", "3", "--verbose"]].concat());
    assert!(shown.contains("  questions at once  3\n"), "{shown}");
}

#[test]
fn wrong_words_for_answers_weights_and_open_are_refused() {
    let place = place();
    for (more, words) in [
        (&["--answers", "hesian"][..], "expected gradient, loss or hessian"),
        (&["--weigh", "size"], "expected rows or users"),
        (&["--open", "0"], "expected a whole number from 1 to"),
        (&["--open", "-2"], "expected a whole number from 1 to"),
        (&["--numbers-budget", "many"], "--numbers-budget"),
        (&["--method", "katyusha", "--open", "2"], "let one question be open"),
    ] {
        let told = refuses(place.path(), &[&LOGISTIC[..], more].concat());
        assert!(told.contains(words), "{more:?}: {told}");
    }
    // One row a user, of unequal weight: every user has another penalty. And the intercept has none.
    let place = folder_with("d.csv", "who,x,y,w\nA,0,1,1\nB,1,5,2\nC,2,3,4\n");
    let start = ["fit", "d.csv", "--user", "who", "--target", "y", "--weight", "w", "--method", "saga"];
    for weigh in ["rows", "users"] {
        let more = ["--table", "scalars", "--weigh", weigh, "--out", weigh];
        let told = refuses(place.path(), &[&start[..], &more, &["--l2", "0.01"]].concat());
        assert!(told.contains("needs users that count the same, or no penalty: take --l2 0"), "{told}");
        succeeds(place.path(), &[&start[..], &more, &["--quiet"]].concat());
    }
}
