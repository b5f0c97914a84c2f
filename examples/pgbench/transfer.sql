-- Moves money between two accounts, and goes on with what the first statement has returned:
-- brunt pgbench -f examples/pgbench/transfer.sql -c 8 -T 60 --max-tries 5 bench
\set source random_zipfian(1, 100000 * :scale, 1.2)
\set target random(1, 100000 * :scale)
\set amount random(1, 100)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT abalance AS balance FROM pgbench_accounts WHERE aid = :source \gset
\if :balance >= :amount
UPDATE pgbench_accounts SET abalance = abalance - :amount WHERE aid = :source;
UPDATE pgbench_accounts SET abalance = abalance + :amount WHERE aid = :target;
\endif
END;
