package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/tools"
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
	embedded []embedded        // in JSON, each is a key of its own
	licence  string            // of the whole
}

// embedded is a tool that can be part of the binary.
type embedded struct {
	name string
	dialect.Embedded
}

// MarshalJSON implements json.Marshaler.
func (c *contents) MarshalJSON() ([]byte, error) {
	type fields contents // without this method
	text, err := json.Marshal((*fields)(c))
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte("}"))
	for _, e := range c.embedded {
		if e.Version != "" {
			text = fmt.Appendf(text, ",%q:%q", e.name, e.Version)
		}
	}
	return fmt.Appendf(text, `,"licence":%q}`, c.licence), nil
}

type containedDriver struct {
	Name  string   `json:"name"`
	Tiers []string `json:"tiers"`
}

func newVersion(s *command.Env) *cobra.Command {
	var output string
	cmd := newCommand("version", cobra.NoArgs, func(*cobra.Command, []string) error {
		c := contained(s.Version)
		switch output {
		case "text":
			return c.print(s.Out)
		case "json":
			e := json.NewEncoder(s.Out)
			e.SetIndent("", "  ")
			return e.Encode(c)
		}
		return exitcode.Usage(fmt.Errorf("--output %s: use text, json", output))
	})
	cmd.Flags().StringVar(&output, "output", "text", "form of the result: text, json")
	return cmd
}

func contained(version string) *contents {
	linked := tools.All()
	c := &contents{
		Version: version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Tiers: tiers(true),
		Dialects: append([]string{"plan"}, linked.Formats()...),
		licence:  "AGPL-3.0",
	}
	for _, tool := range linked {
		if tool.Embedded != nil {
			c.embedded = append(c.embedded, embedded{tool.Name, *tool.Embedded})
		}
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
	for _, e := range c.embedded {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-9s %s\n", e.name, cmp.Or(e.Version, e.Absent))
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "licence   %s\n", c.licence)
	}
	return err
}
