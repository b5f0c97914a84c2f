package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"brunt/internal/protocol"
)

// Asked describes how a Map learns which node has which buckets. Exactly one field is set.
type Asked struct {
	// Vshard means that every node is asked for the buckets in its space _bucket. Read-only nodes are left out.
	Vshard bool
	// Eval is a program that every node runs. It returns rows of the first bucket, the last bucket and an address. If a
	// row has no address, the buckets belong to the node that ran the program.
	Eval string
	// SQL is a statement that returns such rows, always with addresses. It is sent to one node after another until one
	// answers.
	SQL string
	// Ranges is a fixed assignment of buckets.
	Ranges []protocol.BucketRange
}

// PicodataTable is the name of Picodata's table of buckets.
const PicodataTable = "_pico_bucket"

// Picodata returns the SQL statement that reads the buckets of a tier from Picodata, with the addresses of the masters
// of their replica sets. kind is "iproto" or "pgproto". The tables are described in Picodata's
// src/catalog/pico_bucket.rs and in its manual, "System tables".
func Picodata(kind, tier string) string {
	return `SELECT b."bucket_id_start", b."bucket_id_end", a."address" FROM "_pico_bucket" AS b` +
		` JOIN "_pico_replicaset" AS r ON r."name" = b."current_replicaset_name"` +
		` JOIN "_pico_instance" AS i ON i."name" = r."current_master_name"` +
		` JOIN "_pico_peer_address" AS a ON a."raft_id" = i."raft_id"` +
		` WHERE a."connection_type" = '` + kind + `' AND b."tier_name" = '` + strings.ReplaceAll(tier, "'", "''") + `'`
}

// Map stores which node has which bucket. It is safe for concurrent use.
type Map struct {
	asked  Asked
	driver protocol.Driver
	nodes  *protocol.Nodes

	mu    sync.Mutex // guards owner
	owner []int32    // by bucket: its node's number from 1; 0: unknown. Replaced, never modified
}

// NewMap returns a map of buckets numbered from 1 over nodes. All buckets are unknown until Ask is called. An error is
// one line that says what to change.
func NewMap(asked Asked, buckets int, d protocol.Driver, nodes *protocol.Nodes) (*Map, error) {
	if _, ok := d.(protocol.BucketReader); !ok && (asked.Vshard || asked.Eval != "") {
		return nil, fmt.Errorf("servers of protocol %s run no programs that tell their buckets: use map: {sql: …}, "+
			"or map: {ranges: …}", d.Name())
	}
	if _, ok := d.(protocol.AdminDriver); !ok && asked.SQL != "" {
		return nil, fmt.Errorf("protocol %s has no SQL: use map: {ranges: …}", d.Name())
	}
	return &Map{asked: asked, driver: d, nodes: nodes, owner: make([]int32, buckets+1)}, nil
}

// Static reports whether the map never changes.
func (m *Map) Static() bool { return len(m.asked.Ranges) > 0 }

// Found is the result of Map.Ask.
type Found struct {
	// Owner[b] is the number of the node of bucket b, from 1; 0 means unknown. Bucket 0 doesn't exist. The slice must
	// not be modified.
	Owner    []int32
	Unknown  int      // buckets without a node
	Twice    int      // conflicting claims: a bucket is claimed by a further node
	Unlisted []string // addresses that are not among the nodes, sorted
}

// answer is the answer of one node, or of the static map.
type answer struct {
	node   int // the node that answered; −1: every range has its address
	ranges []protocol.BucketRange
	err    error
}

// Ask asks the cluster which node has which buckets. Buckets of nodes that did not answer keep their node unless
// another node claims them. It fails if no node answered.
func (m *Map) Ask(ctx context.Context) (Found, error) {
	answers, err := m.answers(ctx)
	if err != nil {
		return Found{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next, found := make([]int32, len(m.owner)), Found{}
	silent := make([]bool, m.nodes.Cap())
	for _, a := range answers {
		if a.err != nil {
			silent[a.node] = true
			continue
		}
		for _, r := range a.ranges {
			m.claim(next, a.node, r, &found)
		}
	}
	for b := 1; b < len(next); b++ {
		if before := m.owner[b]; next[b] == 0 && before > 0 && silent[before-1] {
			next[b] = before
		}
		if next[b] == 0 {
			found.Unknown++
		}
	}
	slices.Sort(found.Unlisted)
	found.Unlisted = slices.Compact(found.Unlisted)
	m.owner, found.Owner = next, next
	return found, nil
}

// claim records that a node has the buckets of a range. If several nodes claim a bucket, the first one gets it.
func (m *Map) claim(owner []int32, node int, r protocol.BucketRange, found *Found) {
	if r.Address != "" {
		node = slices.IndexFunc(m.nodes.All(), func(t protocol.Target) bool { return t.Address == r.Address })
		if node < 0 {
			found.Unlisted = append(found.Unlisted, r.Address)
			return
		}
	}
	for b := max(r.From, 1); b <= min(r.To, uint64(len(owner)-1)); b++ {
		switch owner[b] {
		case 0:
			owner[b] = int32(node) + 1
		case int32(node) + 1:
		default:
			found.Twice++
		}
	}
}

// answers asks the nodes, in the way that m.asked says. It fails if no node answered.
func (m *Map) answers(ctx context.Context) ([]answer, error) {
	switch {
	case m.Static():
		return []answer{{node: -1, ranges: m.asked.Ranges}}, nil
	case m.asked.SQL != "":
		return m.bySQL(ctx)
	}
	var members []int
	for i := range m.nodes.Len() {
		if m.nodes.Active(i) {
			members = append(members, i)
		}
	}
	all := make([]answer, len(members))
	var wg sync.WaitGroup
	for k, node := range members {
		wg.Go(func() {
			ranges, err := m.driver.(protocol.BucketReader).Buckets(ctx, m.nodes.At(node), m.asked.Eval)
			all[k] = answer{node, ranges, err}
		})
	}
	wg.Wait()
	var failures []error
	for _, a := range all {
		if a.err == nil {
			return all, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", m.nodes.At(a.node).Address, a.err))
	}
	return nil, errors.Join(failures...)
}

// bySQL sends the SQL statement to one node after another until one answers.
func (m *Map) bySQL(ctx context.Context) ([]answer, error) {
	var failures []error
	for node := range m.nodes.Len() {
		if !m.nodes.Active(node) {
			continue
		}
		ranges, err := m.query(ctx, m.nodes.At(node))
		if err == nil {
			return []answer{{node: node, ranges: ranges}}, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", m.nodes.At(node).Address, err))
	}
	return nil, errors.Join(failures...)
}

func (m *Map) query(ctx context.Context, t protocol.Target) (ranges []protocol.BucketRange, err error) {
	a, err := m.driver.(protocol.AdminDriver).Admin(ctx, t)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	err = a.Query(ctx, m.asked.SQL, func(row []*string) error {
		r, err := rangeOf(row)
		ranges = append(ranges, r)
		return err
	})
	return ranges, err
}

// rangeOf parses a row of the SQL statement.
func rangeOf(row []*string) (r protocol.BucketRange, err error) {
	if len(row) != 3 || row[0] == nil || row[1] == nil || row[2] == nil {
		return r, protocol.Bad("the statement for the map of buckets returns %d columns, or nulls: "+
			"select the first bucket, the last one and the address", len(row))
	}
	r.Address = *row[2]
	if r.From, err = strconv.ParseUint(*row[0], 10, 63); err == nil {
		r.To, err = strconv.ParseUint(*row[1], 10, 63)
	}
	if err != nil {
		return r, protocol.Bad("the statement for the map of buckets returns %q and %q, which must be bucket numbers",
			*row[0], *row[1])
	}
	return r, nil
}
