"""Texts by scikit-learn's usual route: `tfidf.py TRAINED HELD C` reads two files of COPY, label and text a line, makes tf-idf
rows, fits LinearSVC with its defaults and predicts; prints processor seconds of each step, and the accuracy held out."""

import json
import re
import sys
import time

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

# as COPY writes what would end a line or a column
ESCAPED, MEANT = re.compile(r"\\(.)"), {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}


def read(path):
    labels, texts = [], []
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            label, text = line.rstrip("\n").split("\t", 1)
            labels.append(label)
            texts.append(ESCAPED.sub(lambda found: MEANT.get(found[1], found[1]), text))
    return labels, texts


trained, held, c = sys.argv[1:]
steps = {}


def step(name, work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    steps[name] = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return result


labels, texts = step("read", lambda: read(trained))
vectorizer = TfidfVectorizer()
rows = step("rows", lambda: vectorizer.fit_transform(texts))
fitted = step("fit", lambda: LinearSVC(C=float(c)).fit(rows, labels))
right, unseen = read(held)
said = step("predict", lambda: fitted.predict(vectorizer.transform(unseen)))
accuracy = sum(one == other for one, other in zip(said, right)) / len(right)
megabytes = sum(len(text.encode()) for text in texts) / 1e6
print(json.dumps({"steps": steps, "accuracy": accuracy, "features": rows.shape[1], "megabytes": megabytes}))
