"""Trains and predicts with psycopg 3."""

import psycopg
from psycopg.types.json import Jsonb

TRAIN = "SELECT svm_train('visitors', 'bought', %s, 'buyers_psycopg', nulls => 'mean', probability => true)"
VISITORS = [
    {"age": 71, "plan": "pro", "minutes": 30},
    {"age": 20, "plan": "free", "minutes": None},
    {"age": None, "plan": None, "minutes": None},
]

# the end of the block commits
with psycopg.connect() as connection:
    print("trained", connection.execute(TRAIN, [["age", "plan", "minutes"]]).fetchone()[0])

with psycopg.connect() as connection:
    # one visitor, as the application has it
    one = connection.execute("SELECT svm_classify('buyers_psycopg', %s::jsonb)", [Jsonb(VISITORS[0])]).fetchone()
    print("buys", one[0])

    # column by column; None needs no cast
    asked = "SELECT svm_classify('buyers_psycopg', r) FROM (SELECT %s AS age, %s AS plan, %s AS minutes) AS r"
    print("buys", connection.execute(asked, [20, "free", None]).fetchone()[0])

    # many in one statement: the model is looked up once
    rows = connection.execute(
        """SELECT svm_classify('buyers_psycopg', visitor, threshold => 0.3), svm_probability('buyers_psycopg', visitor)
        FROM jsonb_array_elements(%s::jsonb) AS visitor""",
        [Jsonb(VISITORS)],
    )
    for bought, probability in rows:
        print("buys", bought, "with a probability between 0 and 1:", 0 <= probability <= 1)

    # errors come with their SQLSTATE, as a class
    try:
        connection.execute("SELECT svm_classify('buyers_psycopg', %s::jsonb)", [Jsonb({"age": 20})])
    except psycopg.errors.UndefinedColumn as error:
        print("error", error.diag.message_primary)
