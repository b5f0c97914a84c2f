package loadtest

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/run/runner"
)

// Record says what is stored about a run.
type Record struct {
	Root, Dir string // Root is the folder for new bundles. Dir is the folder of this bundle, which must be empty or new.
	None      bool   // store no bundle
	HDRLog    string // path of a HdrHistogram log; "" for none
	Profile   string // path of a CPU profile of this process; "" for none
	Trace     uint64 // how many operations, from the first, are traced into the bundle; 0
	Upload    string // s3://bucket/prefix to which the bundle is copied; "" for none
}

// recording returns the runner's options for the record.
func (l *Test) recording() (runner.Recording, error) {
	f := &l.Record
	if f.None && f.Dir != "" {
		return runner.Recording{}, fmt.Errorf("--bundle %s and --no-record exclude each other; give one", f.Dir)
	}
	if f.None && f.Trace > 0 {
		return runner.Recording{}, errors.New("--trace writes into the bundle, and --no-record keeps none; leave out one of them")
	}
	if f.Trace > 0 && l.Workers.Number > 0 {
		return runner.Recording{}, errors.New("--trace follows the requests of this process; leave out --workers")
	}
	text, err := planfile.Write(l.Plan)
	return runner.Recording{
		None: f.None, Root: f.Root, Dir: f.Dir, Plan: text, Trace: f.Trace, Extra: l.Options.Recording.Extra,
		Command: l.Process.Command, Version: l.Process.Version, Flags: l.Process.Flags,
	}, err
}

// hdrFile is an open HdrHistogram log.
type hdrFile struct {
	file *os.File
	log  *record.HDRLog
}

// openHDR opens the HdrHistogram log. It returns nil if none is requested.
func (f *Record) openHDR(p *plan.Plan) (*hdrFile, error) {
	if f.HDRLog == "" {
		return nil, nil
	}
	file, err := os.Create(f.HDRLog)
	if err != nil {
		return nil, fmt.Errorf("--hlog: %w", err)
	}
	var names []string
	for i := range p.Operations {
		names = append(names, p.Operations[i].Name)
	}
	return &hdrFile{file, record.NewHDRLog(file, names)}, nil
}

// profile starts a CPU profile of this process. stop ends it; it is nil if none is requested.
func (f *Record) profile() (stop func() error, err error) {
	if f.Profile == "" {
		return nil, nil
	}
	file, err := os.Create(f.Profile)
	if err != nil {
		return nil, fmt.Errorf("--cpu-profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("--cpu-profile: %w", err), file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
