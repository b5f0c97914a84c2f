package record

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"brunt/internal/base/finite"
	"brunt/internal/measure"
)

// intervalLine is a line of intervals.ndjson. Operations and addresses without any activity are left out, and so are
// empty histograms. "op" and "address" are indexes into the lists of run.json.
type intervalLine struct {
	Index      int                  `json:"index"`
	Slices     int                  `json:"slices,omitempty"` // number of merged intervals; 1 if absent
	StartNs    int64                `json:"start_ns"`
	EndNs      int64                `json:"end_ns"`
	UnixNs     int64                `json:"unix_ns"`
	Phase      string               `json:"phase"`
	Kind       string               `json:"kind,omitempty"` // of the phase
	WarmUp     bool                 `json:"warm_up,omitempty"`
	Drain      bool                 `json:"drain,omitempty"`
	Sessions   int                  `json:"sessions"`
	Mean       float64              `json:"sessions_mean,omitempty"` // over the interval
	Busy       int                  `json:"busy"`
	Backlog    uint64               `json:"backlog"`
	Offered    uint64               `json:"offered"`
	Overdue    uint64               `json:"overdue,omitempty"`
	Control    *measure.Control     `json:"control,omitempty"` // the controller's decision about the rate
	OwnLag     *histogramLine       `json:"own_lag,omitempty"`
	Turnaround *histogramLine       `json:"turnaround,omitempty"`
	Events     []Event              `json:"events,omitempty"`
	Still      []measure.Standstill `json:"standstills,omitempty"`
	Operations []operationLine      `json:"operations"`
	Addresses  []addressLine        `json:"addresses"`
	Health     measure.Health       `json:"health"`
	Arrivals   []arrivalLine        `json:"arrivals,omitempty"`      // by intended start, for the analysis of outages
	Lost       uint64               `json:"arrivals_lost,omitempty"` // arrivals for which Arrivals had no room
}

type operationLine struct {
	Operation int `json:"op"`
	Counts
	Response         *histogramLine `json:"response,omitempty"`
	WithoutGenerator *histogramLine `json:"unhindered,omitempty"` // equals service if absent
	Service          *histogramLine `json:"service,omitempty"`
	Lag              *histogramLine `json:"lag,omitempty"`
	FailedResponse   *histogramLine `json:"failed_response,omitempty"`
	StreamFirst      *histogramLine `json:"stream_first,omitempty"`
	StreamBetween    *histogramLine `json:"stream_between,omitempty"`
	StreamLag        *histogramLine `json:"stream_lag,omitempty"`

	Still []measure.Standstill `json:"standstills,omitempty"` // of this operation alone
}

// times returns where the lines of the histograms of measure.OperationAccount.Times are, in the order of the text.
func (l *operationLine) times() [measure.Distributions]**histogramLine {
	return [...]**histogramLine{&l.Response, &l.WithoutGenerator, &l.Service, &l.Lag, &l.FailedResponse, &l.StreamFirst,
		&l.StreamBetween, &l.StreamLag}
}

type addressLine struct {
	Address int `json:"address"`
	Counts
	Service    *histogramLine `json:"service,omitempty"`
	Up         int            `json:"up"`
	Reconnects uint64         `json:"reconnects,omitempty"`
}

type histogramLine struct {
	Count  uint64  `json:"count"`
	MinNs  int64   `json:"min_ns"`
	MeanNs float64 `json:"mean_ns"`
	MaxNs  int64   `json:"max_ns"`
	HDR    []byte  `json:"hdr"`          // HdrHistogram V2, compressed; base64 in JSON
	At     int     `json:"at,omitempty"` // in a lineText instead of HDR: index of the histogram, from 1; never in files
}

// lineEncoder encodes intervals as lines. It reuses its buffers: they are so large that allocating them for each line
// would keep the garbage collector busy.
type lineEncoder struct {
	hdr        measure.HDREncoder
	packs      bool   // histograms are packed rather than compressed, for a Packer
	text       []byte // histograms of the line
	line       bytes.Buffer
	operations []operationLine
	addresses  []addressLine
}

// encode returns iv as one line including its newline. The line is valid until the next call.
func (e *lineEncoder) encode(iv *measure.Interval) ([]byte, error) {
	line := e.lineOf(iv)
	e.line.Reset()
	out := json.NewEncoder(&e.line)
	out.SetEscapeHTML(false)
	err := out.Encode(line)
	if err != nil {
		e.line.Reset()
		err = out.Encode(finite.Copy(line))
	}
	return e.line.Bytes(), err
}

// lineOf returns iv as a line that is valid until the next call.
func (e *lineEncoder) lineOf(iv *measure.Interval) *intervalLine {
	e.text = e.text[:0]
	line := &intervalLine{
		Index: iv.Index, StartNs: iv.StartNs, EndNs: iv.EndNs, UnixNs: iv.UnixNs, Phase: iv.Phase, Kind: iv.Kind,
		WarmUp: iv.WarmUp, Drain: iv.Drain, Sessions: iv.Sessions, Mean: iv.SessionsMean, Busy: iv.Busy, Backlog: iv.Backlog,
		Offered: iv.Offered, Overdue: iv.Overdue, OwnLag: e.histogram(iv.OwnLag), Turnaround: e.histogram(iv.Turnaround),
		Events: iv.Events, Still: iv.Standstills, Health: iv.Health, Control: iv.Control,
		Arrivals: arrivalLines(iv.Arrivals), Lost: iv.ArrivalsLost,
		Operations: e.operations[:0], Addresses: e.addresses[:0],
	}
	if line.Operations == nil {
		line.Operations, line.Addresses = []operationLine{}, []addressLine{}
	}
	if iv.Intervals > 1 {
		line.Slices = iv.Intervals
	}
	for i := range iv.Operations {
		l := e.operation(i, &iv.Operations[i])
		if l.Lag != nil || l.Still != nil || iv.Operations[i].Counts != (measure.Counts{}) {
			line.Operations = append(line.Operations, l)
		}
	}
	for i := range iv.Addresses {
		a := &iv.Addresses[i]
		line.Addresses = append(line.Addresses, addressLine{
			Address: i, Counts: CountsOf(&a.Counts), Service: e.histogram(a.Service), Up: a.Up, Reconnects: a.Reconnects,
		})
	}
	e.operations, e.addresses = line.Operations, line.Addresses
	return line
}

func (e *lineEncoder) operation(i int, o *measure.OperationAccount) operationLine {
	l := operationLine{Operation: i, Counts: CountsOf(&o.Counts)}
	if len(o.Standstills) > 0 {
		l.Still = o.Standstills
	}
	// Both cover the same operations, and an operation's time without the generator is never less than its service
	// time. So if their counts and sums are equal, the histograms are equal.
	u, s := o.WithoutGenerator, o.Service
	equal := u.Count() == s.Count() && u.Sum() == s.Sum()
	lines := l.times()
	for k, h := range o.Times() {
		if h != &o.WithoutGenerator || !equal {
			*lines[k] = e.histogram(*h)
		}
	}
	return l
}

func (e *lineEncoder) histogram(h *measure.Histogram) *histogramLine {
	if h.Count() == 0 {
		return nil
	}
	from := len(e.text)
	if e.packs {
		e.text = h.AppendPacked(e.text)
	} else {
		e.text = e.hdr.AppendBytes(e.text, h)
	}
	return &histogramLine{Count: h.Count(), MinNs: h.Min(), MeanNs: h.Mean(), MaxNs: h.Max(), HDR: e.text[from:]}
}

// lineText is a decoded line whose histograms are still compressed: they are most of the line and the most expensive
// part to decode. It reuses its memory from line to line.
type lineText struct {
	line   intervalLine
	hdr    []byte // compressed histograms of the line, concatenated
	packed []byte // the same histograms as a Packer made them; they take the place of hdr
	ends   []int  // where each of them ends in hdr, or in packed
	small  []byte // JSON of the line without them
}

// hdrKey is the text before a histogram's data. It can't occur within a JSON string, where quotes are escaped.
var hdrKey = []byte(`"hdr":"`)

// read decodes b, a line of intervals.ndjson, without its histograms. packed, if not empty, is what a Packer made of
// the same interval, and must not change before the next call.
func (t *lineText) read(b, packed []byte) error {
	if len(packed) == 0 || !t.stripPacked(b, packed) {
		t.packed = nil
		if !t.strip(b) {
			t.small, t.hdr, t.ends = append(t.small[:0], b...), t.hdr[:0], t.ends[:0]
		}
	}
	t.line = intervalLine{}
	if err := json.Unmarshal(t.small, &t.line); err != nil {
		return err
	}
	if l := &t.line; l.StartNs < 0 || l.EndNs < l.StartNs || l.EndNs > maxNs || l.Slices < 0 {
		return fmt.Errorf("times %d to %d ns make no sense", l.StartNs, l.EndNs)
	}
	return nil
}

// stripPacked is strip for a line whose histograms are in packed. It reports whether there are as many.
func (t *lineText) stripPacked(b, packed []byte) bool {
	t.small, t.ends, t.packed = t.small[:0], t.ends[:0], packed
	for at := 0; at < len(packed); {
		size, n := binary.Uvarint(packed[at:])
		if n <= 0 || size > uint64(len(packed)-at-n) {
			return false
		}
		at += n + int(size)
		t.ends = append(t.ends, at)
	}
	for k := 1; ; k++ {
		at := bytes.Index(b, hdrKey)
		if at < 0 {
			t.small = append(t.small, b...)
			return k > len(t.ends)
		}
		end := bytes.IndexByte(b[at+len(hdrKey):], '"')
		if end < 0 || at > 0 && b[at-1] == '\\' || k > len(t.ends) {
			return false
		}
		t.small = append(append(t.small, b[:at]...), `"at":`...)
		t.small = strconv.AppendInt(t.small, int64(k), 10)
		b = b[at+len(hdrKey)+end+1:]
	}
}

// strip decodes the histograms of a line into hdr and puts the rest of the line into small, because the JSON decoder
// would read the long base64 text three times. It reports whether it succeeded.
func (t *lineText) strip(b []byte) bool {
	t.small, t.hdr, t.ends = t.small[:0], t.hdr[:0], t.ends[:0]
	for {
		at := bytes.Index(b, hdrKey)
		if at < 0 {
			t.small = append(t.small, b...)
			return true
		}
		text := b[at+len(hdrKey):]
		end := bytes.IndexByte(text, '"')
		if end < 0 || at > 0 && b[at-1] == '\\' {
			return false
		}
		var err error
		if t.hdr, err = base64.StdEncoding.AppendDecode(t.hdr, text[:end]); err != nil {
			return false
		}
		t.ends = append(t.ends, len(t.hdr))
		t.small = append(append(t.small, b[:at]...), `"at":`...)
		t.small = strconv.AppendInt(t.small, int64(len(t.ends)), 10)
		b = text[end+1:]
	}
}

// histogram decodes the histogram l into h. After an error the content of h is undefined.
func (t *lineText) histogram(decoder *measure.HDRDecoder, h *measure.Histogram, l *histogramLine) error {
	if l.At < 0 || l.At > len(t.ends) {
		return errors.New("there is no such histogram")
	}
	data, from := l.HDR, 0
	if l.At > 1 {
		from = t.ends[l.At-2]
	}
	switch {
	case l.At > 0 && t.packed != nil:
		data = t.packed[from:t.ends[l.At-1]]
		_, n := binary.Uvarint(data)
		if err := h.DecodePacked(data[n:]); err != nil {
			return err
		}
		return restored(h, l.Count, l.MinNs, l.MaxNs, l.MeanNs)
	case l.At > 0:
		data = t.hdr[from:t.ends[l.At-1]]
	}
	return decodeHistogram(decoder, h, data, l.Count, l.MinNs, l.MaxNs, l.MeanNs)
}

// lineDecoder makes intervals from lines. It must be used by one goroutine only.
type lineDecoder struct {
	hdr measure.HDRDecoder
	// reuse says that all intervals share memory, so each is valid only until the next one is decoded.
	reuse bool
	used  []*measure.Histogram // histograms of the last interval
	free  []*measure.Histogram
	last  measure.Interval
}

// begin returns an empty interval with the operations and targets of run.
func (d *lineDecoder) begin(run *Run) *measure.Interval {
	if !d.reuse {
		return &measure.Interval{Account: measure.Account{
			Operations: make([]measure.OperationAccount, len(run.Operations)),
			Addresses:  make([]measure.AddressAccount, len(run.Targets)),
		}}
	}
	d.free, d.used = append(d.free, d.used...), d.used[:0]
	operations, addresses := d.last.Operations, d.last.Addresses
	clear(operations)
	clear(addresses)
	d.last = measure.Interval{}
	d.last.Operations = slices.Grow(operations[:0], len(run.Operations))[:len(run.Operations)]
	d.last.Addresses = slices.Grow(addresses[:0], len(run.Targets))[:len(run.Targets)]
	return &d.last
}

// histogram returns a histogram to decode into.
func (d *lineDecoder) histogram() *measure.Histogram {
	if !d.reuse {
		return measure.NewHistogram()
	}
	if n := len(d.free); n > 0 {
		d.used, d.free = append(d.used, d.free[n-1]), d.free[:n-1]
	} else {
		d.used = append(d.used, measure.NewHistogram())
	}
	return d.used[len(d.used)-1]
}

// interval decodes the histograms of t and returns the interval. Together with lineText.read it is the inverse of
// lineEncoder.encode.
func (d *lineDecoder) interval(t *lineText, run *Run) (*measure.Interval, error) {
	line := &t.line
	iv := d.begin(run)
	operations, addresses := iv.Operations, iv.Addresses
	*iv = measure.Interval{
		Index: line.Index, UnixNs: line.UnixNs, Phase: line.Phase, Kind: line.kind(run), WarmUp: line.WarmUp,
		Drain: line.Drain, Control: line.Control, SessionsMean: line.Mean,
		Account: measure.Account{
			StartNs: line.StartNs, EndNs: line.EndNs, Intervals: max(line.Slices, 1), Sessions: line.Sessions,
			Busy: line.Busy, Backlog: line.Backlog, Offered: line.Offered, Overdue: line.Overdue, Health: line.Health,
			Operations: operations, Addresses: addresses,
		},
	}
	if h := &iv.Health; math.IsNaN(h.LoopBusy) || h.LoopBusy < 0 || h.ProcessCPU < 0 || h.ProcessCPU > 1e6 ||
		h.StealNs < 0 || h.OthersNs < 0 {
		return nil, fmt.Errorf("health makes no sense")
	}
	var err error
	if iv.OwnLag, err = d.decode(t, line.OwnLag); err != nil {
		return nil, fmt.Errorf("own_lag: %w", err)
	}
	if iv.Turnaround, err = d.decode(t, line.Turnaround); err != nil {
		return nil, fmt.Errorf("turnaround: %w", err)
	}
	if err := sensible(line.Still); err != nil {
		return nil, err
	}
	iv.Standstills, iv.Events = line.Still, line.Events
	for i := range line.Operations {
		if err := line.Operations[i].decode(iv.Operations, run.Schema, d, t); err != nil {
			return nil, fmt.Errorf("operation %d: %w", line.Operations[i].Operation, err)
		}
	}
	for i := range line.Addresses {
		if err := line.Addresses[i].decode(iv.Addresses, d, t); err != nil {
			return nil, fmt.Errorf("address %d: %w", line.Addresses[i].Address, err)
		}
	}
	for i := range line.Arrivals {
		slots, err := line.Arrivals[i].decode(len(iv.Operations), len(iv.Addresses))
		if err != nil {
			return nil, fmt.Errorf("arrivals of operation %d: %w", line.Arrivals[i].Operation, err)
		}
		iv.Arrivals = append(iv.Arrivals, slots)
	}
	iv.ArrivalsLost = line.Lost
	iv.Settle()
	return iv, nil
}

func sensible(standstills []measure.Standstill) error {
	for _, s := range standstills {
		if s.StartNs < 0 || s.EndNs < s.StartNs || s.EndNs > maxNs {
			return fmt.Errorf("a standstill from %d to %d ns makes no sense", s.StartNs, s.EndNs)
		}
	}
	return nil
}

// kind returns the kind of the line's phase. Version 1 didn't write it, so it may have to be taken from run.
func (l *intervalLine) kind(run *Run) string {
	if l.Kind != "" {
		return l.Kind
	}
	if i := slices.IndexFunc(run.Phases, func(p Phase) bool { return p.Name == l.Phase }); i >= 0 {
		return run.Phases[i].Kind
	}
	if l.Offered > 0 {
		return measure.KindOpen
	}
	return measure.KindClosed
}

func (l *operationLine) decode(into []measure.OperationAccount, schema int, d *lineDecoder, t *lineText) (err error) {
	if l.Operation < 0 || l.Operation >= len(into) {
		return fmt.Errorf("run.json lists %d", len(into))
	}
	o := &into[l.Operation]
	if o.Counts, err = l.Counts.measured(); err != nil {
		return err
	}
	if err := sensible(l.Still); err != nil {
		return err
	}
	o.Standstills = l.Still
	times := o.Times()
	for k, from := range l.times() {
		if *times[k], err = d.decode(t, *from); err != nil {
			return err
		}
	}
	if o.WithoutGenerator == nil && schema >= 2 {
		o.WithoutGenerator = o.Service
	}
	return nil
}

func (l *addressLine) decode(into []measure.AddressAccount, d *lineDecoder, t *lineText) (err error) {
	if l.Address < 0 || l.Address >= len(into) {
		return fmt.Errorf("run.json lists %d", len(into))
	}
	a := &into[l.Address]
	a.Up, a.Reconnects = l.Up, l.Reconnects
	if a.Counts, err = l.Counts.measured(); err != nil {
		return err
	}
	a.Service, err = d.decode(t, l.Service)
	return err
}

// decode decodes the histogram l, which may be nil; the result is then nil.
func (d *lineDecoder) decode(t *lineText, l *histogramLine) (*measure.Histogram, error) {
	if l == nil {
		return nil, nil
	}
	h := d.histogram()
	return h, t.histogram(&d.hdr, h, l)
}

// measured is the inverse of CountsOf. It fails if more operations failed than were done.
func (c *Counts) measured() (measure.Counts, error) {
	// Version 1 didn't record why arrivals were dropped.
	if known := c.Counts.Dropped(); c.Dropped > known {
		c.Unsent[measure.UnsentNoSession] += c.Dropped - known
	}
	if failed := c.Counts.Failed(); failed > c.Done {
		return c.Counts, fmt.Errorf("%d of %d operations failed", failed, c.Done)
	}
	return c.Counts, nil
}
