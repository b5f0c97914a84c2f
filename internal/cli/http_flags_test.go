package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/plan"
)

func TestHTTPLoad(t *testing.T) {
	for args, want := range map[string]plan.Phase{
		"-n 7 -c 4":                   {Kind: plan.Closed, Operations: 7, Sessions: 4},
		"-c 4 -z 3s --rate 600/m":     {Kind: plan.Open, RateFrom: 10, Duration: 3 * time.Second, Sessions: 4},
		"--rate 50/1s --sessions 1":   {Kind: plan.Open, RateFrom: 50, Duration: 10 * time.Second, Sessions: 1},
		"--rate 1/100ms --sessions 1": {Kind: plan.Open, RateFrom: 10, Duration: 10 * time.Second, Sessions: 1},
		"":                            {Kind: plan.Open, RateFrom: 100, Duration: 10 * time.Second, Sessions: 100},
		"--rate=5000 --duration=3s":   {Kind: plan.Open, RateFrom: 5000, Duration: 3 * time.Second, Sessions: 1000},
		"--rate=50000":                {Kind: plan.Open, RateFrom: 50000, Duration: 10 * time.Second, Sessions: 1000},
		"--sessions=4":                {Kind: plan.Closed, Duration: 10 * time.Second, Sessions: 4},
		"--sessions=4 --requests=7":   {Kind: plan.Closed, Operations: 7, Sessions: 4},
		"--sessions=4 --requests=7 --duration=1s": {Kind: plan.Closed, Operations: 7, Duration: time.Second, Sessions: 4},
		"--sessions=4 --rate=2 --requests=60": {Kind: plan.Open, RateFrom: 2, Operations: 60, Duration: 2 * time.Minute,
			Sessions: 4},
		"--rate=2 --duration=1h -X HEAD": {Kind: plan.Open, RateFrom: 2, Duration: time.Hour, Sessions: 10},
	} {
		f := &httpFlags{}
		cmd := &cobra.Command{}
		f.bind(&command.Env{}, cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		p, err := f.plan(&command.Env{}, []string{"http://a/"})
		if err != nil {
			t.Fatal(err)
		}
		ph := p.Load[0]
		ph.Sessions = p.Settings.Sessions
		if ph.Kind != want.Kind || ph.RateFrom != want.RateFrom || ph.Duration != want.Duration ||
			ph.Operations != want.Operations || ph.Sessions != want.Sessions {
			t.Errorf("%q: %+v, want %+v", args, ph, want)
		}
	}
}
