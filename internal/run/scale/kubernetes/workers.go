package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"brunt/internal/run/scale"
)

// Options describe the objects that Launch creates, and contain its callbacks.
type Options struct {
	Name    string
	Workers int
	Pods    Pods
	Ticket  scale.Ticket // without a worker's number, which Launch sets
	// Patience is how long a pod may be prevented from running, for example for lack of a node, before the run fails.
	Patience time.Duration
	Tell     func(text string)
	Exited   func(worker int, how string) // called when the pod of a worker has ended
	Fail     func(err error)              // called with a *scale.Error if the run can't begin
	Begun    func() bool                  // reports whether the load has begun
}

// Workers are the pods of one run.
type Workers struct {
	c    *Client
	o    Options
	stop context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	pods map[int]*pod // the newest pod of each worker
}

// pollEvery is the interval at which the cluster is asked for the state of the pods.
const pollEvery = time.Second

// retries is how often Kubernetes replaces the pod of a worker. All workers wait for a pod that is lost before the load
// begins.
const retries = 1

// Launch creates the Job and its Secret, and watches the pods until Close. If it fails, it deletes what it has created.
func (c *Client) Launch(ctx context.Context, o Options) (*Workers, error) {
	if err := c.Check(ctx); err != nil {
		return nil, err
	}
	o.Ticket.Worker = scale.NumberOfEngine
	ticket, err := json.Marshal(&o.Ticket)
	if err != nil {
		return nil, err
	}
	w := &Workers{c: c, o: o, stop: func() {}, done: make(chan struct{}), pods: map[int]*pod{}}
	var made struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	what := job(o.Name, c.config.namespace, o.Workers, retries, &o.Pods)
	err = c.do(ctx, http.MethodPost, c.path("batch/v1", "jobs"), what, &made)
	if err != nil {
		close(w.done)
		if ctx.Err() != nil { // the Job may have been created nevertheless
			return nil, errors.Join(ctx.Err(), w.Close())
		}
		return nil, c.problem(right{"create", "batch", "jobs"}, err)
	}
	what = secret(o.Name, c.config.namespace, made.Metadata.UID, ticket)
	err = c.do(ctx, http.MethodPost, c.path("", "secrets"), what, nil)
	if err != nil {
		close(w.done)
		return nil, errors.Join(c.problem(right{"create", "", "secrets"}, err), w.Close())
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	go w.follow(following)
	return w, nil
}

// Adopt returns the pods of a Job that another process created with Launch, for Close. It doesn't watch them.
func (c *Client) Adopt(name string) *Workers {
	w := &Workers{c: c, o: Options{Name: name}, stop: func() {}, done: make(chan struct{})}
	close(w.done)
	return w
}

// closePatience limits the time for deleting the objects.
const closePatience = 20 * time.Second

// Close deletes the objects that Launch created. If it fails, the error names the objects that may remain and the
// command that deletes them.
func (w *Workers) Close() error {
	w.stop()
	<-w.done
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	options := object{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
	job := w.remove(ctx, w.c.path("batch/v1", "jobs/"+w.o.Name), options)
	ticket := w.remove(ctx, w.c.path("", "secrets/"+w.o.Name), options)
	if err := errors.Join(job, ticket); err != nil {
		return fmt.Errorf("the Job and the Secret %s may be left in the namespace %s: %w; delete them with kubectl delete -n %s job/%s secret/%s",
			w.o.Name, w.c.config.namespace, err, w.c.config.namespace, w.o.Name, w.o.Name)
	}
	return nil
}

// remove deletes an object. It tries again while the API server doesn't answer or reports an internal error.
func (w *Workers) remove(ctx context.Context, path string, options object) error {
	for {
		err := w.c.do(ctx, http.MethodDelete, path, options, nil)
		var s *status
		if errors.As(err, &s) && s.Code == http.StatusNotFound {
			return nil
		}
		if err == nil || errors.As(err, &s) && s.Code < http.StatusInternalServerError {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pollEvery):
		}
	}
}

// Missing describes, for people, the state of the workers' pods, grouped by state. It is used for workers that have not
// joined.
func (w *Workers) Missing() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := map[string][]int{}
	var order []string
	for k := range w.o.Workers {
		text := "there is no pod of it yet"
		if p := w.pods[k]; p != nil {
			text = p.state()
		}
		if said[text] == nil {
			order = append(order, text)
		}
		said[text] = append(said[text], k)
	}
	var parts []string
	for _, text := range order {
		parts = append(parts, fmt.Sprintf("worker %s: %s", numbers(said[text]), text))
	}
	return strings.Join(parts, "; ")
}

// follow polls the state of the pods until ctx ends.
func (w *Workers) follow(ctx context.Context) {
	defer close(w.done)
	f := &follower{w: w, told: map[string]bool{}, ended: map[string]bool{}, since: map[string]time.Time{}}
	for ctx.Err() == nil {
		f.look(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}

// follower keeps what has already been reported about the pods.
type follower struct {
	w     *Workers
	told  map[string]bool      // problems that were reported, by text
	ended map[string]bool      // pods whose end was handled, by UID
	since map[string]time.Time // when a problem was first seen, by text
	last  string               // the last error of the API server; "" if it answered
}

// look polls once.
func (f *follower) look(ctx context.Context) {
	pods, err := f.w.c.pods(ctx, f.w.o.Name)
	if err != nil {
		if ctx.Err() == nil && err.Error() != f.last { // workers don't need the API server, so only report it
			f.last = err.Error()
			f.w.o.Tell(f.last)
		}
		return
	}
	f.last = ""
	f.w.mu.Lock()
	f.w.pods = newest(pods)
	known := f.w.pods
	f.w.mu.Unlock()
	for i := range pods {
		f.end(&pods[i])
	}
	if f.w.o.Begun() {
		return
	}
	groups := map[string]*group{}
	for k := range f.w.o.Workers {
		if p := known[k]; p != nil {
			if t := p.problem(); t.text != "" {
				add(groups, t, k)
			}
		}
	}
	if len(known) < f.w.o.Workers {
		t := f.w.c.jobProblem(ctx, f.w.o.Name)
		for k := range f.w.o.Workers {
			if known[k] == nil && t.text != "" {
				add(groups, t, k)
			}
		}
	}
	f.judge(groups)
}

// end handles a pod that has ended, once.
func (f *follower) end(p *pod) {
	how, ended := p.end()
	k := p.index()
	if !ended || f.ended[p.Metadata.UID] || k < 0 || k >= f.w.o.Workers {
		return
	}
	f.ended[p.Metadata.UID] = true
	if p.disrupted() && !f.w.o.Begun() {
		f.w.o.Tell(fmt.Sprintf("the pod of worker %s was evicted (%s); Kubernetes starts another", describe(k, p.Metadata.Name),
			how))
		return
	}
	f.w.o.Exited(k, how)
}

// group is a problem and the workers that have it.
type group struct {
	problem
	workers []int
}

func add(groups map[string]*group, t problem, worker int) {
	g := groups[t.text]
	if g == nil {
		g = &group{problem: t}
		groups[t.text] = g
	}
	g.workers = append(g.workers, worker)
}

// judge reports problems. It fails the run if one is permanent or lasts for Options.Patience.
func (f *follower) judge(groups map[string]*group) {
	now := time.Now()
	for text := range f.since {
		if groups[text] == nil {
			delete(f.since, text)
		}
	}
	for text, g := range groups {
		since, known := f.since[text]
		if !known {
			f.since[text], since = now, now
		}
		whole := fmt.Sprintf("worker %s: %s", numbers(g.workers), text)
		if g.final || now.Sub(since) >= f.w.o.Patience {
			f.w.o.Fail(fault(codeUnreachable, "%s", whole))
			return
		}
		if !f.told[text] {
			f.told[text] = true
			f.w.o.Tell(whole)
		}
	}
}

// pods lists the pods of a run.
func (c *Client) pods(ctx context.Context, name string) ([]pod, error) {
	var list struct {
		Items []pod `json:"items"`
	}
	selector := url.QueryEscape("app.kubernetes.io/instance=" + name + ",app.kubernetes.io/component=worker")
	err := c.do(ctx, http.MethodGet, c.path("", "pods")+"?labelSelector="+selector, nil, &list)
	if err != nil {
		return nil, c.problem(right{"list", "", "pods"}, err)
	}
	return list.Items, nil
}
