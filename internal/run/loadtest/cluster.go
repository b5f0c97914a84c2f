package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/run/scale"
	"brunt/internal/run/scale/kubernetes"
)

// Cluster describes the workers of a load in Kubernetes.
type Cluster struct {
	Source kubernetes.Source
	Pods   kubernetes.Pods
	// Print makes Perform print the Kubernetes objects for a load of a coordinator and workers, instead of sending a
	// load.
	Print bool
	Flags []string // with Print: additional flags of the coordinator
}

// The default times within which workers must join.
const (
	joinPatience         = 30 * time.Second
	joinPatienceCluster  = 2 * time.Minute  // nodes may have to pull images first
	joinPatienceExternal = 10 * time.Minute // someone starts the workers by hand
)

// schedulePatience is how long a pod may remain without a node. A node may still be occupied by another pod that is
// terminating.
const schedulePatience = 20 * time.Second

// patience returns the time within which workers must join.
func (w *Workers) patience() time.Duration {
	switch {
	case w.JoinTimeout > 0:
		return w.JoinTimeout
	case w.On == Kubernetes:
		return joinPatienceCluster
	case w.On == External:
		return joinPatienceExternal
	}
	return joinPatience
}

// callback returns the address at which pods reach this process.
func (d *leading) callback(ctx context.Context, port string) (string, error) {
	w := &d.l.Workers
	if w.Advertise != "" {
		return w.Advertise, nil
	}
	host, _, _ := net.SplitHostPort(w.Listen) // "" if Listen is not set
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return net.JoinHostPort(host, port), nil
	}
	ip, err := d.client.LocalAddress(ctx)
	if err != nil {
		return "", err
	}
	if ip.IsLoopback() {
		return "", exitcode.Usage(fmt.Errorf(
			"the API server is reached at %s, so that it isn't known at which address pods reach this machine; say it with --listen HOST:PORT, or with --advertise HOST:PORT if that is another machine's",
			ip))
	}
	return net.JoinHostPort(ip.String(), port), nil
}

// onCluster creates the workers in Kubernetes. fail is called if they can't start, and ends the wait for them.
func (d *leading) onCluster(ctx context.Context, fail context.CancelCauseFunc) error {
	address, err := d.callback(ctx, strconv.Itoa(d.c.Port()))
	if err != nil {
		return err
	}
	w := &d.l.Workers
	d.ticket.Addresses = []string{address}
	d.ticket.PatienceNs = int64(w.patience())
	o := kubernetes.Options{
		Name: kubernetes.Name(d.l.Plan.Name, d.ticket.Run), Workers: w.Number, Pods: w.Cluster.Pods, Ticket: d.ticket,
		Patience: schedulePatience, Tell: d.tell, Exited: d.c.Exited, Fail: func(err error) { fail(err) },
		Begun: func() bool { return d.c.StartNs() > 0 },
	}
	if w.JoinTimeout > 0 {
		o.Patience = w.JoinTimeout
	}
	if o.Pods.Deadline = deadline(d.l.Plan); d.fills {
		o.Pods.Deadline = deadlineUnknown
	}
	d.cluster, err = d.client.Launch(ctx, o)
	return err
}

// Limits on how long pods may exist.
const (
	deadlineBeyond  = time.Hour      // in addition to the load: for images, tables and bundles
	deadlineUnknown = 24 * time.Hour // for loads without a known duration
)

// deadline returns how long the pods of a load may exist, even if nobody deletes them.
func deadline(p *plan.Plan) time.Duration {
	sum := deadlineBeyond
	for i := range p.Load {
		if p.Load[i].Duration == 0 {
			return deadlineUnknown
		}
		sum += p.Load[i].Duration
	}
	return sum
}

// printCluster prints the Kubernetes objects for a load of a coordinator and workers.
func (l *Test) printCluster(w io.Writer) error {
	if l.Open != nil {
		return exitcode.Usage(errors.New("--manifest: this command's load isn't all in its plan; use brunt run, rate, queue, spike or http"))
	}
	text, secrets, err := textOf(l.Plan)
	if err != nil {
		return err
	}
	d := &kubernetes.Deployment{
		Name: kubernetes.Name(l.Plan.Name, ""), Namespace: l.Workers.Cluster.Source.Namespace, Workers: l.Workers.Number,
		Pods: l.Workers.Cluster.Pods, Plan: text, Flags: l.Workers.Cluster.Flags,
	}
	d.Pods.Deadline = deadline(l.Plan)
	if l.Plan.Target.Password != "" {
		d.Secrets = append(d.Secrets, "BRUNT_PASSWORD")
	}
	d.Secrets = append(d.Secrets, slices.Sorted(maps.Keys(secrets))...)
	return kubernetes.Manifest(w, d)
}

// external writes the ticket to a file, or reads it from there, for workers that someone else starts.
func (d *leading) external(out *Outputs) error {
	w := &d.l.Workers
	made := w.Ticket
	if d.pair == nil {
		address := w.Advertise
		if address == "" {
			host, _, _ := net.SplitHostPort(w.Listen) // validated earlier
			address = net.JoinHostPort(host, strconv.Itoa(d.c.Port()))
		}
		d.ticket.Worker, d.ticket.Addresses = scale.NumberOfEngine, []string{address}
		d.ticket.PatienceNs = int64(w.patience())
		if err := scale.WriteSecret(w.Ticket, &d.ticket); err != nil {
			return exitcode.Usage(err)
		}
		d.written = w.Ticket
	} else {
		made = "FILE"
	}
	fmt.Fprintf(out.Err,
		"brunt: waiting up to %s for %d workers at %s; start each with: brunt worker --ticket %s --index K, K from 0 to %d\n",
		w.patience(), w.Number, d.ticket.Addresses[0], made, w.Number-1)
	return nil
}

// whereabouts adds the state of the pods to an error about missing workers.
func (d *leading) whereabouts(err error) error {
	var e *scale.Error
	if d.cluster == nil || !errors.As(err, &e) || !e.Missing {
		return err
	}
	return &scale.Error{Code: e.Code, Text: fmt.Sprintf("%s (pods call %s; %s)", e.Text, d.ticket.Addresses[0],
		d.cluster.Missing())}
}

// release stops the processes or pods of the workers, and removes what was created for them.
func (d *leading) release() (err error) {
	d.processes.Stop(stopPatience)
	if d.cluster != nil {
		err = d.cluster.Close()
	}
	if d.written != "" {
		err = errors.Join(err, os.Remove(d.written))
	}
	return err
}
