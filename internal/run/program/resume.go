package program

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/record"
)

// Again returns the command line, without the program's name, that goes on with the series in the folder dir. A
// password isn't in it, because none is stored. It returns an error if the command line had other secrets, or isn't
// known.
func (h *Header) Again(dir string) (args []string, err error) {
	if len(h.Command) < 2 {
		return nil, fmt.Errorf("%s doesn't say with which flags it began; go on with its command and --resume %[1]s", dir)
	}
	for _, arg := range h.Command[1:] {
		last := ""
		if len(args) > 0 {
			last = args[len(args)-1]
		}
		switch {
		case !strings.Contains(arg, secret.Hidden):
			args = append(args, arg)
		case arg == secret.Hidden && (last == "-p" || last == "--password"):
			args = args[:len(args)-1]
		case arg == "-p"+secret.Hidden || arg == "-p="+secret.Hidden || arg == "--password="+secret.Hidden:
		default:
			return nil, fmt.Errorf("%s began with a secret in %q, which isn't stored; go on with its command and --resume %[1]s",
				dir, arg)
		}
	}
	return append(args, "--resume", dir), nil
}

// KeptOutcome returns the outcome of the run with the bundle dir, or nil if there is no complete run. An incomplete run
// is renamed and kept.
func KeptOutcome(dir string) (*Outcome, error) {
	if o, err := ReadOutcome(record.OS{}, dir); err == nil && !o.Run.Interrupted {
		return o, nil
	}
	return nil, SetAside(dir, "killed")
}

// SetAside renames a run's folder if it exists, so that the run is repeated. why is a part of the new name.
func SetAside(dir, why string) error {
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for n := 1; n < 10_000; n++ {
		to := fmt.Sprintf("%s.%s-%d", dir, why, n)
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			return os.Rename(dir, to)
		}
	}
	return fmt.Errorf("%s.%s-1 and many more exist; remove them", dir, why)
}
