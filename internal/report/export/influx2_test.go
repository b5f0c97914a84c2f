package export

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"brunt/test/testserver"
)

// influxAsks queries a server that requires a user.
func influxAsks(t *testing.T, s *testserver.Server, user, password, query string) (values [][]any) {
	t.Helper()
	form := url.Values{"q": {query}, "db": {"load"}}
	r, err := http.NewRequest(http.MethodPost, "http://"+s.Addr+"/query", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct {
		Error   string
		Results []struct {
			Error  string
			Series []struct{ Values [][]any }
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Error != "" || len(got.Results) != 1 ||
		got.Results[0].Error != "" {
		t.Fatalf("%s: %s %v %+v", query, answer.Status, err, got)
	}
	for _, series := range got.Results[0].Series {
		values = append(values, series.Values...)
	}
	return values
}

// InfluxDB 1.8 accepts the writes of version 2, with user:password as the token and database/policy as the bucket.
func TestInfluxDB2(t *testing.T) {
	const admin, secret = "admin", "geheim"
	s := testserver.InfluxDB18(t, testserver.Settings("auth-enabled = true"))
	influxAsks(t, s, "", "", "CREATE USER "+admin+" WITH PASSWORD '"+secret+"' WITH ALL PRIVILEGES")
	for _, query := range []string{
		"CREATE DATABASE load", "CREATE RETENTION POLICY weeks ON load DURATION INF REPLICATION 1",
		"CREATE USER writer WITH PASSWORD '" + secret + "'", "GRANT WRITE ON load TO writer",
		"CREATE USER reader WITH PASSWORD '" + secret + "'", "GRANT READ ON load TO reader",
	} {
		influxAsks(t, s, admin, secret, query)
	}
	send := func(token, bucket string, intervals int) (lost string) {
		e := exporter(t, Options{
			Destinations: []string{"influx=http://" + s.Addr + "?org=any&bucket=" + url.QueryEscape(bucket)},
			Getenv:       func(name string) string { return map[string]string{"INFLUX_TOKEN": token}[name] },
		})
		quickly(e)
		began := time.Unix(1_800_000_000, 0)
		for n := range intervals {
			_ = e.Interval(testInterval(n, began))
		}
		for _, w := range e.Close(nil) {
			if w.ID != "export-lost" || strings.Contains(fmt.Sprint(w), secret) {
				t.Errorf("warning %+v", w)
			}
			lost += w.Text.String()
		}
		if state := e.pushers[0].transfer(); (lost == "") != (state.sent == uint64(intervals)) ||
			state.sent+state.lost != uint64(intervals) {
			t.Errorf("%d sent and %d lost of %d, told %q", state.sent, state.lost, intervals, lost)
		}
		return lost
	}
	for bucket, policy := range map[string]string{"load": "autogen", "load/autogen": "autogen", "load/weeks": "weeks"} {
		if lost := send("writer:"+secret, bucket, 60); lost != "" {
			t.Fatalf("%s: %s", bucket, lost)
		}
		rows := influxAsks(t, s, admin, secret,
			"SELECT sum(done), sum(ok), sum(failed_timeout), count(service_p999_ns) FROM load."+policy+
				".brunt WHERE operation = 'buy' AND run = 'shop, big one' AND time >= 1800000000s AND time <= 1800000060s")
		if len(rows) != 1 || fmt.Sprint(rows[0][1:]) != "[6000 5400 600 60]" {
			t.Errorf("%s: rows %v", bucket, rows)
		}
	}
	for _, c := range []struct{ token, bucket, want string }{
		{"writer:" + secret + "x", "load", "401"},
		{"nobody:" + secret, "load", "401"},
		{secret, "load", "401"},
		{"", "load", "401"},
		{"reader:" + secret, "load", "403"},
		{admin + ":" + secret, "nowhere", "not found"},
	} {
		if lost := send(c.token, c.bucket, 3); !strings.Contains(lost, c.want) || !strings.Contains(lost, "3 ") {
			t.Errorf("%s: told %q, want %q", c.bucket, lost, c.want)
		}
	}
	if rows := influxAsks(t, s, admin, secret, "SELECT count(done) FROM load.autogen.brunt WHERE operation = 'buy'"); len(
		rows) != 1 || fmt.Sprint(rows[0][1]) != "60" {
		t.Errorf("refused points were written: %v", rows)
	}
}
