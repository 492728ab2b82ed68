"""What is said of columns as people have them, of rows without a label and of bad rows. tests/sql/messy.sql has what becomes of them."""

import json
import re
from typing import NamedTuple

import psycopg
import pytest


class Notice(NamedTuple):
    severity: str
    message: str
    detail: str
    hint: str


@pytest.fixture
def said(connection):
    told = []
    connection.add_notice_handler(
        lambda it: told.append(
            Notice(it.severity_nonlocalized, it.message_primary, it.message_detail or "", it.message_hint or "")
        )
    )
    connection.execute("SET client_min_messages = notice")
    return told


def details(said):
    return [line for notice in said for line in notice.detail.splitlines()]


def test_the_notice_says_how_texts_nulls_and_labels_were_read(connection, said):
    connection.execute(
        """CREATE TEMP TABLE offers AS
        SELECT CASE WHEN i % 20 = 0 THEN '' ELSE '$' || to_char(i * 7919 % 5000, 'FM9,999.00') END AS price,
            CASE WHEN i % 9 = 0 THEN 'n/a' ELSE i * 31 % 100 || ' %' END AS discount,
            to_char(date '2024-01-01' + i % 300, 'DD.MM.YYYY') AS since, CASE WHEN i % 10 = 0 THEN NULL ELSE 'kind ' || i % 3 END AS kind,
            B'1' AS flag, gen_random_uuid() AS token, CASE WHEN i % 4 > 0 THEN i * 7919 % 5000 > 2500 END AS sold
        FROM generate_series(1, 2000) AS i"""
    )
    connection.execute("SELECT svm_train('offers', 'sold')")
    lines = details(said)
    assert "Not trained on: 500 rows whose sold is NULL. The model can predict it." in lines
    read = next(line for line in lines if line.startswith("Texts read as numbers and times: "))
    assert "number(discount), 167 rows with 'n/a' counted as NULL" in read
    assert "time(since) as day-month-year" in read
    nulls = next(line for line in lines if line.startswith("NULLs: "))
    assert (
        "number(discount) in 167 rows, as the mean " in nulls and "kind in 100 rows, as a category of its own" in nulls
    )
    assert 'Columns not used: flag ("bit"; flag::text is a category), token (uuid).' in lines
    primary = next(notice.message for notice in said if notice.severity == "NOTICE")
    assert "1500 rows, 500 without a label left out" in primary


def test_one_bad_row_in_many_is_counted_and_named(connection, said):
    connection.execute(
        """CREATE TEMP TABLE rows AS SELECT i, CASE WHEN i = 299983 THEN '{NaN,0}' ELSE ARRAY[i::bigint * 7919 % 1000, i * 31 % 997]::float4[] END AS x,
            (i::bigint * 7919 % 1000 > 400) AS y FROM generate_series(1, 300000) AS i"""
    )
    connection.execute("SELECT svm_train('rows', 'y', '{x}', bad_rows => 'skip')")
    assert 'The bad row is row 299983: element 1 of "x" is NaN.' in details(said)
    said.clear()
    connection.execute("SELECT svm_train('rows', 'y', '{x}', model => 'keyed', key => 'i', bad_rows => 'skip')")
    assert 'The bad row is the row with i 299983: element 1 of "x" is NaN.' in details(said)


def test_ages_counts_and_years_are_no_codes(connection, said):
    connection.execute("SELECT setseed(.5)")
    # classes rise with age, bend with rooms, fall by steps with years, and are more frequent for some zip codes and weekdays
    connection.execute(
        """CREATE TEMP TABLE homes AS SELECT age, rooms, year, visits, zip, weekday, random() < .02 + .05 * (age > 50)::int
            + .05 * (2 - abs(rooms - 3)) + .1 * (year < 1980)::int + .05 * (visits < 2)::int
            + .25 * (zip * 61 % 97 < 48)::int + .6 * (weekday IN (0, 6))::int AS sold
        FROM (SELECT 18 + floor(60 * random())::int AS age, 1 + floor(5 * random())::int AS rooms, 1950 + floor(70 * random())::int AS year,
                floor(-ln(random()) * 3)::int AS visits, 10000 + floor(97 * random())::int AS zip, floor(7 * random())::int AS weekday
            FROM generate_series(1, 8000)) AS drawn"""
    )
    connection.execute("SELECT svm_train('homes', 'sold')")
    hints = "\n".join(notice.hint for notice in said)
    assert "zip, weekday look like codes" in hints, hints


def test_codes_are_hinted_at_with_the_features_to_type(connection, said):
    connection.execute(
        """CREATE TEMP TABLE sales AS SELECT i * 7919 % 97 AS zip, i % 7 AS weekday, i * 31 % 1009 AS amount,
            (i * 7919 % 97 * 37) % 11 + CASE WHEN i % 7 IN (0, 6) THEN 5 ELSE 0 END > 7 AS sold FROM generate_series(1, 20000) AS i"""
    )
    connection.execute("SELECT svm_train('sales', 'sold')")
    hints = " ".join(notice.hint for notice in said)
    assert "features => '{category(zip),category(weekday),amount}'" in hints
    said.clear()
    connection.execute(
        "SELECT svm_train('sales', 'sold', '{category(zip),category(weekday),amount}', model => 'codes')"
    )
    assert not any("category(" in notice.hint for notice in said)


def test_labels_that_may_be_numbers_to_predict_are_asked_about_where_classes_fail(connection, said):
    connection.execute(
        "CREATE TEMP TABLE people AS SELECT 18 + i * 7919 % 61 AS age, i * 48271 % 997 / 997.0 AS size FROM generate_series(1, 3000) AS i"
    )
    connection.execute("SELECT svm_train('people', 'age', '{size}')")
    warnings = [notice for notice in said if notice.severity == "WARNING"]
    assert len(warnings) == 1
    assert "Is age rather a number to predict? To predict the number itself: task => 'regression'. " in warnings[0].hint
    assert "age > 48 AS label" in warnings[0].hint


def test_hints_repeat_what_is_left_out_and_do_not_undo_each_other(connection, said):
    connection.execute(
        """CREATE TEMP TABLE offers AS
        SELECT i AS "Row No", zip AS "Zip", i % 7 AS weekday, i * 31 % 1009 AS amount, i * 37 % 499 AS other,
            CASE WHEN sold THEN 100 ELSE 0 END + i * 13 % 53 AS refund, sold
        FROM (SELECT i, i * 7919 % 97 AS zip, ((i * 7919 % 97 * 37) % 11 > 4) <> (i * 48271 % 10 < 2) AS sold FROM generate_series(1, 20000) AS i) AS drawn"""
    )

    def hints(arguments):
        said.clear()
        connection.execute(f"SELECT svm_train('offers', 'sold', model => 'offers', {arguments})")
        return [notice.hint for notice in said if notice.hint]

    def arguments(hints, name):
        return [found for hint in hints for found in re.findall(rf"{name} => ('(?:[^']|'')*')", hint)]

    excludes = arguments(hints("exclude => '{other}'"), "exclude")
    assert excludes == ["""'{other,refund,"Row No"}'""", """'{other,"Row No"}'"""]
    features = arguments(hints("exclude => '{other}'"), "features")
    # neither what gives the label away nor what numbers rows, as other hints of the training want both left out
    assert features == ["'{category(Zip),weekday,amount}'"]
    # what is typed works, and nothing is left to be said of it
    assert arguments(hints(f"features => {features[0]}"), "(?:features|exclude)") == []
    assert arguments(hints(f"exclude => {excludes[0]}, options => '{{\"inherit\": false}}'"), "exclude") == []
    # who names a code as a number means that
    assert arguments(hints("features => '{Zip,weekday,amount,refund}'"), "features") == ["'{Zip,weekday,amount}'"]


def test_the_notice_names_columns_with_other_roles_and_texts_that_are_categories(connection, said):
    connection.execute(
        """CREATE TEMP TABLE orders AS SELECT i AS nr, i % 3 AS part, 1.0 + i % 2 AS w, i * 7919 % 1000 AS amount,
            (ARRAY['Berlin', 'berlin', 'Rome', '?'])[1 + i % 4] AS city, chr(97 + i % 3) AS plan, i * 7919 % 1000 > 500 AS y
        FROM generate_series(1, 900) AS i"""
    )
    connection.execute(
        "SELECT svm_train('orders', 'y', key => 'nr', weight => 'w', probability => true, fold_column => 'part')"
    )
    lines = details(said)
    assert "Left out: nr (key), w (weight), part (folds)." in lines
    assert "Texts as categories: city (4 values), plan (3 values)." in lines
    assert "Categories that look like missing values: city ('?')." in lines
    assert "Categories that differ only in case or blanks: city ('Berlin', 'berlin')." in lines
    said.clear()
    connection.execute(
        "SELECT svm_train('orders', 'y', '{amount,\"category(plan)\"}', model => 'asked', weight => 'w')"
    )
    assert not any(line.startswith(("Left out", "Texts as categories")) for line in details(said))


def test_a_rank_that_was_asked_for_has_the_notice_say_what_it_leaves_out(connection, said):
    connection.execute(
        "CREATE TEMP TABLE rings AS SELECT sin(i) AS x, cos(i * 1.7) AS y, sin(i) * cos(i * 1.7) > 0 AS ring FROM generate_series(1, 400) AS i"
    )
    connection.execute("SELECT svm_train('rings', 'ring', kernel => 'rbf', rank => 3)")
    kernel = next(line for line in details(said) if line.startswith("Kernel rbf"))
    left_out = re.search(r"3 landmarks \(pivots\), which reproduce the kernel but for ([\d.e-]+) of its trace", kernel)
    assert 0.05 < float(left_out[1]) < 1
    assert not any(line.startswith("rank => 3") for line in details(said))


def test_the_notice_says_why_there_are_fewer_landmarks_than_the_rank(connection, said):
    connection.execute(
        """CREATE TEMP TABLE drawn AS SELECT hashint4(i) / 4294967296.0 AS x, hashint4(-i) / 4294967296.0 AS y,
            hashint4(i) > hashint4(-i) AS above FROM generate_series(1, 30000) AS i"""
    )
    connection.execute(
        "CREATE TEMP TABLE few AS SELECT x, y, above FROM (SELECT * FROM drawn LIMIT 50) AS f, generate_series(1, 9)"
    )
    for source, gamma, reason in (
        ("few", 1, "they would add next to nothing."),
        ("drawn", 10, "these reproduce all rows of the sample that they are chosen of."),
    ):
        said.clear()
        connection.execute("SET pgsvm.cache_size = '1MB'")
        connection.execute(f"SELECT svm_train('{source}', 'above', kernel => 'rbf', gamma => {gamma}, rank => 300)")
        line = next(line for line in details(said) if line.startswith("rank => 300"))
        assert line.startswith(f"rank => 300 allows for more landmarks: {reason}")


def test_texts_with_a_unit_and_times_of_the_day_are_told_with_what_to_type(connection, said):
    connection.execute(
        """CREATE TEMP TABLE trips AS
        SELECT lpad((6 + i * 7919 % 16)::text, 2, '0') || ':' || lpad((i * 31 % 60)::text, 2, '0') AS start, i * 31 % 7 || ' cm' AS height,
            i * 7919 % 16 > 7 AS late FROM generate_series(1, 900) AS i"""
    )
    connection.execute("SELECT svm_train('trips', 'late')")
    lines = details(said)
    assert "Texts read as numbers and times: number(start) as a time of the day, in seconds since midnight." in lines
    units = next(line for line in lines if line.startswith("Numbers with a unit"))
    assert units.endswith(": replace(height, ' cm', '')::float8.")
    heights = "SELECT min(replace(height, ' cm', '')::float8), max(replace(height, ' cm', '')::float8) FROM trips"
    assert connection.execute(heights).fetchone() == (0, 6)


def test_points_that_may_part_thousands_are_told_with_both_numbers(connection, said):
    connection.execute(
        """CREATE TEMP TABLE prices AS SELECT i % 9 + 1 || '.' || to_char(i * 37 % 1000, 'FM000') || ' EUR' AS price,
            i * 37 % 97 / 10.0 || ' EUR' AS fee, i % 9 > 4 AS y FROM generate_series(1, 900) AS i"""
    )
    connection.execute("SELECT svm_train('prices', 'y')")
    assert (
        "Texts read as numbers and times: number(price), '1.300 EUR' as 1.3; if it is 1300, take the points out in svm_train_query; number(fee)."
        in details(said)
    )


def test_arrays_that_are_one_sparse_vector_are_told(connection, said):
    connection.execute(
        """CREATE TEMP TABLE pairs AS SELECT ARRAY[i % 3, 3 + i % 5, 9 + i % 7] AS idx, ARRAY[i % 2, 1, i % 3]::real[] AS val, i % 11 AS z,
            i % 3 > 0 AS y FROM generate_series(1, 1000) AS i"""
    )
    connection.execute("SELECT svm_train('pairs', 'y')")
    hint = next(notice.hint for notice in said if notice.message.startswith("model "))
    assert "features => '{\"sparse(idx, val)\",z}'" in hint
    connection.execute("""SELECT svm_train('pairs', 'y', features => '{"sparse(idx, val)",z}', model => 'sparse')""")
    assert said[-1].hint == "" or "sparse" not in said[-1].hint


def test_a_json_object_as_text_is_told_its_cast(connection):
    connection.execute("CREATE TEMP TABLE rows AS SELECT i % 7 AS a, i % 7 > 3 AS y FROM generate_series(1, 100) AS i")
    connection.execute("SELECT svm_train('rows', 'y', '{a}', 'of_a')")
    row = json.dumps({"a": 6})
    assert connection.execute("SELECT svm_classify('of_a', %s::jsonb)", [row]).fetchone() == ("true",)
    for sent in ["%s", "%s::text"]:
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(f"SELECT svm_classify('of_a', {sent})", [row])
        assert (
            "A JSON object needs its type: SELECT svm_classify('of_a', '{…}'::jsonb)."
            in refused.value.diag.message_hint
        )
