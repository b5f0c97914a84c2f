package cassandrastress

import (
	"math"
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
		"write": func(o *Options, p *plan.Plan) bool {
			return o.Auto && *o.Until == Uncertainty{0.02, 30, 200} && p.Load[1].Duration == 200*time.Second
		},
		"read err<0.1 n>5 n<9 no-warmup -rate threads=2 -log interval=100ms": func(o *Options, p *plan.Plan) bool {
			return *o.Until == Uncertainty{0.1, 5, 9} && p.Load[0].Duration == 900*time.Millisecond && p.Load[0].Operations == 0
		},
		"write n=0": func(o *Options, p *plan.Plan) bool { return o.SchemaOnly },
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
		"":                                                        "name a command: write, read",
		"legacy":                                                  `command "legacy" isn't supported`,
		"write n=x":                                               `n=x: "x" is no whole number`,
		"write n=1 duration=1m":                                   "exclude each other",
		"write duration=1d":                                       "duration=1d: give seconds",
		"write duration=99999999999h":                             "duration=99999999999h: it is longer than a year",
		"write duration=0s":                                       "duration=0s: give a time above 0",
		"write err<2":                                             "err<2: give a share below 1",
		"write err<0.1 n=5":                                       "err<, n> and n< exclude n=",
		"write n>50 n<10":                                         "n<10 is below n>50",
		"write n<0":                                               "n<0: give a number of intervals",
		"write n<1000000 -log interval=3600s":                     "are longer than a year",
		"write n=1 cl=SOME":                                       "cl=SOME: use ANY, ONE",
		"write n=1 no-warmup=1":                                   "no-warmup=1: it takes no value",
		"write n=1 -rate auto=1":                                  "-rate auto=1: it takes no value",
		"write n=1 clustering=FIXED(0)":                           "clustering=FIXED(0): at least one operation",
		"write -node a n=":                                        "-node n=: there is no such option",
		"write n=1 -node a,,b":                                    "-node a,,b: name a node",
		"write n=1 -port native=70000":                            "-port native=70000: give a port",
		"write n=1 -mode maxPending=0":                            "-mode maxPending=0: give a number",
		"write n=1 -mode protocolVersion=9":                       "give 3, 4 or 5",
		"write n=1 -mode auth-provider=X":                         "PlainTextAuthProvider is",
		"write n=1 -schema keyspace=a-b":                          "keyspace=a-b: give a name",
		"write n=1 -insert partitions=FIXED(0)":                   "an insert has from 1 to a million",
		"write n=1 -insert select-ratio=FIXED(3)/2":               "FIXED(3)/2 is always above 1",
		"write n=1 -insert select-ratio=FIXED(0)/1":               "FIXED(0)/1 is always 0",
		"write n=1 -pop dist=gaussian(1..)":                       `"" is no whole number`,
		"write n=1 -pop dist=exp(5..1)":                           "the start 5 is above the end 1",
		"write n=1 -log interval=99h":                             "interval=99h: give seconds",
		"write n=1 -graph title=":                                 "-graph title=: give a value",
		"write n=1 -graph colour=red":                             "-graph colour=red: there is no such option",
		"write n=1 -tokenrange split-factor=0":                    "split-factor=0: give into how many parts",
		"write n=1 -speed fast":                                   "unknown option -speed",
		"write n=1 -rate threads=0":                               "-rate threads=0: give a number of threads",
		"write n=1 -rate threads=1 fixed=5":                       "-rate fixed=5: give operations a second",
		"write n=1 -rate fixed=5/s":                               "need threads=",
		"write n=1 -rate threads>=9 threads<=4":                   "above threads<=",
		"write n=1 -mode thrift":                                  "-mode thrift: it isn't supported",
		"write n=1 -pop dist=zipf(1..2)":                          "-pop dist=zipf(1..2): ",
		"write n=1 -col names=a slice":                            "-col slice: it isn't supported",
		"write n=1 -insert visits=FIXED(0)":                       "visits=FIXED(0): a partition has at least one insert",
		"write n=1 -insert revisit=UNIFORM(1..9B)":                "revisit=UNIFORM(1..9B): at most 2147483647 partitions",
		"write n=1 -pop dist=FIXED(1) no-wrap":                    "no-wrap and read-lookback= need seq=",
		"write n=1 -pop seq=1..9 no-wrap -insert visits=FIXED(2)": "no-wrap excludes -insert visits=",
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

// Ranges of tokens cover all tokens once.
func TestTokenRanges(t *testing.T) {
	for _, c := range []struct {
		tokens string
		parts  int64
		want   int
	}{{"", 1, 1}, {"", 4, 4}, {"5 -5", 1, 3}, {"5 -5 5", 2, 6}, {"-9223372036854775808 0 1", 3, 7}} {
		r, err := newRanges(c.tokens, c.parts, false)
		if err != nil {
			t.Fatal(err)
		}
		from := int64(math.MinInt64)
		for range c.want {
			part, ok := r.take()
			if !ok || part.from != from || part.to <= from {
				t.Fatalf("%+v: %+v, %v behind %d", c, part, ok, from)
			}
			from = part.to
		}
		if _, more := r.take(); more || from != math.MaxInt64 {
			t.Errorf("%+v: more than %d ranges, which end at %d", c, len(r.all), from)
		}
	}
	if _, err := newRanges("1 170141183460469231731687303715884105728", 1, false); err == nil {
		t.Error("a token of another partitioner is one")
	}
}
