// Package profile reads what functions of a service took its processor time during a load. The service is a Go program
// with net/http/pprof, whose CPU profiles are read one after another, each for two seconds, or a JVM on this machine,
// which makes a flight recording.
package profile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/inspect/process"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"

	"github.com/google/pprof/profile"
)

// Prefix is that of the texts that Parse reads.
const Prefix = "profile:"

const (
	each          = 2  // s, of one profile
	patience      = 10 // s, beyond that
	mostFunctions = 30
	mostBytes     = 64 << 20 // of a profile
	standardPath  = "/debug/pprof/profile"
)

// ofServers names the servers of the load's targets that are on this machine.
const ofServers = "server"

// Source is a service whose profiles are read.
type Source struct {
	name    string
	url     url.URL // of a Go program
	pid     int     // of a JVM, or 0
	servers bool    // JVMs that are the load's targets
}

// OfServers reports whether the source is the servers of the load's targets.
func (s *Source) OfServers() bool { return s.servers }

// Parse returns the source of a text of the form profile:URL, profile:pid:N or profile:server. The path of a URL is
// that of net/http/pprof if there is none. Its errors are for the user, and without secrets.
func Parse(text string) (*Source, error) {
	rest := strings.TrimPrefix(text, Prefix)
	if t, ok := process.Named(rest); ok && strings.HasPrefix(rest, "pid:") {
		return &Source{name: text, pid: t.PID}, nil
	}
	if rest == ofServers {
		return &Source{name: text, servers: true}, nil
	}
	u, err := url.Parse(rest)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: write profile:http://HOST:PORT, where a Go program serves net/http/pprof, or for a JVM "+
			"on this machine profile:pid:N or profile:server", secret.Text(text))
	}
	s := &Source{name: secret.Text(text), url: *u}
	if u.Path == "" || u.Path == "/" {
		s.url.Path = standardPath
	}
	query := s.url.Query()
	query.Set("seconds", fmt.Sprint(each))
	s.url.RawQuery = query.Encode()
	return s, nil
}

// read asks for one profile.
func (s *Source) read(ctx context.Context) (*profile.Profile, error) {
	ctx, cancel := context.WithTimeout(ctx, (each+patience)*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s; does the program import net/http/pprof, and does nobody else read its profile?",
			a.Status)
	}
	return profile.Parse(io.LimitReader(a.Body, mostBytes))
}

// Watch reads the profiles of services during a load. It is a measure.Sink that only signals its goroutines.
type Watch struct {
	Tell func(string) // called with why a JVM isn't profiled; may be nil. It must be set before Start

	sources []*Source
	cancel  context.CancelFunc
	done    sync.WaitGroup
	warm    atomic.Bool
	read    []state
	jvms    recorder
}

// state is what was read of a Go program.
type state struct {
	all []*profile.Profile
	err error
}

var _ measure.Sink = (*Watch)(nil)

// New returns a watch of services, which may be none.
func New(sources []*Source) *Watch {
	return &Watch{sources: sources, cancel: func() {}, read: make([]state, len(sources))}
}

// Start begins reading. warmUp says that the load begins with a warm-up, which doesn't count; servers are the processes
// of the load's targets on this machine. It waits until JVMs have begun to record.
func (w *Watch) Start(warmUp bool, servers []process.Target) {
	w.warm.Store(warmUp)
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.jvms.tell = cancel, w.Tell
	for i, s := range w.sources {
		switch {
		case s.pid > 0:
			w.jvms.open(ctx, s.name, s.pid)
		case s.servers:
			w.jvms.openServers(ctx, s.name, servers)
		default:
			w.done.Go(func() { w.follow(ctx, s, &w.read[i]) })
		}
	}
	w.jvms.start()
}

// follow reads a Go program's profiles, one after another.
func (w *Watch) follow(ctx context.Context, s *Source, into *state) {
	for ctx.Err() == nil {
		warm := w.warm.Load()
		p, err := s.read(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			into.err = err
			select {
			case <-ctx.Done():
			case <-time.After(each * time.Second):
			}
		case !warm:
			into.all = append(into.all, p)
		}
	}
}

// Interval implements measure.Sink. It never fails or blocks.
func (w *Watch) Interval(iv *measure.Interval) error {
	w.warm.Store(iv.WarmUp)
	w.jvms.interval(iv)
	return nil
}

// Finish ends the reading and returns the profiles, and warnings of services without any.
func (w *Watch) Finish() (out []record.Profile, warnings []record.Warning) {
	w.cancel()
	w.done.Wait()
	for i, s := range w.sources {
		r := &w.read[i]
		switch {
		case s.pid > 0 || s.servers:
		case len(r.all) == 0:
			why := message.New("profile-none.short", message.Count("seconds", each))
			if r.err != nil {
				why = message.Literal(secret.Text(r.err.Error()))
			}
			warnings = append(warnings, record.NewWarning("profile-none", message.Text("source", s.name),
				message.Nested("why", why)))
		default:
			whole, err := profile.Merge(r.all)
			if err != nil {
				whole = r.all[len(r.all)-1]
			}
			out = append(out, summary(s.name, whole))
		}
	}
	w.sources = nil
	recorded, lost := w.jvms.finish()
	return append(out, recorded...), append(warnings, lost...)
}

// summary returns the functions of a CPU profile that have the most time.
func summary(name string, p *profile.Profile) record.Profile {
	out := record.Profile{Source: name, LengthNs: p.DurationNanos}
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" })
	if at < 0 {
		at = len(p.SampleType) - 1
	}
	t := newTally()
	var stack []string
	for _, s := range p.Sample {
		if at < 0 || at >= len(s.Value) {
			continue
		}
		stack = stack[:0]
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function != nil {
					stack = append(stack, line.Function.Name)
				}
			}
		}
		t.add(stack, float64(s.Value[at]))
	}
	out.OnCPU = t.total / float64(max(p.DurationNanos, 1))
	out.Functions = t.functions()
	return out
}

// tally is the time of functions.
type tally struct {
	own, with map[string]float64
	total     float64
}

func newTally() *tally { return &tally{own: map[string]float64{}, with: map[string]float64{}} }

// add adds the time of a stack of functions, the innermost first.
func (t *tally) add(stack []string, time float64) {
	t.total += time
	for i, f := range stack {
		if i == 0 {
			t.own[f] += time
		}
		if !slices.Contains(stack[:i], f) {
			t.with[f] += time
		}
	}
}

// functions returns those that have the most time.
func (t *tally) functions() (out []record.FunctionTime) {
	if t.total == 0 {
		return nil
	}
	for f, time := range t.with {
		out = append(out, record.FunctionTime{Name: f, Own: t.own[f] / t.total, With: time / t.total})
	}
	slices.SortFunc(out, func(a, b record.FunctionTime) int {
		return cmp.Or(cmp.Compare(b.Own, a.Own), cmp.Compare(b.With, a.With), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), mostFunctions)]
}
