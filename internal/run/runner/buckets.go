package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/balance"
	"brunt/internal/protocol/balance/bucket"
	"brunt/internal/protocol/topology"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/target"
)

// buckets keeps the balancer's map of buckets to nodes up to date.
type buckets struct {
	runner   *Runner
	of       *bucket.Map
	balancer *balance.Balancer
	doubted  chan struct{} // signals that the map seems to be out of date
}

func (r *Runner) newBuckets(by *balance.Balancer) (*buckets, error) {
	of, err := bucketMap(r.system)
	if err != nil {
		return nil, err
	}
	return &buckets{runner: r, of: of, balancer: by, doubted: make(chan struct{}, 1)}, nil
}

// bucketMap returns the map that the plan describes.
func bucketMap(s *target.System) (*bucket.Map, error) {
	b := &s.Plan.Target.Balance
	asked := bucket.Asked{Vshard: b.Map.Source == "vshard", Eval: b.Map.Eval, SQL: b.Map.SQL}
	if b.Map.Source == "picodata" {
		kind := s.Protocol.Picodata
		if kind == "" {
			return nil, fmt.Errorf("balance: map: picodata: Picodata isn't reached over protocol %s", s.Protocol.Name())
		}
		asked.SQL = bucket.Picodata(kind, cmp.Or(b.Map.Tier, "default"))
	}
	for _, one := range b.Map.Ranges {
		asked.Ranges = append(asked.Ranges,
			protocol.BucketRange{From: uint64(one.From), To: uint64(one.To), Address: one.Address})
	}
	return bucket.NewMap(asked, b.Buckets, s.Driver, s.Nodes())
}

// CheckBuckets asks the servers for the plan's map of buckets, as a run does, and returns the error with which the run
// would end. It does nothing for a plan without such a map.
func CheckBuckets(ctx context.Context, s *target.System) error {
	if s.Plan.Target.Balance.Buckets == 0 {
		return nil
	}
	of, err := bucketMap(s)
	if err != nil {
		return &target.UsageError{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, askBucketsWithin)
	defer cancel()
	found, err := of.Ask(ctx)
	return met(s, found, err)
}

// met returns the error about the first answer to the question for the map, if the load can't begin with it.
func met(s *target.System, found bucket.Found, err error) error {
	b := &s.Plan.Target.Balance
	if err != nil && b.Map.Source == "picodata" && strings.Contains(err.Error(), bucket.PicodataTable) {
		return &target.UsageError{Err: fmt.Errorf("balance: bucket: map: picodata reads the table %s, and %s has none that "+
			"this user can read: Picodata up to 25.5 has nothing of this name, 25.6 and later have a function at first; use "+
			"map: {ranges: …} or map: {sql: …}, or grant the right to read it (%w)", bucket.PicodataTable, s.Version(), err)}
	}
	if err != nil {
		return target.NotConnected(s.Plan, err)
	}
	if found.Unknown < b.Buckets {
		return nil
	}
	why := "check map, buckets, and that the cluster has been bootstrapped"
	if len(found.Unlisted) > 0 {
		why = "it names " + strings.Join(found.Unlisted, ", ") + ": list these in addresses"
	}
	return &target.UsageError{Err: fmt.Errorf("balance: bucket: the map tells of no bucket at the target's addresses; %s",
		why)}
}

// askBucketsWithin is the time limit of one query of the map.
const askBucketsWithin = 5 * time.Second

// ask queries the map and passes it to the balancer.
func (b *buckets) ask(ctx context.Context) (bucket.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, askBucketsWithin)
	defer cancel()
	found, err := b.of.Ask(ctx)
	if err == nil {
		b.balancer.SetBuckets(found.Owner)
	}
	return found, err
}

// meet queries the map before the load. It returns an error if the map contains no bucket at the target's addresses.
func (b *buckets) meet(ctx context.Context) error {
	found, err := b.ask(ctx)
	if err := met(b.runner.system, found, err); err != nil {
		return err
	}
	count := b.runner.system.Plan.Target.Balance.Buckets
	if found.Unknown > 0 {
		b.runner.warn(record.NewWarning("buckets-unknown", message.Count("unknown", found.Unknown),
			message.Count("buckets", count)))
	}
	if len(found.Unlisted) > 0 {
		b.runner.warn(record.NewWarning("buckets-unlisted", message.Text("addresses", strings.Join(found.Unlisted, ", "))))
	}
	if found.Twice > 0 {
		b.runner.warn(record.NewWarning("buckets-twice", message.Count("n", found.Twice)))
	}
	return nil
}

// doubt requests a new query of the map soon. It is safe for concurrent use.
func (b *buckets) doubt() {
	select {
	case b.doubted <- struct{}{}:
	default:
	}
}

// watch keeps the map up to date until the load ends.
func (b *buckets) watch(ctx context.Context) (stop func()) {
	if b.of.Static() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		topology.Every(ctx, b.runner.system.Every(), b.doubted, func(ctx context.Context) error {
			_, err := b.ask(ctx)
			return err
		}, func(err error) {
			if !errors.Is(err, context.Canceled) {
				b.runner.arrivals.note(record.Notice("buckets-silent", message.Text("why", protocol.Line(err.Error(), ""))))
			}
		})
	}()
	return func() {
		cancel()
		<-done
	}
}
