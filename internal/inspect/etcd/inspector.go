// Package etcd inspects etcd 3.4 and later: the metrics of every member, their alarms, and the findings that follow
// from them. It reads no keys.
//
// Members are asked over HTTP, at the addresses of clients: /metrics, and the JSON gateway of gRPC. Users need no
// rights for that, but a certificate where clients need one.
package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/process"
	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/connection"
)

const (
	mostBytes   = 16 << 20
	leastSample = 5 * time.Second
	// metricsOption is the parameter of a URL that says where metrics are served (--listen-metrics-urls).
	metricsOption = "metrics"
)

// Form returns the form of the inspector's URLs.
func Form() connection.Form { return connection.Form{Plain: "http", Secure: "https", Port: "2379"} }

// member is one member of a cluster.
type member struct {
	target   protocol.Target
	client   http.Client
	metrics  string // URL
	readings inspect.Readings
	pid      int
	began    time.Time
	queuedNs float64 // waited for a core until Begin
	queue    float64 // mean number of threads that waited for a core; −1 if unknown
	alarm    bool    // NOSPACE
	starts   map[string]bool
	asked    int
}

// Inspector is the inspect.Inspector for the members of a cluster.
type Inspector struct {
	members []*member
	failed  map[string]error
	version string
	old     bool // before 3.4
	samples int
	sampled time.Time
	alarms  error
}

var _ inspect.Inspector = (*Inspector)(nil)

// New parses http://host:port or https://…, with several hosts separated by commas, and returns their inspector. Its
// errors are one line, without secrets.
func New(text string) (*Inspector, error) {
	targets, err := Form().Parse(strings.Replace(text, "etcd://", "http://", 1))
	if err != nil {
		return nil, err
	}
	if err := connection.Only(targets[0], metricsOption); err != nil {
		return nil, err
	}
	i := &Inspector{failed: map[string]error{}}
	where := strings.Split(targets[0].Options[metricsOption], ",")
	for k, t := range targets {
		m := newMember(t)
		if k < len(where) && where[k] != "" {
			m.metrics = strings.TrimSuffix(where[k], "/")
			if !strings.HasSuffix(m.metrics, "/metrics") {
				m.metrics += "/metrics"
			}
		}
		i.members = append(i.members, m)
	}
	return i, nil
}

func newMember(t protocol.Target) *member {
	m := &member{target: t, readings: inspect.Readings{Gauges: gauge}, starts: map[string]bool{}, queue: -1}
	m.client.Transport = &http.Transport{TLSClientConfig: t.TLS, MaxIdleConns: 1}
	m.metrics = m.base() + "/metrics"
	return m
}

func (m *member) base() string {
	if m.target.TLS != nil {
		return "https://" + m.target.Address
	}
	return "http://" + m.target.Address
}

// Name implements inspect.Inspector.
func (i *Inspector) Name() string {
	var all []string
	for _, m := range i.members {
		all = append(all, m.target.Address)
	}
	return "etcd " + strings.Join(all, ",")
}

// do sends a request and returns the answer's body.
func (m *member) do(ctx context.Context, address, body string) ([]byte, error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, errors.New("not an address")
	}
	m.asked++
	answer, err := m.client.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return nil, socket.Explain(ctx, m.target.Address, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %s", answer.Status)
	}
	return text, err
}

// ask asks the gateway of gRPC.
func (m *member) ask(ctx context.Context, path, body string, to any) error {
	text, err := m.do(ctx, m.base()+path, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// read reads the member's metrics.
func (m *member) read(ctx context.Context) (*inspect.Reading, error) {
	text, err := m.do(ctx, m.metrics, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w; where clients need certificates, give them as sslcert and sslkey, or --listen-metrics-urls"+
			" of etcd as metrics=URL", m.metrics, err)
	}
	r, err := reading(bytes.NewReader(text), m.target.Address, time.Now())
	if err == nil && r.Epoch == "" && len(r.Statements) == 0 {
		err = fmt.Errorf("%s has no metrics of etcd", m.metrics)
	}
	if err == nil {
		m.starts[r.Epoch] = true
	}
	return r, err
}

func (m *member) snapshot(ctx context.Context) error {
	r, err := m.read(ctx)
	if err == nil {
		m.readings.Add(r)
	}
	return err
}

// Begin implements inspect.Inspector. It finds the other members. Those that can't be asked are left out.
func (i *Inspector) Begin(ctx context.Context) error {
	i.expand(ctx)
	var status struct {
		Version string `json:"version"`
	}
	if i.members[0].ask(ctx, "/v3/maintenance/status", "{}", &status) == nil { // before anything is counted
		i.version = status.Version
	} else {
		i.oldVersion(ctx)
	}
	errs := i.each(func(m *member) error { return m.begin(ctx) })
	var kept []*member
	for k, m := range i.members {
		if errs[k] == nil {
			kept = append(kept, m)
		} else {
			i.failed[m.target.Address] = errs[k]
		}
	}
	if len(kept) == 0 {
		return errs[0]
	}
	i.members = kept
	return nil
}

// oldVersion asks for the version as servers before 3.4 understand it, whose gateway has another path.
func (i *Inspector) oldVersion(ctx context.Context) {
	var answer struct {
		Server string `json:"etcdserver"`
	}
	_ = i.members[0].ask(ctx, "/version", "", &answer)
	i.version = answer.Server
	i.old = slices.ContainsFunc([]string{"2.", "3.0.", "3.1.", "3.2.", "3.3."}, func(before string) bool {
		return strings.HasPrefix(answer.Server, before)
	})
}

func (m *member) begin(ctx context.Context) error {
	if err := m.snapshot(ctx); err != nil {
		return err
	}
	if found := process.Find([]string{m.target.Address}); len(found) > 0 {
		m.pid, m.began = found[0].PID, time.Now()
		_, m.queuedNs = process.Scheduled(m.pid, true)
	}
	return nil
}

// expand adds the other members of the cluster.
func (i *Inspector) expand(ctx context.Context) {
	var list struct {
		Members []struct {
			ClientURLs []string `json:"clientURLs"`
		} `json:"members"`
	}
	first := i.members[0]
	if len(i.members) > 1 || first.ask(ctx, "/v3/cluster/member/list", "{}", &list) != nil {
		return
	}
	own := func(urls []string) bool {
		return slices.ContainsFunc(urls, func(u string) bool { return strings.HasSuffix(u, "//"+first.target.Address) })
	}
	if !slices.ContainsFunc(list.Members, func(m struct {
		ClientURLs []string `json:"clientURLs"`
	}) bool {
		return own(m.ClientURLs)
	}) {
		return // they advertise other addresses than this one: which of them is asked already isn't known
	}
	for _, m := range list.Members {
		if len(m.ClientURLs) == 0 || own(m.ClientURLs) {
			continue
		}
		if u, err := url.Parse(m.ClientURLs[0]); err == nil && u.Host != "" {
			t := first.target
			t.Address = u.Host
			i.members = append(i.members, newMember(t))
		}
	}
}

func (i *Inspector) each(do func(*member) error) []error {
	errs := make([]error, len(i.members))
	var all sync.WaitGroup
	for k, m := range i.members {
		all.Go(func() { errs[k] = do(m) })
	}
	all.Wait()
	return errs
}

// Snapshot implements inspect.Inspector.
func (i *Inspector) Snapshot(ctx context.Context) error {
	return errors.Join(i.each(func(m *member) error { return m.snapshot(ctx) })...)
}

// Mark implements inspect.Inspector.
func (i *Inspector) Mark(phase inspect.Phase) {
	for _, m := range i.members {
		m.readings.Mark(phase)
	}
}

// Sample implements inspect.Inspector. Metrics are long, so it looks every five seconds, in order to notice restarts.
func (i *Inspector) Sample(ctx context.Context, at time.Duration) error {
	if at < leastSample || time.Since(i.sampled) < leastSample {
		return nil
	}
	i.sampled = time.Now()
	i.samples++
	return errors.Join(i.each(func(m *member) error {
		r, err := m.read(ctx)
		if err == nil {
			m.readings.Follow(r)
		}
		return err
	})...)
}

// End implements inspect.Inspector.
func (i *Inspector) End(ctx context.Context, last inspect.Phase, load inspect.Load) (*record.Inspection, error) {
	out := &record.Inspection{Source: i.Name(), Product: "etcd", Version: i.version,
		Counts: record.CountsMethods}
	err := i.Snapshot(ctx)
	i.Mark(last)
	for _, m := range i.members {
		if took := time.Since(m.began); m.pid != 0 && took > 0 {
			_, queued := process.Scheduled(m.pid, true)
			m.queue = max(queued-m.queuedNs, 0) / float64(took)
		}
	}
	if i.old {
		out.Missing = append(out.Missing, record.Notice("inspect-etcd-old", message.Text("version", i.version)))
	} else {
		i.readAlarms(ctx)
	}
	var all []*inspect.Readings
	for _, m := range i.members {
		all = append(all, &m.readings)
		out.Cost.Queries += m.asked
		if len(m.starts) > 1 {
			out.Missing = append(out.Missing, record.Notice("inspect-restarted", message.Text("server", m.target.Address)))
		}
	}
	for address, err := range i.failed {
		out.Missing = append(out.Missing, record.Notice("inspect-node", message.Text("server", address),
			message.Text("error", err.Error())))
	}
	if i.alarms != nil {
		out.Missing = append(out.Missing, record.Notice("inspect-etcd-alarms",
			message.Text("server", i.members[0].target.Address), message.Text("error", i.alarms.Error())))
	}
	together := inspect.Together(all)
	out.Windows = together.Matched(match(together.Whole(), load.Operations))
	timed := slices.ContainsFunc(out.Windows[0].Statements, func(s record.Statement) bool { return s.TotalNs > 0 })
	if len(out.Windows[0].Statements) > 0 && !timed {
		out.Missing = append(out.Missing, record.NewWarning("inspect-etcd-times"))
	}
	out.Activity.Samples = i.samples
	judge(i, out, load.Operations)
	return out, err
}

// readAlarms asks for the alarms of all members.
func (i *Inspector) readAlarms(ctx context.Context) {
	var answer struct {
		Alarms []struct {
			Alarm string `json:"alarm"`
		} `json:"alarms"`
	}
	i.alarms = i.members[0].ask(ctx, "/v3/maintenance/alarm", `{"action":"GET"}`, &answer)
	for _, a := range answer.Alarms {
		i.members[0].alarm = i.members[0].alarm || a.Alarm == "NOSPACE"
	}
}

// Close implements inspect.Inspector.
func (i *Inspector) Close() {
	for _, m := range i.members {
		m.client.CloseIdleConnections()
	}
}

// match finds the operations that call a method.
func match(list []record.Statement, operations []inspect.Operation) inspect.Matches {
	out := inspect.Matches{}
	for _, s := range list {
		for _, o := range operations {
			if slices.ContainsFunc(o.Requests, func(r *protocol.Request) bool { return methodOf(r) == s.ID }) {
				s.Operations, s.Match = append(s.Operations, o.Name), record.MatchText
			}
		}
		out[s.ID] = s
	}
	return out
}

// methodOf returns the method of gRPC that a request calls; see package protocol/etcd.
func methodOf(r *protocol.Request) string {
	switch r.Verb {
	case protocol.Read, protocol.Scan:
		return "Range"
	case protocol.Insert, protocol.Update:
		return "Put"
	case protocol.Delete:
		return "DeleteRange"
	case protocol.Batch:
		return "Txn"
	}
	if r.Verb != protocol.Command || len(r.Words) == 0 {
		return ""
	}
	return map[string]string{"put": "Put", "get": "Range", "del": "DeleteRange", "txn": "Txn", "compact": "Compact",
		"lease-grant": "LeaseGrant", "lease-revoke": "LeaseRevoke", "lease-keepalive": "LeaseKeepAlive", "lock": "Lock",
		"unlock": "Unlock", "status": "Status", "hashkv": "HashKV", "watch": "Watch"}[r.Words[0]]
}
