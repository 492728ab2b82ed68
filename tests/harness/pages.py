"""The statements that a page of the documents shows, as one script that can be run.

Run by hand it prints the script of a page: python3 tests/harness/pages.py README.md
"""

import re
import sys
from pathlib import Path

# What the pages take for granted.
GRANTED = """
CREATE EXTENSION IF NOT EXISTS pgsvm;
DO $$ BEGIN CREATE ROLE analyst; EXCEPTION WHEN duplicate_object OR insufficient_privilege THEN NULL; END $$;
CREATE TABLE points AS SELECT i % 97 / 97.0 AS x, i % 89 / 89.0 AS y, CASE WHEN 2 * (i % 97) > i % 89 + 40 THEN 'in' ELSE 'out' END AS side
    FROM generate_series(1, 2000) AS i;
CREATE TABLE circles AS SELECT a, b, a * a + b * b < 20 AS ring
    FROM (SELECT i % 13 - 6 AS a, i % 11 - 5 AS b FROM generate_series(1, 1000) AS i) AS drawn;
CREATE TABLE people AS SELECT id, id % 60 + 18 AS age, CASE WHEN id % 60 + id % 7 > 40 THEN '>50K' ELSE '<=50K' END AS income
    FROM generate_series(1, 2000) AS id;
CREATE TABLE people_of_next_year AS SELECT * FROM people WHERE id % 3 = 0;
CREATE TABLE customers AS SELECT id, id % 60 + 18 AS age, (ARRAY['basic', 'pro', 'team'])[1 + id % 3] AS plan, 'c' || id % 20 AS country,
    date '2024-01-01' + id % 700 AS joined, round(20 + id % 60 + 15 * sin(id)::numeric, 2) AS spent, id % 60 + id % 7 > 35 AS churned FROM generate_series(1, 3000) AS id;
ALTER TABLE customers ADD PRIMARY KEY (id);
CREATE TABLE new_customers AS SELECT id + 3000 AS id, age, plan, country, joined, spent FROM customers WHERE id < 20;
CREATE TABLE messages AS SELECT (ARRAY['win a free prize', 'the meeting moved', 'your parcel is here'])[1 + i % 3] || ' today ' || i % 50 AS body,
    (ARRAY['offers', 'work', 'post'])[1 + i % 3] AS topic, i % 3 = 0 AS spam FROM generate_series(1, 2000) AS i;
-- an array where pgvector's type would be, which may not be installed (tests/sql/pgvector.sql has its types)
CREATE TABLE documents AS SELECT ARRAY[i % 7, i % 5, i % 3]::real[] AS embedding, CASE WHEN i % 7 > i % 5 THEN 'art' ELSE 'law' END AS topic
    FROM generate_series(1, 500) AS i;
CREATE TABLE events AS SELECT ARRAY[i % 31 / 31.0, i % 29 / 29.0]::float4[] AS x, i % 31 + i % 7 > i % 29 AS label FROM generate_series(1, 2000) AS i;
"""
# a statement's first word, where the other fenced blocks show how a function is declared
STATEMENT = re.compile(r"(SELECT|CREATE|INSERT|UPDATE|DELETE|ALTER|GRANT|REVOKE|SET|WITH|--)\b|--")


def script(page):
    """What the page takes for granted, then its statements."""
    # the README makes the extension itself, and the points
    granted = (
        re.sub(r"CREATE (TABLE points|EXTENSION) .*?;\n", "", GRANTED, flags=re.DOTALL)
        if page.name == "README.md"
        else GRANTED
    )
    return granted + "".join(statements(page.read_text()))


def statements(text):
    """The blocks of a page that can be run: none of their parts is left to the reader."""
    blocks = re.findall(r"^```sql\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block for block in blocks if STATEMENT.match(block) and "…" not in block]


if __name__ == "__main__":
    print(script(Path(sys.argv[1])))
