package scripts_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"brunt/internal/measure"
)

// An iteration of brunt-open is counted once, with any module that sends its requests. The first request has the
// iteration's arrival, and its response time includes the wait for a virtual user.
func TestTheFirstRequestTakesTheArrival(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(20 * time.Millisecond)
		}
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		name, setUp, body string
		done              uint64
		waited            string // the operation of the first request
		unhurried         string // an operation without arrivals
	}{
		{"one request", "", `get("/slow")`, 60, "GET /slow", ""},
		{"of two", "", `get("/slow"); get("/more")`, 120, "GET /slow", "GET /more"},
		{"of a batch", "", `http.batch([["GET", url + "/slow", null, { tags: { name: "/slow" } }],
			["GET", url + "/slow", null, { tags: { name: "/slow" } }]])`, 120, "GET /slow", ""},
		{"failing", "", `get("/bad"); pause(0.02)`, 60, "GET /bad", ""},
		{"refused", "", `http.get("http://127.0.0.1:1/", { tags: { name: "/refused" } }); pause(0.02)`, 60, "GET /refused", ""},
		{"a request before a call", sqlite, `get("/slow"); db.query({ sql: "SELECT 1 AS one", name: "one" })`, 120,
			"GET /slow", "one"},
		{"a call before a request", sqlite, `db.query({ sql: "SELECT 1 AS one", name: "one" }); get("/slow")`, 120, "one",
			"GET /slow"},
		{"none", "", `pause(0.02)`, 60, "iteration a", ""},
		{"an exception", "", `pause(0.02); throw new Error("by the script")`, 60, "iteration a", ""},
	} {
		for _, tags := range []string{"", `systemTags: ["name"],`, `systemTags: ["vu", "iter", "scenario"],`} {
			t.Run(c.name+" "+tags, func(t *testing.T) {
				t.Parallel()
				o := run(t, script(t, c.setUp+`
					import http from "k6/http";
					import { sleep as pause } from "k6";
					const url = "`+server.URL+`", get = (path) => http.get(url + path, { tags: { name: path } });
					export const options = { `+tags+` scenarios: { a: { executor: "brunt-open", rate: 120, duration: "500ms",
						preAllocatedVUs: 1, gracefulStop: "20s" } } };
					export default function () { `+c.body+` }`))
				if o.run == nil {
					t.Fatalf("exit %d", o.code)
				}
				if n := &o.run.Total; n.Done != c.done || n.Offered != 60 || n.Unfinished != 0 || n.Dropped != 0 {
					t.Errorf("done %d of %d, offered %d of 60, in flight %d, dropped %d", n.Done, c.done, n.Offered, n.Unfinished,
						n.Dropped)
				}
				for _, op := range o.run.Operations {
					times := op.Response
					if op.Errors != (measure.ByClass{}) {
						times = op.FailedResponse
					}
					// 60 iterations of at least 20 ms on one virtual user: the last waits for 59 of them, of which at
					// most 500 ms had passed.
					switch waited := times.MaxNs >= 600e6; {
					case op.Name == c.waited && !waited:
						t.Errorf("%s took %v at most from its intended start", op.Name, time.Duration(times.MaxNs))
					case op.Name == c.unhurried && times.MaxNs != op.Service.MaxNs:
						t.Errorf("%s, which is no arrival, took %v, and its service time was %v at most", op.Name,
							time.Duration(times.MaxNs), time.Duration(op.Service.MaxNs))
					case op.Name != c.waited && op.Name != c.unhurried:
						t.Errorf("there is an operation %s", op.Name)
					}
				}
			})
		}
	}
}

// An iteration that exceeds the graceful stop is also counted once, as in flight or as never begun.
func TestRequestsThatAreCutOffAreCountedOnce(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(ended)
	o := run(t, script(t, fmt.Sprintf(`import http from "k6/http";
		export const options = { scenarios: { a: { executor: "brunt-open", rate: 50, duration: "200ms", preAllocatedVUs: 3,
			gracefulStop: "100ms" } } };
		export default function () { http.get("%s/") }`, server.URL)))
	if o.run == nil {
		t.Fatalf("exit %d", o.code)
	}
	if n := &o.run.Total; n.Offered != 10 || n.Unfinished != 3 || n.Dropped != 7 || n.Done != 0 {
		t.Errorf("offered %d of 10, in flight %d of 3, unsent %d of 7, done %d", n.Offered, n.Unfinished, n.Dropped,
			n.Done)
	}
}
