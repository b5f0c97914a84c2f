package redis

import (
	"fmt"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// A key that many of the load's commands ask for is found, and none in loads of even or of Zipf-distributed keys.
func TestHotKeys(t *testing.T) {
	for _, row := range []struct {
		name  string
		nodes int
		hot   int // of 100 commands, how many ask for one key
		n     int
		want  string // severity; "" for no finding
	}{
		{"even keys", 1, 0, 2000, ""},
		{"Zipf's most frequent of 100,000 keys", 1, 8, 2000, ""},
		{"half of the commands", 1, 50, 2000, record.Minor},
		{"half of the commands in a cluster", 3, 50, 2000, record.Serious},
		{"few commands", 1, 50, 100, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := operation("get", "GET", "$1")
			o.Commands = func(each func(words []string)) {
				for k := range row.n {
					each([]string{"PING"}) // has no key
					if k%100 < row.hot {
						each([]string{"GET", "session"})
					} else {
						each([]string{"GET", fmt.Sprint("k:", k)})
					}
				}
			}
			i := &Inspector{}
			for k := range row.nodes {
				n := newNode(protocol.Target{Address: fmt.Sprint("n", k)})
				n.first, n.last = info{}, info{}
				i.nodes = append(i.nodes, n)
			}
			out := &record.Inspection{Windows: []record.ServerWindow{{DurationNs: 1e9}}}
			judge(i, out, []inspect.Operation{o})
			got := ""
			for _, f := range out.Findings {
				if f.ID != FindHotKey || f.Subject != "session" {
					t.Errorf("unexpected: %+v", f)
				}
				got = f.Severity
			}
			if got != row.want {
				t.Errorf("severity %q, want %q", got, row.want)
			}
		})
	}
}
