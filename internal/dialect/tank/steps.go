package tank

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/load/schedule"
	"brunt/internal/plan"
)

// stepCall is a step of a schedule, such as line(1, 10, 5m).
type stepCall struct {
	name, text string
	args       []string
}

// parseSteps takes a schedule apart: steps that are joined by spaces or line breaks, or nothing.
func parseSteps(text string) (steps []stepCall, err error) {
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\n", " "), ")") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, args, ok := strings.Cut(part, "(")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.Contains(args, "(") {
			return nil, fmt.Errorf("%q is no step; write for example line(1, 10, 5m) const(10, 1h)", part)
		}
		s := stepCall{name: name, text: strings.Join(strings.Fields(part), " ") + ")"}
		for arg := range strings.SplitSeq(args, ",") {
			s.args = append(s.args, strings.TrimSpace(arg))
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("the schedule is empty; write for example const(10, 1m)")
	}
	if len(steps) > plan.MaxSteps {
		return nil, fmt.Errorf("the schedule has more than %d steps", plan.MaxSteps)
	}
	return steps, nil
}

// durationForm is a duration of the stepper: days, hours, minutes and seconds, each at most once and in this order; a
// number without a unit is seconds.
var durationForm = lazyregexp.New(`^(?:([0-9.]+)d)?(?:([0-9.]+)h)?(?:([0-9.]+)m)?(?:([0-9.]+)s?)?$`)

// mostMs is the longest duration, in ms: a year.
const mostMs = 366 * 86_400_000

// parseMs parses a duration. It returns whole milliseconds, cut off for each unit, as the stepper.
func parseMs(text string) (ms int64, err error) {
	m := durationForm().FindStringSubmatch(text)
	if m == nil || text == "" {
		return 0, fmt.Errorf("%q is no duration; write for example 90s, 5m or 1h30m", text)
	}
	for i, unit := range []float64{86400, 3600, 60, 1} {
		if m[i+1] == "" {
			continue
		}
		v, err := strconv.ParseFloat(m[i+1], 64)
		if err != nil || v*unit*1000 > mostMs {
			return 0, fmt.Errorf("%q is no duration; write for example 90s, 5m or 1h30m", text)
		}
		ms += int64(v * unit * 1000)
	}
	return ms, nil
}

// numbers parses all arguments but the last as numbers, and the last as a duration above 0.
func (s *stepCall) numbers(form string) (v []float64, ms int64, err error) {
	names := strings.Count(form, ",") + 1
	if len(s.args) != names {
		return nil, 0, fmt.Errorf("%s: write %s(%s)", s.text, s.name, form)
	}
	for _, arg := range s.args[:names-1] {
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(n >= 0 && n <= mostRate) {
			return nil, 0, fmt.Errorf("%s: %q is no number from 0 to %g", s.text, arg, mostRate)
		}
		v = append(v, n)
	}
	if ms, err = parseMs(s.args[names-1]); err == nil && ms == 0 {
		err = fmt.Errorf("%q is no time above zero", s.args[names-1])
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", s.text, err)
	}
	return v, ms, nil
}

// rates are the phases of a schedule of requests, as the stepper makes it: each step begins with a request, and has
// the whole part of its expected number.
type rates struct {
	phases []plan.Phase
}

// add adds a phase.
func (r *rates) add(name string, from, to float64, d time.Duration) {
	p := plan.Phase{Name: name, Kind: plan.Open, Duration: d, RateFrom: from, RateTo: to, Arrivals: "whole"}
	if from == 0 && to == 0 || expected(&p) < 1 {
		p = plan.Phase{Name: name, Kind: plan.Pause, Duration: d}
	}
	r.phases = append(r.phases, p)
}

// expected is how many requests a phase has.
func expected(p *plan.Phase) uint64 {
	if p.Times != nil {
		return uint64(len(p.Times))
	}
	if p.Kind != plan.Open {
		return 0
	}
	n := (p.RateFrom + p.RateTo) / 2 * p.Duration.Seconds()
	if whole := math.Round(n); math.Abs(n-whole) <= 1e-9+n*1e-13 {
		return uint64(whole)
	}
	return uint64(n)
}

// rps adds the phases of a step.
func (r *rates) rps(s *stepCall) error {
	switch s.name {
	case "const":
		v, ms, err := s.numbers("rps, duration")
		if err != nil {
			return err
		}
		r.add(s.text, v[0], v[0], time.Duration(ms)*time.Millisecond)
	case "line":
		v, ms, err := s.numbers("from, to, duration")
		if err != nil {
			return err
		}
		r.add(s.text, v[0], v[1], time.Duration(ms)*time.Millisecond)
	case "step":
		v, ms, err := s.numbers("from, to, increment, duration")
		if err != nil {
			return err
		}
		return r.stairs(s.text, v[0], v[1], v[2], time.Duration(ms)*time.Millisecond, true)
	default:
		return fmt.Errorf("%s: unknown step %q; use line, const or step", s.text, s.name)
	}
	return nil
}

// stairs adds the phases of a stairway. If last is set, the end value is added although it isn't a multiple of the
// increment.
func (r *rates) stairs(name string, from, to, increment float64, every time.Duration, last bool) error {
	if increment <= 0 {
		return fmt.Errorf("%s: the increment is 0", name)
	}
	if to < from {
		increment = -increment
	}
	n := int((to - from) / increment)
	if n >= plan.MaxSteps {
		return fmt.Errorf("%s: more than %d steps", name, plan.MaxSteps)
	}
	for i := range n + 1 {
		r.add(fmt.Sprintf("%s %d", name, i+1), from+float64(i)*increment, from+float64(i)*increment, every)
	}
	if reached := from + float64(n)*increment; last && reached != to {
		r.add(fmt.Sprintf("%s %d", name, n+2), to, to, every)
	}
	return nil
}

// rpsPhases returns the phases of a schedule of requests.
func rpsPhases(text string) ([]plan.Phase, error) {
	steps, err := parseSteps(text)
	if err != nil {
		return nil, err
	}
	var r rates
	for i := range steps {
		if err := r.rps(&steps[i]); err != nil {
			return nil, err
		}
	}
	return named(r.phases), nil
}

// named makes the names of phases unique.
func named(phases []plan.Phase) []plan.Phase {
	seen := map[string]int{}
	for i := range phases {
		name := phases[i].Name
		if seen[name]++; seen[name] > 1 {
			phases[i].Name = fmt.Sprintf("%s again %d", name, seen[name]-1)
		}
	}
	return phases
}

// cut ends phases after so many requests.
func cut(phases []plan.Phase, most uint64) []plan.Phase {
	for i := range phases {
		switch n := expected(&phases[i]); {
		case n < most:
			most -= n
		case n == most:
			return phases[:i+1]
		case most == 0:
			return phases[:i]
		default:
			shorten(&phases[i], most)
			return phases[:i+1]
		}
	}
	return phases
}

// shorten ends a phase between its n-th and its next request.
func shorten(p *plan.Phase, n uint64) {
	if p.Times != nil {
		p.Duration, p.Times = p.Times[n-1]+1, p.Times[:n]
		return
	}
	segment, exact := p.Segment()
	shape, err := schedule.NewExactShape([]schedule.Segment{segment}, []schedule.Exact{exact}, 0)
	if err != nil {
		return
	}
	next := shape.Arrivals(schedule.Uniform, 0)
	var last, after int64
	for range n {
		last, _ = next.Next()
	}
	after, ok := next.Next()
	if !ok {
		return
	}
	at := time.Duration(after + min((after-last)/1000+1, int64(p.Duration)-after-1))
	p.RateTo = p.RateFrom + (p.RateTo-p.RateFrom)*at.Seconds()/p.Duration.Seconds()
	p.Duration = at
}

// starts are when instances start, in ms after the beginning of the load.
type starts struct {
	atMs []int64
	now  int64 // ms: end of the steps so far
}

func (b *starts) start(count int) error {
	switch {
	case count < 0:
		return fmt.Errorf("instances can't be stopped")
	case len(b.atMs)+count > mostInstances:
		return fmt.Errorf("more than %d instances", mostInstances)
	}
	for range count {
		b.atMs = append(b.atMs, b.now)
	}
	return nil
}

// rated starts instances at the rates of phases.
func (b *starts) rated(phases []plan.Phase) error {
	count := uint64(0)
	for i := range phases {
		count += min(expected(&phases[i]), mostInstances+1)
	}
	if uint64(len(b.atMs))+count > mostInstances {
		return fmt.Errorf("more than %d instances", mostInstances)
	}
	at, end := dueTimes(phases)
	for _, one := range at {
		b.atMs = append(b.atMs, b.now+one.Milliseconds())
	}
	b.now += end.Milliseconds()
	return nil
}

// mostInstances is the greatest number of instances.
const mostInstances = plan.MaxSessions

func (b *starts) ramp(count int, ms int64) error {
	switch {
	case count < 2:
		return fmt.Errorf("a ramp needs at least two instances")
	case len(b.atMs)+count > mostInstances:
		return fmt.Errorf("more than %d instances", mostInstances)
	}
	interval := float64(ms) / float64(count-1)
	for i := range count {
		b.atMs = append(b.atMs, int64(float64(b.now)+float64(i)*interval))
	}
	b.now += ms
	return nil
}

// instanceForms are the arguments of the steps of a schedule of instances.
var instanceForms = map[string]string{
	"const": "instances, duration", "line": "from, to, duration", "step": "from, to, increment, duration",
	"ramp": "instances, duration", "wait": "duration", "start": "instances, 0",
}

func (b *starts) step(s *stepCall) error {
	form, ok := instanceForms[s.name]
	if !ok {
		return fmt.Errorf("%s: unknown step %q; use line, const, step, ramp, wait or start", s.text, s.name)
	}
	if s.name == "start" {
		n, err := strconv.Atoi(strings.Join(s.args, ","))
		if err != nil {
			return fmt.Errorf("%s: write start(instances)", s.text)
		}
		return b.start(n)
	}
	call := *s
	if last := len(s.args) - 1; s.args[last] == "0" { // wait(5s) ramp(5, 0)
		call.args = append(slices.Clone(s.args[:last]), "1s")
	}
	v, ms, err := call.numbers(form)
	if err != nil {
		return err
	}
	if s.args[len(s.args)-1] == "0" {
		ms = 0
	}
	n := make([]int, len(v))
	for i := range v {
		if n[i] = int(v[i]); float64(n[i]) != v[i] || n[i] > mostInstances {
			return fmt.Errorf("%s: %q is no number of instances from 0 to %d", s.text, s.args[i], mostInstances)
		}
	}
	switch s.name {
	case "const":
		if err := b.start(n[0] - len(b.atMs)); err != nil {
			return err
		}
		b.now += ms
	case "wait":
		b.now += ms
	case "ramp":
		return b.ramp(n[0], ms)
	case "line":
		if err := b.start(n[0] - len(b.atMs) - 1); err != nil {
			return err
		}
		return b.ramp(n[1]-n[0]+1, ms)
	case "step":
		return b.stairs(n[0], n[1], n[2], ms)
	}
	return nil
}

func (b *starts) stairs(from, to, by int, ms int64) error {
	if by < 1 {
		return fmt.Errorf("the increment is 0")
	}
	if err := b.start(from - len(b.atMs)); err != nil {
		return err
	}
	for range max((to-from)/by, 0) {
		b.now += ms
		if err := b.start(by); err != nil {
			return err
		}
	}
	if to != len(b.atMs) {
		b.now += ms
		if err := b.start(to - len(b.atMs)); err != nil {
			return err
		}
	}
	b.now += ms
	return nil
}

// instanceStarts returns when the instances of a schedule start, in ms.
func instanceStarts(text string) ([]int64, error) {
	steps, err := parseSteps(text)
	if err != nil {
		return nil, err
	}
	var b starts
	for i := range steps {
		if err := b.step(&steps[i]); err != nil {
			if !strings.HasPrefix(err.Error(), steps[i].text) {
				err = fmt.Errorf("%s: %w", steps[i].text, err)
			}
			return nil, err
		}
	}
	if len(b.atMs) == 0 {
		return nil, fmt.Errorf("the schedule starts no instance")
	}
	return b.atMs, nil
}

// instancePhases returns the phases of a closed load whose sessions start at ascending times, in ms. It ends after so
// many operations, or at endMs if that is above 0.
func instancePhases(atMs []int64, operations uint64, endMs int64) (phases []plan.Phase) {
	if atMs[0] > 0 {
		phases = append(phases, plan.Phase{Name: "wait", Kind: plan.Pause, Duration: ms(atMs[0])})
	}
	for i := 0; i < len(atMs); {
		at := atMs[i]
		for i < len(atMs) && atMs[i] == at {
			i++
		}
		p := plan.Phase{Name: fmt.Sprintf("%d instances", i), Kind: plan.Closed, Sessions: i, Operations: operations}
		if i < len(atMs) {
			p.Duration = ms(atMs[i] - at)
		} else if endMs > at {
			p.Duration = ms(endMs - at)
		}
		if endMs > 0 && at >= endMs {
			break
		}
		phases = append(phases, p)
	}
	return phases
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
