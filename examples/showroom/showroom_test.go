package showroom

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/examples/internal/example/exampletest"
	"brunt/internal/record"
	"brunt/test/testserver"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// rehearsal shrinks the programme: loads of seconds, and no search for a maximum, which depends on the machine.
var rehearsal = strings.NewReplacer(
	"  - search: {start: 1, min: 0.1, max: 50, trial: 30s, warm_up: 5s}\n", "",
	"  - confirm: {ramp: 1m, hold: 10m}\n", "",
	"{at: 1, warm_up: 10s, duration: 5m}", "{at: 0.5, warm_up: 500ms, duration: 4s}",
	"repeat: [search, confirm, analyse]", "repeat: [analyse]",
	"connections: {}", "connections: {at: 0.5, warm_up: 300ms, duration: 2s}",
)

// The campaign inspects a Tarantool, and shows what the index, which a command makes, does for the function.
func TestCampaignOnTarantool(t *testing.T) {
	testserver.SkipQuick(t)
	if _, err := exec.LookPath("tarantool"); err != nil {
		t.Fatal("tarantool isn't there; install it (Debian: tarantool)")
	}
	dir := t.TempDir()
	exampletest.Copy(t, dir, rehearsal, "plan.yml", "campaign.yml", "showroom.lua")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	results := filepath.Join(dir, "results")
	cmd := exec.CommandContext(ctx, exampletest.Brunt(t), "campaign", "run", filepath.Join(dir, "campaign.yml"),
		"--anyway", "--bundle", results)
	cmd.Env = exampletest.Environment("SHOWROOM="+testserver.Address(t), "SHOWROOM_DIR="+dir,
		"CARS=50000")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(results, "service.log"))
		t.Fatalf("%v\n%s\n%s", err, out.String(), log)
	}
	before, after := medianOf(t, filepath.Join(results, "01-analyse")), medianOf(t, filepath.Join(results, "03-analyse"))
	if !(after < before/3) {
		t.Errorf("cars of a model took %d ns, and %d with the index\n%s", before, after, out.String())
	}
	for _, name := range []string{"report-en.html", "report-ru.html"} {
		text, err := os.ReadFile(filepath.Join(results, name))
		if err != nil || !bytes.Contains(text, []byte("of model")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// medianOf returns the median service time of the operation that the index helps, in a step whose run was inspected.
func medianOf(t *testing.T, step string) record.Ns {
	t.Helper()
	b, err := record.Open(record.OS{}, filepath.Join(step, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Run.Inspections) != 1 || b.Run.Inspections[0].Product != "Tarantool" {
		t.Errorf("inspected: %+v", b.Run.Inspections)
	}
	for i := range b.Run.Operations {
		if o := &b.Run.Operations[i]; o.Name == "of model" {
			return o.Service.P50Ns
		}
	}
	t.Fatal("the operation isn't there")
	return 0
}
