"""Words and weights of texts are those of scikit-learn's TfidfVectorizer: names, idf and values, on texts of three kinds."""

import inspect
import json
import pkgutil
import random
import time

import numpy as np
import psycopg
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from harness.sessions import one

GERMAN = """Übermäßige Größe: Straße, STRASSE und GROẞE Öfen.
Der Zug nach Köln fährt um 12:30 Uhr von Gleis 3_b ab; die Fahrkarte kostet 25,90 €.
Müßiggang ist aller Laster Anfang – sagt man in Österreich, in der Schweiz und anderswo.
Wer A sagt, muß nicht B sagen. Er kann auch erkennen, daß A falsch war.
Die Katze tritt die Treppe krumm, krumm tritt die Katze die Treppe.""".splitlines()


def english():
    """Docstrings of Python's own modules."""
    found = []
    for module in sorted(pkgutil.iter_modules(), key=lambda it: it.name):
        if module.name in {
            "argparse",
            "csv",
            "datetime",
            "decimal",
            "email",
            "json",
            "random",
            "re",
            "socket",
            "statistics",
        }:
            loaded = __import__(module.name)
            members = [member for _, member in sorted(vars(loaded).items()) if callable(member)]
            found += [text for text in map(inspect.getdoc, [loaded, *members]) if text]
    return sorted(set(found))


def scripts():
    """Characters of all scripts in any order, with cases, marks, digits and signs."""
    generator = random.Random(1)
    ranges = [
        (0x20, 0x250),
        (0x370, 0x530),
        (0x5D0, 0x6FF),
        (0x900, 0x980),
        (0x1E00, 0x2000),
        (0x3040, 0x3100),
        (0x4E00, 0x4E40),
    ]
    ranges += [(0xAC00, 0xAC20), (0x1D400, 0x1D440), (0x2C00, 0x2D00), (0x10400, 0x10450), (0x2150, 0x2190)]

    def character():
        return chr(generator.randrange(*generator.choice(ranges)))

    def word():
        return "".join(character() for _ in range(generator.randrange(1, 6)))

    words = [word() for _ in range(300)] + ["ΟΔΟΣ", "ΣΑΣ", "İstanbul", "ǅungla", "ﬁn", "x²", "Ⅷ", "٣٤"]
    return [" ".join(generator.choices(words, k=12)) for _ in range(150)]


TEXTS = {"english": english, "german": lambda: GERMAN * 8, "scripts": scripts}
OPTIONS = {
    "plain": ("text(body)", {}, {}),
    "pairs": ("text(body, 2)", {}, {"ngram_range": (1, 2)}),
    "characters": ("ngrams(body, 1, 3)", {"min_df": 2}, {"analyzer": "char", "ngram_range": (1, 3), "min_df": 2}),
    "pruned": (
        "text(body)",
        {"min_df": 2, "max_df": 0.7, "sublinear": True},
        {"min_df": 2, "max_df": 0.7, "sublinear_tf": True},
    ),
}


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("chosen", OPTIONS)
def test_as_scikit_learn(connection, texts, chosen):
    (entry, options, theirs), model = OPTIONS[chosen], f"{chosen}_{texts}"
    texts = [text.replace("\0", "") for text in TEXTS[texts]()]
    connection.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (id int, body text, y bool)")
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        for at, text in enumerate(texts):
            copy.write_row((at, text, at % 3 == 0))
    one(
        connection,
        "SELECT svm_train('t', 'y', ARRAY[%s], %s, options => %s, max_passes => 2)",
        (entry, model, json.dumps(options)),
    )
    peer = TfidfVectorizer(**theirs)
    expected = peer.fit_transform(texts)
    part = one(
        connection,
        "SELECT v.features -> 'parts' -> 0 FROM svm_version AS v JOIN svm_model AS m ON m.id = v.model_id"
        f" WHERE m.name = '{model}'",
    )
    assert part["words"] == list(peer.get_feature_names_out())
    idf = np.log((1 + part["all_texts"]) / (1 + np.array(part["texts"]))) + 1
    assert np.abs(idf - peer.idf_).max() < 1e-6

    for at in range(0, len(texts), max(1, len(texts) // 40)):
        ours = np.zeros(expected.shape[1])
        rows = connection.execute(
            "SELECT position, feature, value FROM svm_expand(%s, %s::text)", (model, texts[at])
        ).fetchall()
        for position, feature, value in rows:
            assert feature == f"{entry}[{part['words'][position - 1]}]"
            ours[position - 1] = value
        assert np.abs(ours - expected[at].toarray()[0]).max() < 1e-6


def test_a_long_text_can_be_cancelled(connection):
    connection.execute(
        "DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT 'word ' || i % 7 AS body, i % 2 = 0 AS y FROM generate_series(1, 50) AS i"
    )
    one(connection, "SELECT svm_train('t', 'y', ARRAY['text(body)'], 'long', max_passes => 2)")
    connection.execute("CREATE TABLE long AS SELECT repeat('Wörter und mehr ', 12000000) AS body")
    connection.execute("SET statement_timeout = '1s'")
    began = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT svm_decision('long', body) FROM long, generate_series(1, 20)")
    assert time.monotonic() - began < 4
    connection.execute("RESET statement_timeout; DROP TABLE long")


def chosen_words(count, bits):
    """Two lists of so many words of eight hexadecimal digits: drawn ones, and ones whose published hash, by which features are hashed
    (crates/expand/src/hash.rs), ends in so many zero bits."""
    numbers = np.arange(int(count * 2**bits * 1.05), dtype=np.uint64)
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8).astype(np.uint64)
    fnv = np.full(len(numbers), 0xCBF29CE484222325, dtype=np.uint64)
    for shift in range(28, -4, -4):
        fnv = (fnv ^ digits[(numbers >> np.uint64(shift)) & np.uint64(15)]) * np.uint64(0x100000001B3)
    for factor in [0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53]:
        fnv = (fnv ^ (fnv >> np.uint64(33))) * np.uint64(factor)
    fnv ^= fnv >> np.uint64(33)
    alike = numbers[(fnv & np.uint64(2**bits - 1)) == 0][:count]
    drawn = np.random.default_rng(1).choice(numbers, count, replace=False)
    return [[f"{number:08x}" for number in words] for words in (drawn, alike)]


FLOODED = {
    "text": "svm_train('{}_texts', 'y', ARRAY['text(words)'], 'flood', max_passes => 1)",
    "hashed text": """svm_train('{}_texts', 'y', ARRAY['text(words)'], 'flood', max_passes => 1, options => '{{"max_words": 0}}')""",
    "category": "svm_train_query('SELECT t.* FROM {0} AS t, generate_series(1, 4)', 'y', ARRAY['category(word)'], 'flood', max_passes => 1)",
    "hashed category": """svm_train('{}', 'y', ARRAY['category(word)'], 'flood', max_passes => 1, options => '{{"hash_bits": 16}}')""",
    "guess": "svm_train('{}_texts', 'y', model => 'flood', max_passes => 1)",
    "key": "svm_train('{}', 'y', ARRAY['x'], 'flood', max_passes => 1, key => 'word')",
}


@pytest.fixture(scope="module")
def flooded(server, database):
    with server.connect(database) as connection:
        for name, words in zip(["drawn", "alike"], chosen_words(100_000, 8)):
            connection.execute(f"CREATE TABLE {name} (word text, x int, y boolean)")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as rows:
                for number, word in enumerate(words):
                    rows.write_row([word, number % 10, number % 3 == 0])
            connection.execute(
                f"CREATE TABLE {name}_texts AS SELECT string_agg(word, ' ') AS words, number % 3 = 0 AS y"
                f" FROM (SELECT word, row_number() OVER () / 100 AS number FROM {name}) AS one GROUP BY number"
            )
    return database


@pytest.mark.parametrize("what", FLOODED)
def test_words_chosen_to_meet_take_no_longer_than_others(server, flooded, what):
    """A table in memory that went by the published hash would look at all words for each."""
    took = {}
    with server.connect(flooded) as connection:
        for name in ["drawn", "alike"]:
            began = time.monotonic()
            connection.execute(f"SELECT {FLOODED[what].format(name)}; SELECT svm_drop('flood')")
            took[name] = time.monotonic() - began
    print(what, took)
    assert took["alike"] < 3 * took["drawn"] + 1, took
