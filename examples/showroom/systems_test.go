package showroom

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// steps are what a campaign does on each system: what it does on PostgreSQL, but for the search for a maximum.
// Durations are those of a test.
const steps = `service: {reconfigure: "true"}
settings: {POOL: 4}
steps:
  - prepare: {%s}
  - analyse: {at: 1, warm_up: 300ms, duration: 1s}
%s
  - repeat: [analyse]
  - connections: {at: 1, warm_up: 0, duration: 1s}
  - matrix: {cells: [{POOL: 4}, {POOL: 8}], at: 1, warm_up: 0, duration: 500ms, repetitions: 2}
  - experiment: {at: 1, warm_up: 0, duration: 500ms, repetitions: 3, set: {%s}}
  - document: {lang: [en, ru]}
`

// Campaigns on MariaDB and on Redis analyse, fix, count connections, compare settings, try one, and say what they
// found.
func TestCampaignsOnOtherSystems(t *testing.T) {
	testserver.SkipQuick(t)
	for _, row := range []struct {
		name      string
		start     func() (s *testserver.Server, inspect string)
		plan      string
		prepare   string
		fix, set  string
		connected string // what the document says of connections
	}{
		{"mariadb", func() (*testserver.Server, string) {
			s := testserver.MariaDB(t, testserver.Settings("performance-schema=ON",
				"performance-schema-consumer-events-statements-current=ON"))
			return s, fmt.Sprintf("mysql=mysql://%s:%s@%s/%s", s.User, s.Password, s.Addr, s.Database)
		}, `target: {protocol: mysql, addresses: [ADDRESS], user: USER, database: DATABASE}
tables_schema:
  - name: book
    row_count: 20_000
    columns:
      - {name: id, type: Integer, range: [1, 20000], unique: true}
      - {name: author, type: Integer, range: [1, 5000]}
    primary_keys: [id]
queries:
  - {name: get, sql: "select author from book where id = $1", params: [{type: Integer, range: [1, 20000]}], rate: 100}
  - {name: by author, sql: "select id from book where author = $1", params: [{type: Integer, range: [1, 5000]}], rate: 20}
`, "schema: true", "  - fix: {advisor: true, warm_up: 0, duration: 500ms, repetitions: 3}", "innodb_flush_log_at_trx_commit: 2",
			"connections that the database allows"},
		{"redis", func() (*testserver.Server, string) {
			s := testserver.Redis(t)
			return s, fmt.Sprintf("redis=redis://%s:%s@%s", s.User, s.Password, s.Addr)
		}, `target: {protocol: redis, addresses: [ADDRESS]}
queries:
  - {name: set, command: [SET, "name:$1", "$1"], params: [{type: Integer, range: [1, 1000]}], rate: 100}
  - {name: get, command: [GET, "name:$1"], params: [{type: Integer, range: [1, 1000]}], rate: 100}
`, `commands: ["true"]`, `  - fix: {commands: ["true"]}`, "appendfsync: always", "others than brunt had at most 0 connections"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, inspect := row.start()
			plan := strings.NewReplacer("ADDRESS", s.Addr, "USER", s.User, "DATABASE", s.Database).Replace(row.plan)
			results := runCampaign(t, []string{"BRUNT_PASSWORD=" + s.Password, "SERVER=" + inspect}, map[string]string{
				"plan.yml": "config_name: " + row.name + "\n" + plan, "campaign.yml": "plan: plan.yml\ninspect: ${SERVER}\n" +
					fmt.Sprintf(steps, row.prepare, row.fix, row.set)})
			for _, step := range []string{"02-analyse", "04-analyse", "05-connections"} {
				b, err := record.Open(record.OS{}, filepath.Join(results, step, "run"))
				if err != nil || len(b.Run.Inspections) != 1 || len(b.Run.Inspections[0].Windows) == 0 {
					t.Fatalf("%s: %v", step, err)
				}
			}
			var fix struct {
				Fix struct {
					Proofs []record.Proof `json:"proofs"`
				} `json:"fix"`
			}
			text, err := os.ReadFile(filepath.Join(results, "03-fix", "step.json"))
			if err == nil {
				err = json.Unmarshal(text, &fix)
			}
			if proofs := fix.Fix.Proofs; err != nil || strings.Contains(row.fix, "advisor") &&
				(len(proofs) != 1 || proofs[0].Order != "ABBAAB") {
				t.Errorf("%v: %+v", err, proofs)
			}
			text, err = os.ReadFile(filepath.Join(results, "report-en.md"))
			for _, want := range []string{row.connected, "The settings were restored", "POOL=8", "get"} {
				if err != nil || !bytes.Contains(text, []byte(want)) {
					t.Errorf("%v: %q isn't in the document\n%.6000s", err, want, text)
				}
			}
		})
	}
}

// runCampaign writes files, runs campaign.yml among them, and returns its folder.
func runCampaign(t *testing.T, env []string, files map[string]string) (results string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	results = filepath.Join(dir, "results")
	cmd := exec.CommandContext(ctx, exampletest.Brunt(t), "campaign", "run", filepath.Join(dir, "campaign.yml"),
		"--anyway", "--bundle", results)
	cmd.Env = exampletest.Environment(env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(results, "service.log"))
		t.Fatalf("%v\n%s\n%s", err, out, log)
	}
	return results
}
