package sysbench

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
)

// table is what the tables of the tests oltp_* and select_random_* look like.
type table struct {
	mysql     bool
	rows      int
	autoInc   bool
	secondary bool // id has a key that isn't the primary key
	index     bool // on k
	engine    string
	options   string
	law       distribution
	seed      uint64
}

// table returns the tables of the command line.
func (s *Settings) table() (*table, error) {
	o := s.options
	t := &table{mysql: s.mysql(), seed: s.Seed}
	if s.test.isBulk() {
		return t, nil
	}
	var err error
	t.rows, t.autoInc, t.secondary = o.whole("table_size", 0, &err), o.flag("auto_inc"), o.flag("secondary")
	t.index, t.engine = o.flag("create_secondary"), o.text("mysql_storage_engine")
	t.options = o.text("create_table_options")
	if s.test.name == "oltp_insert" && !t.autoInc {
		t.rows = 0 // ids of rows that are there could be drawn again
	}
	if err != nil {
		return nil, err
	}
	t.law, err = distributionOf(o, s.Version)
	return t, err
}

// tables returns how many tables there are.
func (s *Settings) tables() (int, error) {
	if s.test.isBulk() {
		return s.Threads, nil
	}
	var err error
	n := s.options.whole("tables", 1, &err)
	return n, err
}

// create returns the statement that creates a table: sysbench's, which the tests' statements rely on.
func (t *table) create(number int) string {
	id, key, engine := "SERIAL", "PRIMARY KEY", ""
	if t.secondary {
		key = "KEY xid"
	}
	if t.mysql {
		id, engine = "INTEGER NOT NULL AUTO_INCREMENT", "/*! ENGINE = "+t.engine+" */"
	}
	if !t.autoInc {
		id = "INTEGER NOT NULL"
	}
	return fmt.Sprintf(`CREATE TABLE sbtest%d(
  id %s,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  %s (id)
) %s %s`, number, id, key, engine, t.options)
}

// createBulk returns the statement that creates a table of bulk_insert.
func createBulk(number int) string {
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS sbtest%d (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, "+
		"PRIMARY KEY (id))", number)
}

// row returns the generator for a row of a table: the same for every number of threads.
func (t *table) row(number int, row uint64) random { return seeded(t.seed^mix(uint64(number)), row) }

// values returns a function that fills in the values of a row of a table, for COPY. Rows are numbered from 1.
func (t *table) values(number int) func(values []gen.Value, row uint64) {
	return func(values []gen.Value, row uint64) {
		r := t.row(number, row)
		c, pad := &values[2], &values[3]
		c.Kind, c.B = gen.String, r.digitGroups(c.B[:0], groupsOfC)
		pad.Kind, pad.B = gen.String, r.digitGroups(pad.B[:0], groupsOfPad)
		values[0].SetInt(int64(row))
		values[1].SetInt(int64(t.law.draw(&r, 1, uint32(t.rows))))
	}
}

// statementBytes is how long an INSERT of several rows may be, as in sysbench.
const statementBytes = 512 << 10

// insertRows appends an INSERT of rows first, first + 1, … up to last to b, and returns the next row.
func (t *table) insertRows(b *strings.Builder, number int, first, last uint64) (next uint64) {
	fmt.Fprintf(b, "INSERT INTO sbtest%d(id, k, c, pad) VALUES", number)
	var buffer [256]byte
	row := first
	for ; row <= last && b.Len() < statementBytes-len(buffer); row++ {
		line := buffer[:0]
		if row > first {
			line = append(line, ',')
		}
		r := t.row(number, row)
		line = strconv.AppendUint(append(line, '('), row, 10)
		var c [2][128]byte
		text := r.digitGroups(c[0][:0], groupsOfC)
		pad := r.digitGroups(c[1][:0], groupsOfPad)
		line = strconv.AppendUint(append(line, ", "...), uint64(t.law.draw(&r, 1, uint32(t.rows))), 10)
		line = append(append(append(line, ", '"...), text...), "', '"...)
		b.Write(append(append(line, pad...), "')"...))
	}
	return row
}
