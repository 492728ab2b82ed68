-- docs/tutorial.sql as it is; the notices of training hold times, so they are left out
SET client_min_messages = warning;
\getenv source PG_ABS_SRCDIR
\set tutorial :source '/../docs/tutorial.sql'
\i :tutorial
