package loadtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/plan"
	"brunt/internal/run/scale"
)

// Places returns the values of the flag --on: the places where workers can run.
func Places() []string { return []string{Local, SSH, Slurm, Kubernetes, External} }

// maxWorkers is the maximum number of workers of one load.
const maxWorkers = 10000

var (
	placeFlags = []string{"on", "on-lost", "listen", "join-timeout", "mixed-cores", "hosts", "ssh-config",
		"slurm-options", "advertise", "ticket"}
	clusterFlags = []string{"image", "image-pull-secret", "namespace", "kubeconfig", "kube-context", "cpu", "memory",
		"env-secret", "manifest"} // only for Kubernetes
)

// Flags describes which flags for workers the command line contains.
type Flags struct {
	Given func(name string) bool
	Count string // name of the flag for the number of workers
}

// some reports whether the command line contains the flag for the number of workers.
func (f Flags) some() bool { return f.Given != nil && f.Given(f.Count) }

// Check returns an error if flags for workers contradict each other, or can't be used with this record or these plans.
// plans are the plans of the load that are known before it.
func (w *Workers) Check(f Flags, record *Record, plans ...*plan.Plan) error {
	if err := w.checkPlace(f); err != nil || !f.some() {
		return err
	}
	if record.None {
		return errors.New("--no-record: the result is made of the workers' records; remove the flag")
	}
	if all := scale.Policies(); !slices.Contains(all, w.OnLost) {
		last := len(all) - 1
		return fmt.Errorf("--on-lost %s: use %s or %s", w.OnLost, strings.Join(all[:last], ", "), all[last])
	}
	w.Cluster.Pods.Upload = record.Upload
	if err := w.checkCluster(f); err != nil {
		return err
	}
	for _, l := range plans {
		if err := w.redistributes(l); err != nil {
			return err
		}
		if err := w.Shares(l); err != nil {
			return err
		}
	}
	return nil
}

// CheckFilling returns an error if flags for workers that fill tables contradict each other.
func (w *Workers) CheckFilling(f Flags) error {
	if err := w.checkPlace(f); err != nil || !f.some() {
		return err
	}
	return w.checkCluster(f)
}

// CheckSeries returns an error if a flag is set that applies only to a single load.
func (w *Workers) CheckSeries(record *Record) error {
	switch {
	case w.Cluster.Print:
		return errors.New("--manifest is for one load; give it to brunt run, rate, queue, spike or http")
	case w.On == External:
		return errors.New("--on external is for one load: nobody would start the workers of the next; use another --on")
	case record.Upload != "":
		return errors.New("--upload is for one load; copy the folder of the series when it has ended")
	}
	return nil
}

// checkPlace returns an error if the flags for the number and the place of workers are invalid, or if flags for workers
// are given without a number of workers.
func (w *Workers) checkPlace(f Flags) error {
	if f.Given == nil {
		return nil
	}
	if !f.some() {
		for _, name := range slices.Concat(placeFlags, clusterFlags) {
			if f.Given(name) {
				return fmt.Errorf("--%s is for --%s; give --%s N", name, f.Count, f.Count)
			}
		}
		return nil
	}
	switch {
	case w.Number < 1 || w.Number > maxWorkers:
		return fmt.Errorf("--%s %d: give a number from 1 to %d", f.Count, w.Number, maxWorkers)
	case !slices.Contains(Places(), w.On):
		return fmt.Errorf("--on %s: use %s", w.On, strings.Join(Places(), ", "))
	case w.On == SSH && len(w.Hosts) == 0:
		return errors.New("--on ssh: name the hosts with --hosts")
	case w.On == SSH && slices.ContainsFunc(w.Hosts, func(h string) bool { return h == "" || h[0] == '-' }):
		return fmt.Errorf("--hosts %s: write host, user@host or user@host:port", strings.Join(w.Hosts, ","))
	case w.On != SSH && (len(w.Hosts) > 0 || w.SSHConfig != ""):
		return errors.New("--hosts and --ssh-config are for --on ssh; add that")
	case w.On != Slurm && len(w.Slurm) > 0:
		return errors.New("--slurm-options is for --on slurm; add that")
	case f.Given("join-timeout") && w.JoinTimeout <= 0:
		return fmt.Errorf("--join-timeout %s: give a time above zero, such as 30s", w.JoinTimeout)
	}
	return nil
}

// redistributes returns an error if --on-lost redistribute is given for a load whose operations can't be assigned to
// other workers.
func (w *Workers) redistributes(p *plan.Plan) error {
	closed := slices.ContainsFunc(p.Load, func(ph plan.Phase) bool { return ph.Kind == plan.Closed })
	if w.OnLost == scale.Redistribute && closed && p.Verifies() {
		return errors.New("--on-lost redistribute: the writes of closed phases can't be read back then, because it isn't " +
			"known in advance which worker sends them; use go-on or abort, or remove verify")
	}
	return nil
}

// checkCluster returns an error if flags for Kubernetes or for external workers contradict each other or are invalid.
// With Kubernetes, it sets Cluster.Flags.
func (w *Workers) checkCluster(f Flags) error {
	for _, name := range clusterFlags {
		if w.On != Kubernetes && f.Given(name) {
			return fmt.Errorf("--%s is for --on kubernetes; add that", name)
		}
	}
	switch {
	case w.On == Kubernetes:
		if err := w.Cluster.Pods.Check(); err != nil {
			return err
		}
		w.forCluster(f)
	case w.On == External && w.Ticket == "":
		return errors.New("--on external: name the file of the workers' ticket with --ticket")
	case w.On != External && w.Ticket != "":
		return errors.New("--ticket is for --on external; add that")
	case w.On == External && w.Listen == "":
		return errors.New("--on external: say where workers reach this process, with --listen HOST:PORT")
	}
	if w.Advertise != "" {
		if err := CheckAddress("advertise", w.Advertise); err != nil {
			return err
		}
	}
	if host, _, err := net.SplitHostPort(w.Listen); w.Listen != "" && err != nil {
		return fmt.Errorf("--listen %s: write HOST:PORT", w.Listen)
	} else if w.On == External && host == "" && w.Advertise == "" && !madeBefore(w.Ticket) {
		return fmt.Errorf("--listen %s names no host: say the one by which workers reach it, or give --advertise HOST:PORT",
			w.Listen)
	}
	return nil
}

// forCluster appends to Cluster.Flags the flags for the coordinator in the cluster.
func (w *Workers) forCluster(f Flags) {
	c := &w.Cluster
	if f.Given("on-lost") {
		c.Flags = append(c.Flags, "--on-lost", w.OnLost)
	}
	if f.Given("join-timeout") {
		c.Flags = append(c.Flags, "--join-timeout", w.JoinTimeout.String())
	}
	if c.Pods.Upload != "" {
		c.Flags = append(c.Flags, "--upload", c.Pods.Upload)
	}
	if w.MixedCores {
		c.Flags = append(c.Flags, "--mixed-cores")
	}
}

// CheckAddress returns an error unless address, the value of a flag, is HOST:PORT with a host and a port other than 0.
func CheckAddress(flag, address string) error {
	host, port, err := net.SplitHostPort(address)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 || host == "" {
		return fmt.Errorf("--%s %s: write HOST:PORT", flag, address)
	}
	return nil
}

// madeBefore reports whether the file of a ticket exists. The ticket then contains the coordinator's address.
func madeBefore(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
