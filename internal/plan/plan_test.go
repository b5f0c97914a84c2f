package plan

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/protocol"
)

func TestSQLPlaceholders(t *testing.T) {
	for _, c := range []struct {
		sql       string
		used      []int
		questions int
	}{
		{"select $1::integer, $2 from t where a=$10", []int{1, 2, 10}, 0},
		{"select '$1' || \"$2\" || `$3`, $4", []int{4}, 0},
		{"select 'it''s $1', $2", []int{2}, 0},
		{"select $1 -- $2\n, $3 /* $4 /* $5 */ $6 */ + $7", []int{1, 3, 7}, 0},
		{"select $$ $1 $$, $a$ $2 $b$ $a$, $3", []int{3}, 0},
		{"select a$1, $0, $, $x", nil, 0},
		{"select * from t where a = ? and b = '?' and c = ?", nil, 2},
		{"select 'open $1", nil, 0},
		{"select /* open $1", nil, 0},
		{"$1", []int{1}, 0},
		{"", nil, 0},
	} {
		p := SQLPlaceholders(c.sql)
		var used []int
		for n := range p.Used {
			used = append(used, n)
		}
		slices.Sort(used)
		if !reflect.DeepEqual(used, c.used) || p.Questions != c.questions {
			t.Errorf("%s: %v and %d question marks, want %v and %d", c.sql, used, p.Questions, c.used, c.questions)
		}
	}
}

func FuzzSQLPlaceholders(f *testing.F) {
	f.Add("select $1, '$2' /* $3 */ -- $4\n, $a$ $5 $a$ ?")
	f.Fuzz(func(t *testing.T, sql string) {
		p := SQLPlaceholders(sql)
		if len(p.Used) > len(sql) || p.Questions > len(sql) || p.Max > 99_999 || p.Max > 0 && !p.Used[p.Max] {
			t.Fatalf("%q: %+v", sql, p)
		}
	})
}

func TestTemplatePlaceholders(t *testing.T) {
	p, other := TemplatePlaceholders("key:$1:$12 costs $$3 and $ and $x")
	if !p.Used[1] || !p.Used[12] || len(p.Used) != 2 || other != 2 {
		t.Errorf("%+v and %d others, want 1, 12 and 2 others", p, other)
	}
}

func TestProblemsAreSortedLines(t *testing.T) {
	f := Problems{{At: Position{"a.yml", 3, 1}, Text: "two\nlines", Fix: "join them"},
		{At: Position{"a.yml", 2, 9}, Text: "x"}, {At: Position{"a.yml", 2, 9}, Text: "x"}, {Text: "nowhere"}}
	if got, want := f.Sort().Error(), "nowhere\na.yml:2:9: x\na.yml:3:1: two lines; join them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := (Problems{}).Err(); err != nil {
		t.Errorf("no problems are the error %v", err)
	}
}

func TestProblemsAreBoundedText(t *testing.T) {
	lines := strings.Split(make(Problems, MaxProblemLines+5).Error(), "\n")
	if len(lines) != MaxProblemLines+1 || lines[MaxProblemLines] != "and 5 more; correct these first" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func queue() *Plan {
	return &Plan{Name: "q", Mix: ByCount, Load: QueueLoad().Phases, Operations: []Operation{
		{Name: "a", Count: 3, Steps: []Step{{Request: protocol.Request{Text: "select 1"}}}},
		{Name: "b", Count: 1, Steps: []Step{{Request: protocol.Request{Text: "select 2"}}}},
	}}
}

func TestSetLoad(t *testing.T) {
	p := queue()
	if f := p.Validate(); len(f) != 0 {
		t.Fatalf("the queue has problems: %v", f)
	}
	if err := p.SetLoad(RateLoad(100, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if p.Mix != ByWeight || p.Operations[0].Weight != 3 || p.Operations[1].Weight != 1 || len(p.Validate()) != 0 {
		t.Errorf("%+v: %v", p, p.Validate())
	}
	if err := p.SetLoad(SpikeLoad(10, 100, time.Second, 2*time.Second, 0)); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(p.Load[0].RateFrom, p.Load[0].RateTo, p.Load[1].RateFrom, p.Load[1].RateTo, len(p.Load)),
		"10 100 100 100 2"; got != want {
		t.Errorf("spike %s, want %s", got, want)
	}
	if err := p.SetLoad(QueueLoad()); err != nil || p.Mix != ByCount || p.Load[0].Kind != Closed {
		t.Errorf("%v, %+v", err, p.Load)
	}
	p.Operations[0].Count, p.Operations[1].Count = 0, 0
	if err := p.SetLoad(QueueLoad()); err == nil {
		t.Error("a queue without counts is accepted")
	}
}

func TestScaleReplacesAnEarlierScale(t *testing.T) {
	p := queue()
	if err := p.SetLoad(SpikeLoad(10, 100, time.Second, time.Second, time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []float64{3, 0.5} {
		if err := Scale(p, n); err != nil {
			t.Fatal(err)
		}
	}
	if p.Load[0].RateFrom != 5 || p.Load[0].RateTo != 50 || p.Load[2].RateTo != 5 {
		t.Errorf("rates %+v, want half of 10 and 100", p.Load)
	}
	for _, n := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if Scale(p, n) == nil {
			t.Errorf("scale %v is accepted", n)
		}
	}
}

func TestSteps(t *testing.T) {
	var rates []float64
	for _, ph := range Steps("s", 10, 40, 4, time.Second) {
		rates = append(rates, ph.RateFrom)
	}
	if !reflect.DeepEqual(rates, []float64{10, 20, 30, 40}) {
		t.Errorf("rates %v", rates)
	}
	if one := Steps("s", 10, 40, 1, time.Second); len(one) != 1 || one[0].RateFrom != 10 || one[0].Name != "s 1" {
		t.Errorf("one step %+v", one)
	}
}

// In TestValidateOfOtherDialects problems have no positions, because these plans do not come from a file.
func TestValidateOfOtherDialects(t *testing.T) {
	p := queue()
	p.Operations[1].Name = "a"
	p.Operations[0].Steps[0].Params = []Param{{Step: 3}}
	p.Settings.Sessions = -1
	p.Load = append(p.Load, Phase{Name: "odd", Kind: "odd"})
	want := `sessions is -1; give a number from 0 to 1000000
parameter 1 isn't used; use $1 or remove the parameter
parameter 1 needs a value of a later statement; reorder the statements
operation "a" stands twice; rename one
unknown kind of phase "odd"; use open, closed or pause`
	if got := p.Validate().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The time of a load sets that of its only phase. A queue becomes a closed load, and several phases are refused.
func TestLasting(t *testing.T) {
	open := Phase{Name: "a", Kind: Open, Duration: time.Minute, RateFrom: 5, RateTo: 5}
	for _, c := range []struct {
		name string
		p    Plan
		want []Phase
	}{
		{"the only phase", Plan{Load: []Phase{open}},
			[]Phase{{Name: "a", Kind: Open, Duration: time.Second, RateFrom: 5, RateTo: 5}}},
		{"next to a warm-up", Plan{Load: []Phase{{Name: "w", Kind: Closed, Duration: 3, WarmUp: true},
			{Name: "c", Kind: Closed, Operations: 9, Sessions: 2}}},
			[]Phase{{Name: "w", Kind: Closed, Duration: 3, WarmUp: true}, {Name: "c", Kind: Closed, Duration: time.Second,
				Sessions: 2}}},
		{"a queue", Plan{Mix: ByCount, Operations: []Operation{{Count: 3}}, Load: []Phase{{Name: "q", Kind: Closed}}},
			[]Phase{{Name: "closed", Kind: Closed, Duration: time.Second}}},
		{"no load", Plan{Operations: []Operation{{Weight: 3}}},
			[]Phase{{Name: "closed", Kind: Closed, Duration: time.Second}}},
		{"several phases", Plan{Load: []Phase{open, open}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Lasting(&c.p, time.Second)
			if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(c.p.Load, c.want) {
				t.Errorf("%v, %+v", err, c.p.Load)
			}
		})
	}
}

// A secret that is part of another one comes after it, so that nothing of the longer one stays when both are replaced.
func TestSecretsThatArePartsOfOthers(t *testing.T) {
	p := &Plan{Target: Target{Password: "hunter", Options: map[string]string{"token": "hunter2024", "api_key": "2024"}}}
	args := secret.RedactArgs([]string{"brunt", "say=hunter2024", "hunter"}, p.Secrets())
	if got := strings.Join(args, " "); got != "brunt say=*** ***" {
		t.Error(got)
	}
}

// A secret of a request is known in the form in which it is sent, too.
func TestSecretsAsTheyAreSent(t *testing.T) {
	web := &protocol.Web{Header: [][2]string{{"Authorization", "he$$der"}}, Body: []byte(`{"password": "b$$dy"}`)}
	p := &Plan{Prepare: []protocol.Request{{Web: web}}}
	if got := secret.Redact("he$der and b$dy", p.Secrets()); got != "*** and ***" {
		t.Error(got)
	}
}
