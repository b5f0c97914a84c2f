package ycsb

import (
	"strings"
	"testing"
)

func TestJavaArgs(t *testing.T) {
	for args, want := range map[string]string{
		"load redis -s -threads 8 -target 100 -P f -p a=b": "load redis --threads 8 --target 100 -P f -p a=b",
		"run basic -s -jvm-args=-Xmx1g -cp x.jar":          "run basic",
		"-t -db site.ycsb.db.RedisClient -P f":             "run redis -P f",
		"-load -db site.ycsb.BasicDB -threads 2 -l x":      "load basic --threads 2 -p label=x",
		"-db mongodb -P f":                                 "run mongodb -P f",
		"load -db pg -s":                                   "load pg",
		"load pg --threads 8 -p x=-threads":                "load pg --threads 8 -p x=-threads",
		"shell redis":                                      "shell redis",
		"databases":                                        "databases",
	} {
		got, ours, err := JavaArgs(strings.Fields(args))
		if err != nil || strings.Join(got, " ") != want || ours != (args != want) {
			t.Errorf("%s: %q %v %v, want %s", args, got, ours, err, want)
		}
	}
	for _, args := range []string{"load redis -threads", "-load", "-t -P f"} {
		if got, _, err := JavaArgs(strings.Fields(args)); err == nil {
			t.Errorf("%s is taken for %q", args, got)
		}
	}
}

func TestOtherDatabasesAreNamed(t *testing.T) {
	for name, want := range map[string]string{"tikv": "isn't supported", "jdbc": "pg, mysql or sqlite",
		"reddis": "did you mean redis?", "qqqqqqq": "there are pg"} {
		if _, err := FindDatabase(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := FindDatabase("rocksdb"); err == nil || !strings.Contains(err.Error(), "sqlite") {
		t.Errorf("what there is isn't listed: %v", err)
	}
}

// In TestLoadsCountAsGoYCSBs a load without insertcount inserts recordcount records from insertstart on, and its last
// batch is full.
func TestLoadsCountAsGoYCSBs(t *testing.T) {
	for given, want := range map[string]struct{ operations, first int64 }{
		"recordcount=100 insertstart=10":                            {100, 10},
		"recordcount=100 insertstart=10 insertcount=20":             {20, 10},
		"recordcount=100 batch.size=7":                              {15, 0},
		"recordcount=100 insertstart=3 insertcount=14 batch.size=7": {2, 3},
	} {
		s := settings(t, Load, "pg", strings.Fields(given)...)
		j, _ := compiled(t, s)
		if ph := j.Plan.Load[0]; int64(ph.Operations) != want.operations || j.Plan.Keyspace.InsertFrom != want.first {
			t.Errorf("%s: %d operations from record %d", given, ph.Operations, j.Plan.Keyspace.InsertFrom)
		}
		if full := len(s.Warnings) == 0; full != (given != "recordcount=100 batch.size=7") {
			t.Errorf("%s: %q", given, s.Warnings)
		}
	}
}
