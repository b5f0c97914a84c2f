package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"brunt/internal/record/recordtest"
	"brunt/test/testserver"
)

// The examples run: the leader fails, the cluster elects another one, and the report contains the account of the
// outage.
func TestFailover(t *testing.T) {
	testserver.SkipQuick(t)
	dir := t.TempDir()
	brunt := filepath.Join(dir, "brunt")
	build := exec.Command("go", "build", "-trimpath", "-o", brunt, "brunt/cmd/brunt")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it, so its packages are compiled once
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	for name, lasts := range map[string]string{"etcd": "18s", "postgres": "22s"} {
		t.Run(name, func(t *testing.T) {
			text, failed := os.ReadFile("../failover-" + name + ".yml")
			if failed != nil {
				t.Fatal(failed)
			}
			bundle, plan := filepath.Join(dir, name), filepath.Join(dir, name+".yml")
			text = bytes.Replace(text, []byte("duration: 60s"), []byte("duration: "+lasts), 1)
			if failed := os.WriteFile(plan, text, 0o600); failed != nil {
				t.Fatal(failed)
			}
			err := run(t.Context(), []string{name, "-brunt", brunt, "-plan", plan, "--", "--quiet", "--bundle", bundle})
			t.Logf("the example ended: %v", err)
			r := recordtest.Result(t, bundle)
			if len(r.Faults) != 1 || r.Faults[0].Error != "" || r.Total.OK == 0 {
				t.Fatalf("%v, %d succeeded, faults %+v", err, r.Total.OK, r.Faults)
			}
			if f := r.Failover; f == nil || len(f.Incidents) == 0 || !f.Incidents[0].Affected {
				t.Errorf("%v, failover %+v", err, f)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"oracle"}, {"etcd", "-brunt", "/nowhere/brunt"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

// The report's sections on outages and events are inserted into a page, and nothing else on the page changes.
func TestWrite(t *testing.T) {
	report := excerpt("TOTAL\n├─ rate 5\n\nFAILOVER  an arrival\n  what\n\nERRORS  none\n\nEVENTS  what was done\n  1 s\n")
	page := filepath.Join(t.TempDir(), "page.md")
	for name, row := range map[string]struct{ text, want string }{
		"has a place": {"a\n<!-- make failover-etcd WRITE=1 -->\nold\n<!-- end of failover-etcd -->\nb\n",
			"a\n<!-- make failover-etcd WRITE=1 -->\n```\nFAILOVER  an arrival\n  what\n…\nEVENTS  what was done\n  1 s\n```\n" +
				"<!-- end of failover-etcd -->\nb\n"},
		"has none": {"a\nb\n", "a\nb\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(page, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := replace(page, "etcd", report); (err == nil) != (row.text != row.want) {
				t.Error(err)
			}
			if got, _ := os.ReadFile(page); string(got) != row.want {
				t.Errorf("the page is\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}
