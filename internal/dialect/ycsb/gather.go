package ycsb

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/dialect/ycsb/workloads"
	"brunt/internal/secret"
)

// Given is what a command line says of properties.
type Given struct {
	Workload string   // of those that come with brunt; may be ""
	Files    []string // property files, later ones over earlier ones
	Values   []string // name=value, over the files
	Flags    map[string]string
}

// Gather reads all properties: the workload's, over these the files', over these the values, over
// these the flags, with references replaced. A file that isn't there but comes with brunt by its
// last name is taken from there. notes are for the user.
func (g Given) Gather(readFile ReadFile, environment func(string) (string, bool)) (set *properties.Set, notes []string, err error) {
	set = properties.NewSet()
	if g.Workload != "" {
		text, name, err := workloads.Find(g.Workload)
		if err != nil {
			return nil, nil, err
		}
		if err := put(set, "workload "+name, text); err != nil {
			return nil, nil, err
		}
	}
	for _, file := range g.Files {
		text, err := readFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			ours, name, e := workloads.Find(filepath.Base(file))
			if e != nil {
				return nil, nil, fmt.Errorf("property file: %w", err)
			}
			text, err = ours, nil
			notes = append(notes, fmt.Sprintf("%s isn't there: using the workload %s that comes with brunt", file, name))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("property file: %w", err)
		}
		if err := put(set, file, text); err != nil {
			return nil, nil, err
		}
	}
	for _, v := range g.Values {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, nil, fmt.Errorf("-p %s: not of the form name=value", secret.Value(v, v))
		}
		set.Put(name, value, "-p")
	}
	for name, value := range g.Flags {
		if measured, ok := set.Get(name); ok && name == "measurement.interval" && !strings.ContainsAny(measured, "0123456789") {
			name = "status.interval" // the property already says what is measured
		}
		set.Put(name, value, "--"+name)
	}
	return set, notes, set.Expand(environment)
}

func put(set *properties.Set, name string, text []byte) error {
	pairs, err := properties.Parse(name, text)
	for _, p := range pairs {
		set.Put(p.Key, p.Value, fmt.Sprintf("%s:%d", name, p.Line))
	}
	return err
}
