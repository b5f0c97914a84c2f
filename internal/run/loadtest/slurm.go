package loadtest

import (
	"context"
	"net"
	"os"
	"strconv"

	"brunt/internal/run/scale"
)

// overSlurm starts all workers as tasks of one job step. Slurm gives each its number.
func (d *leading) overSlurm(out *Outputs, self string) error {
	s := d.slurm
	s.Binary = self
	t := d.ticket
	t.Worker = scale.NumberOfEngine
	host, _, _ := net.SplitHostPort(d.l.Workers.Listen) // "" if the worker must find the host itself
	port := strconv.Itoa(d.c.Port())
	t.Addresses = []string{net.JoinHostPort(host, port)}
	if name, err := os.Hostname(); err == nil && host == "" {
		t.Addresses = append(t.Addresses, net.JoinHostPort(name, port))
	}
	return d.processes.Start(s.Command(), &t, s.Log(out.Err), "brunt: slurm: ", func(state *os.ProcessState) {
		if d.c.StartNs() > 0 && !s.Ended(state) {
			return
		}
		for k := range s.Workers {
			d.c.Exited(k, s.How(state))
		}
	})
}

// waiting returns why workers haven't joined yet, or "" if this isn't known.
func (d *leading) waiting(ctx context.Context) string {
	if d.slurm == nil {
		return ""
	}
	return d.slurm.Waiting(ctx)
}
