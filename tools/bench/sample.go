package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/linefile"
	"brunt/test/testserver"
)

// sample is the result of one turn of one client: a line of the raw results.
type sample struct {
	At        time.Time  `json:"at"`
	Group     string     `json:"group"`
	Client    string     `json:"client"`
	Round     int        `json:"round"`
	Command   []string   `json:"command,omitempty"`
	Requests  uint64     `json:"requests"`
	UserS     float64    `json:"cpu_user_s"`
	SysS      float64    `json:"cpu_sys_s"`
	WallS     float64    `json:"wall_s"`
	CPUUs     float64    `json:"cpu_us_per_request"`
	P50Us     float64    `json:"p50_us,omitempty"`
	P99Us     float64    `json:"p99_us,omitempty"`
	LagP50Us  float64    `json:"lag_p50_us,omitempty"`
	LagP99Us  float64    `json:"lag_p99_us,omitempty"`
	SeenP50Us float64    `json:"seen_lag_p50_us,omitempty"` // lag as measured by the receiver
	SeenP99Us float64    `json:"seen_lag_p99_us,omitempty"`
	RowsPerS  float64    `json:"rows_per_s,omitempty"` // when filling a table, as reported by the client
	PerS      float64    `json:"per_s,omitempty"`      // operations per second, by the client's count and time
	Failed    uint64     `json:"failed,omitempty"`
	Kinds     []uint64   `json:"by_kind,omitempty"`      // requests of each kind, in the order of the table
	ServerS   float64    `json:"server_cpu_s,omitempty"` // CPU time of the server during the turn
	Holding   string     `json:"conditions,omitempty"`   // how many conditions of consistency hold after the turn
	Memory    *footprint `json:"memory,omitempty"`       // when it was largest
	Load1     string     `json:"load1"`                  // the host's load average before the turn
	Stolen    float64    `json:"stolen_share"`           // share of all cores' time that the hypervisor took
	Quiet     bool       `json:"quiet"`                  // stolen_share is below the limit
	Fault     string     `json:"fault,omitempty"`
}

// charge sets the CPU per request from a program's outcome and the sample's number of requests.
func (p *sample) charge(o *outcome) error {
	p.UserS, p.SysS, p.WallS = o.user.Seconds(), o.sys.Seconds(), o.wall.Seconds()
	if p.Requests == 0 {
		return fmt.Errorf("no requests were counted: %s", tail(o.out))
	}
	p.CPUUs = (p.UserS + p.SysS) * 1e6 / float64(p.Requests)
	return nil
}

// serverSeconds returns the CPU time that a server's processes have had so far, those that have ended included: of all
// below and including process pid (proc(5), /proc/PID/stat: ticks of 10 ms).
func serverSeconds(pid int) float64 {
	ticks := 0
	for i, p := range append([]int{pid}, testserver.Descendants(pid)...) {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(p) + "/stat") // one that has ended is added to its parent's
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if len(fields) < 15 {
			continue
		}
		counted := fields[11:13] // of the process
		if i == 0 {
			counted = fields[11:15] // and of its children that have ended
		}
		for _, field := range counted {
			n, _ := strconv.Atoi(field)
			ticks += n
		}
	}
	return float64(ticks) / 100
}

// createLog opens a file of lines that is named after the measurement and the date (UTC). A second measurement on the
// same day appends to the same file.
func createLog(dir, what string) (*linefile.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return linefile.Open(filepath.Join(dir, what+"-"+time.Now().UTC().Format("2006-01-02")+".ndjson"))
}

// plain returns a command for the log, without folders of this machine.
func (s *stand) plain(name string, args []string) []string {
	out := []string{filepath.Base(name)}
	for _, a := range args {
		out = append(out, strings.ReplaceAll(a, s.dir+"/", ""))
	}
	return out
}

// load1 returns the host's load average over the last minute.
func load1() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// stolen returns the time, in seconds over all cores, for which the hypervisor ran something else while this machine
// had work. It is the eighth number of the first line of /proc/stat (proc(5)), in ticks of 10 ms. It returns 0 if there
// is no such file.
func stolen() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return stolenOf(string(text))
}

func stolenOf(stat string) float64 {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	ticks, _ := strconv.ParseFloat(fields[8], 64)
	return ticks / 100
}
