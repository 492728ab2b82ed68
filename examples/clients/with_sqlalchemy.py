"""Trains and predicts with SQLAlchemy 2."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

engine = sa.create_engine("postgresql+psycopg://")
train = sa.text("SELECT svm_train('visitors', 'bought', ARRAY['age', 'plan', 'minutes'], 'buyers_sqlalchemy')")

# a connection that is closed without a commit rolls back, and the model is gone
with engine.connect() as connection:
    connection.execute(train)
with engine.connect() as connection:
    print("models", connection.scalar(sa.text("SELECT count(*) FROM svm_models WHERE name = 'buyers_sqlalchemy'")))

# begin() commits at its end
with engine.begin() as connection:
    print("trained", connection.scalar(train))

visitors = sa.table("visitors", sa.column("id"), sa.column("age"), sa.column("plan"), sa.column("minutes"))
row = sa.literal_column("visitors")
score = sa.func.svm_decision("buyers_sqlalchemy", row).label("score")
with engine.connect() as connection:
    best = connection.execute(sa.select(visitors.c.id, score).order_by(score.desc(), visitors.c.id).limit(3)).all()
    print("best", len(best), "in order", best == sorted(best, key=lambda row: (-row.score, row.id)))

    visitor = sa.bindparam("visitor", {"age": 71, "plan": "pro", "minutes": 30}, type_=JSONB)
    print("buys", connection.scalar(sa.select(sa.func.svm_classify("buyers_sqlalchemy", visitor))))
