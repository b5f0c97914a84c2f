package redis

import (
	"strconv"
	"strings"
	"time"

	"brunt/internal/inspect"
)

// Kinds of objects in windows.
const (
	kindNode    = "server" // of INFO's figures
	kindError   = "error"  // of INFO's errorstats, by code
	kindCommand = "command"
)

// cumulative lists the figures of INFO that count from the server's start, in addition to those that begin with total_.
// Everything else is a gauge.
var cumulative = [...]string{
	"used_cpu_sys", "used_cpu_user", "used_cpu_sys_main_thread", "used_cpu_user_main_thread", "used_cpu_sys_children",
	"used_cpu_user_children", "rejected_connections", "sync_full", "sync_partial_ok", "sync_partial_err", "expired_keys",
	"evicted_keys", "keyspace_hits", "keyspace_misses", "aof_delayed_fsync", "evicted_clients",
	"io_threaded_reads_processed", "io_threaded_writes_processed", "unexpected_error_replies",
	"acl_access_denied_auth", "acl_access_denied_cmd",
	"client_output_buffer_limit_disconnections", "client_query_buffer_limit_disconnections", "eventloop_cycles",
	"eventloop_duration_sum", "eventloop_duration_cmd_sum", "count",
}

// gauge tells which figures aren't counters.
func gauge(_, figure string) bool {
	if strings.HasPrefix(figure, "total_") {
		return false
	}
	for _, name := range cumulative {
		if name == figure {
			return false
		}
	}
	return true
}

// info is an answer to INFO, by name.
type info map[string]string

func (i info) number(name string) float64 {
	v, err := strconv.ParseFloat(i[name], 64)
	if err != nil {
		return 0
	}
	return v
}

// parseInfo parses the lines "name:value".
func parseInfo(text string) info {
	all := info{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}

// fields parses "a=1,b=2".
func fields(text string) map[string]float64 {
	out := map[string]float64{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = v
		}
	}
	return out
}

// reading returns the statistics in an answer to INFO. What this connection asked itself is subtracted.
func reading(all info, name string, asked map[string]float64, at time.Time) *inspect.Reading {
	out := &inspect.Reading{At: at, Epoch: all["run_id"], Statements: map[string]inspect.Tally{},
		Objects: map[inspect.Object]map[string]float64{}}
	figures := map[string]float64{}
	for key, value := range all {
		if command, ok := strings.CutPrefix(key, "cmdstat_"); ok {
			if t, ok := tally(command, fields(value), asked[command]); ok {
				out.Statements[command] = t
			}
			continue
		}
		if failure, ok := strings.CutPrefix(key, "errorstat_"); ok {
			out.Objects[inspect.Object{Kind: kindError, Name: failure}] = fields(value)
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			figures[key] = v
		}
	}
	out.Objects[inspect.Object{Kind: kindNode, Name: name}] = figures
	return out
}

// tally returns the statistics of a command without own calls. Their time is taken to be the mean.
func tally(command string, f map[string]float64, own float64) (inspect.Tally, bool) {
	calls := f["calls"] - own
	if f["calls"] <= 0 || calls < 0 {
		calls = 0
	}
	share := 1.0
	if f["calls"] > 0 {
		share = calls / f["calls"]
	}
	t := inspect.Tally{Text: text(command), Calls: calls, TotalNs: f["usec"] * 1e3 * share,
		More: map[string]float64{"rejected_calls": f["rejected_calls"], "failed_calls": f["failed_calls"]}}
	return t, true
}

// text returns a command as users write it.
func text(command string) string { return strings.ToUpper(strings.ReplaceAll(command, "|", " ")) }

// slow is an entry of SLOWLOG.
type slow struct {
	id    int64
	took  time.Duration
	words []string
}

// parseSlow parses an answer to SLOWLOG GET: lists of ID, time, duration in µs, words and, since Redis 4, the client.
func parseSlow(answer any) (out []slow) {
	list, _ := answer.([]any)
	for _, one := range list {
		entry, _ := one.([]any)
		if len(entry) < 4 {
			continue
		}
		s := slow{}
		s.id, _ = entry[0].(int64)
		took, _ := entry[2].(int64)
		s.took = time.Duration(took) * time.Microsecond
		words, _ := entry[3].([]any)
		for _, w := range words {
			word, _ := w.(string)
			s.words = append(s.words, word)
		}
		if len(s.words) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// session is a line of CLIENT LIST.
type session map[string]string

func (s session) number(name string) float64 {
	v, _ := strconv.ParseFloat(s[name], 64)
	return v
}

func parseSessions(text string) (out []session) {
	for line := range strings.Lines(text) {
		s := session{}
		for part := range strings.FieldsSeq(line) {
			if name, value, ok := strings.Cut(part, "="); ok {
				s[name] = value
			}
		}
		if s["id"] != "" {
			out = append(out, s)
		}
	}
	return out
}

// latest is the state of an event of the latency monitor.
type latest struct{ at, lastMs, maxMs int64 }

// parseLatest parses an answer to LATENCY LATEST: lists of event, time, and its last and longest duration in ms.
func parseLatest(answer any) map[string]latest {
	out := map[string]latest{}
	list, _ := answer.([]any)
	for _, one := range list {
		entry, _ := one.([]any)
		if len(entry) < 4 {
			continue
		}
		name, _ := entry[0].(string)
		var l latest
		l.at, _ = entry[1].(int64)
		l.lastMs, _ = entry[2].(int64)
		l.maxMs, _ = entry[3].(int64)
		out[name] = l
	}
	return out
}
