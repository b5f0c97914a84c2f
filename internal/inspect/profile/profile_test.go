package profile

import (
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// busy computes until stop is closed.
//
//go:noinline
func busy(stop <-chan struct{}) (sum uint32) {
	block := make([]byte, 1<<16)
	for {
		select {
		case <-stop:
			return sum
		default:
			sum = crc32.Update(sum, crc32.MakeTable(crc32.Koopman), block)
		}
	}
}

// The profile of a real program names the function that computes.
func TestFunctionThatComputes(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(pprof.Profile))
	defer s.Close()
	stop := make(chan struct{})
	defer close(stop)
	go busy(stop)
	source, err := Parse("profile:" + s.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := source.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := summary("x", p)
	for _, f := range got.Functions {
		// Under the race detector, whose functions have no callers, those of crc32 are seen.
		if (strings.HasSuffix(f.Name, "profile.busy") || strings.Contains(f.Name, "crc32.")) && f.With > 0.1 {
			return
		}
	}
	t.Errorf("%+v", got)
}

func TestSummaryOfSamples(t *testing.T) {
	f := func(id uint64, name string) *profile.Location {
		return &profile.Location{ID: id, Line: []profile.Line{{Function: &profile.Function{ID: id, Name: name}}}}
	}
	a, b := f(1, "a"), f(2, "b")
	p := &profile.Profile{DurationNanos: 1e9,
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{a, b, a}, Value: []int64{1, 3e8}},
			{Location: []*profile.Location{b}, Value: []int64{1, 1e8}},
		}}
	got := summary("x", p)
	if got.OnCPU != 0.4 || len(got.Functions) != 2 || got.Functions[0].Name != "a" || got.Functions[0].Own != 0.75 ||
		got.Functions[1].With != 1 || got.Functions[1].Own != 0.25 {
		t.Errorf("%+v", got)
	}
}

func TestServiceWithoutProfile(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	source, err := Parse("profile:" + s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.read(t.Context()); err == nil || !strings.Contains(err.Error(), "net/http/pprof") {
		t.Errorf("%v", err)
	}
	w := New([]*Source{source})
	w.read[0].err = err
	if all, warnings := w.Finish(); len(all) > 0 || len(warnings) != 1 || warnings[0].ID != "profile-none" {
		t.Errorf("%+v, %+v", all, warnings)
	}
	for _, text := range []string{"profile:", "profile:ftp://x", "profile:user:secret@x"} {
		if _, err := Parse(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
