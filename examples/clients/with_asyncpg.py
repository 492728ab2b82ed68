"""Trains and predicts with asyncpg."""

import asyncio
import json
import os

import asyncpg


async def main():
    connection = await asyncpg.connect(host=os.environ.get("PGHOST"), database=os.environ.get("PGDATABASE"))
    # objects go as jsonb, rather than as text that holds JSON
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    train = "SELECT svm_train('visitors', 'bought', $1, 'buyers_asyncpg')"
    print("trained", await connection.fetchval(train, ["age", "plan", "minutes"]))

    classify = "SELECT svm_classify('buyers_asyncpg', $1::jsonb)"
    print("buys", await connection.fetchval(classify, {"age": 71, "plan": "pro", "minutes": 30}))
    print("buys", await connection.fetchval(classify, {"age": 71, "plan": None, "minutes": 30}))

    # a parameter has the type that the statement gives it: without a cast here text, which only None fits
    asked = "SELECT svm_classify('buyers_asyncpg', r) FROM (SELECT $1::int AS age, $2 AS plan, $3 AS minutes) AS r"
    print("buys", await connection.fetchval(asked, 71, "pro", None))

    # regclass is given as text
    evaluated = await connection.fetchrow(
        "SELECT * FROM svm_evaluate($1, $2::text::regclass)", "buyers_asyncpg", "visitors"
    )
    print("rows", evaluated["rows"], "left out", evaluated["rows_left_out"])
    await connection.close()


asyncio.run(main())
