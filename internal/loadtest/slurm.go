package loadtest

import (
	"context"
	"net"
	"os"
	"strconv"

	"brunt/internal/scale"
)

// overSlurm starts all workers as tasks of one step. Each takes its number from Slurm.
func (d *leading) overSlurm(out *Outputs, self string) error {
	s := d.slurm
	s.Binary = self
	t := d.ticket
	t.Worker = scale.NumberOfEngine
	host, _, _ := net.SplitHostPort(d.l.Workers.Listen) // "" where the worker is to find it
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

// waiting says what workers that haven't come wait for, as far as what starts them tells.
func (d *leading) waiting(ctx context.Context) string {
	if d.slurm == nil {
		return ""
	}
	return d.slurm.Waiting(ctx)
}
