package sysbench

import (
	"fmt"
	"slices"
	"strings"
)

// block is a part of an event: statements of one sort on one table, which is drawn when the block begins.
type block uint8

// The blocks. The first ones are also the sorts of prepared statements.
const (
	pointSelects block = iota
	simpleRanges
	sumRanges
	orderRanges
	distinctRanges
	indexUpdates
	nonIndexUpdates
	deletes
	inserts
	begin
	commit
	deleteInserts // deletes and inserts in turn, of the same id
	insertRows    // oltp_insert: not prepared
	randomPoints
	randomRanges
	bulkRows // bulk_insert: rows of one INSERT
)

// test is a test of sysbench's.
type test struct {
	name    string
	blocks  []block
	options []option // further ones
	only    bool     // refuses --tables above 1 in cleanup, as sysbench does
}

// tests returns the tests that can be run.
func tests() []test {
	reads := []block{pointSelects, simpleRanges, sumRanges, orderRanges, distinctRanges}
	writes := []block{indexUpdates, nonIndexUpdates, deleteInserts}
	transaction := func(parts ...[]block) []block {
		return slices.Concat([]block{begin}, slices.Concat(parts...), []block{commit})
	}
	return []test{
		{name: "oltp_read_write", blocks: transaction(reads, writes)},
		{name: "oltp_read_only", blocks: transaction(reads)},
		{name: "oltp_write_only", blocks: transaction(writes)},
		{name: "oltp_point_select", blocks: []block{pointSelects}},
		{name: "oltp_insert", blocks: []block{insertRows}},
		{name: "oltp_delete", blocks: []block{deletes}},
		{name: "oltp_update_index", blocks: []block{indexUpdates}},
		{name: "oltp_update_non_index", blocks: []block{nonIndexUpdates}},
		{name: "select_random_points", blocks: []block{randomPoints}, only: true, options: []option{
			{name: "random_points", about: "values in the IN () of a SELECT", value: "10", kind: doubleKind}}},
		{name: "select_random_ranges", blocks: []block{randomRanges}, only: true, options: []option{
			{name: "number_of_ranges", about: "ranges of a SELECT", value: "10", kind: doubleKind},
			{name: "delta", about: "length of a range", value: "5", kind: doubleKind}}},
		{name: "bulk_insert", blocks: []block{bulkRows}},
	}
}

// otherTests are sysbench's tests that have no server.
var otherTests = map[string]string{
	"fileio":  "fio does",
	"cpu":     "it isn't a load on a server",
	"memory":  "it isn't a load on a server",
	"threads": "it isn't a load on a server",
	"mutex":   "it isn't a load on a server",
}

// folders are where sysbench installs its scripts.
var folders = []string{"", "/usr/share/sysbench/", "/usr/local/share/sysbench/"}

// testNamed returns the test with a name, which may have the suffix .lua, and the path of sysbench's scripts.
func testNamed(name string) (*test, bool) {
	at := strings.LastIndexByte(name, '/') + 1
	if !slices.Contains(folders, name[:at]) {
		return nil, false
	}
	name = strings.TrimSuffix(name[at:], ".lua")
	all := tests()
	i := slices.IndexFunc(all, func(t test) bool { return t.name == name })
	if i < 0 {
		return nil, false
	}
	return &all[i], true
}

// names returns the names of the tests.
func names() (all []string) {
	for _, t := range tests() {
		all = append(all, t.name)
	}
	return all
}

// isBulk reports whether the test is bulk_insert, which has no options and tables of its own.
func (t *test) isBulk() bool { return t.blocks[0] == bulkRows }

// declared returns the test's options in the order of lists.
func (t *test) declared(version string) []option {
	if t.isBulk() {
		return nil
	}
	all := append(oltpOptions(version), t.options...)
	slices.SortFunc(all, func(a, b option) int { return strings.Compare(a.name, b.name) })
	return all
}

// statement returns the text of a statement on a table, with numbered parameters. They are those of sysbench's
// oltp_common.lua, which define the benchmark.
func (b block) statement(table int) string {
	name := fmt.Sprintf("sbtest%d", table)
	switch b {
	case pointSelects:
		return "SELECT c FROM " + name + " WHERE id=$1"
	case simpleRanges:
		return "SELECT c FROM " + name + " WHERE id BETWEEN $1 AND $2"
	case sumRanges:
		return "SELECT SUM(k) FROM " + name + " WHERE id BETWEEN $1 AND $2"
	case orderRanges:
		return "SELECT c FROM " + name + " WHERE id BETWEEN $1 AND $2 ORDER BY c"
	case distinctRanges:
		return "SELECT DISTINCT c FROM " + name + " WHERE id BETWEEN $1 AND $2 ORDER BY c"
	case indexUpdates:
		return "UPDATE " + name + " SET k=k+1 WHERE id=$1"
	case nonIndexUpdates:
		return "UPDATE " + name + " SET c=$1 WHERE id=$2"
	case deletes:
		return "DELETE FROM " + name + " WHERE id=$1"
	case inserts:
		return "INSERT INTO " + name + " (id, k, c, pad) VALUES ($1, $2, $3, $4)"
	}
	return ""
}
