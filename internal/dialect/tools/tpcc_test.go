package tools_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"brunt/internal/record"
	"brunt/test/testserver"
)

// TestTPCCOnWorkers loads TPC-C's warehouses by processes that run at the same time, and sends the load from two
// workers. Conditions hold after both, and the counts of the workers add up to what is in the database.
func TestTPCCOnWorkers(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	s := testserver.Postgres(t)
	where := []string{"--proto", "pg", "-a", s.Addr, "-u", s.User, "--database", s.Database}
	brunt := func(codes string, args ...string) string {
		t.Helper()
		cmd := exec.Command("brunt", append(append([]string{"tpcc"}, args...), where...)...)
		out, _ := cmd.CombinedOutput() // the code says it
		if code := cmd.ProcessState.String(); !strings.Contains(codes, strings.TrimPrefix(code, "exit status ")) {
			t.Errorf("%q: %s\n%s", args, code, out)
		}
		return string(out)
	}
	load := []string{"load", "--quiet", "--warehouses", "3", "--shrink", "100", "--sessions", "2"}
	brunt("0", append(load, "--from", "1", "--to", "1")...)
	var both sync.WaitGroup
	for _, w := range []string{"2", "3"} {
		both.Go(func() { brunt("0", append(slices.Clip(load), "--from", w, "--to", w)...) })
	}
	both.Wait()
	if out := brunt("0", "check", "--quiet"); !strings.Contains(out, "12 of 12 conditions hold") {
		t.Errorf("after the load: %s", out)
	}
	bundle := filepath.Join(t.TempDir(), "bundle")
	out := brunt("0 98 99", "run", "--quiet", "--no-think", "--terminals", "4", "--duration", "2s", "--workers", "2",
		"--bundle", bundle)
	if !strings.Contains(out, "11 of 11 conditions hold") {
		t.Errorf("after the load of two workers: %s", out)
	}
	text, err := os.ReadFile(filepath.Join(bundle, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	run := &record.Run{}
	if err := json.Unmarshal(text, run); err != nil {
		t.Fatal(err)
	}
	if c := run.Extra["conditions"]; !strings.Contains(c, "11 of 11 conditions hold") {
		t.Errorf("conditions in the record: %q", c)
	}
	if len(run.Parts) != 2 {
		t.Errorf("the record has %d workers", len(run.Parts))
	}
	for _, o := range run.Operations {
		for i, name := range o.Counters {
			if name != "order lines" {
				continue
			}
			counted := strconv.FormatUint(o.Script[i], 10)
			if there := s.Psql(t, "SELECT count(*) FROM order_line WHERE ol_o_id > 30"); there != counted || counted == "0" {
				t.Errorf("the workers have counted %s order lines, and the database has %s", counted, there)
			}
			return
		}
	}
	t.Error("the record has no count of order lines")
}
