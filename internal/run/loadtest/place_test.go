package loadtest

import (
	"slices"
	"strings"
	"testing"

	"brunt/internal/run/scale"
)

func TestWorkersAreRefused(t *testing.T) {
	for name, row := range map[string]struct {
		given   string
		workers Workers
		record  Record
		want    string // "" means that they are not refused
	}{
		"no workers":         {"", Workers{}, Record{}, ""},
		"two":                {"workers", Workers{Number: 2}, Record{}, ""},
		"none":               {"workers", Workers{}, Record{}, "--workers 0: give a number from 1"},
		"too many":           {"workers", Workers{Number: maxWorkers + 1}, Record{}, "--workers 10001: give a"},
		"a place without":    {"on", Workers{}, Record{}, "--on is for --workers"},
		"a cluster without":  {"image", Workers{}, Record{}, "--image is for --workers"},
		"a cluster, here":    {"workers image", Workers{Number: 2}, Record{}, "--image is for --on kubernetes"},
		"another place":      {"workers on", Workers{Number: 2, On: "moon"}, Record{}, "--on moon: use local"},
		"ssh without hosts":  {"workers on", Workers{Number: 2, On: SSH}, Record{}, "--on ssh: name the hosts"},
		"ssh, an option":     {"workers", Workers{Number: 2, On: SSH, Hosts: []string{"-o"}}, Record{}, "--hosts -o: "},
		"hosts, here":        {"workers hosts", Workers{Number: 2, Hosts: []string{"a"}}, Record{}, "--hosts and "},
		"slurm, here":        {"workers", Workers{Number: 2, Slurm: []string{"-p"}}, Record{}, "--slurm-options is for"},
		"no time to join":    {"workers join-timeout", Workers{Number: 2}, Record{}, "--join-timeout 0s: give a time"},
		"no record":          {"workers", Workers{Number: 2}, Record{None: true}, "--no-record"},
		"a policy":           {"workers on-lost", Workers{Number: 2, OnLost: "cry"}, Record{}, "--on-lost cry: use go-on"},
		"external, nowhere":  {"workers", Workers{Number: 2, On: External}, Record{}, "--on external: name the file"},
		"a ticket, here":     {"workers", Workers{Number: 2, Ticket: "t"}, Record{}, "--ticket is for --on external"},
		"listening nowhere":  {"workers", Workers{Number: 2, Listen: "here"}, Record{}, "--listen here: write HOST:PORT"},
		"advertised nowhere": {"workers", Workers{Number: 2, Advertise: "here:0"}, Record{}, "--advertise here:0: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := row.workers
			if w.On == "" {
				w.On = Local
			}
			if w.OnLost == "" {
				w.OnLost = scale.GoOn
			}
			given := func(name string) bool { return slices.Contains(strings.Fields(row.given), name) }
			err := w.Check(Flags{Given: given, Count: "workers"}, &row.record)
			switch {
			case row.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), row.want)):
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}
