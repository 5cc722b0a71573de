"""Fisher scoring over the same clinics, as ds.glm does it: in every round each clinic is asked for its score and its information.

    python3 fisher.py data/*.csv

Only the standard library. It prints how many answers that takes, and the coefficients, with standard errors.
"""

import csv
import math
import sys

ROUNDS, ENOUGH = 25, 1e-8


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            numbers = {name: float(value) for name, value in row.items()}
            died = numbers.pop("died")
            yield [1.0, *numbers.values()], died


def names(path):
    with open(path, newline="", encoding="utf-8") as file:
        return ["intercept", *(name for name in next(csv.reader(file)) if name != "died")]


def answer(clinic, beta):
    """What one clinic answers: its score, its information and its deviance."""
    size = len(beta)
    score, information, deviance = [0.0] * size, [[0.0] * size for _ in beta], 0.0
    for x, died in clinic:
        mean = 1 / (1 + math.exp(-sum(b * value for b, value in zip(beta, x))))
        deviance -= 2 * math.log(mean if died else 1 - mean)
        for i in range(size):
            score[i] += (died - mean) * x[i]
            for j in range(size):
                information[i][j] += mean * (1 - mean) * x[i] * x[j]
    return score, information, deviance


def solve(matrix, right):
    """Gauss and Jordan, with the largest pivot."""
    size = len(right)
    table = [row[:] + [value] for row, value in zip(matrix, right)]
    for k in range(size):
        pivot = max(range(k, size), key=lambda i: abs(table[i][k]))
        table[k], table[pivot] = table[pivot], table[k]
        for i in range(size):
            if i != k:
                factor = table[i][k] / table[k][k]
                table[i] = [a - factor * b for a, b in zip(table[i], table[k])]
    return [table[k][size] / table[k][k] for k in range(size)]


def main(paths):
    clinics = [list(rows(path)) for path in paths]
    beta, before, answers = [0.0] * len(names(paths[0])), None, 0
    for _ in range(ROUNDS):
        told = [answer(clinic, beta) for clinic in clinics]
        answers += len(told)
        score = [sum(values) for values in zip(*(it[0] for it in told))]
        information = [[sum(values) for values in zip(*rows)] for rows in zip(*(it[1] for it in told))]
        deviance = sum(it[2] for it in told)
        if before is not None and abs(deviance - before) / (abs(deviance) + 0.1) < ENOUGH:
            break
        before = deviance
        beta = [b + step for b, step in zip(beta, solve(information, score))]
    size = len(beta)
    unit = lambda k: [1.0 if i == k else 0.0 for i in range(size)]
    errors = [math.sqrt(solve(information, unit(k))[k]) for k in range(size)]
    print(f"{answers} answers of {len(clinics)} clinics in {answers // len(clinics)} rounds, deviance {deviance:.6f}")
    for name, b, error in zip(names(paths[0]), beta, errors):
        print(f"{name:<10} {b:.10g} {error:.10g}")


main(sys.argv[1:])
