package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/scale"
)

// The arguments with which this program starts itself as the processes of a simulation of many workers.
const (
	coordinatorCommand = "scale-coordinator" // the coordinator, which works as in brunt
	workersCommand     = "scale-workers"     // all workers, each with its own connection, folder and clock offset
)

// simulation contains the parameters of both processes.
type simulation struct {
	dir     string
	workers int
	rate    int // operations per second of each worker
	seconds int
}

func parseSimulation(name string, args []string) (*simulation, error) {
	s := &simulation{}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.StringVar(&s.dir, "dir", "", "folder")
	f.IntVar(&s.workers, "workers", 1000, "how many workers")
	f.IntVar(&s.rate, "rate", 10_000, "operations a second of each")
	f.IntVar(&s.seconds, "seconds", 60, "length of the load, which is the number of intervals")
	return s, f.Parse(args)
}

func (s *simulation) args(command string) []string {
	return []string{command, "-dir", s.dir, "-workers", strconv.Itoa(s.workers), "-rate", strconv.Itoa(s.rate),
		"-seconds", strconv.Itoa(s.seconds)}
}

// simulatedRun is the run's id and the version of the simulated workers.
const simulatedRun = "simulated"

// quantiles are quantiles of times, in ms.
type quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// quantilesOf returns the quantiles of some times.
func quantilesOf(all []time.Duration) quantiles {
	if len(all) == 0 {
		return quantiles{}
	}
	all = slices.Sorted(slices.Values(all))
	at := func(q float64) float64 { return float64(all[int(q*float64(len(all)-1))]) / 1e6 }
	return quantiles{at(0.5), at(0.99), at(1)}
}

// ledResult contains the measurements of the coordinator's process.
type ledResult struct {
	GatherS   float64   `json:"gather_s"` // until all workers have joined and are ready
	OpenS     float64   `json:"open_s"`   // opening the workers' bundles
	Intervals int       `json:"intervals"`
	Done      uint64    `json:"done"` // operations counted in the live view
	LoadS     float64   `json:"load_s"`
	LoadCPUS  float64   `json:"load_cpu_s"`
	AfterMs   quantiles `json:"after_ms"` // from an interval's end until its sum was available
	ReadMB    float64   `json:"read_mb"`  // read by the process during the load: from workers, and from disk
	WrittenMB float64   `json:"written_mb"`
	LinesMB   float64   `json:"lines_mb"` // size of the intervals received
	LoadRSSMB float64   `json:"load_rss_mb"`
	HomeS     float64   `json:"home_s"`
	HomeCPUS  float64   `json:"home_cpu_s"`
	RSSMB     float64   `json:"rss_mb"`
	Lost      int       `json:"lost"`
	Told      []string  `json:"told,omitempty"`
}

// coordinate leads the workers of a simulation as the command line does. It prints a ticket and then the result as
// JSON.
func coordinate(args []string) error {
	s, err := parseSimulation(coordinatorCommand, args)
	if err != nil {
		return err
	}
	lead, worker, err := scale.NewIdentities(simulatedRun, 24*time.Hour)
	if err != nil {
		return err
	}
	var out ledResult
	var mu sync.Mutex
	c, err := scale.Listen(scale.Options{
		Run: simulatedRun, Version: simulatedRun, Workers: s.workers, Dir: s.dir, Listen: "127.0.0.1:0", Identity: lead,
		Interval: time.Second, Patience: 2 * time.Minute, OnLost: scale.GoOn,
		Job: scale.Job{Run: simulatedRun, Workers: s.workers, IntervalNs: 1e9},
		Tell: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			if out.Told = append(out.Told, text); len(out.Told) > mostTold {
				out.Told = out.Told[1:]
			}
		},
	})
	if err != nil {
		return err
	}
	to := json.NewEncoder(os.Stdout)
	ticket := scale.Ticket{Run: simulatedRun, Addresses: []string{"127.0.0.1:" + strconv.Itoa(c.Port())}, Identity: worker}
	if err := errors.Join(to.Encode(&ticket), out.lead(c, s)); err != nil {
		return errors.Join(err, c.Close())
	}
	return errors.Join(c.Close(), to.Encode(&out))
}

func (o *ledResult) lead(c *scale.Coordinator, s *simulation) error {
	ctx := context.Background()
	began := time.Now()
	if err := c.Gather(ctx); err != nil {
		return err
	}
	o.GatherS, began = time.Since(began).Seconds(), time.Now()
	parts, err := c.Bundles()
	if err != nil {
		return err
	}
	begun, _, err := record.Merge(parts...)
	if err != nil {
		return err
	}
	o.OpenS = time.Since(began).Seconds()
	sum := &measure.Tally{}
	cpu, read, written := cpuTime(), ioOf("rchar"), ioOf("wchar")
	clock := scale.NewClock()
	start := clock.At(c.Start(startLead))
	var after []time.Duration
	err = c.Follow(begun, parts, func(iv *measure.Interval) error {
		err := sum.Interval(iv)
		o.Intervals++
		after = append(after, time.Since(start.Add(time.Duration(o.Intervals)*time.Second)))
		if o.Intervals == s.seconds { // after this, the bundles are received
			o.LoadS, o.LoadCPUS = time.Since(start).Seconds(), (cpuTime() - cpu).Seconds()
			o.ReadMB, o.WrittenMB, o.LoadRSSMB = ioOf("rchar")-read, ioOf("wchar")-written, peakMB()
			began, cpu = time.Now(), cpuTime()
		}
		return err
	})
	if err != nil {
		return err
	}
	total := sum.Total().Totals()
	o.AfterMs, o.Done, o.LinesMB = quantilesOf(after), total.Done, float64(s.kept())/1e6
	for _, part := range c.Receive(ctx, time.Second) {
		if part.Lost {
			o.Lost++
		}
	}
	o.HomeS, o.HomeCPUS, o.RSSMB = time.Since(began).Seconds(), (cpuTime() - cpu).Seconds(), peakMB()
	return nil
}

// mostTold limits the messages of the coordinator that are kept, to the last ones.
const mostTold = 10

// startLead is how long before the start the workers are told about it; see package cli.
const startLead = 300 * time.Millisecond

// kept returns the size of the intervals received, in bytes.
func (s *simulation) kept() (total int64) {
	for k := range s.workers {
		if info, err := os.Stat(filepath.Join(s.dir, strconv.Itoa(k+1), record.IntervalsFile)); err == nil {
			total += info.Size()
		}
	}
	return total
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMB returns the peak of this process's resident memory, in MiB.
func peakMB() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024
}

// ioOf returns a counter of /proc/self/io (proc(5)) in megabytes. The counters rchar and wchar include sockets.
func ioOf(name string) float64 {
	text, _ := os.ReadFile("/proc/self/io") // without the file the counters are 0
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return n / 1e6
		}
	}
	return 0
}

// workedResult contains the measurements of the workers' process.
type workedResult struct {
	CPUS      float64   `json:"cpu_s"`
	LineBytes int       `json:"line_bytes"` // mean length of an interval's line
	HeardMs   quantiles `json:"heard_ms"`   // when each worker received the start, after the first one
	LeadMs    float64   `json:"lead_ms"`    // the least time between receiving the start and the start
	LateMs    quantiles `json:"late_ms"`    // how much later than agreed each worker began, by its own clock
	SkewMs    quantiles `json:"skew_ms"`    // distance of each worker's beginning from the median
	UnsureMs  quantiles `json:"unsure_ms"`  // uncertainty of the clocks' offsets
	BehindMs  quantiles `json:"behind_ms"`  // how late this process wrote intervals, if it is too slow itself
	Failed    int       `json:"failed"`
}

// kinds is the number of different workers. The others send the same data.
const kinds = 8

// work simulates all workers. It reads the ticket from standard input and prints the result.
func work(args []string) error {
	s, err := parseSimulation(workersCommand, args)
	if err != nil {
		return err
	}
	made, err := s.make()
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var ticket scale.Ticket
	if err := json.NewDecoder(os.Stdin).Decode(&ticket); err != nil {
		return err
	}
	all := make([]worked, s.workers)
	var wg sync.WaitGroup
	for k := range all {
		wg.Go(func() { all[k].err = all[k].run(ticket, made[k%kinds], s, k) })
	}
	wg.Wait()
	return json.NewEncoder(os.Stdout).Encode(resultOf(all, made[0]))
}

func resultOf(all []worked, m *kind) *workedResult {
	out := &workedResult{CPUS: cpuTime().Seconds(), LineBytes: m.size() / max(len(m.lines), 1)}
	var heard, late, begun, unsure, behind []time.Duration
	first, start := time.Time{}, time.Time{}
	for i := range all {
		w := &all[i]
		if w.err != nil {
			out.Failed++
			fmt.Fprintf(os.Stderr, "worker %d: %v\n", i+1, w.err)
			continue
		}
		if first.IsZero() || w.heard.Before(first) {
			first = w.heard
		}
		if start.IsZero() {
			start = w.begun
		}
	}
	for i := range all {
		w := &all[i]
		if w.err != nil {
			continue
		}
		heard, late = append(heard, w.heard.Sub(first)), append(late, w.late)
		begun, unsure = append(begun, w.begun.Sub(start)), append(unsure, w.unsure)
		behind = append(behind, w.behind...)
		if lead := float64(w.lead) / 1e6; out.LeadMs == 0 || lead < out.LeadMs {
			out.LeadMs = lead
		}
	}
	slices.Sort(begun)
	skew := make([]time.Duration, len(begun))
	for i, b := range begun {
		skew[i] = (b - begun[len(begun)/2]).Abs()
	}
	out.HeardMs, out.LateMs, out.SkewMs = quantilesOf(heard), quantilesOf(late), quantilesOf(skew)
	out.UnsureMs, out.BehindMs = quantilesOf(unsure), quantilesOf(behind)
	return out
}

// worked is a simulated worker.
type worked struct {
	heard, begun time.Time
	lead, late   time.Duration
	unsure       time.Duration
	behind       []time.Duration
	err          error
}

// run executes a worker: the real protocol with prepared intervals.
func (w *worked) run(ticket scale.Ticket, made *kind, s *simulation, k int) error {
	ticket.Worker = k
	ticket.Dir = filepath.Join(s.dir, "spool", strconv.Itoa(k+1))
	led, ctx, err := scale.Connect(context.Background(), ticket, simulatedRun)
	if err != nil {
		return err
	}
	if err := made.write(led.Dir, k, made.begun); err != nil {
		return err
	}
	lateNs, err := led.Begin(ctx, led.Dir)
	if err != nil {
		return err
	}
	w.begun, w.late, w.lead = time.Now(), time.Duration(lateNs), led.Lead
	start := w.begun.Add(-w.late)
	w.heard, w.unsure = start.Add(-w.lead), time.Duration(led.Offset.UncertaintyNs)
	for i, line := range made.lines {
		end := start.Add(time.Duration(i+1) * time.Second)
		if !protocol.Sleep(ctx, time.Until(end)) {
			return errors.New("the coordinator ended the load")
		}
		if err := appendTo(filepath.Join(led.Dir, record.IntervalsFile), line); err != nil {
			return err
		}
		w.behind = append(w.behind, time.Since(end))
		if err := led.Interval(made.intervals[i]); err != nil {
			return err
		}
	}
	if err := made.write(led.Dir, k, made.ended); err != nil {
		return err
	}
	return led.Finish(context.Background(), led.Dir)
}

func appendTo(path string, line []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}

// kind contains the data that workers of one kind send.
type kind struct {
	lines        [][]byte
	intervals    []*measure.Interval // those of lines
	begun, ended []byte              // run.json
	plan         []byte
}

func (m *kind) size() (n int) {
	for _, line := range m.lines {
		n += len(line)
	}
	return n
}

// Placeholders in a kind's run.json for what differs between workers.
const (
	ownID     = "id-of-a-worker"
	ownOffset = 999_983
)

// write writes the files of worker k except its intervals.
func (m *kind) write(dir string, k int, run []byte) error {
	run = bytes.ReplaceAll(run, []byte(ownID), fmt.Appendf(nil, "worker-%d", k))
	run = bytes.Replace(run, []byte(strconv.Itoa(ownOffset)), strconv.AppendInt(nil, int64(k), 10), 1)
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, record.RunFile), run, 0o644),
		os.WriteFile(filepath.Join(dir, record.PlanFile), m.plan, 0o644))
}

// make writes the bundles of all kinds of workers with package record, so that their lines are real.
func (s *simulation) make() (all []*kind, err error) {
	plan, err := plans.ReadFile("plans/redis-get.yml")
	if err != nil {
		return nil, err
	}
	all = make([]*kind, kinds)
	for i := range all {
		m := &kind{plan: plan}
		if err := m.make(filepath.Join(s.dir, "kinds", strconv.Itoa(i)), s, uint64(i)); err != nil {
			return nil, err
		}
		all[i] = m
	}
	return all, nil
}

func (m *kind) make(dir string, s *simulation, seed uint64) error {
	b, err := record.CreateIn(record.OS{}, dir, record.Options{SyncEvery: -1})
	if err != nil {
		return err
	}
	run := s.run()
	if err := b.Start(m.plan, run); err != nil {
		return err
	}
	if m.begun, err = os.ReadFile(filepath.Join(dir, record.RunFile)); err != nil {
		return err
	}
	r, tally := rand.New(rand.NewPCG(seed, 7)), &measure.Tally{}
	for i := range s.seconds {
		iv := s.interval(r, i)
		m.intervals = append(m.intervals, iv)
		if err := errors.Join(b.Interval(iv), tally.Interval(iv)); err != nil {
			return err
		}
	}
	record.Fill(run, tally)
	run.Ended = run.Started.Add(time.Duration(s.seconds) * time.Second)
	if err := b.Finish(run); err != nil {
		return err
	}
	if m.ended, err = os.ReadFile(filepath.Join(dir, record.RunFile)); err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(dir, record.IntervalsFile))
	if err != nil {
		return err
	}
	defer file.Close()
	for in := bufio.NewReader(file); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		m.lines = append(m.lines, line)
	}
	if len(m.lines) != s.seconds {
		return fmt.Errorf("%d lines were written, want %d", len(m.lines), s.seconds)
	}
	return nil
}

// run returns the record of a worker at its beginning.
func (s *simulation) run() *record.Run {
	run := &record.Run{
		Schema: record.SchemaVersion, ID: ownID, Name: "simulated", Started: time.Now().UTC(), Seed: 7, LoadModel: "open",
		Sessions: 16, IntervalNs: 1e9, Stride: uint64(s.workers), Offset: ownOffset,
		Worker: &record.Worker{Name: ownID},
		Phases: []record.Phase{{Name: "hold", Kind: measure.KindOpen, DurationNs: int64(s.seconds) * 1e9,
			RateFrom: float64(s.rate), RateTo: float64(s.rate)}},
	}
	for _, name := range []string{"read", "write", "scan", "delete"} {
		run.Operations = append(run.Operations, record.Operation{Name: name})
	}
	for _, address := range []string{"db1:5432", "db2:5432", "db3:5432", "db4:5432"} {
		run.Targets = append(run.Targets, record.Target{Address: address, Protocol: "pg"})
	}
	return run
}

// interval returns one second of a worker: four operations at four addresses, response times with a log-normal
// distribution and a median of 0.4 ms, and one failure in 200.
func (s *simulation) interval(r *rand.Rand, i int) *measure.Interval {
	iv := &measure.Interval{Index: i, UnixNs: time.Now().UnixNano(), Phase: "hold", Kind: measure.KindOpen,
		Account: measure.Account{
			StartNs: int64(i) * 1e9, EndNs: int64(i+1) * 1e9, Sessions: 16, Busy: 4, Offered: uint64(s.rate),
			OwnLag: measure.NewHistogram(),
			Health: measure.Health{LoopBusy: 0.2, ProcessCPU: 0.2, RSSBytes: 40 << 20},
		}}
	for range 4 {
		iv.Operations = append(iv.Operations, measure.OperationAccount{Response: measure.NewHistogram(),
			WithoutGenerator: measure.NewHistogram(), Service: measure.NewHistogram(), Lag: measure.NewHistogram(),
			FailedResponse: measure.NewHistogram()})
		iv.Addresses = append(iv.Addresses, measure.AddressAccount{Service: measure.NewHistogram(), Up: 4})
	}
	for n := range s.rate {
		o, a := &iv.Operations[n%4], &iv.Addresses[r.IntN(4)]
		service := int64(400_000 * math.Exp(0.6*r.NormFloat64()))
		own := int64(5_000 * math.Exp(r.NormFloat64()))
		lag := own + int64(5_000*math.Exp(r.NormFloat64()))
		o.Lag.Record(lag)
		iv.OwnLag.Record(own)
		for _, c := range []*measure.Counts{&o.Counts, &a.Counts} {
			c.Done++
			c.Attempts++
		}
		if n%200 == 0 {
			o.Errors[protocol.Server]++
			a.Errors[protocol.Server]++
			o.FailedResponse.Record(service + lag)
			continue
		}
		o.Response.Record(service + lag)
		o.WithoutGenerator.Record(service + lag - own)
		o.Service.Record(service)
		a.Service.Record(service)
	}
	iv.Settle()
	return iv
}
