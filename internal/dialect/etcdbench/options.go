// Package etcdbench implements the command line and the report of etcd's benchmark (tools/benchmark of
// github.com/etcd-io/etcd, versions 3.4 to 3.8): it converts flags to a plan and a run to benchmark's report.
package etcdbench

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Options are the options of a command line of benchmark.
type Options struct {
	Command string // "put", "range", …

	// Options of all commands.
	Endpoints    []string
	Conns        uint
	Clients      uint
	Precise      bool
	Sample       bool
	PerfDash     bool // --report-perfdash
	Cert         string
	Key          string
	CACert       string
	Insecure     bool
	User         string // username[:password]
	Password     string
	DialTimeout  time.Duration
	AutoSync     time.Duration
	TargetLeader bool // of versions before 3.6

	// Options of commands.
	Total        int
	Rate         int
	KeySize      int
	ValSize      int
	KeySpace     int
	Sequential   bool
	Prefix       string
	Compact      time.Duration // --compact-interval
	CompactDelta int64         // --compact-index-delta
	HashKV       bool          // --check-hashkv
	Args         []string      // range: key [end]
	Consistency  string
	Limit        int64
	CountOnly    bool
	KeysOnly     bool
	Stream       bool
	Paginate     bool
	ByPrefix     bool // range --prefix
	TxnOps       int
	RWRatio      float64
	STM          STM
	Watch        Watch

	// Options that only brunt has.
	Seed    uint64
	Service bool // --latency service: times count from the send, as benchmark's do, in open loads too
	Tier    string
	Awake   string
}

// STM are the options of the command stm.
type STM struct {
	Keys         int
	KeysPerTxn   int
	WritePercent int
	Isolation    string
	Locker       string
}

// Check returns an error for values that benchmark refuses, or that make it fail.
func (o *Options) Check() error {
	switch {
	case o.Total <= 0 && !strings.HasPrefix(o.Command, "watch"):
		return fmt.Errorf("--total %d: give a number above 0", o.Total)
	case o.Clients == 0 || o.Conns == 0:
		return errors.New("--clients and --conns must be above 0")
	case o.Rate < 0:
		return fmt.Errorf("--rate %d: give a number of requests a second, or 0 for no limit", o.Rate)
	case len(o.Endpoints) == 0:
		return errors.New("--endpoints: give at least one address")
	case (o.Cert == "") != (o.Key == ""):
		return errors.New("--cert and --key are given together")
	}
	if err := o.checkSizes(); err != nil {
		return err
	}
	switch o.Command {
	case "put", "txn-put", "txn-mixed":
		return o.checkKeys()
	case "range":
		return o.checkRange()
	case "stm":
		return o.checkSTM()
	case "watch", "watch-latency", "watch-get":
		return o.checkWatch()
	}
	return nil
}

// Limits of values: of the bytes of a key or a value; of streams, and of what a request or a stream has; of keys and of
// puts that are kept.
const (
	mostBytes = 256 << 20
	mostParts = 1_000_000
	mostKeys  = 10_000_000
	mostPuts  = 100_000_000
)

// checkSizes checks that values aren't so large that they can't be made.
func (o *Options) checkSizes() error {
	w := &o.Watch
	watches, puts := "--watch-per-stream", "--put-total"
	switch o.Command {
	case "watch-latency":
		watches = "--watchers-per-stream"
	case "watch-get":
		watches, puts = "--watchers", "--events"
	}
	for _, v := range []struct {
		flag        string
		value, most int
	}{{"--key-size", o.KeySize, mostBytes}, {"--val-size", o.ValSize, mostBytes}, {"--txn-ops", o.TxnOps, mostParts},
		{"--keys-per-txn", o.STM.KeysPerTxn, mostParts}, {"--streams", w.Streams, mostParts},
		{watches, w.PerStream, mostParts}, {puts, w.Puts, mostPuts}, {"--watched-key-total", w.Keys, mostKeys}} {
		if v.value > v.most {
			return fmt.Errorf("%s %d: give at most %d", v.flag, v.value, v.most)
		}
	}
	return nil
}

func (o *Options) checkKeys() error {
	switch {
	case o.KeySpace <= 0:
		return fmt.Errorf("expected positive --key-space-size, got (%d)", o.KeySpace)
	case o.KeySize < 0 || o.ValSize < 0:
		return errors.New("--key-size and --val-size can't be below 0")
	case o.Command == "txn-put" && o.TxnOps > o.KeySpace:
		return fmt.Errorf("expected --txn-ops no larger than --key-space-size, got txn-ops(%d) key-space-size(%d)", o.TxnOps,
			o.KeySpace)
	case o.Command == "txn-put" && o.TxnOps < 1:
		return fmt.Errorf("--txn-ops %d: give a number above 0", o.TxnOps)
	case o.Command == "txn-mixed" && !(o.RWRatio >= 0):
		return fmt.Errorf("--rw-ratio %v: give a number of reads for each write", o.RWRatio)
	case o.Command == "txn-mixed":
		return o.checkConsistency()
	}
	return nil
}

func (o *Options) checkConsistency() error {
	if o.Consistency != "l" && o.Consistency != "s" {
		return fmt.Errorf("--consistency %q: give l (linearizable) or s (serializable)", o.Consistency)
	}
	return nil
}

func (o *Options) checkRange() error {
	switch {
	case len(o.Args) > 2 || len(o.Args) == 0 && !o.ByPrefix:
		return errors.New("range takes a key and, if you like, the end of a range; without them, --prefix means all keys")
	case o.CountOnly && o.KeysOnly:
		return errors.New("--keys-only and --count-only exclude each other")
	case o.Stream:
		return errors.New("--stream isn't supported: RangeStream isn't in any release of etcd that brunt is tested with; " +
			"leave it out")
	case o.Paginate:
		return errors.New("--paginate isn't supported: how many requests it sends depends on the answers; use --limit 10000 " +
			"for its first page")
	case len(o.Args) == 2 && strings.HasPrefix(o.Args[1], "--"):
		return fmt.Errorf("the end of the range can't begin with --: %q", o.Args[1])
	}
	return o.checkConsistency()
}

func (o *Options) checkSTM() error {
	s := &o.STM
	switch {
	case o.KeySize < 0 || o.ValSize < 0:
		return errors.New("--key-size and --val-size can't be below 0")
	case s.Keys <= 0:
		return fmt.Errorf("expected positive --keys, got (%d)", s.Keys)
	case s.WritePercent < 0 || s.WritePercent > 100:
		return fmt.Errorf("expected [0, 100] --txn-wr-percent, got (%d)", s.WritePercent)
	case s.KeysPerTxn < 0 || s.KeysPerTxn > s.Keys:
		return fmt.Errorf("expected --keys-per-txn between 0 and %d, got (%d)", s.Keys, s.KeysPerTxn)
	case s.Isolation != "c" && s.Isolation != "r" && s.Isolation != "s" && s.Isolation != "ss":
		return fmt.Errorf("--isolation %q: give c, r, s or ss", s.Isolation)
	case s.Locker == "lock-client":
		return errors.New("--stm-locker lock-client isn't supported: it waits for the end of other locks by watches; " +
			"use lock-rpc, which lets etcd wait")
	case s.Locker != "stm" && s.Locker != "lock-rpc":
		return fmt.Errorf("unexpected stm locker %q: give stm or lock-rpc", s.Locker)
	}
	return nil
}

// Credentials splits User. ask says that there is no password in it.
func (o *Options) Credentials() (user, password string, ask bool) {
	user, password, has := strings.Cut(o.User, ":")
	return user, password, user != "" && !has
}
