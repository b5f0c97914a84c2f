-- 50,000 customers with eight tickets each.
CREATE TABLE customer (id int PRIMARY KEY, email text NOT NULL, name text NOT NULL);
INSERT INTO customer SELECT g, 'User' || g || '@Example.com', md5(g::text) FROM generate_series(1, 50000) g;
CREATE TABLE agent (id int PRIMARY KEY, name text NOT NULL);
INSERT INTO agent SELECT g, md5(g::text) FROM generate_series(1, 500) g;
CREATE TABLE ticket (id bigserial PRIMARY KEY, customer int NOT NULL, agent int NOT NULL, title text NOT NULL, notified int NOT NULL DEFAULT 0) WITH (fillfactor = 90);
INSERT INTO ticket (customer, agent, title) SELECT g % 50000 + 1, g % 500 + 1, md5(g::text) FROM generate_series(1, 8 * 50000) g;
CREATE INDEX ticket_customer ON ticket (customer);
CREATE INDEX ticket_title ON ticket (title);
VACUUM ANALYZE customer;
VACUUM ANALYZE agent;
VACUUM ANALYZE ticket;
