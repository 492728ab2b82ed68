CREATE EXTENSION IF NOT EXISTS pgsvm;
DROP TABLE IF EXISTS visitors;
CREATE TABLE visitors AS
SELECT i AS id, 18 + i % 60 AS age, (ARRAY['free', 'basic', 'pro'])[1 + i % 3] AS plan, i % 23 * 1.5 AS minutes,
    i % 60 + i % 23 * 2 + i % 5 > 50 AS bought
FROM generate_series(1, 2000) AS i;
