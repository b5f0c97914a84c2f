package cli

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/record"
	"brunt/internal/runner"
	"brunt/internal/secret"
)

// recordFlags say what is kept of a run.
type recordFlags struct {
	root, dir string
	none      bool
	hdrLog    string
}

func (f *recordFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.root, "results", record.DefaultRoot, "folder for run bundles")
	fs.StringVar(&f.dir, "bundle", "", "folder for this run's bundle, empty or new")
	fs.BoolVar(&f.none, "no-record", false, "keep no bundle")
	fs.StringVar(&f.hdrLog, "hlog", "", "write a HdrHistogram log to a file")
}

// recording is what the record of a run says beside what happened.
func (f *recordFlags) recording(l *loadRun, s *streams) (runner.Recording, error) {
	if f.none && f.dir != "" {
		return runner.Recording{}, fmt.Errorf("--bundle %s and --no-record exclude each other; give one", f.dir)
	}
	text, err := planfile.Write(l.plan)
	return runner.Recording{
		None: f.none, Root: f.root, Dir: f.dir, Plan: text, Extra: l.options.Recording.Extra,
		Command: secret.Args(s.args, s.properties()), Version: s.version, Flags: s.flags,
	}, err
}

// hdrFile is a HdrHistogram log under way.
type hdrFile struct {
	file *os.File
	log  *record.HDRLog
}

// openHDR opens the HdrHistogram log, nil if none is asked for.
func (f *recordFlags) openHDR(p *plan.Plan) (*hdrFile, error) {
	if f.hdrLog == "" {
		return nil, nil
	}
	file, err := os.Create(f.hdrLog)
	if err != nil {
		return nil, fmt.Errorf("--hlog: %w", err)
	}
	var names []string
	for i := range p.Operations {
		names = append(names, p.Operations[i].Name)
	}
	return &hdrFile{file, record.NewHDRLog(file, names)}, nil
}

// adjusting names the flags of the command in use that advice may be about, those that has reports.
func adjusting(dashes string, has func(name string) bool) map[string]string {
	out := map[string]string{}
	for thing, names := range map[string][]string{
		"sessions": {"vu", "sessions", "concurrency", "threads"}, "rate": {"rate", "qps", "target"},
		"loops": {"loops"}, "threshold": {"threshold"}, "awake": {"awake"}, "pipeline": {"pipeline"},
	} {
		for _, name := range names {
			if _, found := out[thing]; !found && has(name) {
				out[thing] = dashes + name
			}
		}
	}
	return out
}
