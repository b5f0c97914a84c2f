package runner

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"brunt/internal/plan/planfile"
	"brunt/internal/record"
)

// texts is an HTTP service that stores texts by path. A POST has no effect.
type texts struct {
	mu  sync.Mutex
	all map[string]string
}

func (s *texts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	text, there := s.all[r.URL.Path]
	switch {
	case r.Method == http.MethodPut:
		s.all[r.URL.Path] = string(body)
	case r.Method == http.MethodDelete:
		delete(s.all, r.URL.Path)
	case r.Method == http.MethodGet && !there:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, text)
	}
}

// Keys that are written and deleted while they are read back are never reported as lost or wrong, because the service
// works correctly.
func TestKeysThatAreWrittenAllTheTime(t *testing.T) {
	for _, tier := range []string{"codec", "library"} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(&texts{all: map[string]string{}})
			t.Cleanup(s.Close)
			p, err := planfile.Read("plan.yml", fmt.Appendf(nil, `
target: {protocol: http, addresses: [%[1]s]}
tier: %[2]s
sessions: 8
interval: 50ms
verify: {patience: 10s, after: each-fault}
queries:
  - name: put
    weight: 4
    http: {method: PUT, path: /$1, body: $2}
    params: [{type: Unsigned, range: [1, 20]}, {type: String, range: [8, 8]}]
    verify: {read: {http: /$1, capture: [body]}, expect: [2]}
  - name: drop
    http: {method: DELETE, path: /$1}
    params: [{type: Unsigned, range: [1, 20]}]
    verify: {read: {http: /$1, capture: [body]}}
load: [{constant: {rate: 500, duration: 3s}}]
faults:
  - {name: nothing, at: 500ms, every: 800ms, times: 3, http: {inject: {path: /, origin: "%[3]s"}}}
`, s.Listener.Addr(), tier, s.URL))
			if err != nil {
				t.Fatal(err)
			}
			run, err := Run(context.Background(), nil, p, Options{Faults: Faults{Allowed: true},
				Recording: Recording{Dir: filepath.Join(t.TempDir(), "bundle"), Plan: []byte("{}\n")}})
			if err != nil {
				t.Fatal(err)
			}
			v := run.Verified
			if sum := v.Sum(); sum.Acknowledged == 0 || sum.Wrong()+sum.Stale+v.LostMeanwhile != 0 {
				t.Errorf("after the run: %+v, lost meanwhile %d", sum, v.LostMeanwhile)
			}
			if len(v.AfterFaults) == 0 {
				t.Fatal("nothing was read back after a fault")
			}
			for i := range v.AfterFaults {
				a := &v.AfterFaults[i]
				if sum := a.Sum(); sum.Acknowledged == 0 || sum.Wrong()+sum.Stale != 0 || len(a.Bad) > 0 {
					t.Errorf("after fault %d: %+v, %+v", a.Number, sum, a.Bad)
				}
			}
		})
	}
}

// The oldest bad writes are listed, and the others are counted.
func TestTheOldestBadWritesAreKept(t *testing.T) {
	b := &readBack{v: &record.Verified{}}
	for i := range record.MaxBadWrites + 7 {
		b.v.Bad = append(b.v.Bad, record.BadWrite{EndNs: int64(time.Hour) - int64(i)})
	}
	b.keepOldest()
	if n := len(b.v.Bad); n != record.MaxBadWrites || b.v.BadMore != 7 {
		t.Errorf("%d are kept, %d omitted", n, b.v.BadMore)
	}
	if first, last := b.v.Bad[0].EndNs, b.v.Bad[len(b.v.Bad)-1].EndNs; first >= last || last != int64(time.Hour)-7 {
		t.Errorf("from %d to %d", first, last)
	}
}
