"""Trains on a frame and predicts into one, with pandas over SQLAlchemy."""

import pandas as pd
import sqlalchemy as sa

engine = sa.create_engine("postgresql+psycopg://")

frame = pd.read_sql("SELECT * FROM visitors ORDER BY id", engine)
frame.loc[frame.index % 10 == 0, "minutes"] = None
# NaN and None arrive as NULL
frame.to_sql("visitors_of_pandas", engine, index=False, if_exists="replace")

# not with read_sql: it reads, and does not commit what the statement wrote
train = """SELECT svm_train('visitors_of_pandas', 'bought', ARRAY['age', 'plan', 'minutes'], 'buyers_pandas',
    nulls => 'mean', probability => true)"""
with engine.begin() as connection:
    print("trained", connection.scalar(sa.text(train)))

predicted = pd.read_sql(
    """SELECT id, bought, svm_predict('buyers_pandas', v, NULL::boolean) AS predicted, svm_probability('buyers_pandas', v)
        AS probability FROM visitors_of_pandas AS v ORDER BY id""",
    engine,
)
print("rows", len(predicted), "better than nine in ten", (predicted.bought == predicted.predicted).mean() > 0.9)

evaluated = pd.read_sql(
    sa.text("SELECT * FROM svm_evaluate('buyers_pandas', CAST(:relation AS regclass))"),
    engine,
    params={"relation": "visitors_of_pandas"},
)
print("rows", evaluated.rows[0], "left out", evaluated.rows_left_out[0])
