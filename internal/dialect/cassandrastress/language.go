package cassandrastress

import (
	"fmt"
	"strings"
	"sync/atomic"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// languageName is the name of Language in plans.
const languageName = "cassandra-stress"

// Language compiles operations of cassandra-stress. A script is the word insert, or the name of a query. Options:
//
//	profile     the profile, as YAML, with the table's definition
//	population  seq=FIRST..LAST or dist=DISTRIBUTION: the numbers of partitions
//	partitions  of an insert, a distribution
//	select      share of a partition's rows that an insert writes, a ratio
//	batchtype   LOGGED, UNLOGGED or COUNTER
//	clustering  how many operations of one kind a session sends after each other, a distribution
//	hexadecimal "key": the key is of hexadecimal digits
type Language struct{}

// Name returns the language's name in plans.
func (Language) Name() string { return languageName }

// Compile compiles the operations of a plan.
func (Language) Compile(s *script.Source) (script.Program, error) {
	profile, err := ParseProfile("profile", []byte(s.Options["profile"]))
	if err != nil {
		return nil, err
	}
	p := &program{stream: gen.NewStream(s.Seed, languageName)}
	p.draws = p.stream.Sub("operation")
	if p.table, err = profile.Table(nil); err != nil {
		return nil, err
	}
	if i := p.table.Find(s.Options["hexadecimal"]); i >= 0 {
		p.table.Columns[i].Type = hexBytes
	}
	if err := p.options(s.Options); err != nil {
		return nil, err
	}
	for i := range p.table.Columns {
		name := p.table.Columns[i].Name
		p.numbers = append(p.numbers, p.stream.Sub("population", name))
		p.contents = append(p.contents, p.stream.Sub("value", name))
		p.counts = append(p.counts, p.stream.Sub("cluster", name))
	}
	p.clustered = p.table.Key(ClusteringKey)
	for i := range s.Operations {
		if err := p.operation(profile, &s.Operations[i]); err != nil {
			return nil, &script.Error{Operation: i, Line: 1, Text: err.Error()}
		}
	}
	p.Done = make([]Done, len(p.operations))
	return p, nil
}

func (p *program) options(o map[string]string) (err error) {
	parse := func(name, usual string, to **Distribution) {
		if err == nil {
			text := o[name]
			if text == "" {
				text = usual
			}
			if *to, err = ParseDistribution(text); err != nil {
				err = fmt.Errorf("option %s of scripts: %w", name, err)
			}
		}
	}
	population := o["population"]
	if bounds, ok := strings.CutPrefix(population, "seq="); ok {
		p.ordered, population = true, "dist=SEQ("+bounds+")"
	}
	o["population"] = strings.TrimPrefix(population, "dist=")
	parse("population", "", &p.population)
	parse("partitions", "FIXED(1)", &p.partitions)
	parse("clustering", "GAUSSIAN(1..10)", &p.clustering)
	if err != nil {
		return err
	}
	share := o["select"]
	if share == "" {
		share = "FIXED(1)/1"
	}
	if p.share, err = ParseRatio(share); err != nil {
		return fmt.Errorf("option select of scripts: %w", err)
	}
	p.batch = strings.ToLower(o["batchtype"])
	if p.batch == "" {
		p.batch = "logged"
	}
	if p.partitions.Min < 1 || p.partitions.Max > 1_000_000 {
		return fmt.Errorf("option partitions of scripts: an insert has from 1 to a million partitions")
	}
	return nil
}

// Done counts what operations have done. It is safe for concurrent use.
type Done struct{ Partitions, Rows atomic.Int64 }

// program is the compiled operations.
type program struct {
	table      *Table
	clustered  []int // columns of the clustering key
	stream     gen.Stream
	draws      gen.Stream   // of each operation
	numbers    []gen.Stream // of each column: which of its population
	contents   []gen.Stream // … its values
	counts     []gen.Stream // … how many in a partition
	population *Distribution
	ordered    bool
	partitions *Distribution
	share      *Ratio
	clustering *Distribution
	batch      string
	operations []operation
	weights    float64
	taken      atomic.Uint64 // numbers of an ordered population, if inserts differ in partitions
	Done       []Done
}

// operation is an insert, or a query.
type operation struct {
	insert  bool
	request protocol.Request
	order   []int // column of each parameter
	sameRow bool
	weight  float64
}

// operation adds an operation.
func (p *program) operation(profile *Profile, op *script.Operation) error {
	out := operation{weight: op.Weight}
	p.weights += op.Weight
	name := strings.TrimSpace(op.Text)
	if name == "insert" {
		out.insert = true
		var text string
		text, out.order = p.table.Insert()
		out.request = protocol.Request{Verb: protocol.Batch, Text: p.batch + " " + text}
	}
	for i := range profile.Queries {
		if q := &profile.Queries[i]; q.Name == name {
			text, order, err := p.table.Bind(q.CQL)
			if err != nil {
				return err
			}
			out.order, out.sameRow = order, q.SameRow
			out.request = cql(text)
		}
	}
	if len(out.order) == 0 && out.request.Words == nil {
		return fmt.Errorf("%q is neither insert nor a query of the profile", name)
	}
	for _, column := range out.order {
		out.request.Params = append(out.request.Params, kindOf(p.table.Columns[column].Type))
	}
	p.operations = append(p.operations, out)
	return nil
}

// cql returns a request for a statement.
func cql(text string) protocol.Request {
	return protocol.Request{Verb: protocol.Command, Words: strings.SplitN(strings.TrimSpace(text), " ", 2)}
}

// Requests returns the request of an operation.
func (p *program) Requests(operation int) []protocol.Request {
	return []protocol.Request{p.operations[operation].request}
}

// Session returns the state of a session.
func (p *program) Session(number int) script.Session {
	return &session{p: p, choices: p.stream.Sub("mix", fmt.Sprint(number))}
}

// mix combines numbers to one that looks random (the finalizer of SplitMix64).
func mix(a uint64, b int64) uint64 {
	x := a ^ uint64(b)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// number returns which value of its population a column has at a place.
func (p *program) number(column int, place uint64) int64 {
	r := p.numbers[column].At(place)
	return p.table.Columns[column].Spec.Population.Draw(&r, place)
}

// cluster returns how many values a column of the clustering key has at a place.
func (p *program) cluster(column int, place uint64) int64 {
	r := p.counts[column].At(place)
	return max(1, p.table.Columns[column].Spec.Cluster.Draw(&r, place))
}

// row is the numbers of a row's values.
type row struct {
	numbers []int64 // by column; those of regular columns follow from place
	place   uint64
}

// partition sets the partition key of a row, for the partition with a number.
func (p *program) partition(w *row, seed int64) {
	if w.numbers == nil {
		w.numbers = make([]int64, len(p.table.Columns))
	}
	w.place = 0
	for i := range p.table.Columns {
		if p.table.Columns[i].Role == PartitionKey {
			w.numbers[i] = p.number(i, uint64(seed))
			w.place = mix(w.place, w.numbers[i])
		}
	}
}

// pick sets the clustering key of a row to one of the partition's, at random.
func (p *program) pick(w *row, r *gen.Rand) {
	for _, column := range p.clustered {
		n := p.cluster(column, w.place)
		w.numbers[column] = p.number(column, mix(w.place, int64(r.Uint64n(uint64(n)))))
		w.place = mix(w.place, w.numbers[column])
	}
}

// rows calls f with each row of a partition. Values of a level that are equal count once.
func (p *program) rows(w *row, level int, f func(*row)) {
	if level == len(p.clustered) {
		f(w)
		return
	}
	column, place := p.clustered[level], w.place
	n := p.cluster(column, place)
	var seen map[int64]bool
	if n > 1 {
		seen = make(map[int64]bool, n)
	}
	for j := range n {
		x := p.number(column, mix(place, j))
		if seen[x] {
			continue
		}
		if seen != nil {
			seen[x] = true
		}
		w.numbers[column], w.place = x, mix(place, x)
		p.rows(w, level+1, f)
	}
	w.place = place
}

// value sets an argument to a column's value in a row.
func (p *program) value(v *gen.Value, w *row, column int) {
	c := &p.table.Columns[column]
	x := w.numbers[column]
	if c.Role == Regular {
		x = p.number(column, w.place)
	}
	c.value(v, p.contents[column], x)
}

// mostRows is the greatest number of rows of a batch in Cassandra's protocol.
const mostRows = 65535

// session runs operations.
type session struct {
	p          *program
	choices    gen.Stream
	chosen     int // operations chosen so far
	repeat     int64
	last       int
	op         int
	index      uint64
	row        row
	args       []gen.Value
	sent       int // of args
	partitions int64
}

var _ script.Chooser = (*session)(nil)

// Choose returns the next operation: a run of one kind, then one that is chosen by weight.
func (s *session) Choose(uint64) int {
	if s.repeat > 0 {
		s.repeat--
		return s.last
	}
	r := s.choices.At(uint64(s.chosen))
	s.chosen++
	if len(s.p.operations) > 1 {
		s.repeat = s.p.clustering.Draw(&r, uint64(s.chosen)) - 1
	}
	x := r.Float64() * s.p.weights
	for s.last = 0; s.last < len(s.p.operations)-1 && x >= s.p.operations[s.last].weight; s.last++ {
		x -= s.p.operations[s.last].weight
	}
	return s.last
}

// Begin makes the arguments of an operation.
func (s *session) Begin(op int, index uint64) script.Step {
	s.op, s.index, s.args = op, index, s.args[:0]
	p := s.p
	r := p.draws.At(index)
	if p.operations[op].insert {
		s.insert(&r)
	} else {
		s.query(&r)
	}
	return s.Again()
}

// add returns the next argument.
func (s *session) add() *gen.Value {
	if len(s.args) == cap(s.args) {
		s.args = append(s.args, gen.Value{})
	} else {
		s.args = s.args[:len(s.args)+1]
	}
	return &s.args[len(s.args)-1]
}

// seed returns the number of an operation's k-th partition of n.
func (s *session) seed(k, n int64, r *gen.Rand) int64 {
	p := s.p
	switch {
	case !p.ordered:
		return p.population.Draw(r, s.index)
	case p.partitions.Fixed():
		return p.population.Draw(r, s.index*uint64(p.partitions.Min)+uint64(k))
	}
	return p.population.Draw(r, p.taken.Add(1)-1)
}

func (s *session) insert(r *gen.Rand) {
	p := s.p
	n := p.partitions.Draw(r, s.index)
	share := p.share.DrawShare(r, s.index)
	order := p.operations[s.op].order
	for k := range n {
		p.partition(&s.row, s.seed(k, n, r))
		p.rows(&s.row, 0, func(w *row) {
			if share < 1 && r.Float64() >= share {
				return
			}
			for _, column := range order {
				p.value(s.add(), w, column)
			}
		})
		if len(s.args) == 0 && k == n-1 { // none was chosen: one must be
			p.pick(&s.row, r)
			for _, column := range order {
				p.value(s.add(), &s.row, column)
			}
		}
	}
	s.partitions = n
}

// query makes the arguments of a query: of one row of a partition, or each of any of its rows.
func (s *session) query(r *gen.Rand) {
	p, op := s.p, &s.p.operations[s.op]
	p.partition(&s.row, s.seed(0, 1, r))
	place := s.row.place
	p.pick(&s.row, r)
	for _, column := range op.order {
		if !op.sameRow {
			s.row.place = place
			p.pick(&s.row, r)
		}
		p.value(s.add(), &s.row, column)
	}
	s.partitions = 1
}

// Again begins to send.
func (s *session) Again() script.Step {
	s.sent = 0
	return s.next()
}

// next sends the next rows.
func (s *session) next() script.Step {
	from, per := s.sent, len(s.p.operations[s.op].order)
	s.sent = min(len(s.args), from+mostRows*per)
	return script.Step{Move: script.Send, Args: s.args[from:s.sent], Last: s.sent == len(s.args)}
}

// Resume isn't called, since there are no pauses.
func (s *session) Resume() script.Step { return script.Step{} }

// Answered continues after an answer.
func (s *session) Answered(r *protocol.Reply) script.Step {
	if r.Class != protocol.OK {
		return script.Step{Failure: r.Failure}
	}
	if s.sent < len(s.args) {
		return s.next()
	}
	op, done := &s.p.operations[s.op], &s.p.Done[s.op]
	rows, partitions := r.Rows, min(1, r.Rows)
	if op.insert {
		rows, partitions = int64(len(s.args)/len(op.order)), s.partitions
	}
	done.Rows.Add(rows)
	done.Partitions.Add(partitions)
	return script.Step{}
}
