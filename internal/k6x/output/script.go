package output

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/output"

	"brunt/internal/k6x/executor"
	"brunt/internal/k6x/native"
	"brunt/internal/k6x/session"
)

// scriptOf describes the run for its record. The script itself isn't kept, since it may hold secrets.
func scriptOf(p *output.Params) session.Script {
	path := p.ScriptPath.Path
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if name == "-" || name == "" || name == "." || name == "/" {
		name = "stdin"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# A run of k6: its script is the plan.\nname: %q\nscript: %q\n", name, path)
	if data, err := os.ReadFile(path); err == nil {
		fmt.Fprintf(&text, "sha256: %x\n", sha256.Sum256(data))
	}
	open, closed, native := 0, 0, 0
	var names []string
	for scenario := range p.ScriptOptions.Scenarios {
		names = append(names, scenario)
	}
	slices.Sort(names)
	if len(names) > 0 {
		text.WriteString("scenarios:\n")
	}
	for _, scenario := range names {
		c := p.ScriptOptions.Scenarios[scenario]
		fmt.Fprintf(&text, "  %q: %s\n", scenario, settings(c))
		if c.GetType() == executor.NativeType {
			native++
		}
		if o, ok := c.(interface{ Open() bool }); ok && o.Open() {
			open++
		} else {
			closed++
		}
	}
	model := "mixed"
	switch {
	case open == 0:
		model = "closed"
	case closed == 0:
		model = "open"
	}
	script := session.Script{Name: name, Text: []byte(text.String()), LoadModel: model, Native: native == len(names) && native > 0}
	options := &p.ScriptOptions
	if et, err := lib.NewExecutionTuple(options.ExecutionSegment, options.ExecutionSegmentSequence); err == nil { // k6 has checked them
		if all := et.Sequence.ExecutionSegmentSequence; len(all) > 1 {
			script.Cut, script.Part, script.Parts = all.String(), et.SegmentIndex, len(all)
		}
	}
	return script
}

// settings is what a scenario was set to, as JSON, without where it goes and what may be secret: the variables
// of its script, and the text of a plan, of which it has the sum.
func settings(c lib.ExecutorConfig) []byte {
	data, err := json.Marshal(c)
	var all map[string]any
	if cmp.Or(err, json.Unmarshal(data, &all)) != nil {
		all = map[string]any{"executor": c.GetType()}
	}
	for name, value := range all {
		if value == nil || slices.Contains([]string{"env", "addresses", "user", "password"}, name) {
			delete(all, name)
		}
	}
	if text, ok := all["plan"].(string); ok && native.Inline(text) {
		all["plan"] = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(text)))
	}
	data, _ = json.Marshal(all)
	return data
}
