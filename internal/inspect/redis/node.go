package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/process"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// How much is asked and kept.
const (
	slowEntries  = "128"    // of SLOWLOG
	mostSlow     = 10_000   // kept
	mostSessions = 200      // CLIENT LIST is asked if there are no more sessions
	leastOutput  = 64 << 10 // bytes in an output buffer from which on a session is followed
	leastSample  = time.Second
)

// node is one server.
type node struct {
	client   client
	readings inspect.Readings
	first    info // at the load's beginning
	last     info // the latest
	sampled  time.Time
	slowest  int64 // ID of the newest entry of SLOWLOG that isn't the load's
	slow     map[int64]slow
	held     map[string]*held
	clients  []inspect.Session // of the latest sample, by name and address
	own      *process.Own      // tells the load's from others
	unlisted bool              // a sample couldn't have them
	before   map[string]latest // events of the latency monitor
	events   map[string]latest // those during the load
	config   map[string]string
	restore  string // the latency monitor's setting before the load; "" if it wasn't changed
	lagMax   map[string]float64
	restarts int
	other    string    // run_id of another server that answered
	began    time.Time // of the first question
	unlike   []refusedAsk
}

// refusedAsk is a question that wasn't permitted.
type refusedAsk struct {
	what string
	err  error
}

// held is a session whose answers waited in the server's memory.
type held struct {
	session session
	times   int // samples with 1 MB or more
	maxB    float64
}

func newNode(t protocol.Target) *node {
	return &node{own: process.NewOwn(t.Address), client: client{target: t, asked: map[string]float64{}},
		readings: inspect.Readings{Gauges: gauge}, slow: map[int64]slow{}, held: map[string]*held{},
		events: map[string]latest{}, config: map[string]string{}, lagMax: map[string]float64{}}
}

// begin connects and reads what the load's figures are compared with. monitorMs, if not 0, is the threshold of the
// latency monitor during the load.
func (n *node) begin(ctx context.Context, monitorMs int) error {
	if err := n.client.connect(ctx); err != nil {
		return err
	}
	n.began = time.Now()
	if err := n.snapshot(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return n.explain(err)
	}
	n.first = n.last
	for _, name := range []string{"appendfsync", "maxmemory-policy", "latency-monitor-threshold",
		"slowlog-log-slower-than", "slowlog-max-len"} {
		n.setting(ctx, name)
	}
	if threshold := n.config["latency-monitor-threshold"]; monitorMs > 0 && threshold != "" {
		_, err := n.client.ask(ctx, "CONFIG", "SET", "latency-monitor-threshold", fmt.Sprint(monitorMs))
		n.note("CONFIG SET", err)
		if err == nil {
			n.restore, n.config["latency-monitor-threshold"] = threshold, fmt.Sprint(monitorMs)
		}
	}
	answer, err := n.client.ask(ctx, "SLOWLOG", "GET", "1")
	n.note("SLOWLOG GET", err)
	n.slowest = -1
	for _, s := range parseSlow(answer) {
		n.slowest = s.id
	}
	answer, err = n.client.ask(ctx, "LATENCY", "LATEST")
	n.note("LATENCY LATEST", err)
	n.before = parseLatest(answer)
	return nil
}

func (n *node) setting(ctx context.Context, name string) {
	answer, err := n.client.ask(ctx, "CONFIG", "GET", name)
	n.note("CONFIG GET", err)
	if list, _ := answer.([]any); len(list) == 2 {
		n.config[name], _ = list[1].(string)
	}
}

// explain returns what to do about an error of INFO.
func (n *node) explain(err error) error {
	switch {
	case code(err) == "NOPERM":
		return fmt.Errorf("user %s may not ask for statistics: as an administrator, ACL SETUSER %s %s",
			n.client.target.User, n.client.target.User, rights)
	case code(err) == "NOAUTH":
		return errors.New("it asks for a password; write redis://user:password@host:port")
	case code(err) == "ERR", code(err) == "" && n.client.conn == nil:
		return fmt.Errorf("it refuses INFO (%w): if this is a proxy such as twemproxy, name the servers behind it", err)
	}
	return err
}

// note notes a question that wasn't permitted or isn't known. What fails with the connection is tried again.
func (n *node) note(what string, err error) {
	if code(err) == "" {
		return
	}
	for _, u := range n.unlike {
		if u.what == what {
			return
		}
	}
	n.unlike = append(n.unlike, refusedAsk{what, err})
}

// snapshot reads the statistics. A phase may end there.
func (n *node) snapshot(ctx context.Context) error {
	r, err := n.read(ctx)
	if err == nil {
		n.readings.Add(r)
	}
	return err
}

// read asks for the statistics.
func (n *node) read(ctx context.Context) (*inspect.Reading, error) {
	if err := n.client.connect(ctx); err != nil {
		return nil, err
	}
	answer, err := n.client.ask(ctx, "INFO", "all")
	if err != nil {
		return nil, err
	}
	text, _ := answer.(string)
	all := parseInfo(text)
	if n.last != nil && n.last["run_id"] != all["run_id"] {
		// A server that has been up for longer than it has been asked is another one, behind a proxy.
		if up := time.Duration(all.number("uptime_in_seconds")) * time.Second; up > time.Since(n.began)+time.Second {
			n.other = all["run_id"]
		} else {
			n.restarts++
		}
		clear(n.client.asked)
		n.client.count([]string{"INFO"})
		n.slowest, n.before = -1, nil
	}
	n.last = all
	n.lag(all)
	return reading(all, n.client.target.Address, n.client.asked, time.Now()), nil
}

// lag notes how far replicas are behind: slave0:ip=…,port=…,state=online,offset=…,lag=….
func (n *node) lag(all info) {
	for key, value := range all {
		if !strings.HasPrefix(key, "slave") || !strings.Contains(value, "offset=") {
			continue
		}
		f := map[string]string{}
		for part := range strings.SplitSeq(value, ",") {
			name, v, _ := strings.Cut(part, "=")
			f[name] = v
		}
		name := f["ip"] + ":" + f["port"]
		behind := all.number("master_repl_offset") - info(f).number("offset")
		n.lagMax[name] = max(n.lagMax[name], behind)
	}
}

// sample looks at slow commands, sessions and events.
func (n *node) sample(ctx context.Context) error {
	r, err := n.read(ctx)
	if err != nil {
		return err
	}
	n.readings.Follow(r)
	answer, err := n.client.ask(ctx, "SLOWLOG", "GET", slowEntries)
	n.note("SLOWLOG GET", err)
	for _, s := range parseSlow(answer) {
		if s.id > n.slowest && len(n.slow) < mostSlow {
			n.slow[s.id] = s
		}
	}
	if n.last.number("connected_clients") <= mostSessions {
		answer, err = n.client.ask(ctx, "CLIENT", "LIST")
		n.note("CLIENT LIST", err)
		text, _ := answer.(string)
		n.sessions(parseSessions(text))
		n.unlisted = n.unlisted || code(err) != ""
	} else {
		n.unlisted = true
	}
	answer, err = n.client.ask(ctx, "LATENCY", "LATEST")
	n.note("LATENCY LATEST", err)
	for name, l := range parseLatest(answer) {
		if before := n.before[name]; l.at > before.at || l.maxMs > before.maxMs {
			e := n.events[name]
			l.lastMs = max(l.lastMs, e.lastMs)
			n.events[name] = l
		}
	}
	return nil
}

// sessions notes who is connected, and sessions whose answers wait to be read. Replicas and monitors have their own
// buffers. What sessions do isn't known: Redis executes one command at a time, which is now CLIENT LIST.
func (n *node) sessions(all []session) {
	n.clients = nil
	addresses := make([]string, len(all))
	for k, s := range all {
		addresses[k] = s["addr"]
	}
	own := n.own.Among(addresses)
	for k, s := range all {
		if strings.ContainsAny(s["flags"], "SM") || s["name"] == clientName {
			continue
		}
		host, _, _ := net.SplitHostPort(s["addr"])
		name := s["name"]
		if own[k] {
			name = protocol.SessionName
		}
		n.clients = append(n.clients, inspect.Session{Application: name, Address: host, Count: 1})
		output := s.number("omem")
		if output < leastOutput {
			continue
		}
		h := n.held[s["id"]]
		if h == nil {
			h = &held{}
			n.held[s["id"]] = h
		}
		h.session, h.maxB = s, max(h.maxB, output)
		if output >= heldB {
			h.times++
		}
	}
}

// close restores the latency monitor's setting and closes the connection.
func (n *node) close() {
	if n.restore != "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if n.client.connect(ctx) == nil {
			_, _ = n.client.ask(ctx, "CONFIG", "SET", "latency-monitor-threshold", n.restore)
		}
		cancel()
		n.restore = ""
	}
	n.client.close()
}

// replicas returns how far the node's replicas were behind at most.
func (n *node) replicas() (out []record.ReplicaLag) {
	for name, behind := range n.lagMax {
		host, _, _ := net.SplitHostPort(name)
		out = append(out, record.ReplicaLag{Name: name, State: "online", BytesMax: behind, Address: host})
	}
	return out
}

// missing returns what wasn't permitted, and what isn't switched on.
func (n *node) missing() (out []record.Warning) {
	user := n.client.target.User
	if user == "" {
		user = "default"
	}
	for _, u := range n.unlike {
		if code(u.err) == "NOPERM" {
			out = append(out, record.NewWarning("inspect-redis-rights", message.Text("what", u.what),
				message.Text("user", user), message.Text("rights", rights)))
			continue
		}
		out = append(out, record.Notice("inspect-redis-unknown", message.Text("what", u.what),
			message.Text("error", u.err.Error())))
	}
	if n.other != "" {
		out = append(out, record.NewWarning("inspect-servers", message.Text("first", n.first["run_id"]),
			message.Text("second", n.other)))
	} else if n.restarts > 0 {
		out = append(out, record.Notice("inspect-restarted", message.Text("server", n.client.target.Address)))
	} else if n.readings.Reset() {
		out = append(out, record.Notice("inspect-redis-reset", message.Text("server", n.client.target.Address)))
	}
	return out
}
