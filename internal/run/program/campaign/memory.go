package campaign

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brunt/internal/base/stats"
	"brunt/internal/record"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
	"brunt/internal/run/program/campaign/campaignfile"
)

// rssMetric is the resident memory of a watched process, in bytes.
const rssMetric = "rss_bytes"

// memory is the memory of one process over all steps of a campaign in which it ran.
type memory struct {
	source   string
	unixNs   []float64
	bytes    []float64
	requests float64 // sent in that time
}

// memoryLines reads the memory of the watched processes in all runs. A process that was started again, as for another
// setting, is another one. Runs of matrices are left out.
func (d *document) memoryLines() (all []memory) {
	if d.dir == "" {
		return nil
	}
	for i := range d.results {
		r := &d.results[i]
		for _, dir := range r.runs() {
			b, err := r.bundle(d.dir, dir)
			if err != nil {
				continue // it was deleted to save space
			}
			all = takeMemory(all, b)
		}
	}
	return all
}

// takeMemory adds the samples of a run to those of the same processes.
func takeMemory(all []memory, b *record.Recorded) []memory {
	known := map[string]bool{}
	_ = b.WatchedSamples(func(source string) bool { return source != record.WatchedHost && source != "load" },
		func(source string, s *record.WatchedSample) error {
			v, ok := s.Values[rssMetric]
			if !ok {
				return nil
			}
			k := slices.IndexFunc(all, func(m memory) bool { return m.source == source })
			if k < 0 {
				k = len(all)
				all = append(all, memory{source: source})
			}
			m := &all[k]
			if !known[source] {
				known[source] = true
				m.requests += float64(b.Run.Total.Done)
				if n := len(m.unixNs); n > 0 { // a gap between two runs
					m.unixNs, m.bytes = append(m.unixNs, m.unixNs[n-1]), append(m.bytes, math.NaN())
				}
			}
			m.unixNs, m.bytes = append(m.unixNs, float64(s.UnixNs)), append(m.bytes, v)
			return nil
		})
	return all
}

// runs returns the names of the step's bundles in the order in which they were made, without those of a matrix.
func (r *Result) runs() (dirs []string) {
	add := func(dir string) {
		if dir != "" {
			dirs = append(dirs, filepath.Base(dir))
		}
	}
	if r.Contradicts != nil {
		for i := range r.Contradicts.Trials {
			add(r.Contradicts.Trials[i].Dir)
		}
	}
	switch {
	case r.Search != nil:
		for i := range r.Search.Trials {
			add(r.Search.Trials[i].Dir)
		}
	case len(r.Holds) > 0:
		for i := range r.Holds {
			add(r.Holds[i].Dir)
		}
	case r.Trial != nil && r.Kind != campaignfile.StepMatrix:
		add(r.Trial.Dir)
	}
	return dirs
}

const (
	memorySamples = 60  // needed to judge the growth
	memoryGrowth  = 0.2 // of the first value
)

// growth returns how much the memory grew over all steps, bytes, and whether it still grows at the end. The growth
// within a single run may be hidden: a garbage collector lets memory grow only when its threshold is reached.
func (m *memory) growth() (bytes float64, grows bool) {
	values := slices.DeleteFunc(slices.Clone(m.bytes), math.IsNaN)
	if len(values) < memorySamples {
		return 0, false
	}
	batches := stats.BatchMedians(values, stats.GrowthBatches)
	first, last := batches[0], batches[len(batches)-1]
	g := stats.GrowthOf(batches)
	return last - first, g.Grows() && !g.Levels() && last > (1+memoryGrowth)*first
}

// memoryText says which process's memory grew over the whole campaign, or "".
func (d *document) memoryText() string {
	var parts []string
	for i := range d.memories {
		m := &d.memories[i]
		bytes, grows := m.growth()
		if !grows {
			continue
		}
		lasts := time.Duration(m.unixNs[len(m.unixNs)-1] - m.unixNs[0])
		parts = append(parts,
			d.say("The memory of %s grew by %s in %s and %s requests, %s for each, over all steps together: look for a leak.",
				m.source, d.figure(bytes, "bytes"), d.l.Figure(units.Span(lasts)), d.figure(m.requests, "count"),
				d.figure(bytes/max(m.requests, 1), "bytes")))
	}
	return strings.Join(parts, " ")
}

// memory is the section about the memory of the watched processes from their start on.
func (d *document) memory() {
	var series []svg.Series
	begin := math.Inf(1)
	for i := range d.memories {
		begin = min(begin, d.memories[i].unixNs[0])
	}
	for i := range d.memories {
		m := &d.memories[i]
		if len(m.unixNs) < 2 {
			continue
		}
		s := svg.Series{Name: m.source, Y: m.bytes}
		for _, at := range m.unixNs {
			s.X = append(s.X, (at-begin)/1e9)
		}
		series = append(series, s)
	}
	if len(series) == 0 {
		return
	}
	title := d.say("Memory over all steps")
	p := part{id: "memory", title: title, charts: []chart{{id: "memory-chart", wide: true,
		svg: svg.Lines(svg.Frame{Title: title,
			X: svg.Axis{Unit: "clock"}, Y: svg.Axis{Unit: "bytes"}, Width: halfWidth, Language: d.l}, series, nil)}}}
	text := d.memoryText()
	if text == "" {
		text = d.say("No watched process's memory kept growing over the steps.")
	}
	p.paragraphs = append(p.paragraphs, text)
	d.add(p)
}
