"""Logistic regression on real patients, grouped: how many questions does it take, and how good is the answer?

The data come with scikit-learn: 442 diabetics, and how far their illness went within a year. They have no clinics, so
that the age in years takes their place: each of 58 ages holds the rows of its own patients, and answers for them.
"""

import sklearn
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sgq
from sgq.sklearn import GroupedLogisticRegression

frame = load_diabetes(as_frame=True, scaled=False).frame
target = frame.pop("target")
frame["worse"] = target > target.median()
ages, worse = frame["age"], frame["worse"]
features = frame.drop(columns=["age", "worse"])

# What kind of problem is it?
print(sgq.problems.from_frame(frame, user="age", target="worse").card, end="\n\n")

# Everybody is asked for gradients on their own rows only. Each method stops by itself.
for method in ("saga", "iqn", "diag"):
    classifier = GroupedLogisticRegression(method, random_state=0)
    model = make_pipeline(StandardScaler(), classifier)
    model.fit(features, worse, groupedlogisticregression__groups=ages)
    asked = classifier.queries_per_user_
    print(f"{method:5}{classifier.n_queries_:7,} queries, {asked.min()} to {asked.max()} a user; ", end="")
    print(f"{model.score(features, worse):.1%} right: {classifier.message_}")

# The same on ages that the model has not seen: the groups go to the split and to the fit.
sklearn.set_config(enable_metadata_routing=True)
classifier = GroupedLogisticRegression(random_state=0).set_fit_request(groups=True)
model = make_pipeline(StandardScaler(), classifier)
scores = cross_val_score(model, features, worse, cv=GroupKFold(5), params={"groups": ages})
print(f"\nof ages never asked {scores.mean():.1%} right")
