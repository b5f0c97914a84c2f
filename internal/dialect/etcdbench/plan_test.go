package etcdbench

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
)

func init() {
	script.Register(Language{})
	script.Register(WatchLanguage{})
}

// parse parses a command line as benchmark's.
func parse(t *testing.T, line string) (*Options, error) {
	t.Helper()
	args, err := rewrite(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	l := &load{Options: Options{Command: args[0]}}
	cmd := &cobra.Command{}
	l.bind(cmd)
	if err := cmd.ParseFlags(args[1:]); err != nil {
		return nil, err
	}
	l.Args = cmd.Flags().Args()
	return &l.Options, l.Options.Check()
}

func TestPlans(t *testing.T) {
	for _, c := range []struct {
		line     string
		words    string // of the first operation; V is a value
		sessions string // "sessions pipeline"
		check    func(p *plan.Plan) bool
	}{
		{"put", "put $1 VVVVVVVV", "1 1", func(p *plan.Plan) bool {
			return p.Load[0].Kind == plan.Closed && p.Load[0].Operations == 10000
		}},
		{"--conns=3 --clients 7 put --val-size 3 --prefix a$ --rate 50 --total 100", "put a$$$1 VVV", "3 3",
			func(p *plan.Plan) bool { return p.Load[0].Kind == plan.Open && p.Load[0].RateFrom == 50 }},
		{"--cacert x --conns=3 --clients 7 put", "put $1 VVVVVVVV", "7 1",
			func(p *plan.Plan) bool { return p.Target.TLS.Enabled }},
		{"--clients 2 --conns 5 range a b --limit 3 --consistency s", "get a b --limit=3 --consistency=s", "2 1", nil},
		{"range --prefix --keys-only a", "get a --prefix --keys-only", "1 1", nil},
		{"range --prefix --count-only", "get  --prefix --count-only", "1 1", nil},
		{"txn-put --txn-ops 2 --key-space-size 9 --val-size 1", "txn then put $1 V ; put $2 V", "1 1", func(p *plan.Plan) bool {
			s := p.Operations[0].Steps[0].Params[1].Value
			return s.Distribution == gen.Sequential && s.Group == 2 && s.Member == 1 && s.IntHi == 8
		}},
		{"txn-mixed x --rw-ratio 3 --limit 0 --consistency s", "txn then get  --prefix --consistency=s", "1 1",
			func(p *plan.Plan) bool { return p.Operations[0].Weight == 0.75 && p.Operations[1].Weight == 0.25 }},
		{"--endpoints a:1,b:2 --target-leader lease-keepalive --clients 3", "lease-keepalive $1", "1 3", func(p *plan.Plan) bool {
			return len(p.Prepare) == 3 && p.Operations[0].Route == "primary" && p.Target.Balance.Mode == ""
		}},
		{"--endpoints a:1,b:2 put --key-space-size 70000 --key-size 3", "put $1 VVVVVVVV", "1 1",
			func(p *plan.Plan) bool { return p.Target.Balance.Per == "request" }},
	} {
		t.Run(c.line, func(t *testing.T) {
			o, err := parse(t, c.line)
			if err != nil {
				t.Fatal(err)
			}
			p, err := o.Plan()
			if err != nil {
				t.Fatal(err)
			}
			words := slices.Clone(p.Operations[0].Steps[0].Request.Words)
			for i, w := range words {
				if o.ValSize > 0 && w == o.value() {
					words[i] = strings.Repeat("V", len(w))
				}
			}
			if got := strings.Join(words, " "); got != c.words {
				t.Errorf("got %q, want %q", got, c.words)
			}
			if got := itoa(p.Settings.Sessions) + " " + itoa(p.Settings.Pipeline); got != c.sessions {
				t.Errorf("sessions and pipeline: got %s, want %s", got, c.sessions)
			}
			if c.check != nil && !c.check(p) {
				t.Errorf("%+v", p)
			}
		})
	}
}

func itoa(n int) string { return string(rune('0' + n)) }

func TestBadOptions(t *testing.T) {
	for line, want := range map[string]string{
		"put --total 0":                      "--total 0",
		"put --key-space-size 0":             "expected positive --key-space-size",
		"put --clients 0":                    "--clients and --conns",
		"put --cert x":                       "--cert and --key",
		"txn-put --txn-ops 2":                "no larger than --key-space-size",
		"range":                              "range takes a key",
		"range a --keys-only --count-only":   "exclude each other",
		"range a --stream":                   "RangeStream",
		"range a --paginate":                 "isn't supported",
		"range a --consistency x":            `--consistency "x"`,
		"stm --keys-per-txn 2":               "between 0 and 1",
		"stm --txn-wr-percent 101":           "[0, 100]",
		"stm --isolation x":                  "c, r, s or ss",
		"stm --stm-locker lock-client":       "lock-rpc",
		"put --nothing":                      "unknown flag",
		"put --val-size 9223372036854775807": "--val-size 9223372036854775807: give at most 268435456",
		"stm --val-size -1":                  "can't be below 0",
		"txn-put --txn-ops 9999999 --key-space-size 9999999999": "--txn-ops 9999999: give at most 1000000",
		"watch --watched-key-total 9223372036854775807":         "--watched-key-total 9223372036854775807: give at most",
		"watch --key-size 9223372036854775807":                  "--key-size 9223372036854775807: give at most",
		"watch --streams 9223372036854775807":                   "--streams 9223372036854775807: give at most",
		"watch-latency --put-total 9223372036854775807":         "--put-total 9223372036854775807: give at most",
		"watch-latency --watchers-per-stream 9999999":           "--watchers-per-stream 9999999: give at most",
		"watch-get --watchers 9999999":                          "--watchers 9999999: give at most",
		"put --key-size 1 --key-space-size 100":                 "1 bytes can't hold 99",
	} {
		o, err := parse(t, line)
		if err == nil {
			_, err = o.Plan()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", line, err, want)
		}
	}
}

func TestFlagsBeforeTheCommand(t *testing.T) {
	for in, want := range map[string]string{
		"--endpoints a:1 --precise --conns=2 put --total 3": "put --endpoints a:1 --precise --conns=2 --total 3",
		"put --total 3":                       "put --total 3",
		"--help":                              "--help",
		"--endpoints put range x":             "range --endpoints put x",
		"--target-leader watch-get --streams": "watch-get --target-leader --streams",
		"nothing put":                         "nothing put",
	} {
		if got, _ := rewrite(strings.Fields(in)); strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	for user, want := range map[string]string{"": "||false", "a": "a||true", "a:b:c": "a|b:c|false", "a:": "a||false"} {
		o := Options{User: user}
		name, password, ask := o.Credentials()
		got := name + "|" + password + "|" + map[bool]string{true: "true", false: "false"}[ask]
		if got != want {
			t.Errorf("%q: got %s, want %s", user, got, want)
		}
	}
}

func TestCommandsHaveHelp(t *testing.T) {
	cmd := newBenchmark(&command.Env{})
	for _, name := range names {
		c, _, err := cmd.Find([]string{name})
		if err != nil || c.Short == "" || c.Example == "" || !command.Plans(c) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
