package tank

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"brunt/internal/load/schedule"
	"brunt/internal/plan"
)

// golden is what Yandex Tank 2.0.11 does; testdata/golden.py makes it.
type golden struct {
	RPS       map[string][2]json.RawMessage `json:"rps"`
	Instances map[string][]int64            `json:"instances"`
	Ammo      []struct {
		Kind, Text, HTTP string
		Loop             int
		Headers          []string
		AutoCases        any
		Enum             bool
		Chosen           []string
		Want             [][2]string
	} `json:"ammo"`
	Seconds [][][][4]any `json:"seconds"`
	Rules   []struct {
		Run       int
		Rule, Why string
		Ends      int
	} `json:"autostop"`
	Used struct {
		Most  int
		Busy  []float64
		Rules []struct {
			Rule, Why, Refused string
			Ends               int
		}
	} `json:"used"`
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{}
	if err := json.Unmarshal(text, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// arrivals returns when the requests of phases are due, in ns.
func arrivals(t *testing.T, phases []plan.Phase) (all []int64, durationNs int64) {
	t.Helper()
	for i := range phases {
		segment, exact := phases[i].Segment()
		shape, err := schedule.NewExactShape([]schedule.Segment{segment}, []schedule.Exact{exact}, 0)
		if err != nil {
			t.Fatal(err)
		}
		next := shape.Arrivals(schedule.Uniform, 0)
		for at, ok := next.Next(); ok; at, ok = next.Next() {
			all = append(all, durationNs+at)
		}
		durationNs += segment.DurationNs
	}
	return all, durationNs
}

// Each request is due in the millisecond in which the stepper has it. Where an exact time is a whole number of them,
// floating point may give the stepper the one before.
func TestSchedulesAreThoseOfTheStepper(t *testing.T) {
	for text, want := range readGolden(t).RPS {
		t.Run(text, func(t *testing.T) {
			phases, err := rpsPhases(text)
			if err != nil {
				t.Fatal(err)
			}
			var times []int64
			var ms int64
			if err := json.Unmarshal(want[0], &times); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(want[1], &ms); err != nil {
				t.Fatal(err)
			}
			got, duration := arrivals(t, phases)
			if duration != ms*1_000_000 {
				t.Errorf("lasts %d ns, want %d ms", duration, ms)
			}
			if len(got) != len(times) {
				t.Fatalf("%d requests, want %d", len(got), len(times))
			}
			for i, at := range got {
				if late := at - times[i]*1_000_000; late < -1 || late > 1_000_000 {
					t.Errorf("request %d at %d ns, want within millisecond %d", i, at, times[i])
				}
			}
		})
	}
}

func TestInstancesStartAsTheStepperSays(t *testing.T) {
	for text, want := range readGolden(t).Instances {
		got, err := instanceStarts(text)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestRequestsAreThoseOfTheStepper(t *testing.T) {
	for i, c := range readGolden(t).Ammo {
		t.Run(fmt.Sprint(i, " ", c.Kind), func(t *testing.T) {
			version := c.HTTP
			if version == "" {
				version = "1.1"
			}
			s := &source{name: "ammo", kind: c.Kind, version: version, headers: c.Headers}
			list, err := s.read([]byte(c.Text))
			if err != nil {
				t.Fatal(err)
			}
			st := &stream{generator: "phantom", address: "h:80", list: list, loops: c.Loop, options: map[string]string{},
				load: profile{kind: "rps", schedule: "const(1000,1s)", sessions: 1}}
			st.tags = tagging{auto: "0", enum: c.Enum}
			if c.AutoCases != nil {
				st.tags.auto = fmt.Sprint(c.AutoCases)
			}
			if err := st.tags.apply(list, c.Chosen); err != nil {
				t.Fatal(err)
			}
			cfg := &Config{streams: []*stream{st}}
			p, err := cfg.Plan()
			if err != nil {
				t.Fatal(err)
			}
			program, err := p.CompileScripts()
			if err != nil {
				t.Fatal(err)
			}
			e := &execution{config: cfg, program: program.(*Program)}
			e.number()
			times, _ := arrivals(t, p.Load)
			if len(times) != len(c.Want) {
				t.Fatalf("%d requests, want %d", len(times), len(c.Want))
			}
			for i, want := range c.Want {
				a := &e.program.ammo
				if got := string(a.shots[a.at(uint64(i))].raw); got != want[1] {
					t.Errorf("request %d: %q, want %q", i, got, want[1])
				}
				if got := e.tag(uint64(i)); got != want[0] {
					t.Errorf("request %d: tag %q, want %q", i, got, want[0])
				}
			}
		})
	}
}

func TestCriteriaAreThoseOfAutostop(t *testing.T) {
	g := readGolden(t)
	runs := make([][]*second, len(g.Seconds))
	for run, seconds := range g.Seconds {
		for ts, rows := range seconds {
			s := newSecond(int64(ts))
			for _, r := range rows {
				s.add(r[0].(string), int64(r[1].(float64)), int(r[2].(float64)), int(r[3].(float64)))
			}
			runs[run] = append(runs[run], s)
		}
	}
	ended := 0
	for _, c := range g.Rules {
		rule, err := parseCriterion(c.Rule, 10)
		if err != nil {
			t.Fatal(err)
		}
		ends, why := -1, ""
		for ts, s := range runs[c.Run] {
			if rule.notify(s) {
				ends, why = ts, rule.explain()
				break
			}
		}
		if ends != c.Ends || why != c.Why {
			t.Errorf("run %d, %s: ends at %d (%s), want %d (%s)", c.Run, c.Rule, ends, why, c.Ends, c.Why)
		}
		if ends >= 0 {
			ended++
		}
	}
	if ended < len(g.Rules)/3 {
		t.Errorf("only %d of %d rules ended a run", ended, len(g.Rules))
	}
}

// The criteria limit and instances, by the seconds since the beginning and by the busy instances.
func TestLimitAndInstancesAreThoseOfAutostop(t *testing.T) {
	g := readGolden(t).Used
	ended := 0
	for _, c := range g.Rules {
		t.Run(c.Rule, func(t *testing.T) {
			rule, err := parseCriterion(c.Rule, g.Most)
			if (err != nil) != (c.Refused != "") {
				t.Fatalf("%v, and Tank says %q", err, c.Refused)
			}
			if err != nil {
				return
			}
			ends, why := -1, ""
			for ts, busy := range g.Busy {
				s := newSecond(int64(ts))
				s.instances, s.elapsedS = busy, float64(ts)+1.5
				if rule.notify(s) {
					ends, why = ts, rule.explain()
					break
				}
			}
			if ends != c.Ends || why != c.Why {
				t.Errorf("ends at %d (%s), want %d (%s)", ends, why, c.Ends, c.Why)
			}
			if ends >= 0 {
				ended++
			}
		})
	}
	if ended < 5 {
		t.Errorf("only %d rules ended a run", ended)
	}
}

// Lists that end in the middle are refused with their place.
func TestListsThatEndInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct{ kind, text, want string }{
		"phantom": {"phantom", "18\nGET /a HTTP/1.0\r\n\r\n100 t\nGET",
			"x:4:1: the list ends in the middle: 3 bytes follow instead of 100"},
		"uripost": {"uripost", "[Host: h]\n5 /a\nclass\n50 /b\nhell",
			"x:4:1: the list ends in the middle: 4 bytes follow instead of 50"},
		"header":               {"uri", "/a\n[Host", "x:2:1: "},
		"phantom's first line": {"phantom", "6 t\nGET /a\n2x", `x:3:1: "2x" isn't the size of a request in bytes`},
		"uripost's first line": {"uripost", "3 /a\nabc\n4", `x:3:1: "4" isn't size, URI and tag`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := (&source{name: "x", kind: c.kind, version: "1.0"}).read([]byte(c.text)); err == nil ||
				!strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ kind, text, want string }{
		"Pandora raw":     {"raw", "500 t\nGET / HTTP/1.1\r\n", "x:1:1: the list ends in the middle"},
		"Pandora uripost": {"uripost", "50 /b\nhell", "x:1:1: the list ends in the middle"},
		"Pandora JSON":    {"json", "{\"uri\": \"/a\"}\n{\"uri\": ", "x:2:1: isn't a request in JSON"},
		"Pandora list":    {"json", "[{\"uri\": \"/a\"},", "x:1:1: isn't a request in JSON: the list ends in the middle"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := (&pandoraSource{name: "x", kind: c.kind, host: "h"}).read([]byte(c.text)); err == nil ||
				!strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestFaultsOfCriteria(t *testing.T) {
	for text, want := range map[string]string{
		"time": "is no criterion", "time(1s)": "write time(1500ms, 10s)", "tyme(1s,2s)": "isn't available",
		"time(x,2s)": "is no time", "quantile(42,1s,2s)": "isn't computed", "http(5[,1%,1s)": "mask",
		"total_time(1s,5,1s)": "share", "http(5xx,1.5,1s)": "is no level", "limit(1h,a)": "write limit(1h)",
		"steady_cumulative(5s)": "isn't available",
	} {
		if _, err := parseCriterion(text, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, text := range []string{"line(1,10,10s) const(3,5s)", "step(5,1,3,1s)", "line(10,0,3s)", "const(1000,3s)"} {
		phases, _ := rpsPhases(text)
		all, _ := arrivals(t, phases)
		for n := 1; n <= len(all); n += 1 + n/7 {
			phases, _ := rpsPhases(text)
			got, _ := arrivals(t, cut(phases, uint64(n)))
			if len(got) != n || got[n-1]-all[n-1] > 2 || all[n-1]-got[n-1] > 2 {
				t.Errorf("%s cut after %d: %d requests, the last at %d, want %d", text, n, len(got), got[len(got)-1], all[n-1])
			}
		}
	}
}
