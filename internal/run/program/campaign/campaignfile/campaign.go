// Package campaignfile reads the files of campaigns. docs/campaign.md describes every key; docs/campaign.schema.json is
// the JSON Schema for editors.
package campaignfile

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

// MaxBytes is the size of the largest file that Read accepts.
const MaxBytes = form.MaxBytes

// Campaign is the content of a campaign file: steps that refer to plans, and the service under test. Names in ${…} are
// kept as written.
type Campaign struct {
	Name      string
	Plan      string   // plan of steps that name none; path relative to the file's folder
	Addresses []string // replace the plans' addresses; nil: they don't
	Inspect   string   // database to inspect and to send SQL to: "pg=DSN"; "" for none
	Goals     []string
	Settings  []Setting
	Service   Service
	Watch     []string // sources sampled during every load, as for --watch
	Steps     []Step
}

// Setting is a setting of a service: an environment variable for commands.
type Setting struct{ Name, Value string }

// Axis is a setting with its values in a grid.
type Axis struct {
	Name   string
	Values []string
}

// Service describes how the service under test is started and reconfigured.
type Service struct {
	Run         Command // kept running, and restarted to reconfigure it
	Reconfigure Command // applies the settings and returns
	Stop        Command
	Ready       []Probe
	Within      time.Duration // time limit for being ready; 1 min
}

// Command is a command line for the shell, or a program with its arguments.
type Command struct {
	Shell string
	Args  []string
	At    plan.Position
}

// Given reports whether the command is set.
func (c *Command) Given() bool { return c.Shell != "" || len(c.Args) > 0 }

// String returns the command as a single line.
func (c *Command) String() string {
	if c.Shell != "" {
		return c.Shell
	}
	return strings.Join(c.Args, " ")
}

// Probe is a check of readiness. Exactly one of its fields URL, SQL and Exec is set.
type Probe struct {
	URL  string
	SQL  string
	Exec Command
	At   plan.Position
}

// The kinds of steps.
const (
	StepPrepare     = "prepare"
	StepSearch      = "search"
	StepConfirm     = "confirm"
	StepReliability = "reliability"
	StepAnalyse     = "analyse"
	StepFix         = "fix"
	StepRepeat      = "repeat"
	StepConnections = "connections"
	StepMatrix      = "matrix"
	StepExperiment  = "experiment"
	StepDocument    = "document"
)

// None is a duration that was explicitly given as 0, for keys that have another default.
const None = time.Duration(-1)

// Maximum is the value of Step.N for "at: maximum", the load found by an earlier search step.
const Maximum = -1

// StepKinds returns the kinds of steps.
func StepKinds() []string {
	return []string{StepPrepare, StepSearch, StepConfirm, StepReliability, StepAnalyse, StepFix, StepRepeat,
		StepConnections, StepMatrix, StepExperiment, StepDocument}
}

// Step is one step of a campaign. Fields that don't apply to its Kind are zero.
type Step struct {
	Kind          string
	Name          string // "": derived from the kind
	Plan          string
	Before, After []Command
	At            plan.Position

	Schema   bool
	Commands []Command
	SQL      []string // files
	Advisor  bool

	Start, Min, Max, Width float64
	Trials, MaxSessions    int
	Trial                  time.Duration

	N        float64       // multiple of the profile, or Maximum; 0: the kind's default
	WarmUp   time.Duration // None for no warm-up
	Ramp     time.Duration // None for no ramp
	Duration time.Duration // of the load, or of its hold at full rate

	Repeat []string // kinds of earlier steps

	Set         []Setting // of the server that is inspected
	Grid        []Axis
	Cells       [][]Setting
	Repetitions int
	Tolerance   float64
	By          string

	Languages []string
}

// Read parses and checks a campaign file. name is the file's name as shown in problems. The error is a
// plan.Problems with all problems.
func Read(name string, data []byte) (*Campaign, error) {
	r := &form.Reader{File: name, Kind: form.Campaign}
	root := r.Document(data)
	if root == nil {
		return nil, r.Problems.Sort()
	}
	c := &Campaign{}
	newFormat().Read(r, "", root, form.ValueOf(c))
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	check(r, c)
	if len(r.Problems) > 0 {
		return nil, r.Problems.Sort()
	}
	return c, nil
}

// check checks rules that involve several keys.
func check(r *form.Reader, c *Campaign) {
	searched, analysed := false, false
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Kind == "" { // a typing error: assume that it could be any kind of step
			searched, analysed = true, true
			continue
		}
		if (loads(s.Kind) || s.Advisor) && s.Plan == "" && c.Plan == "" {
			r.Problem(s.At, "add plan: FILE to the step, or to the campaign", "step %s names no plan", s.Kind)
		}
		if (takesMaximum(s.Kind) && s.N == 0 || s.N == Maximum) && !searched {
			r.Problem(s.At, "put a search before it, or say at: 1, say",
				"step %s is at the maximum, and no search comes before it", s.Kind)
		}
		searched, analysed = searched || s.Kind == StepSearch, analysed || s.Kind == StepAnalyse
		switch s.Kind {
		case StepRepeat:
			checkRepeat(r, c, i)
		case StepFix:
			if !s.Advisor && len(s.SQL) == 0 && len(s.Commands) == 0 {
				r.Problem(s.At, "add advisor: true, sql: [files] or commands: […]", "step fix says nothing to do")
			}
			if s.Advisor && !analysed {
				r.Problem(s.At, "put a step analyse before it", "step fix asks the advisor, who needs an analysis to go by")
			}
		case StepMatrix:
			checkMatrix(r, c, s)
		case StepExperiment:
			if len(s.Set) == 0 {
				r.Problem(s.At, "write set: {NAME: value}", "step experiment changes nothing")
			}
		}
		if s.Kind == StepAnalyse && c.Inspect == "" {
			r.Problem(s.At, "add inspect: pg=DSN to the campaign", "step analyse looks into a database that the campaign doesn't name")
		}
		if (s.Advisor || len(s.SQL) > 0 || s.Kind == StepExperiment) && c.Inspect == "" {
			r.Problem(s.At, "add inspect: pg=DSN to the campaign", "step %s is about a database that the campaign doesn't name",
				s.Kind)
		}
	}
	for _, p := range c.Service.Ready {
		if p.SQL != "" && c.Inspect == "" {
			r.Problem(p.At, "add inspect: pg=DSN to the campaign", "a probe asks a database that the campaign doesn't name")
		}
	}
}

func loads(kind string) bool {
	return slices.Contains([]string{StepSearch, StepConfirm, StepReliability, StepAnalyse, StepConnections, StepMatrix,
		StepExperiment}, kind)
}

func takesMaximum(kind string) bool {
	return slices.Contains([]string{StepConfirm, StepAnalyse, StepMatrix, StepExperiment}, kind)
}

func checkRepeat(r *form.Reader, c *Campaign, at int) {
	s := &c.Steps[at]
	if len(s.Repeat) == 0 {
		r.Problem(s.At, "write for example repeat: [search, confirm]", "step repeat names no steps")
	}
	for _, kind := range s.Repeat {
		if !slices.ContainsFunc(c.Steps[:at], func(b Step) bool { return b.Kind == kind || b.Kind == "" }) {
			r.Problem(s.At, "name kinds of steps that come before it", "step repeat: no %s comes before it", kind)
		}
	}
}

func checkMatrix(r *form.Reader, c *Campaign, s *Step) {
	if (len(s.Grid) > 0) == (len(s.Cells) > 0) {
		r.Problem(s.At, "write grid: {NAME: [values]} or cells: [{NAME: value}]", "step matrix needs either a grid or cells")
	}
	if !c.Service.Run.Given() && !c.Service.Reconfigure.Given() {
		r.Problem(s.At, "add service: {reconfigure: COMMAND} to the campaign",
			"step matrix changes settings, and the campaign doesn't say how")
	}
}
