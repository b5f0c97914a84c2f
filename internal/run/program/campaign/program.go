// Package campaign executes a test programme: steps that find the maximum load of a service, confirm it, explain it,
// fix what limits it, prove the fix, and write a document. Each step stores its bundles and its result in the
// campaign's folder, so that a campaign that was killed can continue with the interrupted step.
package campaign

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/plan"
	"brunt/internal/render/message"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// Program is a parsed campaign file with its plans.
type Program struct {
	*campaignfile.Campaign
	Path   string // of the file
	Folder string // of the file; commands run in it
	Text   []byte // of the file
	Steps  []Step // repetitions written out
	Scale  float64
	Anyway bool          // judge runs even if the generator spoiled them
	least  time.Duration // least length of a load after scaling
}

// Step is a step of a program.
type Step struct {
	campaignfile.Step
	Number int        // from 1
	Round  int        // 0 at first, incremented by every repeat
	Again  int        // number of the step that it repeats; 0 if none
	Load   *plan.Plan // nil if the step sends none
}

// ID returns the name of the step's folder.
func (s *Step) ID() string { return fmt.Sprintf("%02d-%s", s.Number, s.Kind) }

// ReadPlan reads the plan at a path.
type ReadPlan func(path string) (*plan.Plan, error)

// ReadFile reads a campaign's file.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("campaign: %w; check the path", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, campaignfile.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("campaign %s: %w", path, err)
	}
	return text, nil
}

// Parse parses a campaign's text and reads the plans that it names. path is the path of the text. Plans are relative to
// its folder, and commands run there. scale shortens all durations; 1 leaves them unchanged. An error is the user's.
func Parse(path string, text []byte, scale float64, read ReadPlan) (*Program, error) {
	if !(scale > 0) || scale > 1 {
		return nil, fmt.Errorf("time scale %g: use a number above 0, and 1 at most", scale)
	}
	file, err := campaignfile.Read(path, text)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("campaign: %w", err)
	}
	folder := filepath.Dir(path)
	p := &Program{Campaign: file, Path: path, Folder: folder, Text: text, Scale: scale, least: leastLoad}
	p.Service.Within = cmp.Or(p.Service.Within, time.Minute)
	p.writeOut()
	for i := range p.Steps {
		if err := p.open(&p.Steps[i], read); err != nil {
			return nil, fmt.Errorf("%s: step %s: %w", p.Steps[i].At, p.Steps[i].Kind, err)
		}
	}
	return p, nil
}

// writeOut builds the list of steps, with repeated steps expanded.
func (p *Program) writeOut() {
	round := 0
	add := func(s campaignfile.Step, again int) {
		withDefaults(&s)
		p.Steps = append(p.Steps, Step{Step: s, Number: len(p.Steps) + 1, Round: round, Again: again})
	}
	numbers := make([]int, len(p.Campaign.Steps))
	for i := range p.Campaign.Steps {
		s := p.Campaign.Steps[i]
		if s.Kind != campaignfile.StepRepeat {
			add(s, 0)
			numbers[i] = len(p.Steps)
			continue
		}
		round++
		for _, kind := range s.Repeat {
			for k := i - 1; k >= 0; k-- {
				if again := p.Campaign.Steps[k]; again.Kind == kind {
					again.Before, again.After = slices.Concat(s.Before, again.Before), slices.Concat(again.After, s.After)
					add(again, numbers[k])
					break
				}
			}
		}
	}
}

// open reads the step's plan and checks that it can be scaled.
func (p *Program) open(s *Step, read ReadPlan) error {
	if !s.sends() && !s.Schema {
		return nil
	}
	name := cmp.Or(s.Plan, p.Plan)
	if name == "" {
		return fmt.Errorf("it names no plan; add plan: FILE")
	}
	load, err := read(p.pathOf(name))
	if err != nil {
		return err
	}
	if len(p.Addresses) > 0 && !s.Schema {
		load.Target.Addresses = nil
		for _, a := range p.Addresses {
			load.Target.Addresses = append(load.Target.Addresses, p.expand(a))
		}
	}
	s.Load = load
	switch {
	case s.Schema:
	case s.Kind == campaignfile.StepSearch:
		_, err = program.NewTargetSearch(load, s.bounds())
	case s.Kind == campaignfile.StepMatrix:
		err = s.checkMatrix()
	case s.Kind == campaignfile.StepExperiment:
		err = s.checkExperiment()
	}
	if err == nil && s.sends() {
		_, err = program.ProfileRate(load)
	}
	return err
}

// pathOf returns the path of a file that the campaign names, relative to the campaign's folder.
func (p *Program) pathOf(name string) string {
	if path := p.expand(name); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Folder, p.expand(name))
}

// sends reports whether the step sends a load.
func (s *Step) sends() bool {
	switch s.Kind {
	case campaignfile.StepFix:
		return s.Advisor
	case campaignfile.StepSearch, campaignfile.StepConfirm, campaignfile.StepReliability, campaignfile.StepAnalyse,
		campaignfile.StepConnections, campaignfile.StepMatrix, campaignfile.StepExperiment:
		return true
	}
	return false
}

// scaled returns a duration shortened by the time scale, but not below least, or d itself if d is shorter.
func (p *Program) scaled(d, least time.Duration) time.Duration {
	return max(time.Duration(float64(d)*p.Scale), min(d, least))
}

// lasting returns the duration of a run of s at n times the profile. It is shortened by the time scale, but in a
// rehearsal at a low rate it is long enough to judge the plan's thresholds, up to the duration in the file. n is 0 if
// the maximum isn't known yet.
func (p *Program) lasting(s *Step, n float64) time.Duration {
	length := p.scaled(s.Duration, p.least)
	if s.Load != nil {
		length = max(length, min(s.Duration, program.Enough(s.Load, n)))
	}
	return length
}

// Note returns the restrictions of the campaign's results, such as a time scale, or the zero message.
func (p *Program) Note() message.Message {
	var notes []message.Message
	if p.Scale < 1 {
		notes = append(notes, message.New("note.rehearsal", message.Figure("scale", p.Scale, "count")))
	}
	if p.Anyway {
		notes = append(notes, message.New("note.runs-anyway"))
	}
	return message.Sentences(notes...)
}

// expand replaces ${NAME} in a text by the value of a setting or of a variable of the environment.
func (p *Program) expand(text string) string {
	return os.Expand(text, func(name string) string { return p.variable(name, nil) })
}

func (p *Program) variable(name string, settings []campaignfile.Setting) string {
	for _, list := range [][]campaignfile.Setting{settings, p.Settings} {
		for _, s := range list {
			if s.Name == name {
				return s.Value
			}
		}
	}
	return os.Getenv(name)
}
