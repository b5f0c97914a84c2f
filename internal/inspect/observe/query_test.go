package observe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Answers as in the documentation of Prometheus' HTTP API.
func TestQueries(t *testing.T) {
	for _, c := range []struct {
		name  string
		body  string
		value float64
		says  string
	}{
		{"a vector of one", `{"status":"success","data":{"resultType":"vector","result":[
			{"metric":{"__name__":"up"},"value":[1435781451.781,"1.5"]}]}}`, 1.5, ""},
		{"a scalar", `{"status":"success","data":{"resultType":"scalar","result":[1435781451.781,"2"]}}`, 2, ""},
		{"a vector of two", `{"status":"success","data":{"resultType":"vector","result":[
			{"value":[1,"1"]},{"value":[1,"0"]}]}}`, 0, "2 values"},
		{"nothing", `{"status":"success","data":{"resultType":"vector","result":[]}}`, 0, "0 values"},
		{"an error", `{"status":"error","errorType":"bad_data","error":"parse error"}`, 0, "parse error"},
		{"a page", `<html>`, 0, "isn't an answer of Prometheus"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1/query" || r.FormValue("query") != `sum(rate(x{a="?"}[30s]))` {
					t.Errorf("asked for %s", r.URL)
				}
				fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			address := strings.Replace(server.URL, "http://", "http://me:T0psecret@", 1)
			s, err := Parse("query:" + address + `?sum(rate(x{a="?"}[30s]))`)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(s.Name(), "T0psecret") {
				t.Errorf("its name is %s", s.Name())
			}
			got, err := s.Sample(context.Background())
			if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v, want one with %q", err, c.says)
			}
			if err == nil && (len(got) != 1 || got[0].Value != c.value) {
				t.Errorf("got %+v, want %g", got, c.value)
			}
		})
	}
	for _, text := range []string{"query:", "query:http://127.0.0.1:9090", "query:127.0.0.1:9090?up", "query:http://?up"} {
		t.Run(text, func(t *testing.T) {
			if _, err := Parse(text); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add([]byte(`{"data":{"resultType":"vector","result":[{"value":[1,"1"]}]}}`))
	f.Add([]byte(`{"data":{"resultType":"scalar","result":[1,"2"]}}`))
	f.Fuzz(func(t *testing.T, body []byte) { _, _ = parseQuery(body) })
}

// counter is a source whose value increases by one.
type counter struct{ n atomic.Int64 }

func (*counter) Name() string { return "counter" }

func (c *counter) Sample(context.Context) (Sample, error) {
	n := c.n.Add(1)
	if n%4 == 0 {
		return nil, fmt.Errorf("no answer")
	}
	return Sample{
		{Metric: Metric{Name: "ticks", Counter: true}, Value: float64(n)}, {Metric: Metric{Name: "n"}, Value: 7},
	}, nil
}

func TestFollower(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rate, gauge := NewFollower(&counter{}, "ticks"), NewFollower(&counter{}, "n")
	if v := gauge.Value(); v == v {
		t.Errorf("before any sample it is %g", v)
	}
	for _, f := range []*Follower{rate, gauge} {
		go f.Run(ctx, time.Millisecond)
	}
	var rates, gauges, missing bool
	for ctx.Err() == nil && !(rates && gauges && missing) {
		rates = rates || rate.Value() > 0
		v := gauge.Value()
		gauges = gauges || v == 7
		missing = missing || gauges && v != v
	}
	if !rates || !gauges || !missing {
		t.Errorf("a rate %v, a gauge %v, a failure that leaves nothing known %v", rates, gauges, missing)
	}
	if _, err := Find(&counter{}, "tick"); err == nil || !strings.Contains(err.Error(), "did you mean ticks") {
		t.Errorf("a metric that isn't there: %v", err)
	}
}
