package cassandrastress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/sqltext"
	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/run/loadtest"
)

// RangeQuery is one of a profile's token_range_queries: it reads ranges of tokens, page by page.
type RangeQuery struct {
	Name    string
	Columns string // a list of names, or *
	Page    int    // rows of a page
	at      *yaml.Node
}

// rangeQuery reads a query of token_range_queries.
func (p *Profile) rangeQuery(name string, at, n *yaml.Node) error {
	q := RangeQuery{Name: strings.ToLower(name), Columns: "*", Page: 5000, at: at}
	err := p.each(n, "a query", func(key string, keyAt, value *yaml.Node) error {
		var text string
		if err := p.text(value, key, &text); err != nil {
			return err
		}
		switch strings.ToLower(key) {
		case "columns":
			q.at, q.Columns = value, strings.TrimSpace(text)
			if q.Columns == "" {
				return p.fault(value, "columns is empty; write '*' for all columns")
			}
			return nil
		case "page_size":
			var err error
			if q.Page, err = strconv.Atoi(text); err != nil || q.Page < 1 || q.Page > math.MaxInt32 {
				return p.fault(value, "page_size %q is no number of rows", text)
			}
			return nil
		}
		return p.fault(keyAt, "%q is nothing that a query of token_range_queries has: columns and page_size", key)
	})
	if err == nil && q.Name == "insert" {
		err = p.fault(at, "a query can't be called insert, which writes rows")
	}
	p.RangeQueries = append(p.RangeQueries, q)
	return err
}

// rangeQueryNamed returns a query of token_range_queries, or nil.
func (p *Profile) rangeQueryNamed(name string) *RangeQuery {
	if i := slices.IndexFunc(p.RangeQueries, func(q RangeQuery) bool { return q.Name == name }); i >= 0 {
		return &p.RangeQueries[i]
	}
	return nil
}

// cql returns the statement that reads a range. from and to are the places of its ends.
func (q *RangeQuery) cql(t *Table, from, to string) string {
	var key, names []string
	for _, i := range t.Key(PartitionKey) {
		key = append(key, sqltext.Quote(t.Columns[i].Name))
	}
	for i := range t.Columns {
		names = append(names, sqltext.Quote(t.Columns[i].Name))
	}
	columns, token := q.Columns, "token("+strings.Join(key, ", ")+")"
	if columns == "*" {
		columns = strings.Join(names, ", ")
	}
	return fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s > %s AND %s <= %s", token, columns, t.quoted(), token, from, token,
		to)
}

// check checks the columns of the query that are names.
func (q *RangeQuery) check(p *Profile, t *Table) error {
	if q.Columns == "*" || strings.Contains(q.Columns, "(") {
		return nil
	}
	for _, text := range strings.Split(q.Columns, ",") {
		name, ok := nameOf(strings.TrimSpace(text))
		if !ok || t.Find(name) < 0 {
			return p.fault(q.at, "table %s has no column %s; it has %s", t.Name, strings.TrimSpace(text), t.names())
		}
	}
	return nil
}

// sendsRanges reports whether the load reads ranges of tokens.
func (o *Options) sendsRanges(p *Profile) bool {
	return p != nil && slices.ContainsFunc(o.Ops, func(s Share) bool { return p.rangeQueryNamed(s.Name) != nil })
}

// onceThrough checks what says how ranges are read that are not begun again.
func (o *Options) onceThrough() error {
	switch {
	case o.Rate > 0:
		return errors.New("-rate: with throttle= and fixed=, ranges of tokens must be begun again: add -tokenrange wrap")
	case o.Threads == 0:
		return errors.New("-rate: ranges of tokens are read once; give threads=, or add -tokenrange wrap")
	}
	return nil
}

func (o *Options) ofTokenRange(key, value string) error {
	switch key {
	case "wrap":
		o.WrapRanges = true
	case "split-factor":
		n, err := ParseNumber(value)
		if err != nil || n < 1 || n > 1_000_000 {
			return errors.New("give into how many parts a range is split")
		}
		o.SplitRanges = n
	default:
		return errUnknown
	}
	return nil
}

// tokenForm matches the tokens of a node in the text of a set.
var tokenForm = lazyregexp.New(`-?[0-9]+`)

// tokensOnServer asks for the tokens of all nodes.
func (e *execution) tokensOnServer(ctx context.Context) (string, error) {
	s, err := e.connect(ctx, e.o.addresses(), "system")
	if err != nil {
		return "", loadtest.Failure(ctx, err)
	}
	defer s.Close()
	var tokens []string
	for _, table := range []string{"local", "peers"} {
		err := do(ctx, s, "SELECT tokens FROM system."+table, func(row []gen.Value) {
			tokens = append(tokens, tokenForm().FindAllString(string(row[0].AppendText(nil)), -1)...)
		})
		if err != nil {
			return "", err
		}
	}
	return strings.Join(tokens, " "), nil
}

// tokenRange is the tokens above from, up to to.
type tokenRange struct{ from, to int64 }

// ranges are the ranges of tokens that a load reads, in order.
type ranges struct {
	all  []tokenRange
	wrap bool
	next atomic.Uint64
}

// take returns the next range; ok is false once all are taken, unless they are begun again.
func (r *ranges) take() (tokenRange, bool) {
	n, all := r.next.Add(1)-1, uint64(len(r.all))
	if n >= all && !r.wrap {
		return tokenRange{}, false
	}
	return r.all[n%all], true
}

// newRanges returns the ranges between tokens, each split into parts. Without tokens there is a single range.
func newRanges(tokens string, parts int64, wrap bool) (*ranges, error) {
	ends := []int64{math.MaxInt64}
	for _, text := range strings.Fields(tokens) {
		t, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the token %q is none of Murmur3Partitioner, whose ranges can be read", text)
		}
		ends = append(ends, t)
	}
	slices.Sort(ends)
	r, from := &ranges{wrap: wrap}, int64(math.MinInt64)
	for _, to := range slices.Compact(ends) {
		width := new(big.Int).Sub(big.NewInt(to), big.NewInt(from))
		start, begin := big.NewInt(from), from
		for i := int64(1); i <= parts; i++ {
			end := new(big.Int).Mul(width, big.NewInt(i))
			end = end.Add(end.Div(end, big.NewInt(parts)), start)
			if end.Int64() > begin {
				r.all = append(r.all, tokenRange{begin, end.Int64()})
				begin = end.Int64()
			}
		}
		from = to
	}
	return r, nil
}

// reading is how far a session has read a range.
type reading struct {
	tokenRange
	open bool      // there is a range that isn't read to its end
	next gen.Value // where its next page begins
	last gen.Value // token of the last row
}

// rangeSession is a session of a load that reads ranges of tokens.
type rangeSession struct{ *session }

var (
	_ script.Waiter  = rangeSession{}
	_ script.Chooser = rangeSession{}
)

// Wait takes a range if none is being read. Without one, the session ends.
func (s rangeSession) Wait() (time.Duration, bool) { return 0, !s.takeRange() }

// takeRange makes sure that there is a range to read.
func (s *session) takeRange() bool {
	if !s.reading.open {
		s.reading = reading{}
		s.reading.tokenRange, s.reading.open = s.p.ranges.take()
	}
	return s.reading.open
}

// page makes the arguments for the next page.
func (s *session) page() {
	s.takeRange()
	s.add().SetInt(s.reading.from)
	s.add().SetInt(s.reading.to)
	*s.add() = s.reading.next
}

// paged goes on behind a page, and returns how many partitions it has that no page before had.
func (s *session) paged(p *protocol.Page) (partitions int64) {
	if p == nil {
		return 0
	}
	partitions = p.Groups
	if p.Groups > 0 && s.reading.last.Kind != gen.Null &&
		bytes.Equal(p.First.AppendText(nil), s.reading.last.AppendText(nil)) {
		partitions--
	}
	if p.Groups > 0 {
		s.reading.last = p.Last
	}
	s.reading.next = gen.Value{Kind: gen.Bytes, B: p.Next}
	s.reading.open = p.Next != nil
	return partitions
}
