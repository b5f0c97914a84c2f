package ycsb

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"brunt/internal/dialect/ycsb/workloads"
)

// WriteDatabases writes a line for each database. known reports whether this build has a protocol.
func WriteDatabases(w io.Writer, known func(protocol string) bool) {
	for _, d := range Databases() {
		about := d.About
		if !known(d.Protocol) {
			about += " (not in this build)"
		}
		fmt.Fprintf(w, "%-12s %-36s %s\n", d.Names[0], strings.Join(d.Names[1:], ", "), about)
	}
}

// WriteProperties writes a line for each property, with its default.
func WriteProperties(w io.Writer, list []Property) {
	for _, p := range list {
		fmt.Fprintf(w, "%-40s %-24s %s\n", p.Name, cmp.Or(p.Default, "-"), p.About)
	}
}

// WriteWorkloads writes a line for each workload that comes with brunt.
func WriteWorkloads(w io.Writer) error {
	for _, name := range workloads.Names() {
		text, _, err := workloads.Find(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-36s %s\n", name, workloads.About(text))
	}
	return nil
}
