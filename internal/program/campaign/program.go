// Package campaign is a test programme: steps that find the maximum of a service, confirm it, explain it,
// fix what limits it, prove the fix, and write it all down. Each step leaves its bundles and its result in
// the campaign's folder, so that a campaign that was killed goes on with the step that it was at.
package campaign

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/internal/message"
	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/program"
)

// Program is a campaign's file with its plans, ready to run.
type Program struct {
	*planfile.Campaign
	Path   string // of the file
	Folder string // of the file, in which commands run
	Text   []byte // of the file
	Steps  []Step // repetitions written out
	Scale  float64
	Anyway bool          // runs that the generator spoiled are judged all the same
	least  time.Duration // that Scale leaves of a load
}

// Step is a step of a program.
type Step struct {
	planfile.Step
	Number int        // from 1
	Round  int        // 0, and one more with every repeat
	Again  int        // the number of the step that it repeats; 0 if none
	Load   *plan.Plan // nil if the step sends none
}

// ID is the name of the step's folder.
func (s *Step) ID() string { return fmt.Sprintf("%02d-%s", s.Number, s.Kind) }

// ReadPlan reads the plan of a path.
type ReadPlan func(path string) (*plan.Plan, error)

// ReadFile reads a campaign's file.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("campaign: %w; check the path", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, planfile.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("campaign %s: %w", path, err)
	}
	return text, nil
}

// Parse makes a program of a campaign's text and the plans that it names. path is where the text stands,
// in whose folder plans are looked for and commands run. scale shortens all durations; 1 leaves them. An
// error is the user's.
func Parse(path string, text []byte, scale float64, read ReadPlan) (*Program, error) {
	if !(scale > 0) || scale > 1 {
		return nil, fmt.Errorf("time scale %g: use a number above 0, and 1 at most", scale)
	}
	file, err := planfile.ReadCampaign(path, text)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("campaign: %w", err)
	}
	folder := filepath.Dir(path)
	p := &Program{Campaign: file, Path: path, Folder: folder, Text: text, Scale: scale, least: leastLoad}
	if p.Service.Within == 0 {
		p.Service.Within = time.Minute
	}
	p.writeOut()
	for i := range p.Steps {
		if err := p.open(&p.Steps[i], read); err != nil {
			return nil, fmt.Errorf("%s: step %s: %w", p.Steps[i].At, p.Steps[i].Kind, err)
		}
	}
	return p, nil
}

// writeOut makes the list of steps, those that are repeated again.
func (p *Program) writeOut() {
	round := 0
	add := func(s planfile.Step, again int) {
		withDefaults(&s)
		p.Steps = append(p.Steps, Step{Step: s, Number: len(p.Steps) + 1, Round: round, Again: again})
	}
	numbers := make([]int, len(p.Campaign.Steps))
	for i := range p.Campaign.Steps {
		s := p.Campaign.Steps[i]
		if s.Kind != planfile.StepRepeat {
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
	case s.Kind == planfile.StepSearch:
		_, err = program.NewTargetSearch(load, s.bounds())
	case s.Kind == planfile.StepMatrix:
		err = s.checkMatrix()
	}
	if err == nil && s.sends() {
		_, err = program.ProfileRate(load)
	}
	return err
}

// pathOf is a file that the campaign names, from its own folder.
func (p *Program) pathOf(name string) string {
	if path := p.expand(name); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Folder, p.expand(name))
}

// sends reports whether the step sends a load.
func (s *Step) sends() bool {
	switch s.Kind {
	case planfile.StepFix:
		return s.Advisor
	case planfile.StepSearch, planfile.StepConfirm, planfile.StepReliability, planfile.StepAnalyse,
		planfile.StepConnections, planfile.StepMatrix:
		return true
	}
	return false
}

// scaled is a duration shortened by the time scale, but not below least, or d itself if that is shorter.
func (p *Program) scaled(d, least time.Duration) time.Duration {
	return max(time.Duration(float64(d)*p.Scale), min(d, least))
}

// lasting is how long a run of s at n times the profile lasts: its duration by the time scale, but in a rehearsal at
// a low rate long enough for the plan's thresholds to be judged by it, if it was asked to be as long. The n of
// the maximum isn't known before, and then 0.
func (p *Program) lasting(s *Step, n float64) time.Duration {
	length := p.scaled(s.Duration, p.least)
	if s.Load != nil {
		length = max(length, min(s.Duration, program.Enough(s.Load, n)))
	}
	return length
}

// Note says what makes the campaign's results less than they seem, if anything does.
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

// expand replaces ${NAME} in a text by a setting, or by the environment's value.
func (p *Program) expand(text string) string {
	return os.Expand(text, func(name string) string { return p.variable(name, nil) })
}

func (p *Program) variable(name string, settings []planfile.Setting) string {
	for _, list := range [][]planfile.Setting{settings, p.Settings} {
		for _, s := range list {
			if s.Name == name {
				return s.Value
			}
		}
	}
	return os.Getenv(name)
}
