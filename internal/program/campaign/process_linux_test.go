package campaign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A service is over when all of its processes are, not only the shell that started them.
func TestServiceOfSeveralProcesses(t *testing.T) {
	file := files(t, `plan: plan.yml
service:
  run: '(trap "sleep 0.5; rm there; exit" TERM; touch there; while :; do sleep 0.01; done) | cat'
  ready: [{exec: test -e there}]
steps: [{connections: {warm_up: 0}}]
`, serve(t))
	p, err := parse(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Begin(p, options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Run(context.Background()), c.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "there")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it wasn't waited for: %v", err)
	}
}
