package vegeta

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/render/page"
	"brunt/internal/render/svg"
)

// plot writes a page with the latencies of results over time.
func plot(s *command.Env, args []string) error {
	title, points := "", 0
	out, in, err := flags("plot", args, s.In, func(fs *flag.FlagSet) {
		fs.StringVar(&title, "title", "Vegeta Plot", "")
		fs.IntVar(&points, "threshold", 4000, "")
	})
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage(s.Err)
		return nil
	case err != nil:
		return err
	}
	return output(out, s.Out, func(w io.Writer) error {
		var all lines
		if err := all.read(mixed(in)); err != nil {
			return err
		}
		return page.Write(w, &page.Document{Title: title, When: all.when(), Blocks: []page.Block{page.Chart{
			Title: "Latencies", SVG: all.draw(title, points)}}})
	})
}

// lines are the latencies of requests over time: a line for those of each attack that were good, and one for the
// others.
type lines map[[2]string][]point

type point struct {
	at      time.Time
	latency time.Duration
}

func (l *lines) read(results func(*Result) error) error {
	*l = lines{}
	for {
		var r Result
		if err := results(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		label := "OK"
		if r.Error != "" {
			label = "ERROR"
		}
		key := [2]string{r.Attack, label}
		(*l)[key] = append((*l)[key], point{r.Timestamp, r.Latency})
	}
}

// when returns the time of the first request.
func (l *lines) when() string {
	var first time.Time
	for _, all := range *l {
		for _, p := range all {
			if first.IsZero() || p.at.Before(first) {
				first = p.at
			}
		}
	}
	if first.IsZero() {
		return ""
	}
	return first.UTC().Format("2006-01-02 15:04:05 UTC")
}

// draw draws the lines. Each attack begins at 0. Of a line with more points than most, the extremes are drawn.
func (l *lines) draw(title string, most int) string {
	began := map[string]time.Time{}
	for key, all := range *l {
		slices.SortStableFunc(all, func(a, b point) int { return a.at.Compare(b.at) })
		if at, ok := began[key[0]]; !ok || all[0].at.Before(at) {
			began[key[0]] = all[0].at
		}
	}
	var series []svg.Series
	keys := slices.SortedFunc(maps.Keys(*l), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), -cmp.Compare(a[1], b[1]))
	})
	for _, key := range keys {
		s := svg.Series{Name: fmt.Sprintf("%s: %s", cmp.Or(key[0], "attack"), key[1]), Crosses: key[1] != "OK",
			Scatter: key[1] != "OK"}
		for _, p := range (*l)[key] {
			s.X = append(s.X, p.at.Sub(began[key[0]]).Seconds())
			s.Y = append(s.Y, float64(p.latency)/float64(time.Millisecond))
		}
		if most > 0 && len(s.X) > most {
			s.X, s.Y = svg.Extremes(s.X, s.Y, max(most/4, 1))
		}
		series = append(series, s)
	}
	f := svg.Frame{Title: title, X: svg.Axis{Label: "seconds"}, Y: svg.Axis{Label: "latency, ms"}}
	return svg.Lines(f, series, nil)
}
