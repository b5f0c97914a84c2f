package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"brunt/internal/record"
	"brunt/internal/render/page"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
)

// Machine contains the samples of a machine during a run.
type Machine struct {
	Source  string
	samples []record.WatchedSample
}

// Machines collects the samples of the machines in a bundle, and of the k6 script that drove the load.
func Machines(r *record.Recorded) (all []Machine, err error) {
	wanted := func(source string) bool {
		return record.OwnSource(source) == record.WatchedScript || record.IsMachine(source)
	}
	err = r.WatchedSamples(wanted, func(source string, s *record.WatchedSample) error {
		if len(all) == 0 || all[len(all)-1].Source != source {
			all = append(all, Machine{Source: source})
		}
		m := &all[len(all)-1]
		m.samples = append(m.samples, *s)
		return nil
	})
	return all, err
}

// mostPoints limits the points of a line in a machine's chart.
const mostPoints = 360

// machineBlocks returns the charts of a run's machines.
func (b *builder) machineBlocks(r *Result) (out []page.Block) {
	for i := range r.Machines {
		m := &r.Machines[i]
		if record.OwnSource(m.Source) == record.WatchedScript {
			out = append(out, b.checkCharts(m)...)
			continue
		}
		name := units.Clean(m.Source)
		if m.Source == record.WatchedHost {
			name = b.say("this machine")
		}
		frame := func(title, unit string) svg.Frame {
			return svg.Frame{Title: title, Height: 180, X: svg.Axis{Unit: "clock"}, Y: svg.Axis{Unit: unit}, Language: b.l}
		}
		busy := m.perSecond(b.say("busy"), "cpu_busy_seconds")
		if len(busy.X) == 0 {
			continue
		}
		title := b.say("Processors of %s", name)
		out = append(out, page.Chart{Title: title,
			Note: b.say("cores; the area holds the extremes; threads that keep cores awake are of low priority"),
			SVG: svg.Lines(frame(title, ""),
				[]svg.Series{busy, m.perSecond(b.say("low priority"), "cpu_nice_seconds"),
					m.perSecond(b.say("disk wait"), "cpu_iowait_seconds"), m.perSecond(b.say("stolen"), "cpu_steal_seconds")}, nil)})
		title = b.say("Memory of %s", name)
		out = append(out, page.Chart{Title: title,
			SVG: svg.Lines(frame(title, "bytes"), []svg.Series{m.memory(b.say("memory used"))}, nil)})
		title = b.say("Disks and networks of %s", name)
		out = append(out, page.Chart{Title: title, Note: b.say("bytes a second"),
			SVG: svg.Lines(frame(title, "bytes"), []svg.Series{
				m.perSecond(b.say("read"), "disk_read_bytes"), m.perSecond(b.say("written"), "disk_written_bytes"),
				m.perSecond(b.say("received"), "net_received_bytes"), m.perSecond(b.say("sent"), "net_sent_bytes"),
			}, nil)})
	}
	return out
}

// mostChecks limits the checks in their chart, to those that failed most.
const mostChecks = 8

// checkCharts is the chart of a script's checks: the share of each that succeeded, by interval.
func (b *builder) checkCharts(m *Machine) []page.Block {
	least := map[string]float64{}
	for i := range m.samples {
		for name, share := range m.samples[i].Values {
			if before, seen := least[name]; strings.HasPrefix(name, record.WatchedCheck) && (!seen || share < before) {
				least[name] = share
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(least), func(x, y string) int {
		return cmp.Or(cmp.Compare(least[x], least[y]), strings.Compare(x, y))
	})
	var lines []svg.Series
	for _, name := range names[:min(len(names), mostChecks)] {
		line := m.series(units.Clean(strings.TrimPrefix(name, record.WatchedCheck)),
			func(_, s *record.WatchedSample) float64 {
				if share, tried := s.Values[name]; tried {
					return share
				}
				return math.NaN()
			})
		if len(line.X) > 0 {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	title := b.say("Checks that held")
	if len(lines) == 1 { // such a chart needs no legend
		title += ": " + lines[0].Name
	}
	frame := svg.Frame{Title: title, Height: 180, X: svg.Axis{Unit: "clock"}, Y: svg.Axis{Unit: "share"}, Language: b.l}
	return []page.Block{page.Chart{Title: title, Note: b.say("share of those tried since the interval before"),
		SVG: svg.Lines(frame, lines, nil)}}
}

// perSecond returns the rate of a counter in at most mostPoints time spans: its mean in each, and the extremes of its
// samples.
func (m *Machine) perSecond(name, counter string) svg.Series {
	return m.series(name, func(before, s *record.WatchedSample) float64 {
		a, there := before.Values[counter]
		b, still := s.Values[counter]
		if !there || !still || s.TNs <= before.TNs || b < a {
			return math.NaN()
		}
		return (b - a) / (float64(s.TNs-before.TNs) / 1e9)
	})
}

func (m *Machine) memory(name string) svg.Series {
	return m.series(name, func(_, s *record.WatchedSample) float64 {
		total, there := s.Values["memory_total_bytes"]
		if !there {
			return math.NaN()
		}
		return total - s.Values["memory_available_bytes"]
	})
}

// series returns the figures of samples as a time series.
func (m *Machine) series(name string, of func(before, s *record.WatchedSample) float64) svg.Series {
	out := svg.Series{Name: name}
	each := max((len(m.samples)-1+mostPoints-1)/mostPoints, 1)
	for from := 1; from < len(m.samples); from += each {
		to := min(from+each, len(m.samples))
		low, high, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0.0
		for i := from; i < to; i++ {
			if v := of(&m.samples[i-1], &m.samples[i]); !math.IsNaN(v) {
				low, high, sum, n = min(low, v), max(high, v), sum+v, n+1
			}
		}
		if n == 0 {
			continue
		}
		out.X = append(out.X, float64(m.samples[from-1].TNs+m.samples[to-1].TNs)/2e9)
		out.Y, out.Low, out.High = append(out.Y, sum/n), append(out.Low, low), append(out.High, high)
	}
	if each == 1 {
		out.Low, out.High = nil, nil
	}
	return out
}
