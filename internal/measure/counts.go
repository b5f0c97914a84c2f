package measure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"brunt/internal/protocol"
)

// Unsent says why an arrival was given up without being sent.
type Unsent uint8

// The reasons for which arrivals are given up unsent.
const (
	UnsentNoSession    Unsent = iota // every session was waiting for an answer
	UnsentNoConnection               // no session was connected
	UnsentLoadOver                   // the load ended first: at its end, by the user, or by a rule
	UnsentGenerator                  // a session was free, but the generator didn't get to it in time
	NumUnsent
)

// String returns the reason's name in the record.
func (u Unsent) String() string {
	return [...]string{"no-session", "no-connection", "load-over", "generator", "?"}[min(u, NumUnsent)]
}

// Counts are the counters of an operation or address. Every arrival that fell due is counted in exactly one of OK,
// Errors, Unsent and Unfinished: its fate.
//
// A field is all that a counter needs to be added up, merged and recorded. It is a uint64 or an array of them. The tag
// json is its name in the record, in exports and for metrics; the tag help, if present, exports it with that text, and
// the tag export gives the exported family another name.
type Counts struct {
	Done       uint64   `json:"done"`                // operations that finished, with any outcome
	Errors     ByClass  `json:"errors,omitzero"`     // how many of them failed
	Unsent     ByReason `json:"unsent,omitzero"`     // arrivals given up without being sent
	Unfinished uint64   `json:"unfinished,omitzero"` // sent, and in flight when the load was cut off

	// Tries including retries; ≥ Done.
	Attempts uint64 `json:"attempts" help:"Tries, retries included."`
	// Further attempts after retryable errors.
	Retries uint64 `json:"retries" help:"Further attempts after retryable errors."`
	// Sent more than LateNs after their intended start.
	Late uint64 `json:"late" help:"Operations sent more than 1 ms after their intended start."`
	// Reads, updates and deletes that found no row or key, counted as done.
	Missing        uint64 `json:"missing,omitzero" help:"Reads that found no row or key."`
	MissingUpdates uint64 `json:"missing_updates,omitzero" help:"Updates that found no row or key."`
	MissingDeletes uint64 `json:"missing_deletes,omitzero" help:"Deletes that found no row or key."`
	// Inserts that inserted nothing, because the record was there already; counted as done.
	MissingInserts uint64 `json:"missing_inserts,omitzero" help:"Inserts whose record was there already."`

	// Sessions that took no further operations after a failure of this one.
	Aborted uint64 `json:"aborted,omitzero" help:"Sessions that gave up after a failure."`

	BadHash     uint64 `json:"bad_hash,omitzero" help:"Answers whose body had a wrong hash."`
	Misdirected uint64 `json:"misdirected,omitzero" help:"Operations with a request to an address that lacks its key."`
	Unmapped    uint64 `json:"unmapped,omitzero" help:"Operations whose bucket had no known address."`
	// Of answers, where known.
	BytesIn uint64   `json:"bytes_in,omitzero" help:"Bytes of answers." export:"received_bytes"`
	Status  ByStatus `json:"status,omitzero"` // HTTP
	// Streams are answers that were streams and had a message.
	Streams         uint64 `json:"streams,omitzero" help:"Answers that were streams."`
	StreamMessages  uint64 `json:"stream_messages,omitzero" help:"Messages of answers that were streams."`
	StreamFirstNs   uint64 `json:"stream_first_ns,omitzero" help:"Time to the first message of streams, summed, ns."`
	StreamBetweenNs uint64 `json:"stream_between_ns,omitzero" help:"Time between messages of streams, summed, ns."`
	// StreamUnsent are messages that were due, but the stream ended before the server had room for them.
	StreamUnsent uint64 `json:"stream_unsent,omitzero" help:"Messages of streams with an interval that were due and not sent."`
	// What successful operations that are scripts count themselves. Their names are in the operation's record.
	Script ByScript `json:"script,omitzero"`
}

// count adds a sample to the counts, except for lateness and first attempts.
func (c *Counts) count(s *Sample) {
	c.Done++
	if s.BytesIn > 0 {
		c.BytesIn += uint64(s.BytesIn)
	}
	if s.Status != 0 {
		if class := uint(s.Status) / 100; class-1 < uint(len(c.Status)-1) {
			c.Status[class]++
		}
	}
	for i, n := range s.Counted {
		c.Script[i%protocol.ScriptCounters] += uint64(n)
	}
	if s.Stream != nil {
		c.Streams++
		c.StreamMessages += 1 + s.Stream.Between.N
		c.StreamFirstNs += uint64(s.Stream.FirstNs)
		c.StreamBetweenNs += s.Stream.Between.SumNs
	}
	if s.Pacing != nil {
		c.StreamUnsent += s.Pacing.Unsent
	}
	if s.Class == protocol.OK && s.Attempts <= 1 && s.Ordinary() {
		return
	}
	if s.Class != protocol.OK {
		c.Errors[s.Class]++
	}
	if s.Attempts > 1 {
		c.Retries += uint64(s.Attempts - 1)
	}
	if s.Missing {
		switch s.Missed {
		case protocol.KindUpdate:
			c.MissingUpdates++
		case protocol.KindDelete:
			c.MissingDeletes++
		case protocol.KindInsert:
			c.MissingInserts++
		default:
			c.Missing++
		}
	}
	if s.BadHash {
		c.BadHash++
	}
	if s.Misdirected {
		c.Misdirected++
	}
	if s.Unmapped {
		c.Unmapped++
	}
}

// Counter is a counter that is exported.
type Counter struct {
	Name   string // in the record
	Family string // name of the exported family, without prefix and suffix
	Help   string // one line
	field  int
}

// Of returns the counter's value.
func (k *Counter) Of(c *Counts) uint64 { return reflect.ValueOf(c).Elem().Field(k.field).Uint() }

// Exported returns the counters that are exported, in the order of Counts.
func Exported() (all []Counter) {
	t := reflect.TypeFor[Counts]()
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if help := tag.Get("help"); help != "" {
			name := counterName(t.Field(i))
			all = append(all, Counter{Name: name, Family: cmp.Or(tag.Get("export"), name), Help: help, field: i})
		}
	}
	return all
}

// counterName returns the name of a field of Counts in the record.
func counterName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Counters by kind. In JSON they are an object by name, without those that are 0.
type (
	// ByClass counts by class of failure. Index 0 is unused.
	ByClass [protocol.NumClasses]uint64
	// ByReason counts by the reason for not sending.
	ByReason [NumUnsent]uint64
	// ByStatus counts by class of HTTP status, 1xx to 5xx at index 1 to 5.
	ByStatus [6]uint64
	// ByScript are the counters of a script, in the order of their names. In JSON they are a list without zeros at its
	// end.
	ByScript [protocol.ScriptCounters]uint64
)

// MarshalJSON writes an object by the names of classes.
func (b ByClass) MarshalJSON() ([]byte, error) { return marshalNamed(b[:], className) }

// UnmarshalJSON reads what MarshalJSON writes.
func (b *ByClass) UnmarshalJSON(data []byte) error { return unmarshalNamed(data, b[:], className) }

// MarshalJSON writes an object by the names of reasons.
func (b ByReason) MarshalJSON() ([]byte, error) { return marshalNamed(b[:], reasonName) }

// UnmarshalJSON reads what MarshalJSON writes.
func (b *ByReason) UnmarshalJSON(data []byte) error { return unmarshalNamed(data, b[:], reasonName) }

// MarshalJSON writes an object by the names of classes, such as "2xx".
func (b ByStatus) MarshalJSON() ([]byte, error) { return marshalNamed(b[:], statusName) }

// UnmarshalJSON reads what MarshalJSON writes.
func (b *ByStatus) UnmarshalJSON(data []byte) error { return unmarshalNamed(data, b[:], statusName) }

// MarshalJSON writes a list.
func (b ByScript) MarshalJSON() ([]byte, error) {
	n := len(b)
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return json.Marshal(b[:n])
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *ByScript) UnmarshalJSON(data []byte) error {
	var list []uint64
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) > len(b) {
		return fmt.Errorf("%d counters of a script, at most %d are known", len(list), len(b))
	}
	*b = ByScript{}
	copy(b[:], list)
	return nil
}

func className(i int) string  { return protocol.Class(i).String() }
func reasonName(i int) string { return Unsent(i).String() }
func statusName(i int) string { return strconv.Itoa(i) + "xx" }

func marshalNamed(numbers []uint64, name func(int) string) ([]byte, error) {
	named := map[string]uint64{}
	for i, n := range numbers {
		if n > 0 {
			named[name(i)] = n
		}
	}
	return json.Marshal(named)
}

func unmarshalNamed(data []byte, numbers []uint64, name func(int) string) error {
	var named map[string]uint64
	if err := json.Unmarshal(data, &named); err != nil {
		return err
	}
	for i := range numbers {
		numbers[i] = named[name(i)]
		delete(named, name(i))
	}
	for unknown := range named {
		return fmt.Errorf("%q is not known", unknown)
	}
	return nil
}

// Sorted returns the classes of failures that occurred, the most frequent first.
func (b *ByClass) Sorted() (met []protocol.Class) {
	for i, n := range b {
		if n > 0 {
			met = append(met, protocol.Class(i))
		}
	}
	slices.SortFunc(met, func(x, y protocol.Class) int {
		return cmp.Or(cmp.Compare(b[y], b[x]), cmp.Compare(x.String(), y.String()))
	})
	return met
}

// OK returns how many operations succeeded.
func (c *Counts) OK() uint64 { return c.Done - c.Failed() }

// Failed returns how many operations failed.
func (c *Counts) Failed() uint64 { return sum(c.Errors[:]) }

// OnlyServers returns the counts with only those failures that the server alone can cause: errors in its answers and,
// if it refused connections, missing connections.
func (c *Counts) OnlyServers(refused bool) Counts {
	out := *c
	clear(out.Errors[:])
	out.Errors[protocol.Server] = c.Errors[protocol.Server]
	if refused {
		out.Errors[protocol.Connect] = c.Errors[protocol.Connect]
	}
	out.Unsent, out.Unfinished = ByReason{}, 0
	return out
}

// Number returns the counter of a name: its name in the record, "ok", "failed", "dropped", "arrivals" or "in_vain". It
// returns 0 for other names.
func (c *Counts) Number(name string) uint64 {
	switch name {
	case "ok":
		return c.OK()
	case "failed":
		return c.Failed()
	case "dropped":
		return c.Dropped()
	case "arrivals":
		return c.Arrivals()
	case "in_vain":
		return c.InVain()
	}
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if counterName(v.Type().Field(i)) == name && v.Field(i).CanUint() {
			return v.Field(i).Uint()
		}
	}
	return 0
}

// InVain returns how many operations succeeded although they found, changed or inserted nothing.
func (c *Counts) InVain() uint64 {
	return c.Missing + c.MissingUpdates + c.MissingDeletes + c.MissingInserts
}

// Dropped returns how many arrivals were given up without being sent.
func (c *Counts) Dropped() uint64 { return sum(c.Unsent[:]) }

// Arrivals returns how many arrivals have a fate: OK, failed, unsent and unfinished ones.
func (c *Counts) Arrivals() uint64 { return c.Done + c.Dropped() + c.Unfinished }

// NoAnswer returns how many arrivals had no good answer. Their response time is infinite.
func (c *Counts) NoAnswer() uint64 { return c.Failed() + c.Dropped() + c.Unfinished }

func sum(all []uint64) (n uint64) {
	for _, v := range all {
		n += v
	}
	return n
}

// words is how many numbers Counts consists of.
const words = unsafe.Sizeof(Counts{}) / unsafe.Sizeof(uint64(0))

// Add adds o to c. All fields are numbers that are added up, so Counts is added as an array of them.
// A test checks that all fields are numbers.
func (c *Counts) Add(o *Counts) {
	to, from := (*[words]uint64)(unsafe.Pointer(c)), (*[words]uint64)(unsafe.Pointer(o))
	for i, n := range from {
		to[i] += n
	}
}
