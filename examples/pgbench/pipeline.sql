-- Sends three statements at once: brunt pgbench -M prepared -f examples/pgbench/pipeline.sql bench
\set aid random(1, 100000 * :scale)
\startpipeline
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
SELECT count(*) FROM pgbench_branches;
\endpipeline
