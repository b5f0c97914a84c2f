package program

import (
	"slices"
	"strings"
	"testing"
)

// A series goes on with the command line that it began with, for which no secret is stored.
func TestAgain(t *testing.T) {
	for name, row := range map[string]struct{ command, want, problem string }{
		"flags":                {"brunt repeat 3 a.yml --vu 2", "repeat 3 a.yml --vu 2 --resume d", ""},
		"password":             {"brunt repeat 3 a.yml -p *** --vu 2", "repeat 3 a.yml --vu 2 --resume d", ""},
		"password, joined":     {"brunt search -p*** a.yml", "search a.yml --resume d", ""},
		"password, long":       {"brunt search --password *** a.yml", "search a.yml --resume d", ""},
		"password, long and =": {"brunt search --password=*** a.yml", "search a.yml --resume d", ""},
		"another secret":       {"brunt search a.yml -a postgres://me:***@host/", "", "began with a secret"},
		"an earlier version":   {"", "", "doesn't say with which flags it began"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &Header{Command: strings.Fields(row.command)}
			got, err := h.Again("d")
			if row.problem != "" {
				if err == nil || !strings.Contains(err.Error(), row.problem) {
					t.Errorf("got %q and %v, want an error with %q", got, err, row.problem)
				}
				return
			}
			if err != nil || !slices.Equal(got, strings.Fields(row.want)) {
				t.Errorf("got %q and %v, want %q", got, err, row.want)
			}
		})
	}
}
