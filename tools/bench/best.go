package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bestFile is the file of the best ratios ever measured. It is in the folder of the raw results.
const bestFile = "best.json"

// mostLost is the share by which a ratio may be worse than the best one without counting as a loss of speed.
const mostLost = 0.03

// mark contains the best results of ours relative to a peer, over all rows with enough quiet rounds. A ratio is the
// median of the rounds' ratios of ours to the peer's; 0 if none was measured.
type mark struct {
	Group    string  `json:"group"`
	Ours     string  `json:"ours"`
	Peer     string  `json:"peer"`
	CPURatio float64 `json:"cpu_ratio,omitempty"`  // the least ratio of CPU per request
	CPUFrom  string  `json:"cpu_from,omitempty"`   // the raw results that it comes from
	PerS     float64 `json:"rate_ratio,omitempty"` // the greatest ratio of operations per second
	PerSFrom string  `json:"rate_from,omitempty"`
}

// keep updates the mark if a line is better. from names the raw results.
func (m *mark) keep(l *line, from string) {
	if r := round3(median(l.ratios)); r > 0 && (m.CPURatio == 0 || r < m.CPURatio) {
		m.CPURatio, m.CPUFrom = r, from
	}
	if r := round3(median(l.rates)); r > 0 && r > m.PerS {
		m.PerS, m.PerSFrom = r, from
	}
}

// round3 rounds to three decimals. Further ones mean nothing, given the spread of the rounds.
func round3(f float64) float64 { return math.Round(f*1000) / 1000 }

// lost describes by how much a line is worse than the best result, or returns "" if it isn't by more than mostLost.
func (m *mark) lost(l *line) string {
	var all []string
	if r := median(l.ratios); m.CPURatio > 0 && r > m.CPURatio*(1+mostLost) {
		all = append(all, fmt.Sprintf("CPU a request %.2f of the peer's, %.2f at best (%s): %+.0f %%",
			r, m.CPURatio, m.CPUFrom, 100*(r/m.CPURatio-1)))
	}
	if r := median(l.rates); m.PerS > 0 && l.rate > 0 && r > 0 && r < m.PerS*(1-mostLost) {
		all = append(all, fmt.Sprintf("%.2f of the peer's rate, %.2f at best (%s): %+.0f %%",
			r, m.PerS, m.PerSFrom, 100*(r/m.PerS-1)))
	}
	return strings.Join(all, "; ")
}

// isOurs reports whether a line is about brunt. Other lines, such as those of the bare loop, are only for comparison.
func (l *line) isOurs() bool { return strings.HasPrefix(l.ours, "brunt") }

// marks contains the best ratios of each pair of clients in each group.
type marks []mark

func (b marks) find(l *line) *mark {
	for i := range b {
		if b[i].Group == l.group && b[i].Ours == l.ours && b[i].Peer == l.peer {
			return &b[i]
		}
	}
	return nil
}

// keep updates the marks with lines that are better. Rows without enough quiet rounds are ignored.
func (b *marks) keep(lines []line, from string) {
	for i := range lines {
		l := &lines[i]
		if l.quiet == 0 || len(l.ratios) == 0 || !l.isOurs() {
			continue
		}
		m := b.find(l)
		if m == nil {
			*b = append(*b, mark{Group: l.group, Ours: l.ours, Peer: l.peer})
			m = &(*b)[len(*b)-1]
		}
		m.keep(l, from)
	}
}

// compare prints the lines that are worse than the best results. It returns an error if one of them has enough quiet
// rounds; noisy ones are only printed.
func (b marks) compare(w io.Writer, lines []line) error {
	slower := 0
	for i := range lines {
		l := &lines[i]
		m := b.find(l)
		if m == nil {
			continue
		}
		if lost := m.lost(l); lost != "" {
			how := "slower than the best"
			if l.quiet == 0 {
				how = "slower than the best, on noisy rounds"
			} else {
				slower++
			}
			fmt.Fprintf(w, "%s, %s next to %s: %s: %s\n", how, l.ours, l.peer, l.work, lost)
		}
	}
	if slower > 0 {
		return fmt.Errorf("%d of %d rows lost more than %.0f %% of the best speed (docs/bench/%s)",
			slower, len(lines), 100*mostLost, bestFile)
	}
	return nil
}

// readMarks reads the best ratios of a folder. A missing file means that there are none.
func readMarks(dir string) (b marks, err error) {
	text, err := os.ReadFile(filepath.Join(dir, bestFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	return b, err
}

// finding computes and writes the best ratios of all raw results in a folder.
func finding(args []string) error {
	f := flag.NewFlagSet("best", flag.ContinueOnError)
	dir := f.String("out", "docs/bench", "folder of the raw runs")
	if err := f.Parse(args); err != nil {
		return err
	}
	var files []string
	for _, name := range []string{"wire-*.ndjson", "k6-*.ndjson", "ycsb-*.ndjson"} {
		found, err := filepath.Glob(filepath.Join(*dir, name))
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	all := groups()
	for _, c := range contests("", 0) {
		all = append(all, c.group())
	}
	var b marks
	for _, file := range files {
		runs, err := readRaw(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, run := range runs {
			for i := range all {
				if results := run[all[i].name]; results != nil {
					b.keep(judge(&all[i], results), filepath.Base(file))
				}
			}
		}
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(*dir, bestFile), append(text, '\n'), 0o644)
}

// readRaw reads a file of raw results. It returns the results by group and client for each measurement in the file, in
// order. A new measurement of a group begins where its round numbers start again.
func readRaw(file string) ([]map[string]map[string][]sample, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var runs []map[string]map[string][]sample
	at := map[string]int{} // the current measurement of each group
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p sample
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, err
		}
		if p.Group == "" {
			continue // the line that describes the machine
		}
		n := at[p.Group]
		if n < len(runs) && slices.ContainsFunc(runs[n][p.Group][p.Client],
			func(q sample) bool { return q.Round >= p.Round }) {
			n++
			at[p.Group] = n
		}
		for len(runs) <= n {
			runs = append(runs, map[string]map[string][]sample{})
		}
		if runs[n][p.Group] == nil {
			runs[n][p.Group] = map[string][]sample{}
		}
		runs[n][p.Group][p.Client] = append(runs[n][p.Group][p.Client], p)
	}
	return runs, lines.Err()
}
