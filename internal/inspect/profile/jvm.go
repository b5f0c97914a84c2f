package profile

import (
	"context"
	"io"
	"slices"
	"time"

	"brunt/internal/inspect/process"
	"brunt/internal/inspect/profile/flight"
	"brunt/internal/inspect/profile/hotspot"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// stopping bounds the time in which a JVM must hand over its recording.
const stopping = 30 * time.Second

// recorder has JVMs record what they execute during a load. The recordings begin before the load, so that their
// beginning doesn't disturb it; samples of the warm-up are left out afterwards.
type recorder struct {
	tell  func(string)
	all   []*recorded
	lost  []record.Warning
	ticks chan tick
	done  chan struct{}
}

// tick is the end of an interval.
type tick struct {
	at     time.Time
	length time.Duration
	warmUp bool
}

// recorded is a JVM and what is known of it.
type recorded struct {
	name      string
	jvm       *hotspot.JVM
	recording *hotspot.Recording
	threads   map[int64]time.Duration // their processor time when the recording began
	seen      time.Time               // when the processor time was read last, and
	cpu       time.Duration           // how much that was
	used      time.Duration           // of it, what the load took without warm-up,
	within    time.Duration           // in this time
	spans     []flight.Span           // of the load without warm-up
}

// open begins the recording of a JVM.
func (r *recorder) open(ctx context.Context, name string, pid int) {
	j, err := hotspot.Open(pid)
	if err != nil {
		r.warn(name, message.Literal(err.Error()))
		return
	}
	recording, err := j.Record(ctx)
	if err != nil {
		j.Close()
		r.warn(name, message.Literal(err.Error()))
		return
	}
	r.all = append(r.all, &recorded{name: name, jvm: j, recording: recording, threads: j.Threads(), seen: time.Now(),
		cpu: j.CPU()})
}

// openServers begins the recordings of servers.
func (r *recorder) openServers(ctx context.Context, name string, servers []process.Target) {
	if len(servers) == 0 {
		r.warn(name, message.New("profile-jvm.elsewhere"))
	}
	for _, s := range servers {
		each := name
		if len(servers) > 1 {
			each += " " + s.Source
		}
		r.open(ctx, each, s.PID)
	}
}

// warn notes why there is no recording.
func (r *recorder) warn(name string, why message.Message) {
	text := message.New("profile-jvm", message.Text("source", name), message.Nested("why", why))
	r.lost = append(r.lost, record.Warning{ID: "profile-jvm", Text: text})
	if r.tell != nil {
		r.tell(text.String())
	}
}

// start begins to follow the intervals.
func (r *recorder) start() {
	if len(r.all) == 0 {
		return
	}
	r.ticks, r.done = make(chan tick, 64), make(chan struct{})
	go func() {
		defer close(r.done)
		for t := range r.ticks {
			for _, o := range r.all {
				o.count(t)
			}
		}
	}()
}

// interval notes the end of an interval.
func (r *recorder) interval(iv *measure.Interval) {
	if r.ticks == nil {
		return
	}
	select {
	case r.ticks <- tick{time.Now(), time.Duration(iv.EndNs - iv.StartNs), iv.WarmUp}:
	default:
	}
}

// count reads the processor time at the end of an interval.
func (o *recorded) count(t tick) {
	now, cpu := time.Now(), o.jvm.CPU()
	if !t.warmUp {
		o.used += max(cpu-o.cpu, 0)
		o.within += now.Sub(o.seen)
		o.spans = append(o.spans, flight.Span{From: t.at.Add(-t.length), To: t.at})
		// Neighbours become one, so that a run of days has few.
		if n := len(o.spans); n > 1 && o.spans[n-1].From.Sub(o.spans[n-2].To) < t.length/2 {
			o.spans[n-2].To = t.at
			o.spans = o.spans[:n-1]
		}
	}
	o.seen, o.cpu = now, cpu
}

// finish ends the recordings and returns what they say, and warnings. Later calls return nothing.
func (r *recorder) finish() (out []record.Profile, lost []record.Warning) {
	if r.ticks != nil {
		close(r.ticks)
		<-r.done
	}
	for _, o := range r.all {
		p, err := o.result()
		o.jvm.Close()
		switch {
		case err != nil:
			r.warn(o.name, message.Literal(err.Error()))
		case p.LengthNs == 0:
			r.warn(o.name, message.New("profile-jvm.short"))
		default:
			out = append(out, p)
		}
	}
	lost = r.lost
	*r = recorder{}
	return out, lost
}

// result ends the recording and returns the methods that took the time.
func (o *recorded) result() (record.Profile, error) {
	out := record.Profile{Source: o.name}
	threads := o.jvm.Threads()
	for id := range threads {
		threads[id] -= o.threads[id]
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopping)
	defer cancel()
	all := newSamples()
	var covered []flight.Span
	err := o.recording.Stop(ctx, func(r io.Reader) (err error) {
		covered, err = flight.Read(r, func(s flight.Sample) { all.add(s, o.measured(s.At)) })
		return err
	})
	if err != nil {
		return out, err
	}
	out.LengthNs = int64(common(o.spans, covered))
	out.OnCPU = float64(o.used) / float64(max(o.within, 1))
	out.Functions = all.tally(threads).functions()
	return out, nil
}

// measured reports whether the load was under way at a time, without warm-up.
func (o *recorded) measured(at time.Time) bool {
	i, found := slices.BinarySearchFunc(o.spans, at, func(s flight.Span, at time.Time) int { return s.From.Compare(at) })
	return found || i > 0 && at.Before(o.spans[i-1].To)
}

// common returns the time that is in spans of both lists.
func common(a, b []flight.Span) (sum time.Duration) {
	for _, x := range a {
		for _, y := range b {
			from, to := x.From, x.To
			if y.From.After(from) {
				from = y.From
			}
			if y.To.Before(to) {
				to = y.To
			}
			sum += max(to.Sub(from), 0)
		}
	}
	return sum
}
