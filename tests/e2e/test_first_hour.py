"""docs/first-hour.md is a session with psql, and goes as it says.

With the data sets at hand each answer is compared with the document; what depends on the machine is left out of both. Without
them rows of the same columns are drawn, and statements have to succeed or fail as in the document. Where an answer differs the
session as it went is in target/first-hour.md: read it, and copy it over the document when it is right.
"""

import lzma
import random
import re
import subprocess

import pytest

from harness.data import folder
from harness.server import ROOT, new_database, programs_of

DOCUMENT = ROOT / "docs" / "first-hour.md"
FILES = {
    "titanic.csv": "titanic/titanic_openML.csv.xz",
    "adult.csv": "adult/adult.data.xz",
    "adult_next_year.csv": "adult/adult.test.xz",
}
# a statement, and the answer below it
STEP = re.compile(r"^```sql\n(?P<sql>.*?)^```\n(?:\n```\n(?P<answer>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
# seconds, and digits that the order of a machine's sums decides
OF_THE_MACHINE = [
    (r"\d+\.\d+ s\.", "… s."),
    (r"gap [\d.e-]+", "gap …"),
    (r"\d+ pass(es)?", "… passes"),
    # to the last digit it depends on where the server put the rows
    (r"(AUC 0\.\d{3})\d", r"\1"),
    (r" +\n", "\n"),
]


def test_the_session_goes_as_the_document_says(server, database, tmp_path):
    real = all((folder() / name).exists() for name in FILES.values())
    for name, packed in FILES.items():
        target = tmp_path / name
        target.write_text(lzma.open(folder() / packed, "rt").read() if real else DRAWN[name]())
    text = DOCUMENT.read_text()
    steps = list(STEP.finditer(text))
    answers = session(server, new_database(server, "first_hour"), tmp_path, [step["sql"] for step in steps])
    if not real:
        for step, answer in zip(steps, answers, strict=True):
            assert ("ERROR" in answer) == ("ERROR" in (step["answer"] or "")), f"{step['sql']}{answer}"
        pytest.skip("no data sets: the answers were not compared")
    write(text, steps, answers)
    for step, answer in zip(steps, answers, strict=True):
        assert everywhere(answer) == everywhere(step["answer"] or ""), step["sql"]


def session(server, database, where, statements):
    """What psql answers to each of the statements, in one session."""
    mark = "--- next ---"
    answer = subprocess.run(
        [
            programs_of(server.version) / "psql",
            "-h",
            server.socket_directory,
            "-p",
            "5432",
            "-U",
            "postgres",
            "-d",
            database,
        ]
        + ["-X", "-q", "-v", "VERBOSITY=default", "-v", "SHOW_CONTEXT=never"],
        input="".join(f"{statement}\\echo '{mark}'\n" for statement in statements),
        cwd=where,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    return [part.strip("\n") + "\n" if part.strip() else "" for part in answer.stdout.split(mark + "\n")[:-1]]


def write(text, steps, answers):
    """The document with these answers, in target/."""
    pieces, end = [], 0
    for step, answer in zip(steps, answers, strict=True):
        plain = re.sub(r" +\n", "\n", answer)
        pieces += [text[end : step.start()], f"```sql\n{step['sql']}```\n" + (f"\n```\n{plain}```\n" if answer else "")]
        end = step.end()
    (ROOT / "target" / "first-hour.md").write_text("".join([*pieces, text[end:]]))


def everywhere(answer):
    for pattern, put in OF_THE_MACHINE:
        answer = re.sub(pattern, put, answer)
    return answer


def drawn_titanic():
    chance = random.Random(1)
    lines = [
        '"pclass","survived","name","sex","age","sibsp","parch","ticket","fare","cabin","embarked","boat","body","home.dest"'
    ]
    for i in range(1309):
        female, age, pclass = chance.random() < 0.36, chance.random() * 70, chance.choice([1, 2, 3, 3])
        survived = int(chance.random() < (0.75 if female else 0.2) - 0.05 * pclass + 0.1)
        known = [age if chance.random() < 0.8 else "?", chance.randrange(3), chance.randrange(3), f'"{100_000 + i}"']
        place = [
            round(100 * chance.random() / pclass, 2),
            f'"C{i}"' if i % 4 == 0 else "?",
            chance.choice(['"S"', '"C"', '"Q"', "?"]),
        ]
        after = [f'"{i % 20}"' if survived else "?", i if i % 11 == 0 else "?", f'"Town {i % 300}"' if i % 2 else "?"]
        lines.append(
            ",".join(
                map(str, [pclass, survived, f'"Name, {i}"', '"female"' if female else '"male"', *known, *place, *after])
            )
        )
    return "\n".join(lines) + "\n"


def drawn_adult(ending, seed):
    chance = random.Random(seed)
    lines = []
    for i in range(3000):
        age, years, hours = chance.randrange(17, 80), chance.randrange(1, 17), chance.randrange(10, 80)
        rich = years + hours / 10 + age / 20 + 4 * chance.random() > 18
        work, marriage = (
            chance.choice(["Private", "State-gov", "?"]),
            chance.choice(["Married", "Divorced", "Never-married"]),
        )
        gain = chance.choice([0, 0, 0, 5000]) if rich else 0
        values = [
            age,
            work,
            10_000 + 7 * i,
            f"School {years}",
            years,
            marriage,
            chance.choice(["Sales", "Craft-repair", "?"]),
        ]
        values += [chance.choice(["Husband", "Wife", "Unmarried"]), chance.choice(["White", "Black"])]
        values += [
            chance.choice(["Male", "Female"]),
            gain,
            chance.choice([0, 0, 1500]),
            hours,
            chance.choice(["United-States", "Cuba", "?"]),
        ]
        lines.append(", ".join(map(str, [*values, (">50K" if rich else "<=50K") + ending])))
    return "\n".join(lines) + "\n"


DRAWN = {
    "titanic.csv": drawn_titanic,
    "adult.csv": lambda: drawn_adult("", 2),
    "adult_next_year.csv": lambda: drawn_adult(".", 3),
}
