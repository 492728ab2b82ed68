-- Tables of the nightly example, and made-up customers in them.

CREATE EXTENSION IF NOT EXISTS pgsvm;

CREATE TABLE incoming (
    id int, arrived timestamptz, joined date, age int, plan text, calls int, spent numeric(10, 2), churned boolean
);
CREATE TABLE customers (
    id int PRIMARY KEY, joined date, age int, plan text, calls int, spent numeric(10, 2), churned boolean
);
CREATE TABLE scores (customer int PRIMARY KEY REFERENCES customers, scored_at timestamptz, probability float8);

-- what the day brings: some rows twice, plans written as people write, ages unknown or wrong, one customer in six undecided
CREATE FUNCTION customers_come(how_many int) RETURNS bigint LANGUAGE sql AS $$
    WITH drawn AS (
        SELECT id, random() AS a, random() AS b, random() AS c, random() AS d, random() AS e
        FROM generate_series(1, how_many) AS id
    ), arrived AS (
        INSERT INTO incoming
        SELECT (SELECT coalesce(max(customers.id), 0) FROM customers) + id,
               now() - again * interval '1 hour',
               current_date - (a * 2000)::int,
               CASE WHEN d < 0.05 THEN NULL WHEN d < 0.06 THEN 999 ELSE 18 + (b * 60)::int END,
               (ARRAY['Basic', 'basic ', 'Plus', 'FAMILY', 'plus'])[1 + (c * 4.99)::int],
               (e * 10)::int,
               (b * 100)::numeric(10, 2),
               CASE WHEN id % 6 = 0 THEN NULL
                    ELSE 2 * e + a - b + CASE WHEN c < 0.4 THEN 0.5 ELSE 0 END + d / 2 > 1.6 END
        FROM drawn, generate_series(0, 1) AS again
        WHERE again = 0 OR id % 10 = 0
        RETURNING 1
    )
    SELECT count(*) FROM arrived
$$;
