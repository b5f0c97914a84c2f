// Package workloads contains the built-in workloads, as property files.
package workloads

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"brunt/internal/base/suggest"
)

//go:embed workloada workloadb workloadc workloadd workloade workloadf workload_template java etcd etcd_offcial_workload
var files embed.FS

// Names returns the names of all workloads, sorted. go-ycsb's have no folder; the names of others begin with one.
func Names() []string {
	var names []string
	// The files are embedded in the program, so walking them can't fail.
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(name, ".go") {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names
}

// Find returns a workload by its name, and its full name. "b" stands for workloadb, "java/b" for java/workloadb, and
// "template" for workload_template.
func Find(name string) (text []byte, full string, err error) {
	folder, base := path.Split(path.Clean(name))
	for _, candidate := range []string{name, folder + "workload" + base, folder + "workload_" + base} {
		if text, err := files.ReadFile(candidate); err == nil {
			return text, candidate, nil
		}
	}
	hint := suggest.Or(name, Names(), "see brunt ycsb workloads")
	return nil, "", fmt.Errorf("no workload %q; %s", name, hint)
}

// About returns the first line of a workload's text, without its #.
func About(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "#"))
}
