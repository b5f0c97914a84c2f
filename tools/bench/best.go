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

// bestFile holds the best ratios that were ever measured, in the folder of the raw runs that they come from.
const bestFile = "best.json"

// mostLost is the share by which a ratio may be worse than the best before it counts as lost speed.
const mostLost = 0.03

// mark is the best that ours reached next to a peer, over all rows that rest on quiet rounds. Ratios are medians of the
// rounds' ratios, ours to the peer's; 0 where none was measured.
type mark struct {
	Group    string  `json:"group"`
	Ours     string  `json:"ours"`
	Peer     string  `json:"peer"`
	CPURatio float64 `json:"cpu_ratio,omitempty"`  // of CPU a request, the least
	CPUFrom  string  `json:"cpu_from,omitempty"`   // the raw runs that it comes from
	PerS     float64 `json:"rate_ratio,omitempty"` // of operations a second, the greatest
	PerSFrom string  `json:"rate_from,omitempty"`
}

// keep takes what a line has that is better. from names the raw runs.
func (m *mark) keep(l *line, from string) {
	if r := round3(median(l.ratios)); r > 0 && (m.CPURatio == 0 || r < m.CPURatio) {
		m.CPURatio, m.CPUFrom = r, from
	}
	if r := round3(median(l.rates)); r > 0 && r > m.PerS {
		m.PerS, m.PerSFrom = r, from
	}
}

// round3 is f with three decimals, as many as the rounds' spread leaves meaning.
func round3(f float64) float64 { return math.Round(f*1000) / 1000 }

// lost says by what a line is worse than the best that was reached; "" if by no more than mostLost.
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

// isOurs reports whether a line is about brunt. Others are there to be compared with, as the bare loop is.
func (l *line) isOurs() bool { return strings.HasPrefix(l.ours, "brunt") }

// marks are the best ratios, one for each pair of clients in each group.
type marks []mark

func (b marks) find(l *line) *mark {
	for i := range b {
		if b[i].Group == l.group && b[i].Ours == l.ours && b[i].Peer == l.peer {
			return &b[i]
		}
	}
	return nil
}

// keep takes what lines have that is better. Rows without enough quiet rounds set no mark.
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

// compare says on w which lines are worse than the best ever reached. It returns an error if a line on quiet rounds is;
// one on noisy rounds is only told.
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
			fmt.Fprintf(w, "%s, %s beside %s: %s: %s\n", how, l.ours, l.peer, l.work, lost)
		}
	}
	if slower > 0 {
		return fmt.Errorf("%d of %d rows lost more than %.0f %% of the best speed (docs/bench/%s)",
			slower, len(lines), 100*mostLost, bestFile)
	}
	return nil
}

// readMarks reads the best ratios of a folder. A folder without them has none.
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

// finding writes the best ratios of all raw runs in a folder.
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

// readRaw reads the turns of a file of raw runs: for each measurement of the file, in order, the results by group and
// client. A group's measurement ends where its rounds begin again.
func readRaw(file string) ([]map[string]map[string][]sample, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var runs []map[string]map[string][]sample
	at := map[string]int{} // the measurement that a group is in
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var p sample
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, err
		}
		if p.Group == "" {
			continue // what the machine is
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
