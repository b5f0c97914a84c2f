package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brunt/internal/base/finite"
	"brunt/internal/base/linefile"
)

// Fault is one disturbance of servers during the load, which may be undone ("healed") later. Times are nanoseconds on
// the run's monotonic clock, like those of intervals; 0 means that it hasn't happened yet.
type Fault struct {
	Name      string   `json:"name"`
	Number    int      `json:"number"`              // number among the faults of the same name, from 1
	Kind      string   `json:"kind"`                // "process", "command", "http", "request", "network" or "flood"
	Do        string   `json:"do,omitempty"`        // the action: "stop", "kill", "blackhole", …
	Target    string   `json:"target,omitempty"`    // what it was done to, for humans
	Addresses []string `json:"addresses,omitempty"` // affected addresses of Run.Targets; absent if unknown
	PlannedNs int64    `json:"planned_ns"`          // when it was scheduled to begin
	Must      string   `json:"must,omitempty"`      // as in the plan: "happen" or "try"
	// before and after the system call, command or request that injected it
	BeginNs int64 `json:"begin_ns"` // 0 if it never began
	DoneNs  int64 `json:"done_ns"`
	// before and after the action that undid it; 0 if there is nothing to undo
	HealBeginNs int64 `json:"heal_begin_ns,omitempty"`
	HealedNs    int64 `json:"healed_ns,omitempty"`
	// HealedBy says who undid it, if that wasn't the process that injected it: HealedByWatchdog.
	HealedBy  string `json:"healed_by,omitempty"`
	Error     string `json:"error,omitempty"`      // why it couldn't be injected
	HealError string `json:"heal_error,omitempty"` // why it couldn't be undone
	Undo      string `json:"undo,omitempty"`       // how people can undo it, if it outlasts the process that injected it
}

// The values of Fault.HealedBy.
const (
	HealedByWatchdog = "watchdog"
	HealedByEnd      = "end" // what was in the process that injected it, such as a proxy, ended with it
)

// Undone is what a watchdog has undone, as in WatchdogFile: a fault, or, without ID, that the process that injects
// faults has ended. Times are those of Fault.
type Undone struct {
	ID          string `json:"id,omitempty"` // the fault's name and number, with a space between them
	HealBeginNs int64  `json:"heal_begin_ns"`
	HealedNs    int64  `json:"healed_ns,omitempty"`
	Error       string `json:"error,omitempty"`
}

// take adds what a watchdog has undone.
func (f *Fault) take(u *Undone) {
	if u.ID != f.Name+" "+strconv.Itoa(f.Number) || f.HealedNs > 0 {
		return
	}
	f.HealBeginNs, f.HealedNs, f.HealedBy, f.HealError = u.HealBeginNs, u.HealedNs, HealedByWatchdog, u.Error
	if u.Error != "" {
		f.HealedNs, f.HealedBy = 0, ""
	}
}

// Left reports whether a fault of a run that was killed may still be in effect: nothing says that it was undone.
func (f *Fault) Left() bool { return f.BeginNs > 0 && f.Undo != "" && f.HealedNs == 0 }

// same reports whether f and o are states of the same fault.
func (f *Fault) same(o *Fault) bool {
	return f.Name == o.Name && f.Number == o.Number && f.Target == o.Target
}

// Fault appends the state of a fault to FaultsFile and syncs the file. Call it whenever the state changes; the last
// line of a fault is its final state. It is safe for concurrent use, and warns once if it fails.
func (b *Bundle) Fault(f *Fault) { b.event(&b.faults, f) }

// event appends a line to a log and syncs it.
func (b *Bundle) event(l *eventLog, v any) {
	line, err := finite.Marshal(v)
	if err == nil {
		err = l.append(b, append(line, '\n'))
	}
	if err != nil {
		b.warn(writeWarning(b.Dir, fmt.Errorf("%s: %w", l.name, err)))
	}
}

// eventLog is a file with few lines, each of which is synced at once. Its methods are safe for concurrent use.
type eventLog struct {
	name string
	mu   sync.Mutex
	log  *linefile.Log // nil before the first line
}

// maxEventBytes is how many bytes of an eventLog may wait in memory while the disk is full.
const maxEventBytes = 1 << 20

func (l *eventLog) append(b *Bundle, line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		file, err := b.fsys.Create(filepath.Join(b.Dir, l.name))
		if err != nil {
			return err
		}
		l.log = linefile.NewLog(file, maxEventBytes)
	}
	if l.log.Room(len(line)) {
		l.log.Add(line)
	}
	err := l.log.Flush()
	l.log.Sync()
	return err
}

// close closes the file if it is open.
func (l *eventLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return nil
	}
	return l.log.Close()
}

// Faults returns the faults of a run from FaultsFile, in the order in which they began, each in its last state before
// the run ended or was killed, and then what its watchdog has undone.
func (r *Recorded) Faults() ([]Fault, error) {
	all, err := r.notedFaults()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if f := &all[i]; (f.Kind == "network" || f.Kind == "flood") && f.HealedNs == 0 {
			f.HealedBy = HealedByEnd
		}
	}
	err = r.lines(WatchdogFile, func(line []byte) (func() error, error) {
		var u Undone
		err := json.Unmarshal(line, &u)
		return func() error {
			for i := range all {
				all[i].take(&u)
			}
			return nil
		}, err
	})
	return all, err
}

func (r *Recorded) notedFaults() (all []Fault, err error) {
	err = r.lines(FaultsFile, func(line []byte) (func() error, error) {
		f := Fault{}
		err := json.Unmarshal(line, &f)
		return func() error {
			if at := slices.IndexFunc(all, func(have Fault) bool { return have.same(&f) }); at >= 0 {
				all[at] = f
			} else {
				all = append(all, f)
			}
			return nil
		}, err
	})
	return all, err
}

// mergeFaults lists the faults of all parts in the order in which they began. A fault that several parts applied, each
// to its own connections, becomes one.
func mergeFaults(run *Run, parts []*Recorded) {
	run.Faults = nil
	for _, p := range parts {
		run.AddFaults(p.Run.Faults)
	}
}

// AddFaults adds faults that another process injected during the run. A fault that the run already has, by name and
// number, is combined with it: it lasts from the first start to the last end.
func (run *Run) AddFaults(more []Fault) {
	for _, f := range more {
		at := slices.IndexFunc(run.Faults, func(have Fault) bool { return have.Name == f.Name && have.Number == f.Number })
		if at < 0 {
			run.Faults = append(run.Faults, f)
			continue
		}
		run.Faults[at].join(&f)
	}
	slices.SortStableFunc(run.Faults, func(a, b Fault) int { return cmp.Compare(a.BeginNs, b.BeginNs) })
}

// join combines f with o, the same fault as seen by another process.
func (f *Fault) join(o *Fault) {
	if o.Target != "" && !slices.Contains(strings.Split(f.Target, ", "), o.Target) && f.Target != o.Target {
		f.Target += ", " + o.Target
	}
	f.Addresses = slices.Clone(f.Addresses)
	for _, a := range o.Addresses {
		if !slices.Contains(f.Addresses, a) {
			f.Addresses = append(f.Addresses, a)
		}
	}
	f.PlannedNs = min(f.PlannedNs, o.PlannedNs)
	if f.BeginNs == 0 || o.BeginNs != 0 && o.BeginNs < f.BeginNs {
		f.BeginNs = o.BeginNs
	}
	f.DoneNs = max(f.DoneNs, o.DoneNs)
	if f.HealedNs == 0 || o.HealedNs == 0 {
		f.HealedNs = 0
	} else {
		f.HealedNs = max(f.HealedNs, o.HealedNs)
	}
	if f.HealBeginNs == 0 || o.HealBeginNs != 0 && o.HealBeginNs < f.HealBeginNs {
		f.HealBeginNs = o.HealBeginNs
	}
	f.Error, f.HealError = cmp.Or(f.Error, o.Error), cmp.Or(f.HealError, o.HealError)
}
