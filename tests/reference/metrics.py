"""The figures of tests/expected/evaluation.out for the tables `answers` and `many`, out of scikit-learn."""

from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)

ANSWERS = [
    ("yes", "yes", 2.5, 0.9, 1),
    ("yes", "no", -0.5, 0.4, 1),
    ("no", "no", -1.5, 0.2, 1),
    ("no", "yes", 0.5, 0.6, 1),
    ("no", "no", -0.5, 0.4, 2),
    ("yes", "yes", 0.5, 0.6, 2),
    ("no", "no", -3, 0.05, 2),
    ("no", "yes", 1, 0.7, 2),
    ("no", "no", -1.5, 1, 2),
]
MANY = [(1, 1), (1, 2), (2, 2), (2, 2), (3, 1), (3, 3), (10, 10), (10, 4)]


def metrics(actual, predicted, **average):
    scores = [
        score(actual, predicted, zero_division=0, **average) for score in (precision_score, recall_score, f1_score)
    ]
    return [len(actual), accuracy_score(actual, predicted), balanced_accuracy_score(actual, predicted), *scores]


def report(rows, positive="yes"):
    actual, predicted, decision, probability, _ = zip(*rows)
    truth = [label == "yes" for label in actual]
    print(metrics(actual, predicted, pos_label=positive), roc_auc_score(truth, decision), log_loss(truth, probability))


report(ANSWERS)
report(ANSWERS, positive="no")
report([row for row in ANSWERS if row[4] == 1])
report([row for row in ANSWERS if row[4] == 2])
print(metrics(*zip(*MANY), average="macro"))
