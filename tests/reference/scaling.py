"""Decisions and objective of LIBLINEAR on rows scaled by scikit-learn's MinMaxScaler, StandardScaler and Normalizer, with
an intercept that is a constant feature: what tests/sql/scaling.sql is held against. Run by hand: python
tests/reference/scaling.py; needs scikit-learn."""

import numpy
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

number = numpy.arange(1, 301)
rows = numpy.stack([40 + number * 7919 % 160, 1900 + number * 104729 % 120, number * 31 % 17 - 5], axis=1).astype(float)
score = 3 * (rows[:, 0] - 120) / 80 + 2 * (rows[:, 1] - 1960) / 60 - rows[:, 2] / 5 + (number * 7 % 13 - 6) / 3
# no score lies so near to 0 that its sign hangs on rounding
labels = numpy.where(score > 0.002, 1, -1)
counts = numpy.stack([number % 4, number * 5 % 7, number % 3 == 0, number % 11 == 2], axis=1).astype(float)

for name, features, scalers in [
    ("minmax", rows, [MinMaxScaler()]),
    ("none, unit", rows, [Normalizer()]),
    ("standard, unit", rows, [StandardScaler(), Normalizer()]),
    ("minmax, unit", rows, [MinMaxScaler(), Normalizer()]),
    ("sparse: none, unit", counts, [Normalizer()]),
    ("sparse: maxabs, unit", counts, [MaxAbsScaler(), Normalizer()]),
]:
    scaled = make_pipeline(*scalers).fit_transform(features)
    svm = LinearSVC(loss="squared_hinge", dual=False, C=1, tol=1e-10, max_iter=100000).fit(scaled, labels)
    decisions = svm.decision_function(scaled)
    losses = numpy.maximum(0, 1 - labels * decisions) ** 2
    objective = ((svm.coef_**2).sum() + (svm.intercept_**2).sum()) / 2 + losses.sum()
    print(name, round(float(objective), 4), [round(float(decision), 4) for decision in decisions[[0, 1, 2, 298, 299]]])
