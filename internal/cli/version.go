package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/k6"
	"brunt/internal/engine/loop"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
)

// contents describes what a binary contains.
type contents struct {
	Version  string            `json:"version"`
	Commit   string            `json:"commit,omitempty"`
	Time     string            `json:"commit_time,omitempty"`
	Modified bool              `json:"modified,omitempty"` // built from a tree with uncommitted changes
	Go       string            `json:"go"`
	System   string            `json:"system"`
	Tiers    []string          `json:"tiers"`
	Drivers  []containedDriver `json:"drivers"`
	Dialects []string          `json:"dialects"`
	K6       string            `json:"k6,omitempty"` // version of the k6 that is compiled in
	Licence  string            `json:"licence"`      // of the whole
}

type containedDriver struct {
	Name  string   `json:"name"`
	Tiers []string `json:"tiers"`
}

func newVersion(s *streams) *cobra.Command {
	var output string
	cmd := command("version", cobra.NoArgs, func(*cobra.Command, []string) error {
		c := contained(s.version)
		switch output {
		case "text":
			return c.print(s.out)
		case "json":
			e := json.NewEncoder(s.out)
			e.SetIndent("", "  ")
			return e.Encode(c)
		}
		return exitcode.Usage(fmt.Errorf("--output %s: use text, json", output))
	})
	cmd.Flags().StringVar(&output, "output", "text", "form of the result: text, json")
	return cmd
}

func contained(version string) *contents {
	c := &contents{
		Version: version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Tiers: tiers(true),
		Dialects: dialectNames(),
		K6:       k6x.Version(), Licence: "AGPL-3.0",
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, b := range info.Settings {
			switch b.Key {
			case "vcs.revision":
				c.Commit = b.Value
			case "vcs.time":
				c.Time = b.Value
			case "vcs.modified":
				c.Modified = b.Value == "true"
			}
		}
	}
	for _, d := range protocols.All() {
		_, codec := d.Open().(protocol.CodecDriver)
		c.Drivers = append(c.Drivers, containedDriver{d.Name(), tiers(codec)})
	}
	return c
}

// tiers returns the tiers that are available on this system.
func tiers(codec bool) []string {
	if codec && loop.Supported {
		return []string{plan.TierCodec, plan.TierLibrary}
	}
	return []string{plan.TierLibrary}
}

func (c *contents) print(w io.Writer) error {
	commit := cmp.Or(strings.TrimSpace(c.Commit+" "+c.Time), "unknown")
	if c.Modified {
		commit += ", with changes"
	}
	by := map[string][]string{}
	for _, d := range c.Drivers {
		for _, t := range d.Tiers {
			by[t] = append(by[t], d.Name)
		}
	}
	_, err := fmt.Fprintf(w, "brunt %s\ncommit    %s\nbuilt     %s for %s\n", c.Version, commit, c.Go, c.System)
	for _, t := range c.Tiers {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-9s %s\n", t, strings.Join(by[t], " "))
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "dialects  %s\n", strings.Join(c.Dialects, " "))
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "k6        %s\nlicence   %s\n", cmp.Or(c.K6, "none: built with the tag nok6"), c.Licence)
	}
	return err
}
