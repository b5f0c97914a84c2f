// Package profile reads what functions of a service took its processor time during a load. The service must be a Go
// program with net/http/pprof, whose CPU profiles are read one after another, each for two seconds.
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

// Source is a service whose profiles are read.
type Source struct {
	name string
	url  url.URL
}

// Parse returns the source of a text of the form profile:URL. The path is that of net/http/pprof if there is none. Its
// errors are for the user, and without secrets.
func Parse(text string) (*Source, error) {
	u, err := url.Parse(strings.TrimPrefix(text, Prefix))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: write profile:http://HOST:PORT, where a Go program serves net/http/pprof",
			secret.Text(text))
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

// Watch reads the profiles of services during a load. It is a measure.Sink that only notes whether the load is warming
// up.
type Watch struct {
	sources []*Source
	cancel  context.CancelFunc
	done    sync.WaitGroup
	warm    atomic.Bool
	read    []state
}

// state is what was read of one service.
type state struct {
	all []*profile.Profile
	err error
}

var _ measure.Sink = (*Watch)(nil)

// New returns a watch of services, which may be none.
func New(sources []*Source) *Watch {
	return &Watch{sources: sources, cancel: func() {}, read: make([]state, len(sources))}
}

// Start begins reading. warmUp says that the load begins with a warm-up, which doesn't count.
func (w *Watch) Start(warmUp bool) {
	w.warm.Store(warmUp)
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	for i, s := range w.sources {
		w.done.Go(func() {
			for ctx.Err() == nil {
				warm := w.warm.Load()
				p, err := s.read(ctx)
				switch {
				case ctx.Err() != nil:
				case err != nil:
					w.read[i].err = err
					select {
					case <-ctx.Done():
					case <-time.After(each * time.Second):
					}
				case !warm:
					w.read[i].all = append(w.read[i].all, p)
				}
			}
		})
	}
}

// Interval implements measure.Sink. It never fails or blocks.
func (w *Watch) Interval(iv *measure.Interval) error {
	w.warm.Store(iv.WarmUp)
	return nil
}

// Finish ends the reading and returns the profiles, and warnings of services without any.
func (w *Watch) Finish() (out []record.Profile, warnings []record.Warning) {
	w.cancel()
	w.done.Wait()
	for i, s := range w.sources {
		r := &w.read[i]
		if len(r.all) == 0 {
			why := message.New("profile-none.short", message.Count("seconds", each))
			if r.err != nil {
				why = message.Literal(secret.Text(r.err.Error()))
			}
			warnings = append(warnings, record.NewWarning("profile-none", message.Text("source", s.name),
				message.Nested("why", why)))
			continue
		}
		whole, err := profile.Merge(r.all)
		if err != nil {
			whole = r.all[len(r.all)-1]
		}
		out = append(out, summary(s.name, whole))
	}
	w.sources = nil
	return out, warnings
}

// summary returns the functions of a CPU profile that have the most time.
func summary(name string, p *profile.Profile) record.Profile {
	out := record.Profile{Source: name, LengthNs: p.DurationNanos}
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" })
	if at < 0 {
		at = len(p.SampleType) - 1
	}
	own, with := map[string]float64{}, map[string]float64{}
	total := 0.0
	for _, s := range p.Sample {
		if at < 0 || at >= len(s.Value) {
			continue
		}
		ns := float64(s.Value[at])
		total += ns
		seen := map[string]bool{}
		first := true
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function == nil {
					continue
				}
				f := line.Function.Name
				if first {
					own[f] += ns
					first = false
				}
				if !seen[f] {
					seen[f] = true
					with[f] += ns
				}
			}
		}
	}
	if total == 0 {
		return out
	}
	out.OnCPU = total / float64(max(p.DurationNanos, 1))
	for f, ns := range with {
		out.Functions = append(out.Functions, record.FunctionTime{Name: f, Own: own[f] / total, With: ns / total})
	}
	slices.SortFunc(out.Functions, func(a, b record.FunctionTime) int {
		return cmp.Or(cmp.Compare(b.Own, a.Own), cmp.Compare(b.With, a.With), cmp.Compare(a.Name, b.Name))
	})
	out.Functions = out.Functions[:min(len(out.Functions), mostFunctions)]
	return out
}
