package tank

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Options are the options of a command line of yandex-tank.
type Options struct {
	Configs, Set, Patches []string
	Ammo                  string
	Quiet, Verbose        bool
	Manual                bool
	Version               bool
	Notes                 []string // options that aren't followed
}

// defaultConfig is the configuration that is read if none is named.
const defaultConfig = "load.yaml"

// Parse parses a command line without the program's name.
func Parse(args []string) (*Options, error) {
	o := &Options{}
	fs := pflag.NewFlagSet("yandex-tank", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringArrayVarP(&o.Configs, "config", "c", nil, "")
	fs.StringArrayVarP(&o.Set, "option", "o", nil, "")
	fs.StringArrayVarP(&o.Patches, "patch-cfg", "p", nil, "")
	fs.BoolVarP(&o.Quiet, "quiet", "q", false, "")
	fs.BoolVarP(&o.Verbose, "verbose", "v", false, "")
	fs.BoolVarP(&o.Manual, "manual-start", "m", false, "")
	fs.BoolVar(&o.Version, "version", false, "")
	fs.BoolP("no-rc", "n", false, "")
	fs.BoolP("fail-lock", "f", false, "")
	fs.BoolP("ignore-lock", "i", false, "")
	fs.StringP("lock-dir", "k", "", "")
	fs.StringP("log", "l", "", "")
	fs.String("error_log", "", "")
	fs.StringP("scheduled-start", "s", "", "")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	for _, name := range []string{"log", "error_log", "scheduled-start"} {
		if fs.Changed(name) {
			o.Notes = append(o.Notes, "--"+name+" isn't followed")
		}
	}
	if fs.NArg() > 0 {
		o.Ammo = fs.Arg(0)
	}
	if len(o.Configs) == 0 {
		o.Configs = []string{defaultConfig}
	}
	return o, nil
}
