"""What the tour puts on the screen: headings, sentences, statements with psql's answers, tables; nothing wider than 100 columns.

A claim is a sentence that the numbers on the screen must bear out. It is printed as it stands where they do, and as not borne
out where they do not; tests/e2e/test_demo.py fails then.
"""

import subprocess
import sys
import textwrap
import time

import psycopg

COLUMNS = 100
PROGRESS = """\
SELECT role, phase, rows_loaded, pass, percent_of_pass, gap, seconds_left
FROM svm_progress ORDER BY role"""
# of the columns of PROGRESS
WIDTHS = [8, 9, 12, 5, 16, 8, 13]
SECONDS_BETWEEN_LOOKS = 0.1

# sentences that were claimed, and whether they were borne out
claims = []


def on_terminal():
    return sys.stdout.isatty()


def heading(text):
    print(f"\n\033[1m{text}\033[0m\n" if on_terminal() else f"\n{text}\n{'-' * len(text)}\n")


def say(text):
    print(textwrap.fill(" ".join(text.split()), COLUMNS) + "\n")


def claim(text, holds):
    claims.append((" ".join(text.split()), bool(holds)))
    say(text if holds else f"This should have held, and did not here: {text}")


def run(statement, answer=True):
    """Shows a statement as at psql's prompt, and what psql answers, without `answer` only its notices; returns what was shown."""
    show(statement + ";")
    command = ["psql", "-X", "-q", "-P", "footer=off", "-c", statement]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answers = done.stderr + (done.stdout if answer or done.returncode else "")
    print(fitted(answers), flush=True)
    done.check_returncode()
    return answers


def fitted(text):
    """Lines that are too wide go on below; an empty line ends what is said, unless nothing is."""
    lines = text.rstrip().split("\n") if text.strip() else []
    wrapped = [
        line if len(line) <= COLUMNS else textwrap.fill(line, COLUMNS, subsequent_indent="    ") for line in lines
    ]
    return "".join(line + "\n" for line in wrapped)


def show(statement):
    prompt = "demo=# "
    for line in textwrap.dedent(statement).strip().split("\n"):
        print(f"\033[36m{prompt}\033[0m\033[1m{line}\033[0m" if on_terminal() else prompt + line)
        prompt = "demo=# " if line.endswith(";") else "demo-# "
    sys.stdout.flush()


def table(header, rows):
    """The first column to the left, the others to the right."""
    cells = [header] + [[f"{cell:,.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in cells) for place in range(len(header))]
    for row in cells:
        print("   ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]))
    print(flush=True)


def run_and_watch(setting, statement):
    """Trains in one psql while a second connection looks at svm_progress; shows each process once in each pass, and returns
    the roles that it saw in each phase."""
    show(f"{setting};\n{statement};")
    command = ["psql", "-X", "-q", "-P", "footer=off", "-c", setting, "-c", statement]
    training = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print("\nMeanwhile, in a second connection:\n")
    show(PROGRESS + ";")
    seen = {}
    with psycopg.connect(autocommit=True) as watcher:
        while training.poll() is None:
            cursor = watcher.execute(PROGRESS)
            if not seen:
                print(progress_line(column.name for column in cursor.description))
                seen[None] = set()
            for role, phase, rows_loaded, number, *rest in cursor.fetchall():
                if (role, number) not in seen.setdefault(phase, set()):
                    print(progress_line([role, phase, rows_loaded, number, *rest]), flush=True)
                seen[phase].add((role, number))
            time.sleep(SECONDS_BETWEEN_LOOKS)
    print("\n" + fitted(training.stdout.read()))
    if training.returncode != 0:
        raise SystemExit("the training failed")
    return {phase: {role for role, _ in processes} for phase, processes in seen.items() if phase}


def progress_line(values):
    return " |".join(f"{'' if value is None else str(value):>{width}}" for value, width in zip(values, WIDTHS))
