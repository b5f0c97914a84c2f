// Package summary writes Picostress' summary of a run.
package summary

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/record"
)

// Flag is the flag that names the folder of the summary.
const Flag = "summary-dir"

// Summary is Picostress's summary of a run: picodataVersion, configName, seed and rps.actual as
// that tool names them, and what a reader of it needs besides them. Times are milliseconds unless
// the name says seconds.
type Summary struct {
	PicodataVersion string         `json:"picodataVersion"`
	ConfigName      string         `json:"configName"`
	Protocol        string         `json:"protocol"`
	Address         string         `json:"address"`
	LoadModel       string         `json:"loadModel"`
	VUs             int            `json:"vus"`
	Seed            uint64         `json:"seed"`
	Started         string         `json:"started"` // RFC 3339
	SetupSeconds    float64        `json:"setupTime"`
	DurationSeconds float64        `json:"testDuration"`
	Requests        Count          `json:"requests"`
	RPS             Rate           `json:"rps"`
	RespTime        Time           `json:"respTime"`    // end − intended start, of those that succeeded
	ServiceTime     Time           `json:"serviceTime"` // end − actual send
	Errors          map[string]int `json:"errors"`      // by class
	Verdict         string         `json:"verdict"`
	Complete        bool           `json:"complete"`
}

// Count counts finished operations.
type Count struct {
	Total        uint64  `json:"total"`
	Succeeded    uint64  `json:"succeeded"`
	Failed       uint64  `json:"failed"`
	Dropped      uint64  `json:"dropped"`
	ErrorPercent float64 `json:"errorPercentage"`
}

// Rate is operations per second, to 5 decimals. Actual counts
// those that succeeded.
type Rate struct {
	Target float64 `json:"target,omitempty"` // open loads: what the schedule asked for
	Actual float64 `json:"actual"`
}

// Time is a distribution in milliseconds.
type Time struct {
	Avg float64 `json:"avg"`
	Min float64 `json:"min"`
	Med float64 `json:"med"`
	Max float64 `json:"max"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Of sums up a run.
func Of(run *record.Run) *Summary {
	s := &Summary{
		ConfigName: run.Name, LoadModel: run.LoadModel, VUs: run.Sessions, Seed: run.Seed,
		Started: run.Started.UTC().Format(time.RFC3339), DurationSeconds: round5(float64(run.DurationNs) / 1e9),
		Requests: Count{Total: run.Total.Done, Succeeded: run.Total.OK, Failed: run.Total.Failed, Dropped: run.Total.Dropped},
		RPS:      Rate{Target: round5(run.Total.OfferedPerS)},
		RespTime: timeOf(&run.Total.ResponseOK), ServiceTime: timeOf(&run.Total.Service),
		Errors: map[string]int{}, Verdict: run.Verdict.Result, Complete: run.Complete,
	}
	var addresses []string
	for _, t := range run.Targets {
		addresses = append(addresses, t.Address)
		s.Protocol = t.Protocol
		if s.PicodataVersion == "" && t.Version != "" {
			s.PicodataVersion = strings.TrimSpace(t.Product + " " + t.Version)
			if t.Product == "Picodata" {
				s.PicodataVersion = t.Version
			}
		}
	}
	s.Address = strings.Join(addresses, " ")
	if run.Setup != nil {
		s.SetupSeconds = round5(float64(run.Setup.DurationNs) / 1e9)
	}
	s.RPS.Actual = round5(record.PerSecond(run.Total.OK, run.DurationNs))
	if run.Total.Done > 0 {
		s.Requests.ErrorPercent = round5(100 * float64(run.Total.Failed) / float64(run.Total.Done))
	}
	for _, class := range run.Total.Errors.Sorted() {
		s.Errors[class.String()] = int(run.Total.Errors[class])
	}
	return s
}

func timeOf(l *record.Latency) Time {
	ms := func(ns float64) float64 { return round5(ns / 1e6) }
	return Time{
		Avg: ms(l.MeanNs), Min: ms(float64(l.MinNs)), Med: ms(float64(l.P50Ns)), Max: ms(float64(l.MaxNs)),
		P90: ms(float64(l.P90Ns)), P95: ms(float64(l.P95Ns)), P99: ms(float64(l.P99Ns)),
	}
}

func round5(x float64) float64 { return math.Round(x*1e5) / 1e5 }

// JSON returns the summary as in its file, indented by two.
func (s *Summary) JSON() ([]byte, error) { return json.MarshalIndent(s, "", "  ") }

var blankLines = lazyregexp.New(`(\n\s*\n)+`)

// Text returns the summary as Picostress prints it: the JSON without quotes, braces and commas, and without blank
// lines.
func (s *Summary) Text() (string, error) {
	data, err := s.JSON()
	if err != nil {
		return "", err
	}
	text := strings.NewReplacer(`"`, "", "{", "", "}", "", ",", "").Replace(string(data))
	return blankLines().ReplaceAllString(text, "\n"), nil
}

// File returns the name of the summary of a run with a seed.
func File(seed uint64) string { return "summary_" + strconv.FormatUint(seed, 10) + ".json" }

// Write writes dir/summary_<seed>.json, making the folder if need be and replacing a summary of the same seed. It
// returns the file's path.
func Write(fsys record.FS, dir string, run *record.Run) (path string, err error) {
	data, err := Of(run).JSON()
	if err != nil {
		return "", fmt.Errorf("encode the summary: %w", err)
	}
	path = filepath.Join(dir, File(run.Seed))
	if err = fsys.MkdirAll(dir); err == nil {
		err = record.ReplaceFile(fsys, path, append(data, '\n'))
	}
	if err != nil {
		return "", fmt.Errorf("the summary can't be written to %s: %w; name another folder with --%s", path,
			record.FileCause(err), Flag)
	}
	return path, nil
}
