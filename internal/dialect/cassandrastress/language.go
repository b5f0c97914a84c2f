package cassandrastress

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
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
//	row-population-ratio  share of a row's columns that an insert writes, a ratio: the others, by name, are null
//	visits      inserts of a partition, a distribution
//	revisit     which of the partitions that are not complete an insert goes on with, a distribution
//	lookback    how far before the last partition that is written queries read, a distribution
//	wrap        no: the sequence is written once
//	contents    order of a partition's rows: sorted or shuffled
//	clustering  how many operations of one kind a session sends after each other, a distribution
//	tokens      those of all nodes, which end the ranges that token_range_queries read
//	split-factor  into how many parts each range is split
//	wrap-ranges  no: the load ends once all ranges are read
//	hexadecimal "key": the key is of hexadecimal digits
type Language struct{}

// Name returns the language's name in plans.
func (Language) Name() string { return languageName }

// Unlimited implements script.Limited: sequences and ranges of tokens are begun again.
func (Language) Unlimited(options map[string]string) {
	delete(options, "wrap")
	if options["wrap-ranges"] != "" {
		options["wrap-ranges"] = "yes"
	}
}

// Compile compiles the operations of a plan.
func (Language) Compile(s *script.Source) (script.Program, error) {
	profile, err := ParseProfile("profile", []byte(s.Options["profile"]))
	if err != nil {
		return nil, err
	}
	p := &program{stream: gen.NewStream(s.Seed, languageName), written: written{above: map[uint64]bool{}}}
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
		p.values = append(p.values, p.stream.Sub("value", name))
		p.counts = append(p.counts, p.stream.Sub("cluster", name))
	}
	p.clustered = p.table.Key(ClusteringKey)
	if err := p.visiting(s.Options); err != nil {
		return nil, err
	}
	if err := p.readRanges(s.Options); err != nil {
		return nil, err
	}
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
	for name, to := range map[string]**Ratio{"select": &p.share, "row-population-ratio": &p.filled} {
		text := o[name]
		if text == "" {
			text = "FIXED(1)/1"
		}
		if *to, err = ParseRatio(text); err != nil {
			return fmt.Errorf("option %s of scripts: %w", name, err)
		}
	}
	p.once = o["wrap"] == "no"
	if p.contents = o["contents"]; p.contents != "" && p.contents != "sorted" && p.contents != "shuffled" {
		return fmt.Errorf("option contents of scripts: use sorted or shuffled")
	}
	p.batch = strings.ToLower(o["batchtype"])
	if p.batch == "" {
		p.batch = "logged"
	}
	if _, err := parsePartitions(p.partitions.String()); err != nil {
		return fmt.Errorf("option partitions of scripts: %w", err)
	}
	return nil
}

// visiting reads the options of which partitions operations go to.
func (p *program) visiting(o map[string]string) error {
	if text := o["lookback"]; text != "" {
		d, err := ParseDistribution(text)
		if err != nil {
			return fmt.Errorf("option lookback of scripts: %w", err)
		}
		p.lookback = d
	}
	if o["visits"] == "" {
		return nil
	}
	count, err := ParseDistribution(o["visits"])
	if err != nil {
		return fmt.Errorf("option visits of scripts: %w", err)
	}
	text := o["revisit"]
	if text == "" {
		text = "UNIFORM(1..1M)"
	}
	revisit, err := ParseDistribution(text)
	if err != nil {
		return fmt.Errorf("option revisit of scripts: %w", err)
	}
	p.visits, err = p.newVisits(count, revisit)
	return err
}

// readRanges reads the options of the ranges of tokens.
func (p *program) readRanges(o map[string]string) (err error) {
	parts := int64(1)
	if text := o["split-factor"]; text != "" {
		if parts, err = strconv.ParseInt(text, 10, 64); err != nil || parts < 1 || parts > 1_000_000 {
			return fmt.Errorf("option split-factor of scripts: %q is no number of parts", text)
		}
	}
	if p.ranges, err = newRanges(o["tokens"], parts, o["wrap-ranges"] != "no"); err != nil {
		return fmt.Errorf("option tokens of scripts: %w", err)
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
	values     []gen.Stream // … its values
	counts     []gen.Stream // … how many in a partition
	population *Distribution
	ordered    bool
	partitions *Distribution
	share      *Ratio
	filled     *Ratio // of a row's columns
	contents   string // order of rows: "", "sorted" or "shuffled"
	visits     *visits
	lookback   *Distribution
	written    written
	once       bool // the sequence isn't begun again
	clustering *Distribution
	batch      string
	operations []operation
	ranges     *ranges // of tokens
	pages      bool    // an operation reads them
	weights    float64
	taken      atomic.Uint64 // numbers of inserted partitions, where they don't follow from those of operations
	Done       []Done
}

// operation is an insert, or a query.
type operation struct {
	insert  bool
	pages   bool // reads the next page of a range of tokens
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
	if q := profile.rangeQueryNamed(name); q != nil {
		out.request = cql(q.cql(p.table, "$1", "$2"))
		out.request.Params = []gen.Kind{gen.Int, gen.Int, gen.Bytes}
		out.request.Page, out.pages, p.pages = q.Page, true, true
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
	s := &session{p: p, choices: p.stream.Sub("mix", fmt.Sprint(number))}
	if p.pages {
		return rangeSession{s}
	}
	return s
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

// rows calls f with each row of a partition. Values of a level that are equal count once. r shuffles them; nil: in the
// same way each time.
func (p *program) rows(w *row, level int, r *gen.Rand, f func(*row)) {
	if level == len(p.clustered) {
		f(w)
		return
	}
	column, place := p.clustered[level], w.place
	for _, x := range p.level(column, place, r) {
		w.numbers[column], w.place = x, mix(place, x)
		p.rows(w, level+1, r, f)
	}
	w.place = place
}

// level returns the numbers of a clustering column's values at a place, in the order of contents.
func (p *program) level(column int, place uint64, r *gen.Rand) []int64 {
	n := p.cluster(column, place)
	if n == 1 {
		return []int64{p.number(column, mix(place, 0))}
	}
	out := make([]int64, 0, n)
	seen := make(map[int64]bool, n)
	for j := range n {
		if x := p.number(column, mix(place, j)); !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	switch p.contents {
	case "sorted":
		p.sort(column, out)
	case "shuffled":
		if r == nil {
			own := p.counts[column].At(mix(place, -1))
			r = &own
		}
		for i := len(out) - 1; i > 0; i-- {
			j := r.Uint64n(uint64(i) + 1)
			out[i], out[j] = out[j], out[i]
		}
	}
	return out
}

// sort sorts the numbers of a column's values by the values.
func (p *program) sort(column int, numbers []int64) {
	type numbered struct {
		value  gen.Value
		number int64
	}
	all := make([]numbered, len(numbers))
	for i, x := range numbers {
		all[i].number = x
		p.table.Columns[column].value(&all[i].value, p.values[column], x)
	}
	slices.SortStableFunc(all, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.value.I, b.value.I), cmp.Compare(a.value.F, b.value.F),
			bytes.Compare(a.value.B, b.value.B))
	})
	for i := range all {
		numbers[i] = all[i].number
	}
}

// value sets an argument to a column's value in a row.
func (p *program) value(v *gen.Value, w *row, column int) {
	c := &p.table.Columns[column]
	x := w.numbers[column]
	if c.Role == Regular {
		x = p.number(column, w.place)
	}
	c.value(v, p.values[column], x)
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
	reading    reading  // of a range of tokens
	writing    []uint64 // numbers of the insert's partitions, if queries look back at them
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
	s.wrote() // if the operation before has failed, none is missing in the sequence
	s.op, s.index, s.args = op, index, s.args[:0]
	p := s.p
	r := p.draws.At(index)
	switch {
	case p.operations[op].insert:
		s.insert(&r)
	case p.operations[op].pages:
		s.page()
	default:
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

// turn returns the number of an insert's k-th partition among those of all inserts. It follows from the operation's
// number if nothing else is sent and all inserts have as many partitions.
func (s *session) turn(k int64) uint64 {
	p := s.p
	if p.partitions.Fixed() && p.lookback == nil && (p.visits == nil || len(p.operations) == 1) {
		return s.index*uint64(p.partitions.Min) + uint64(k)
	}
	return p.taken.Add(1) - 1
}

// next returns what an insert writes of its k-th partition; ok is false at the end of a sequence that is written once.
func (s *session) next(k int64, r *gen.Rand) (v visit, ok bool) {
	p := s.p
	v = visit{to: math.MaxInt64, first: true}
	switch {
	case p.visits != nil:
		v = p.visits.at(s.turn(k))
	case !p.ordered:
		v.seed = p.population.Draw(r, s.index)
	default:
		v.number = s.turn(k)
		if p.once && p.beyond(s.index, k) {
			return v, false
		}
		v.seed = p.population.Draw(r, v.number)
	}
	if v.first && p.lookback != nil {
		s.writing = append(s.writing, v.number)
	}
	return v, true
}

// beyond reports whether an insert's k-th partition is behind the end of the sequence, which only its last insert
// reaches.
func (p *program) beyond(index uint64, k int64) bool {
	all, per := uint64(p.population.Max-p.population.Min)+1, uint64(p.partitions.Min)
	inserts := (all + per - 1) / per
	return index%inserts*per+uint64(k) >= all
}

func (s *session) insert(r *gen.Rand) {
	p := s.p
	n := p.partitions.Draw(r, s.index)
	share := p.share.DrawShare(r, s.index)
	order := p.operations[s.op].order
	shuffle := r
	if p.visits != nil {
		shuffle = nil // a partition's inserts go on with the same order
	}
	s.partitions = 0
	var v visit
	for k := range n {
		next, ok := s.next(k, r)
		if !ok {
			break
		}
		v = next
		s.partitions++
		empty := p.empty(r, s.index)
		p.partition(&s.row, v.seed)
		at := int64(-1)
		p.rows(&s.row, 0, shuffle, func(w *row) {
			at++
			if at >= v.from && at < v.to && (share >= 1 || r.Float64() < share) {
				s.write(w, order, empty)
			}
		})
	}
	if len(s.args) == 0 { // none was chosen: one must be
		s.one(&v, order, r)
	}
}

// one writes one of the rows that an insert may write.
func (s *session) one(v *visit, order []int, r *gen.Rand) {
	p := s.p
	empty := p.empty(r, s.index)
	p.partition(&s.row, v.seed)
	if p.visits == nil {
		p.pick(&s.row, r)
		s.write(&s.row, order, empty)
		return
	}
	at, chosen := int64(0), v.from+int64(r.Uint64n(uint64(v.to-v.from)))
	p.rows(&s.row, 0, nil, func(w *row) {
		if at++; at-1 == chosen {
			s.write(w, order, empty)
		}
	})
}

// empty returns the columns that an insert leaves empty: the last ones by name, but none of the key.
func (p *program) empty(r *gen.Rand, index uint64) map[int]bool {
	if p.filled.all() || p.table.Counters() { // a counter is changed by a number
		return nil
	}
	share := p.filled.DrawShare(r, index)
	columns := p.table.Key(Regular)
	slices.SortFunc(columns, func(a, b int) int {
		return strings.Compare(p.table.Columns[a].Name, p.table.Columns[b].Name)
	})
	out := map[int]bool{}
	for i, column := range columns {
		if float64(i+1)/float64(len(columns)) > share {
			out[column] = true
		}
	}
	return out
}

// write adds the arguments of a row.
func (s *session) write(w *row, order []int, empty map[int]bool) {
	for _, column := range order {
		if v := s.add(); empty[column] {
			v.Kind = gen.Null
		} else {
			s.p.value(v, w, column)
		}
	}
}

// seed returns the number of the partition that a query goes to.
func (s *session) seed(r *gen.Rand) int64 {
	p := s.p
	switch {
	case p.lookback != nil:
		return p.population.Draw(r, p.written.back(p.lookback.Draw(r, s.index)))
	case !p.ordered || p.visits != nil:
		return p.population.Draw(r, s.index)
	}
	return p.population.Draw(r, s.turn(0))
}

// wrote ends the insert's part in what is written.
func (s *session) wrote() {
	if len(s.writing) > 0 {
		s.p.written.add(s.writing)
		s.writing = s.writing[:0]
	}
}

// query makes the arguments of a query: of one row of a partition, or each of any of its rows.
func (s *session) query(r *gen.Rand) {
	p, op := s.p, &s.p.operations[s.op]
	p.partition(&s.row, s.seed(r))
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
	return s.send()
}

// send sends the next rows.
func (s *session) send() script.Step {
	from, per := s.sent, max(1, len(s.p.operations[s.op].order))
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
		return s.send()
	}
	s.wrote()
	op, done := &s.p.operations[s.op], &s.p.Done[s.op]
	rows, partitions := r.Rows, min(1, r.Rows)
	if op.insert {
		rows, partitions = int64(len(s.args)/len(op.order)), s.partitions
	}
	if op.pages {
		partitions = s.paged(r.Page)
	}
	done.Rows.Add(rows)
	done.Partitions.Add(partitions)
	return script.Step{}
}
