package advise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/inspect/servers"
	"brunt/internal/judge/compare"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/run/program"
)

// settingsFile is the file in an experiment's folder that stores the values to be restored.
const settingsFile = "settings.json"

// Guard restores settings by Restore, in a process of its own, if this process dies.
type Guard interface {
	// Hold registers what Restore is given; it is called before settings are changed.
	Hold(id string, data json.RawMessage)
	// Release says that nothing remains to be restored.
	Release(id string)
	// Close ends the guard, which first restores what wasn't released.
	Close()
}

// Experiment tries settings of a server by the A/B that indexes have, and restores them always: after each run with
// them, after an error, by the guard if this process is killed, and at the latest by the process that resumes it.
type Experiment struct {
	Server string // KIND=URL
	Wanted []inspect.Setting
	Dir    string // of the experiment's files
	Guard  func() (Guard, error)

	before []inspect.Setting
	tried  []inspect.Setting // as the server writes them; nil: unknown
	guard  Guard
}

var _ inspect.Database = (*Experiment)(nil)

// restored is what the watchdog restores.
type restored struct {
	Server string            `json:"server"`
	Before []inspect.Setting `json:"before"`
}

// Restore restores the settings of an experiment whose process has died.
func Restore(ctx context.Context, data json.RawMessage) error {
	var r restored
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	return settings(ctx, r.Server, func(s inspect.Settings) error { return set(ctx, s, r.Before, r.Before) })
}

// settings calls do with the settings of a server.
func settings(ctx context.Context, server string, do func(inspect.Settings) error) error {
	s, err := servers.Settings(ctx, server)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

// set changes settings and makes sure that they have the values in want, unless that is nil.
func set(ctx context.Context, s inspect.Settings, to, want []inspect.Setting) error {
	err := s.Set(ctx, to)
	if err != nil || want == nil {
		return err
	}
	now, err := s.Read(ctx, inspect.SettingNames(to))
	if err == nil && !inspect.SameSettings(now, want) {
		err = fmt.Errorf("the server has %s, and not %s", inspect.SettingsText(now), inspect.SettingsText(want))
	}
	return err
}

// CheckSettings checks that a server's settings can be changed and restored. It leaves them as they are.
func CheckSettings(ctx context.Context, server string, wanted []inspect.Setting) error {
	return settings(ctx, server, func(s inspect.Settings) error { return s.Check(ctx, wanted) })
}

// Prove measures the load without and with the settings, and judges them. See Trial.Prove.
func (e *Experiment) Prove(ctx context.Context, t *Trial) (record.Proof, error) {
	if err := e.open(ctx); err != nil {
		return record.Proof{}, err
	}
	guard, err := e.Guard()
	if err != nil {
		return record.Proof{}, err
	}
	e.guard = guard
	defer guard.Close()
	t.Database = e
	proofs, err := t.Prove(ctx, []record.Proposal{{Name: strings.Join(inspect.SettingNames(e.Wanted), ", "),
		DDL: inspect.SettingsText(e.Wanted), Drop: inspect.SettingsText(e.before), Proof: record.ProofSetting}})
	if len(proofs) == 0 {
		return record.Proof{}, err
	}
	p := proofs[0]
	for i, s := range e.Wanted {
		tried := s.Value
		if e.tried != nil {
			tried = e.tried[i].Value
		}
		p.Settings = append(p.Settings, record.TriedSetting{Name: s.Name, Before: e.before[i].Value, Tried: tried})
	}
	return p, err
}

// open reads the values to be restored, from the file of an attempt that was killed if there is one.
func (e *Experiment) open(ctx context.Context) error {
	path := filepath.Join(e.Dir, settingsFile)
	data, err := os.ReadFile(path)
	if !errors.Is(err, os.ErrNotExist) {
		if err == nil {
			err = json.Unmarshal(data, &e.before)
		}
		if err == nil && len(e.before) != len(e.Wanted) {
			err = fmt.Errorf("%d settings, and not %d", len(e.before), len(e.Wanted))
		}
		if err != nil {
			return fmt.Errorf("%s: damaged: %w", path, err)
		}
		return nil
	}
	err = settings(ctx, e.Server, func(s inspect.Settings) (err error) {
		if err = s.Check(ctx, e.Wanted); err == nil {
			e.before, err = s.Read(ctx, inspect.SettingNames(e.Wanted))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return program.WriteJSON(path, e.before)
}

// guardID identifies the values to be restored at the watchdog.
const guardID = "settings"

// Exec implements inspect.Database: it sets what the proposal says, or restores it.
func (e *Experiment) Exec(ctx context.Context, script string, _ inspect.Progress) error {
	return settings(ctx, e.Server, func(s inspect.Settings) error {
		if script != inspect.SettingsText(e.Wanted) {
			err := set(ctx, s, e.before, e.before)
			if err == nil {
				e.guard.Release(guardID)
			}
			return err
		}
		if err := e.hold(); err != nil {
			return err
		}
		if err := set(ctx, s, e.Wanted, e.tried); err != nil {
			return err
		}
		now, err := s.Read(ctx, inspect.SettingNames(e.Wanted))
		if err == nil && inspect.SameSettings(now, e.before) {
			err = fmt.Errorf("the server has %s, as before", inspect.SettingsText(now))
		}
		e.tried = now
		return err
	})
}

// hold tells the watchdog what to restore if this process dies.
func (e *Experiment) hold() error {
	data, err := json.Marshal(restored{e.Server, e.before})
	if err == nil {
		e.guard.Hold(guardID, data)
	}
	return err
}

// Propose implements inspect.Database: settings are named by users.
func (e *Experiment) Propose(context.Context, []record.Inspection) ([]record.Proposal, error) {
	return nil, nil
}

// Settle implements inspect.Database. Settings that aren't those before the experiment are to be restored.
func (e *Experiment) Settle(ctx context.Context, _ *record.Proposal) (there bool, err error) {
	err = settings(ctx, e.Server, func(s inspect.Settings) error {
		now, err := s.Read(ctx, inspect.SettingNames(e.before))
		there = err == nil && !slices.Equal(now, e.before) // also what only the next reload would bring into force
		return err
	})
	return there, err
}

// isSetting reports whether settings are tried.
func (a *attempt) isSetting() bool { return a.proof.Proof == record.ProofSetting }

// kind is the first part of the names of runs.
func (a *attempt) kind() string {
	if a.isSetting() {
		return "setting"
	}
	return "index"
}

// failed returns why the index or the settings couldn't be tried.
func (a *attempt) failed(err error) message.Message {
	if a.isSetting() {
		return message.New("proof.unset", message.Text("error", err.Error()))
	}
	return message.New("proof.unbuilt", message.Text("error", err.Error()))
}

// left returns an error that says what may remain.
func (a *attempt) left(err error) error {
	if a.isSetting() {
		return fmt.Errorf("%w; the settings may not be restored: do it by hand (%s)", err, a.proof.Drop)
	}
	return fmt.Errorf("%w; the index may be there still: drop it by hand (%s)", err, a.proof.Drop)
}

// judgeSetting decides whether settings pay: the mean response time is lower with confidence, or there are fewer
// errors. They don't pay if an operation is slower, if one that may write is slower by however little, or if more
// requests fail.
func (a *attempt) judgeSetting() {
	p := &a.proof
	if incomparable := a.responses(); !incomparable.IsZero() {
		p.Why = message.New("proof.incomparable", message.Nested("why", incomparable))
		return
	}
	if p.Change = p.Response; p.Change == nil {
		p.Why = message.New("proof.no-mean")
		return
	}
	failing, mending := false, false
	for i := range a.rows {
		r := &a.rows[i]
		switch {
		case r.Metric == "errors" && r.Operation == "":
			failing, mending = r.Verdict == compare.Regression, r.Verdict == compare.Improvement
		case r.Metric == record.ResponseTime && slices.Contains(a.trial.Writers, r.Operation) && r.Change.Low > 0 &&
			!slices.Contains(p.Worse, r.Operation):
			p.Worse = append(p.Worse, r.Operation)
		}
	}
	figures := figures(p)
	switch {
	case failing:
		p.Why = message.New("proof.more-errors", message.Nested("figures", figures))
	case len(p.Worse) > 0 && p.Change.High < 0:
		p.Why = message.New("proof.some-pay", message.Text("operations", strings.Join(p.Worse, ", ")),
			message.Nested("figures", figures))
	case p.Change.Low > 0:
		p.Why = message.New("proof.worse", message.Nested("figures", figures))
	case mending && len(p.Worse) == 0:
		p.Why, p.Advised = message.New("proof.fewer-errors", message.Nested("figures", figures)), true
	case p.Change.High < 0:
		p.Why, p.Advised = figures, true
	default:
		p.Why = message.New("proof.unsure", message.Nested("figures", figures))
	}
}
