package cassandrastress

import (
	"strings"
	"testing"
	"time"

	"brunt/internal/plan"
)

func TestOptions(t *testing.T) {
	for line, check := range map[string]func(o *Options, p *plan.Plan) bool{
		"write n=1M": func(o *Options, p *plan.Plan) bool {
			return o.Threads == 200 && o.Population == "seq=1..1000000" && p.Load[0].Operations == 50_000 && p.Load[0].WarmUp &&
				p.Load[1].Operations == 1_000_000 && p.Load[1].Kind == plan.Closed && p.Settings.Retries == 9
		},
		"read duration=2m no-warmup cl=QUORUM -rate threads=7 throttle=100/s -node a,b:7 -port native=9 -errors retries=0": func(
			o *Options, p *plan.Plan) bool {
			return o.Population == "dist=GAUSSIAN(1..1000000)" && len(p.Load) == 1 && p.Load[0].RateFrom == 100 &&
				p.Load[0].Duration == 2*time.Minute && strings.Join(p.Target.Addresses, " ") == "a:9 b:7" &&
				p.Target.Options["consistency"] == "quorum" && p.Settings.Retries == -1 && !o.Fixed
		},
		"mixed ratio(write=1, read=3) n=100 -rate threads=2 fixed=50/s": func(o *Options, p *plan.Plan) bool {
			return o.Fixed && len(p.Operations) == 2 && p.Operations[0].Name == "READ" && p.Operations[0].Weight == 3
		},
		"write -pop seq=11..1010 no-wrap -rate threads=2": func(o *Options, p *plan.Plan) bool {
			return len(p.Load) == 1 && p.Load[0].Operations == 1000 && p.Scripts.Options["wrap"] == "no"
		},
		"write n=50 -pop seq=1..99 no-wrap contents=SORTED -insert partitions=FIXED(4) visits=FIXED(1) -rate threads=2": func(
			o *Options, p *plan.Plan) bool {
			return p.Load[0].Operations == 13 && p.Scripts.Options["contents"] == "sorted" &&
				p.Scripts.Options["visits"] == "FIXED(1)"
		},
		"mixed duration=1m -pop seq=1..2000 no-wrap -rate threads=2 fixed=10/s": func(o *Options, p *plan.Plan) bool {
			return p.Load[0].Operations == 2000 && p.Load[0].Duration == time.Minute
		},
		"mixed n=9 -pop seq=1..9 read-lookback=UNIFORM(1..5) -insert row-population-ratio=FIXED(1)/2 revisit=FIXED(3)": func(
			o *Options, p *plan.Plan) bool {
			return p.Scripts.Options["lookback"] == "UNIFORM(1..5)" && p.Scripts.Options["revisit"] == "FIXED(3)" &&
				p.Scripts.Options["row-population-ratio"] == "FIXED(1)/2"
		},
		"read n=9 no-warmup": func(o *Options, p *plan.Plan) bool {
			return o.Auto && p.Load[0].Name == "4 threads" && p.Load[2].Sessions == 16 && p.Load[3].Sessions == 24 &&
				p.Settings.Sessions == 1000
		},
		"counter_write n=8 -insert partitions=FIXED(4) batchtype=counter": func(o *Options, p *plan.Plan) bool {
			return p.Load[len(p.Load)-1].Operations == 2 && p.Scripts.Options["batchtype"] == "COUNTER"
		},
		"write n=1 -col n=FIXED(2) size=UNIFORM(1..5) -schema keyspace=ks replication(factor=3) compaction(strategy=X) -log " +
			"interval=500ms -mode native cql3 user=u password=p": func(o *Options, p *plan.Plan) bool {
			return p.Target.Database == "ks" && o.Factor == 3 && o.Interval == 500*time.Millisecond && p.Target.User == "u" &&
				strings.Contains(p.Scripts.Options["profile"], "name: C1")
		},
	} {
		o, err := Parse(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		test, err := o.Compile(nil, nil)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if !check(o, test.Plan) {
			t.Errorf("%s: %+v\n%+v", line, o, test.Plan)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for line, want := range map[string]string{
		"":                                         "name a command: write, read",
		"legacy":                                   `command "legacy" isn't supported`,
		"write n=x":                                `n=x: "x" is no whole number`,
		"write n=1 duration=1m":                    "exclude each other",
		"write duration=1d":                        "duration=1d: give seconds",
		"write n=1 -speed fast":                    "unknown option -speed",
		"write n=1 -rate threads=0":                "-rate threads=0: give a number of threads",
		"write n=1 -rate threads=1 fixed=5":        "-rate fixed=5: give operations a second",
		"write n=1 -rate fixed=5/s":                "need threads=",
		"write n=1 -rate threads>=9 threads<=4":    "above threads<=",
		"write n=1 -mode thrift":                   "-mode thrift: it isn't supported",
		"write n=1 -pop dist=zipf(1..2)":           "-pop dist=zipf(1..2): ",
		"write n=1 -col names=a slice":             "-col slice: it isn't supported",
		"write n=1 -insert visits=FIXED(0)":        "visits=FIXED(0): a partition has at least one insert",
		"write n=1 -insert revisit=UNIFORM(1..9B)": "revisit=UNIFORM(1..9B): at most 2147483647 partitions",
		"write n=1 -pop dist=FIXED(1) no-wrap":     "no-wrap and read-lookback= need seq=",
		"write n=1 -pop seq=1..9 no-wrap -insert visits=FIXED(2)":          "no-wrap excludes -insert visits=",
		"write n=1 -pop seq=1..9 no-wrap -insert partitions=UNIFORM(1..2)": "no-wrap needs inserts of as many",
		"mixed n=1 -pop seq=1..9 no-wrap -insert partitions=FIXED(2)":      "no-wrap needs inserts of as many",
		"mixed n=1 -pop seq=1..9 no-wrap read-lookback=FIXED(1)":           "no-wrap excludes read-lookback=",
		"mixed n=1 -pop seq=1..9 read-lookback=UNIFORM(1..10)":             "goes back behind the start",
		"write n=1 -pop contents=random":                                   "contents=random: use sorted or shuffled",
		"user n=1 ops(insert=1)":                                           "user needs profile=FILE",
		"mixed ratio(write=0) n=1":                                         "ratio(write=0)",
		"write profile=x n=1":                                              "profile= is for the command user",
		"mixed ratio(scan=1) n=1 -rate threads=1":                          `ratio: "scan" isn't supported`,
	} {
		o, err := Parse(strings.Fields(line))
		if err == nil {
			_, err = o.Compile(nil, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", line, err, want)
		}
	}
}

// More threads are tried until the rate hasn't grown for three steps, or has hardly grown for five.
func TestSaturation(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		least float64
		want  bool
	}{{nil, 0.02, false}, {[]float64{1, 2, 4}, 0.02, false}, {[]float64{4, 4, 4, 3}, -1, true},
		{[]float64{1, 2, 4, 8, 16}, 0.02, false}, {[]float64{100, 101, 102, 103, 104, 105}, 0.02, true},
		{[]float64{100, 101, 102, 103, 104, 105}, -1, false}, {[]float64{100, 110, 120, 130, 140, 150}, 0.02, false}} {
		if got := saturated(c.rates, c.least); got != c.want {
			t.Errorf("%v: %v", c.rates, got)
		}
	}
}

func TestThousands(t *testing.T) {
	for want, x := range map[string]float64{"0": 0, "999": 999, "1,000": 1000, "12,345,678": 12345678, "-1,234": -1234} {
		if got := thousands(x, 0); got != want {
			t.Errorf("%v: %s", x, got)
		}
	}
	if got := thousands(1234.56, 1); got != "1,234.6" {
		t.Error(got)
	}
}
