package planfile

import (
	"bytes"
	"testing"

	"brunt/internal/base/secret"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

func TestWriteHidesSecrets(t *testing.T) {
	p := &plan.Plan{Name: "x", Target: plan.Target{Protocol: "http", Password: "hunter2",
		Addresses: []string{"http://me:hunter2@h:1", "plain:80"},
		Options:   map[string]string{"sslPassword": "hunter2", "mode": "fast"}},
		Operations: []plan.Operation{{Name: "q", Weight: 1, Steps: []plan.Step{{Request: protocol.Request{Verb: protocol.HTTP,
			Web: &protocol.Web{Method: "GET", Path: "/", Header: [][2]string{{"Authorization", "hunter2"},
				{"Accept", "text/html"}}}}}}}}}
	out, err := Write(p)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out, []byte("hunter2")) {
		t.Errorf("a secret is in\n%s", out)
	}
	if n := bytes.Count(out, []byte(secret.Hidden)); n != 4 {
		t.Errorf("%d secrets are marked, want 4:\n%s", n, out)
	}
	if _, err := Read("plan.yml", out); err != nil {
		t.Errorf("the plan can't be read back: %v", err)
	}
}

func TestReadRefusesHugeFiles(t *testing.T) {
	_, err := Read("big.yml", make([]byte, MaxBytes+1))
	if err == nil || err.Error() != "big.yml:1:1: the file has 16777217 bytes, more than 16777216; split it or shorten its lists" {
		t.Errorf("got %v", err)
	}
	_, err = Read("latin1.yml", []byte("config_name: A\nqueries: \"\xe4\"\n"))
	if err == nil || err.Error() != "latin1.yml:2:11: the text is not UTF-8; save the file as UTF-8" {
		t.Errorf("got %v", err)
	}
}
