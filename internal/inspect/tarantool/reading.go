package tarantool

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

// The kinds of objects of a reading.
const (
	kindStat  = "stat"
	kindGauge = "gauge"
)

// functions are the functions that are called, with the names of the objects that hold their figures. Those of gauges
// hold figures that may also decrease.
var functions = []struct {
	name, kind, object string
}{
	{"box.stat", kindStat, "requests"}, {"box.stat.net", kindStat, "net"}, {"box.stat.sql", kindStat, "sql"},
	{"box.slab.info", kindGauge, "slab"}, {"box.info.memory", kindGauge, "memory"},
	{infoVinyl, kindStat, "vinyl"},
}

const (
	askInfo = "box.info"
	askNet  = "box.stat.net"
	askLua  = "box.info.memory"
)

// reading reads the counters.
func (i *Inspector) reading(ctx context.Context) (*inspect.Reading, error) {
	out := &inspect.Reading{At: time.Now(), Epoch: "0", Objects: map[inspect.Object]map[string]float64{}}
	info, err := i.call(ctx, askInfo)
	if err != nil {
		return nil, err
	}
	i.epoch(out, info)
	for _, f := range functions {
		values, err := i.call(ctx, f.name)
		if err != nil {
			return nil, err
		}
		if values == nil {
			continue
		}
		figures := map[string]float64{}
		flatten(figures, "", values)
		if f.object == "requests" {
			figures["CALL.total"] = max(figures["CALL.total"]-i.calls, 0)
		}
		out.Objects[inspect.Object{Kind: f.kind, Name: f.object}] = figures
	}
	return out, nil
}

// epoch sets the reading's epoch by the process and its uptime.
func (i *Inspector) epoch(r *inspect.Reading, info map[string]any) {
	figures := map[string]float64{}
	flatten(figures, "", info)
	kept := map[string]float64{"uptime": figures["uptime"], "pid": figures["pid"], "lsn": figures["lsn"]}
	object := inspect.Object{Kind: kindGauge, Name: "info"}
	r.Objects[object] = kept
	last := i.readings.Last()
	if last == nil {
		return
	}
	r.Epoch = last.Epoch
	if before := last.Objects[object]; info != nil && (kept["pid"] != before["pid"] || kept["uptime"] < before["uptime"]) {
		r.Epoch += "+"
		i.calls = float64(len(functions))
	}
}

// flatten adds the numbers within a value, with the path to each as its name. Shares such as "7.1%" are fractions.
func flatten(into map[string]float64, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, x := range v {
			if path != "" {
				name = path + "." + name
			}
			flatten(into, name, x)
		}
	case json.Number:
		if x, err := v.Float64(); err == nil {
			into[path] = x
		}
	case string:
		if text, ok := strings.CutSuffix(v, "%"); ok {
			if x, err := strconv.ParseFloat(text, 64); err == nil {
				into[path] = x / 100
			}
		} else if x, err := strconv.ParseFloat(v, 64); err == nil { // a number beyond those of JSON
			into[path] = x
		}
	}
}

// askSettings is a program, which few users may evaluate.
const askSettings = `local r = {} for _, k in ipairs({...}) do if box.cfg[k] ~= nil then r[k] = tostring(box.cfg[k]) end end return r`

// settings returns settings that findings name, or none if the user may not evaluate programs.
func (i *Inspector) settings(ctx context.Context) map[string]string {
	i.queries++
	values, err := i.session.Eval(ctx, askSettings, "net_msg_max", "memtx_memory", "wal_mode", "readahead", "vinyl_memory")
	out := map[string]string{}
	if err != nil || len(values) == 0 {
		return out
	}
	m, _ := values[0].(map[string]any)
	for name, v := range m {
		if text, ok := v.(string); ok {
			out[name] = text
		}
	}
	return out
}

// sightings sums up what samples saw.
type sightings struct {
	lagsNs   []float64 // of the loop
	tripNs   float64   // the shortest round trip; 0 if there is none
	requests []float64 // under way
	lua      []float64 // bytes
	debts    []debt    // of vinyl
	replicas map[string]*replica
}

// debt is what vinyl has yet to do, in bytes.
type debt struct{ queue, level0 float64 }

// replica is what samples saw of a replication.
type replica struct {
	late    int // samples
	worstNs float64
	behind  float64 // rows, at most
	lsn     float64
	grown   bool
	status  string
	broken  int // samples in which it didn't follow
	text    string
}

const (
	restedNs    = int64(time.Millisecond) // of the sleep that measures how late this process is woken
	slowTripNs  = 200e6                   // from which a sample asks nothing more
	infoPeriod  = time.Second
	mostSamples = 20_000
	stale       = 1e6 // seconds: what a replica's lag says before it is known
)

// sample takes one sample: a round trip that passes the loop, and what the server has under way.
func (i *Inspector) sample(ctx context.Context, at time.Duration) error {
	own := lateNs()
	began := time.Now()
	// One question passes the loop as well as another. If requests queue, each takes long.
	net, err := i.call(ctx, askNet)
	if err == nil && net == nil {
		began = time.Now()
		i.queries++
		if refused := i.session.Ping(ctx); refused != nil {
			err = refused
		}
	}
	if err != nil {
		return err
	}
	trip := float64(time.Since(began))
	// What this machine needs to wake a process isn't the server's lag.
	lag := max(trip-2*float64(own), 0)
	figures := map[string]float64{}
	flatten(figures, "", net)
	if trip < slowTripNs {
		memory, err := i.call(ctx, askLua)
		if err != nil {
			return err
		}
		flatten(figures, "memory", memory)
	}
	s := &i.seen
	if s.tripNs == 0 || trip < s.tripNs {
		s.tripNs = trip
	}
	if len(s.lagsNs) < mostSamples {
		s.lagsNs = append(s.lagsNs, lag)
		s.requests = append(s.requests, max(figures["REQUESTS.current"]-1, 0))
		s.lua = append(s.lua, figures["memory.lua"])
	}
	var under []inspect.Session
	if n := int(figures["REQUESTS.current"]) - 1; n > 0 {
		under = append(under, inspect.Session{Application: "requests", State: inspect.Active, Class: "requests", Count: n})
	}
	i.activity.Add(int64(at), under)
	// By the clock: samples of a busy server are rare, and replicas must be seen some times.
	if (i.looked == 0 || at-i.looked >= infoPeriod) && trip < slowTripNs {
		i.looked = max(at, 1)
		return i.sampleInfo(ctx)
	}
	return nil
}

// lateNs returns how late this process is woken from a short sleep.
func lateNs() int64 {
	began := time.Now()
	time.Sleep(time.Duration(restedNs))
	return max(int64(time.Since(began))-restedNs, 0)
}

// sampleInfo looks at the replicas and at vinyl.
func (i *Inspector) sampleInfo(ctx context.Context) error {
	info, err := i.call(ctx, askInfo)
	if err != nil {
		return err
	}
	i.seen.replication(info, i.activity)
	i.beat(ctx)
	vinyl, err := i.call(ctx, infoVinyl)
	if err != nil || vinyl == nil {
		return err
	}
	figures := map[string]float64{}
	flatten(figures, "", vinyl)
	i.seen.debts = append(i.seen.debts, debt{figures["scheduler.compaction_queue"], figures["memory.level0"]})
	return nil
}

// replication adds the state of the replicas. A replica knows its lag behind a master (upstream); a master knows how
// far a replica has come (downstream).
func (s *sightings) replication(info map[string]any, to *inspect.Activity) {
	if s.replicas == nil {
		s.replicas = map[string]*replica{}
	}
	own := number(info["id"])
	all, _ := info["replication"].(map[string]any)
	for id, value := range all {
		member, _ := value.(map[string]any)
		upstream, _ := member["upstream"].(map[string]any)
		downstream, _ := member["downstream"].(map[string]any)
		r := s.replicas[id]
		if r == nil {
			r = &replica{}
			s.replicas[id] = r
		}
		lsn := number(member["lsn"])
		r.grown = r.grown || r.lsn > 0 && lsn > r.lsn
		r.lsn = lsn
		// Servers of a ring are both. One that stands still lets the lag behind it stay as it was.
		lag := r.upstream(upstream)
		if lag >= 0 {
			to.Lag(record.ReplicaLag{Name: "upstream " + id, State: r.status, LagNsMax: int64(lag * 1e9)})
		}
		if r.status == "stopped" || r.status == "disconnected" {
			r.broken++
		}
		behind := -1.0
		if downstream != nil {
			clock, _ := downstream["vclock"].(map[string]any)
			behind = max(number(info["lsn"])-number(clock[strconv.Itoa(int(own))]), 0)
			state, _ := downstream["status"].(string)
			to.Lag(record.ReplicaLag{Name: "downstream " + id, State: state, BytesMax: behind,
				Address: hostOf(upstream)})
			if r.grown = r.grown || behind > 0; upstream == nil {
				if r.status = state; state == "stopped" {
					r.broken++
				}
			}
			r.behind = max(r.behind, behind)
		}
		if lag >= leastLagS || behind >= leastBehind {
			r.late++
		}
	}
}

// upstream notes how a member is replicated from, and returns the lag behind it in s, or -1 if it isn't known.
func (r *replica) upstream(from map[string]any) float64 {
	r.status = ""
	if from == nil {
		return -1
	}
	r.status, _ = from["status"].(string)
	r.text, _ = from["peer"].(string)
	lag := number(from["lag"])
	if lag > stale {
		return -1
	}
	r.worstNs = max(r.worstNs, lag*1e9)
	return lag
}

// hostOf returns the host of a member that is also replicated from; "" if it isn't, or has a name instead of an
// address. A server doesn't know the addresses of replicas that it doesn't replicate from.
func hostOf(upstream map[string]any) string {
	peer, _ := upstream["peer"].(string)
	host, _, _ := net.SplitHostPort(peer[strings.LastIndexByte(peer, '@')+1:])
	if _, err := netip.ParseAddr(host); err != nil {
		return ""
	}
	return host
}

func number(v any) float64 {
	m := map[string]float64{}
	flatten(m, "x", v)
	return m["x"]
}

// plan is the plan of a statement, with details that aren't recorded.
type plan struct {
	record.QueryPlan
	scans []string // names of the tables that it reads as a whole
}

const mostExplained = 12

// explainAll asks for the plans of the SQL statements of the load.
func (i *Inspector) explainAll(ctx context.Context, operations []inspect.Operation) (out []plan, err error) {
	for _, o := range operations {
		for _, text := range o.Statements {
			if len(out) == mostExplained {
				return out, nil
			}
			p := plan{QueryPlan: record.QueryPlan{Operations: []string{o.Name}, Text: text, Source: record.ArgumentsNone}}
			i.queries++
			rows, failure := i.session.Query(ctx, "EXPLAIN QUERY PLAN "+text)
			if i.session.Broken() {
				return out, failure
			}
			if failure != nil {
				p.Failed = failure.Text
			}
			for _, row := range rows {
				fields, _ := row.([]any)
				if len(fields) == 0 {
					continue
				}
				detail, _ := fields[len(fields)-1].(string)
				p.add(detail)
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// add adds a step of a plan. The number of rows in its text is a constant, not an estimate.
func (p *plan) add(detail string) {
	text, _, _ := strings.Cut(detail, " (~")
	p.Nodes = append(p.Nodes, record.PlanNode{Depth: len(p.Nodes), Text: text})
	if table, ok := strings.CutPrefix(text, "SCAN TABLE "); ok {
		table, _, _ = strings.Cut(table, " ")
		p.scans = append(p.scans, table)
	}
}
