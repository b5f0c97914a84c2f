-- What the statements by author and by name need.
CREATE INDEX bookv2_author ON bookv2 (author);
CREATE INDEX bookv2_name ON bookv2 (name);
ANALYZE bookv2;
