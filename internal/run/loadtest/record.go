package loadtest

import (
	"fmt"
	"os"

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
	Upload    string // s3://bucket/prefix to which the bundle is copied; "" for none
}

// recording returns the runner's options for the record.
func (l *Test) recording() (runner.Recording, error) {
	f := &l.Record
	if f.None && f.Dir != "" {
		return runner.Recording{}, fmt.Errorf("--bundle %s and --no-record exclude each other; give one", f.Dir)
	}
	text, err := planfile.Write(l.Plan)
	return runner.Recording{
		None: f.None, Root: f.Root, Dir: f.Dir, Plan: text, Extra: l.Options.Recording.Extra,
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
