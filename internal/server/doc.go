// Package server has the system under test as a whole: how a plan names it (target), its tables (schema), and what is
// done to it on purpose (fault).
//
// A flavor of SQL belongs to a server and not to a protocol: Picodata, for example, is reached over two protocols. So
// schema/sql writes a schema's statements for a server, and target finds out which server answers. schema/fill fills
// tables in chunks, resumes an interrupted filling, and checks the result. Whatever is done to a server is undone:
// fault has a watchdog, a process that undoes faults if brunt dies.
//
// # Set-up and tear-down
//
// A run creates and fills missing tables, and leaves tables alone that already hold the plan's rows. At the end it
// drops the tables that it created. brunt schema up and brunt schema down do the same on request, so that a large
// table can be filled once and used by many runs. When a table is filled and has its indexes, brunt has the server
// analyze it (ANALYZE; PostgreSQL, MySQL, SQLite). Otherwise the first thing that a load finds would be query plans
// without statistics.
//
// brunt records what it created and filled in the database itself, in the table brunt_tables: the seed, the number of
// rows, a fingerprint of the rows, and whether the table is complete. This has several uses:
//
//   - A run knows whether a table holds the rows that its references need.
//   - brunt schema down drops only tables that brunt created.
//   - A table of another owner is not filled.
//   - If filling a table is killed, the table is marked unfinished until it has been completed from its checkpoint.
//
// --force overrides these checks. If brunt_tables can't be created or read, everything else works, with a notice, but
// dropping needs --force. The last schema down also drops brunt_tables, except on Picodata, where schema changes wait
// for every node.
package server
