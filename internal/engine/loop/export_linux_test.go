package loop

import "brunt/internal/measure"

// Recorder is the part of a measure.Recorder that a loop uses.
type Recorder = recorder

// Watch inserts a wrapper between the loops and their recorders.
func (f *Fleet) Watch(wrap func(*measure.Recorder) Recorder) {
	f.recorder = func() recorder { return wrap(f.cfg.Collector.NewRecorder()) }
}

// WithoutPwait2 makes the loops work as on a kernel before 5.11.
func (f *Fleet) WithoutPwait2() error {
	for _, l := range f.loops {
		l.io.poller.timerOnly = true
	}
	return nil
}

// Threads returns the ids of the loops' threads.
func (f *Fleet) Threads() []int {
	var out []int
	for _, l := range f.loops {
		out = append(out, int(l.thread.id.Load()))
	}
	return out
}

// Loops returns the number of event loops of the fleet.
func (f *Fleet) Loops() int { return len(f.loops) }
