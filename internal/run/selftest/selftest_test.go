package selftest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/record"
)

func TestMeasuresEverything(t *testing.T) {
	servers, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	told := 0
	all, err := Run(context.Background(), Options{
		Addresses: servers.Addresses, Duration: 100 * time.Millisecond, Cores: 4, Version: "test", Done: func(Row) { told++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	if told != len(all) || len(all) != Count(4) {
		t.Errorf("%d rows, told of %d, announced %d", len(all), told, Count(4))
	}
	for _, r := range all {
		if r.PerS <= 0 || r.CPUNs <= 0 || r.Failed > 0 || r.Protocol != "noop" && r.P50Ns <= 0 {
			t.Errorf("%+v", r)
		}
	}
	e := record.Environment{CPU: "some CPU", Cores: 4}
	c := CeilingOf(all, &e, "test", time.Now())
	for _, p := range Protocols() {
		if c.PerS[p] <= 0 {
			t.Errorf("no ceiling of %s: %v", p, c.PerS)
		}
	}
	var text bytes.Buffer
	if err := Print(&text, all, &e, "some/file"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"some CPU", "noop", "echo", "pg", "redis", "http", "lag p99", "some/file"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if rows, err := Run(ctx, Options{Duration: time.Hour, Cores: 1}); !errors.Is(err, context.Canceled) || len(rows) > 0 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestCeilingIsThisMachines(t *testing.T) {
	path := CeilingFile(t.TempDir())
	e := record.Environment{OS: "linux", CPU: "x", Cores: 8, Hostname: "a"}
	rows := []Row{
		{Protocol: "noop", PerS: 9}, {Protocol: "pg", Loops: 1, PerS: 5}, {Protocol: "pg", Loops: 2, PerS: 7},
		{Protocol: "pg", Loops: 1, PerS: 99, OfferedPS: 100},
	}
	c := CeilingOf(rows, &e, "v", time.Unix(1, 0))
	for range 2 { // the second replaces the first
		if err := c.Save(record.OS{}, path); err != nil {
			t.Fatal(err)
		}
	}
	renamed := e
	renamed.Hostname = "b"
	if got, ok := Load(record.OS{}, path, &renamed); !ok || len(got.PerS) != 1 || got.PerS["pg"] != 7 || got.Brunt != "v" {
		t.Errorf("read %+v, %v", got, ok)
	}
	other := e
	other.Cores = 4
	if _, ok := Load(record.OS{}, path, &other); ok {
		t.Error("took another machine's ceiling")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := Load(record.OS{}, path, &e); ok {
		t.Error("took a torn file")
	}
	if _, ok := Load(record.OS{}, filepath.Join(filepath.Dir(path), "none"), &e); ok {
		t.Error("took a file that isn't there")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(record.OS{}, filepath.Join(file, "ceiling.json")); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("saved below a file: %v", err)
	}
}
