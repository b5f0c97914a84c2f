package etcd

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"time"

	"brunt/internal/inspect"
)

// Kinds of objects in windows.
const (
	kindMember = "member"
	kindError  = "error" // of gRPC, by code
)

// gauges are the figures that aren't counters.
var gauges = [...]string{"etcd_mvcc_db_total_size_in_bytes", "etcd_mvcc_db_total_size_in_use_in_bytes",
	"etcd_server_quota_backend_bytes", "etcd_server_has_leader", "etcd_server_is_leader", "go_goroutines",
	"process_start_time_seconds", "process_resident_memory_bytes", "etcd_debugging_mvcc_watcher_total",
	"etcd_debugging_mvcc_keys_total", "etcd_server_proposals_pending",
	// Two values a minute: what matters is their mean since the start.
	roundTrip + "_sum", roundTrip + "_count"}

// figures are the counters that are kept.
var figures = [...]string{"etcd_disk_wal_fsync_duration_seconds_sum", "etcd_disk_wal_fsync_duration_seconds_count",
	"etcd_disk_backend_commit_duration_seconds_sum", "etcd_disk_backend_commit_duration_seconds_count",
	"etcd_disk_backend_defrag_duration_seconds_sum", "etcd_disk_backend_defrag_duration_seconds_count",
	"etcd_server_slow_apply_total", "etcd_server_leader_changes_seen_total",
	"etcd_network_client_grpc_sent_bytes_total", "etcd_network_client_grpc_received_bytes_total",
	"etcd_debugging_lease_granted_total", "etcd_mvcc_put_total", "etcd_debugging_mvcc_put_total",
	"etcd_debugging_mvcc_events_total", "etcd_mvcc_range_total",
	"etcd_debugging_mvcc_db_compaction_total_duration_milliseconds_sum", "process_cpu_seconds_total",
	"etcd_server_proposals_failed_total"}

func gauge(_, figure string) bool { return among(gauges[:], figure) }

func among(list []string, name string) bool {
	for _, one := range list {
		if one == name {
			return true
		}
	}
	return false
}

// The metrics of gRPC's methods. Their times are measured with --metrics=extensive.
const (
	handled     = "grpc_server_handled_total"
	handlingSum = "grpc_server_handling_seconds_sum"
	startTime   = "process_start_time_seconds"
)

// longestLine is the length of the longest line of metrics that is understood.
const longestLine = 64 << 10

// reading parses metrics in Prometheus' text format (prometheus.io, "Exposition formats") as far as they are needed.
// name is the member's.
func reading(in io.Reader, name string, at time.Time) (*inspect.Reading, error) {
	out := &inspect.Reading{At: at, Statements: map[string]inspect.Tally{},
		Objects: map[inspect.Object]map[string]float64{}}
	own := map[string]float64{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		metric, labels, value, ok := sample(lines.Text())
		switch {
		case !ok:
		case metric == handled:
			method(out, labels, value)
		case metric == handlingSum:
			id := label(labels, "grpc_method")
			t := out.Statements[id]
			t.Text, t.TotalNs = id, t.TotalNs+value*1e9
			out.Statements[id] = t
		case among(figures[:], metric) || among(gauges[:], metric):
			own[metric] += value
		}
	}
	if v := own[startTime]; v > 0 {
		out.Epoch = strconv.FormatFloat(v, 'f', -1, 64)
	}
	out.Objects[inspect.Object{Kind: kindMember, Name: name}] = own
	return out, lines.Err()
}

// method adds the calls of a method with one result.
func method(out *inspect.Reading, labels string, calls float64) {
	id, code := label(labels, "grpc_method"), label(labels, "grpc_code")
	t := out.Statements[id]
	if t.More == nil {
		t.More = map[string]float64{}
	}
	t.Text, t.Calls = id, t.Calls+calls
	if code != "OK" && code != "Canceled" {
		t.More["failed_calls"] += calls
		of := inspect.Object{Kind: kindError, Name: code}
		if out.Objects[of] == nil {
			out.Objects[of] = map[string]float64{}
		}
		out.Objects[of]["count"] += calls
	}
	out.Statements[id] = t
}

// sample parses a line: name{labels} value.
func sample(line string) (metric, labels string, value float64, ok bool) {
	if line == "" || line[0] == '#' {
		return "", "", 0, false
	}
	rest := line
	if open := strings.IndexByte(line, '{'); open >= 0 {
		end := strings.LastIndexByte(line, '}')
		if end < open {
			return "", "", 0, false
		}
		metric, labels, rest = line[:open], line[open+1:end], line[end+1:]
	} else {
		metric, rest, _ = strings.Cut(line, " ")
	}
	f := strings.Fields(rest)
	if len(f) == 0 {
		return "", "", 0, false
	}
	value, err := strconv.ParseFloat(f[0], 64)
	return metric, labels, value, err == nil && value >= 0
}

// label returns the value of a label; gRPC's labels have no quotes in them.
func label(labels, name string) string {
	_, after, ok := strings.Cut(","+labels, ","+name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(after, `"`)
	return value
}
