// Package redis inspects Redis 5 and later, and compatible servers (Valkey, KeyDB): the statistics of its commands,
// its slow log, its sessions, and the findings that follow from them. It reads no keys and never uses MONITOR.
//
// The time of a command in INFO's commandstats is the time of its execution in the main thread. Reading the request,
// writing the answer, and waiting for fsync are not in it; waiting for a core is.
package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/connection"
)

const (
	clientName = "brunt-inspect"
	// rights are what the inspector's user needs.
	rights = "+info +slowlog|get +latency|latest +client|list +client|setname +config|get"
	// monitorOption is the parameter of a URL that switches on the latency monitor during the load.
	monitorOption = "latency-monitor"
)

// Form returns the form of the inspector's URLs.
func Form() connection.Form { return connection.Form{Plain: "redis", Secure: "rediss", Port: "6379"} }

// Inspector is the inspect.Inspector for a Redis, or for the nodes of a cluster.
type Inspector struct {
	nodes     []*node
	activity  *inspect.Activity
	monitorMs int
	failed    map[string]error // nodes that couldn't be asked at the beginning
	product   string
}

var _ inspect.Inspector = (*Inspector)(nil)

// New parses redis://user:password@host:port, with several hosts separated by commas, and returns their inspector.
// Its errors are one line, without secrets.
func New(url string) (*Inspector, error) {
	targets, err := Form().Parse(url)
	if err != nil {
		return nil, err
	}
	i := &Inspector{failed: map[string]error{}, activity: inspect.NewActivity()}
	if err := connection.Only(targets[0], monitorOption, "db"); err != nil {
		return nil, err
	}
	if text, given := targets[0].Options[monitorOption]; given {
		if i.monitorMs, err = strconv.Atoi(text); err != nil || i.monitorMs < 1 {
			return nil, fmt.Errorf("%s=%s: write a number of milliseconds, such as 1", monitorOption, text)
		}
	}
	for _, t := range targets {
		i.nodes = append(i.nodes, newNode(t))
	}
	return i, nil
}

// Name implements inspect.Inspector.
func (i *Inspector) Name() string {
	var all []string
	for _, n := range i.nodes {
		all = append(all, n.client.target.Address)
	}
	return "redis " + strings.Join(all, ",")
}

// Begin implements inspect.Inspector. Nodes that can't be asked are left out, unless there is no other.
func (i *Inspector) Begin(ctx context.Context) error {
	errs := i.each(func(n *node) error { return n.begin(ctx, i.monitorMs) })
	var kept []*node
	for k, n := range i.nodes {
		if errs[k] == nil {
			kept = append(kept, n)
			continue
		}
		i.failed[n.client.target.Address] = errs[k]
		n.close()
	}
	if len(kept) == 0 {
		return errs[0]
	}
	i.nodes = kept
	i.expand(ctx)
	all := i.nodes[0].last
	if all["redis_mode"] == "sentinel" {
		return errors.New("this is a Sentinel: name the servers that it monitors")
	}
	i.product = "Redis"
	switch {
	case all["valkey_version"] != "":
		i.product = "Valkey"
	case all["dragonfly_version"] != "":
		i.product = "Dragonfly"
	}
	return nil
}

// expand adds the other nodes of a cluster of which one node is named.
func (i *Inspector) expand(ctx context.Context) {
	if n := i.nodes[0]; len(i.nodes) > 1 || n.last["redis_mode"] != "cluster" {
		return
	}
	answer, err := i.nodes[0].client.ask(ctx, "CLUSTER", "NODES")
	i.nodes[0].note("CLUSTER NODES", err)
	text, _ := answer.(string)
	for _, address := range clusterNodes(text) {
		t := i.nodes[0].client.target
		t.Address = address
		n := newNode(t)
		if err := n.begin(ctx, i.monitorMs); err != nil {
			i.failed[address] = err
			n.close()
			continue
		}
		i.nodes = append(i.nodes, n)
	}
}

// clusterNodes returns the addresses of the other nodes in an answer to CLUSTER NODES: lines of ID, host:port@cport or
// host:port@cport,hostname, and flags.
func clusterNodes(text string) (all []string) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || strings.Contains(f[2], "myself") || strings.Contains(f[2], "fail") ||
			strings.Contains(f[2], "noaddr") {
			continue
		}
		address, _, _ := strings.Cut(f[1], "@")
		if address, _, _ = strings.Cut(address, ","); address != "" {
			all = append(all, address)
		}
	}
	return all
}

// each calls do for every node, at the same time.
func (i *Inspector) each(do func(*node) error) []error {
	errs := make([]error, len(i.nodes))
	var all sync.WaitGroup
	for k, n := range i.nodes {
		all.Go(func() { errs[k] = do(n) })
	}
	all.Wait()
	return errs
}

// Snapshot implements inspect.Inspector.
func (i *Inspector) Snapshot(ctx context.Context) error {
	return errors.Join(i.each(func(n *node) error { return n.snapshot(ctx) })...)
}

// Mark implements inspect.Inspector.
func (i *Inspector) Mark(phase inspect.Phase) {
	for _, n := range i.nodes {
		n.readings.Mark(phase)
	}
}

// Sample implements inspect.Inspector. It looks once a second.
func (i *Inspector) Sample(ctx context.Context, at time.Duration) error {
	if time.Since(i.nodes[0].sampled) < leastSample {
		return nil
	}
	i.nodes[0].sampled = time.Now()
	return i.sample(ctx, at)
}

// sample takes a sample of all nodes.
func (i *Inspector) sample(ctx context.Context, at time.Duration) error {
	err := errors.Join(i.each(func(n *node) error { return n.sample(ctx) })...)
	var all []inspect.Session
	for _, n := range i.nodes {
		all = append(all, n.clients...)
	}
	i.activity.Add(int64(at), all)
	return err
}

// connections returns who had how many connections; nil if that isn't known: a node has too many of them, or the load
// sends commands over sessions that aren't named.
func (i *Inspector) connections(operations []inspect.Operation) []record.ClientPool {
	for _, n := range i.nodes {
		if n.unlisted {
			return nil
		}
	}
	all := i.activity.Record(func(name string) bool { return name == protocol.SessionName }).Clients
	drives := slices.ContainsFunc(operations, func(o inspect.Operation) bool {
		return o.Done > 0 && slices.ContainsFunc(o.Requests, func(r *protocol.Request) bool {
			return r.Verb == protocol.Command
		})
	})
	if drives && !slices.ContainsFunc(all, func(p record.ClientPool) bool { return p.Generator }) {
		return nil
	}
	return all
}

// End implements inspect.Inspector.
func (i *Inspector) End(ctx context.Context, last inspect.Phase, load inspect.Load) (*record.Inspection, error) {
	out := &record.Inspection{Source: i.Name(), Product: i.product, Version: i.version(),
		Counts: record.CountsCommands}
	// The load's sessions may be closed by now, so this sample says nothing about connections.
	err := errors.Join(i.each(func(n *node) error { return n.sample(ctx) })...)
	err = errors.Join(err, i.Snapshot(ctx))
	i.Mark(last)
	var all []*inspect.Readings
	for _, n := range i.nodes {
		all = append(all, &n.readings)
		out.Activity.Replicas = append(out.Activity.Replicas, n.replicas()...)
		for _, w := range n.missing() {
			if !slices.ContainsFunc(out.Missing, func(o record.Warning) bool { return o.Text.Equal(w.Text) }) {
				out.Missing = append(out.Missing, w)
			}
		}
		for _, asked := range n.client.asked {
			out.Cost.Queries += int(asked)
		}
	}
	for address, err := range i.failed {
		out.Missing = append(out.Missing, record.Notice("inspect-node", message.Text("server", address),
			message.Text("error", err.Error())))
	}
	together := inspect.Together(all)
	out.Windows = together.Matched(match(together.Whole(), load.Operations))
	out.Activity.Samples, out.Activity.Clients = i.activity.Samples(), i.connections(load.Operations)
	out.Settings = i.nodes[0].settings()
	judge(i, out, load.Operations)
	return out, err
}

func (i *Inspector) version() string {
	all := i.nodes[0].last
	for _, name := range []string{"valkey_version", "dragonfly_version", "redis_version"} {
		if v := all[name]; v != "" {
			return v
		}
	}
	return ""
}

// Close implements inspect.Inspector.
func (i *Inspector) Close() {
	for _, n := range i.nodes {
		n.close()
	}
}

// settings returns settings that say how the server works.
func (n *node) settings() (out []record.Setting) {
	for _, s := range []record.Setting{
		{Name: "maxmemory", Value: n.last["maxmemory_human"], Default: "0B"},
		{Name: "maxmemory-policy", Value: n.last["maxmemory_policy"], Default: "noeviction"},
		{Name: "aof", Value: n.last["aof_enabled"], Default: "0"},
		{Name: "appendfsync", Value: n.config["appendfsync"], Default: "everysec"},
		{Name: "io-threads-active", Value: n.last["io_threads_active"], Default: "0"},
	} {
		if s.Value != "" && s.Value != s.Default {
			out = append(out, s)
		}
	}
	return out
}

// match finds the operations that send a command, by the words of their requests.
func match(list []record.Statement, operations []inspect.Operation) inspect.Matches {
	out := inspect.Matches{}
	for _, s := range list {
		for _, o := range operations {
			if slices.ContainsFunc(o.Requests, func(r *protocol.Request) bool { return sends(r, s.ID) }) {
				s.Operations, s.Match = append(s.Operations, o.Name), record.MatchText
			}
		}
		out[s.ID] = s
	}
	return out
}

// sends reports whether a request is the command with this name in the statistics.
func sends(r *protocol.Request, name string) bool {
	if len(r.Words) == 0 {
		return false
	}
	command, sub, has := strings.Cut(name, "|")
	return strings.EqualFold(r.Words[0], command) && (!has || len(r.Words) > 1 && strings.EqualFold(r.Words[1], sub))
}

// fits reports whether a logged command may come from a request. The log shortens texts of more than 128 bytes, and
// has at most 32 words.
func fits(r *protocol.Request, words []string) bool {
	if len(r.Words) == 0 || len(words) == 0 || !strings.EqualFold(r.Words[0], words[0]) {
		return false
	}
	for k := 1; k < len(words); k++ {
		cut, shortened := shorten(words[k])
		if k == len(words)-1 && strings.HasSuffix(words[k], "more arguments)") {
			return true
		}
		if k >= len(r.Words) || !alike(r.Words[k], cut, shortened) {
			return false
		}
	}
	return len(words) == len(r.Words)
}

// shorten returns a logged word without its mark of having been shortened: "abc... (12 more bytes)".
func shorten(word string) (cut string, shortened bool) {
	if at := strings.LastIndex(word, "... ("); at >= 0 && strings.HasSuffix(word, " more bytes)") {
		return word[:at], true
	}
	return word, false
}

// alike reports whether a word may come from a template in which $n stands for a parameter, and $$ for a dollar sign.
func alike(template, word string, prefix bool) bool {
	for template != "" {
		if strings.HasPrefix(template, "$$") {
			if word == "" {
				return prefix
			}
			if word[0] != '$' {
				return false
			}
			template, word = template[2:], word[1:]
			continue
		}
		if template[0] == '$' && len(template) > 1 && template[1] >= '0' && template[1] <= '9' {
			rest := strings.TrimLeft(template[1:], "0123456789")
			for at := 0; at <= len(word); at++ {
				if alike(rest, word[at:], prefix) {
					return true
				}
			}
			return false
		}
		if word == "" {
			return prefix
		}
		if template[0] != word[0] {
			return false
		}
		template, word = template[1:], word[1:]
	}
	return word == ""
}
