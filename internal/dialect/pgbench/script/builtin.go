package script

import (
	"fmt"
	"slices"
	"strings"
)

// builtin is a script that pgbench has built in.
type builtin struct{ name, description, text string }

const (
	setAccount = "\\set aid random(1, 100000 * :scale)\n"
	setAll     = setAccount + "\\set bid random(1, 1 * :scale)\n\\set tid random(1, 10 * :scale)\n" +
		"\\set delta random(-5000, 5000)\n"
	updateAccount = "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
	selectAccount = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
	updateTeller  = "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n"
	updateBranch  = "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
	insertHistory = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) " +
		"VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n"
)

// The scripts are what pgbench --show-script prints: they are its interface.
var builtins = []builtin{
	{name: "tpcb-like", description: "<builtin: TPC-B (sort of)>",
		text: setAll + "BEGIN;\n" + updateAccount + selectAccount + updateTeller + updateBranch + insertHistory + "END;\n"},
	{name: "simple-update", description: "<builtin: simple update>",
		text: setAll + "BEGIN;\n" + updateAccount + selectAccount + insertHistory + "END;\n"},
	{name: "select-only", description: "<builtin: select only>", text: setAccount + selectAccount},
}

// Builtins returns the names and descriptions of the builtin scripts in pgbench's order.
func Builtins() [][2]string {
	var list [][2]string
	for b := range slices.Values(builtins) {
		list = append(list, [2]string{b.name, b.description})
	}
	return list
}

// Builtin returns the builtin script whose name begins with prefix, which must be only one. description is the name
// that scripts have in reports.
func Builtin(prefix string) (name, text, description string, err error) {
	var found []builtin
	for b := range slices.Values(builtins) {
		if strings.HasPrefix(b.name, prefix) {
			found = append(found, b)
		}
	}
	switch len(found) {
	case 0:
		return "", "", "", fmt.Errorf(`no builtin script found for name "%s"`, prefix)
	case 1:
		return found[0].name, found[0].text, found[0].description, nil
	}
	return "", "", "", fmt.Errorf(`ambiguous builtin name: %d builtin scripts found for prefix "%s"`, len(found), prefix)
}
