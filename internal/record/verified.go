package record

import (
	"brunt/internal/protocol"
	"brunt/internal/render/message"
)

// Verified is the result of reading the run's writes back. Times are on the run's clock.
type Verified struct {
	// Reason says why not all writes were read back; zero if all were.
	Reason     message.Message     `json:"reason,omitzero" merge:"first"`
	Operations []VerifiedOperation `json:"operations,omitempty" merge:"by Name"`
	Nodes      []VerifiedNode      `json:"nodes,omitempty" merge:"by Address"`
	Bad        []BadWrite          `json:"bad,omitempty" merge:"distinct"` // the first MaxBadWrites, by time
	BadMore    uint64              `json:"bad_omitted,omitempty" merge:"sum"`
	Unrecorded uint64              `json:"unrecorded,omitempty" merge:"sum"` // writes not recorded: the disk was full
	// SentEnd is the number of the first operation that was not sent; only set if Unrecorded is.
	SentEnd    uint64 `json:"sent_end,omitempty" merge:"most"`
	DurationNs int64  `json:"duration_ns" merge:"most"`
	// LateNs is how long after the load it took until writes that were stale at first were read as written.
	LateNs int64 `json:"late_ns,omitempty" merge:"most"`
	// Divisions are pairs of addresses that both acknowledged writes which the other one lacks: a split brain.
	Divisions []Division `json:"divisions,omitempty" merge:"by A B"`
	// AfterFaults is what was found after each fault, during the load; only for plans that request it.
	AfterFaults []VerifiedFault `json:"after_faults,omitempty" merge:"by Fault Number"`
	// LostMeanwhile is the number of writes that were lost when read back after a fault, but that the last reading
	// doesn't report as lost: they have been overwritten since, or could not be read.
	LostMeanwhile uint64 `json:"lost_meanwhile,omitempty" merge:"sum"`
}

// Division is a pair of addresses that have gone separate ways: each acknowledged writes that the other one lacks.
type Division struct {
	A       string `json:"a" merge:"same"`
	B       string `json:"b" merge:"same"`
	OnlyA   uint64 `json:"only_a" merge:"sum"`      // writes that A acknowledged and has, and B lacks
	OnlyB   uint64 `json:"only_b" merge:"sum"`      // the same the other way round
	SinceNs int64  `json:"since_ns" merge:"latest"` // when both had acknowledged one
}

// VerifiedFault is the result of reading back after a fault, during the load. It covers the writes that were
// acknowledged by then.
type VerifiedFault struct {
	Fault  string `json:"fault" merge:"same"`
	Number int    `json:"number" merge:"same"` // number among the faults of the same name, from 1
	// OverNs is when the fault had been healed, or injected if there is nothing to heal. Writes acknowledged up to
	// UntilNs were read back.
	OverNs     int64 `json:"over_ns" merge:"latest"`
	UntilNs    int64 `json:"until_ns" merge:"latest"`
	DurationNs int64 `json:"duration_ns" merge:"most"`
	// Reason says why not all writes were read back; zero if all were.
	Reason     message.Message     `json:"reason,omitzero" merge:"first"`
	Operations []VerifiedOperation `json:"operations,omitempty" merge:"by Name"`
	Nodes      []VerifiedNode      `json:"nodes,omitempty" merge:"by Address"`
	// NewLost is the number of lost writes that no earlier reading had found lost. Returned of them were found by a
	// later reading, so they were stale.
	NewLost    uint64     `json:"new_lost" merge:"sum"`
	Returned   uint64     `json:"returned,omitempty" merge:"sum"`
	Bad        []BadWrite `json:"bad,omitempty" merge:"distinct"` // new ones; the first MaxBadWrites
	BadMore    uint64     `json:"bad_omitted,omitempty" merge:"sum"`
	Unrecorded uint64     `json:"unrecorded,omitempty" merge:"sum"` // writes not on disk yet, with an unknown result
}

// Lost reports whether any writes were lost that no later reading found.
func (v *VerifiedFault) Lost() bool { return v.NewLost > v.Returned }

// Sum returns the sum over all operations.
func (v *VerifiedFault) Sum() VerifiedOperation { return sumOf(v.Operations) }

// MaxBadWrites is how many writes a record lists.
const MaxBadWrites = 1000

// VerifiedOperation is the outcome of the writes of an operation.
type VerifiedOperation struct {
	Name string `json:"name" merge:"same"`
	// Acknowledged is the sum of OK to NotChecked.
	Acknowledged uint64 `json:"acknowledged" merge:"sum"`
	OK           uint64 `json:"ok" merge:"sum"`
	Overwritten  uint64 `json:"overwritten" merge:"sum"` // by a write that was later or concurrent
	Lost         uint64 `json:"lost" merge:"sum"`
	Duplicated   uint64 `json:"duplicated" merge:"sum"`
	Stale        uint64 `json:"stale" merge:"sum"`       // an address still has an older value
	Resurrected  uint64 `json:"resurrected" merge:"sum"` // a deleted value exists
	Unexpected   uint64 `json:"unexpected" merge:"sum"`  // a value exists that was never written
	NeverRead    uint64 `json:"never_read" merge:"sum"`  // no address could be read
	NotChecked   uint64 `json:"not_checked" merge:"sum"` // not read, for example because time ran out
	Late         uint64 `json:"late" merge:"sum"`        // those of OK and Overwritten that were stale at first
	// Failed are writes that certainly failed. FailedThere of them exist nevertheless.
	Failed      uint64 `json:"failed" merge:"sum"`
	FailedThere uint64 `json:"failed_there" merge:"sum"`
	// Unknown are writes without an answer. Some are known to be applied or not applied; the rest remain unknown.
	Unknown           uint64 `json:"unknown" merge:"sum"`
	UnknownApplied    uint64 `json:"unknown_applied" merge:"sum"`
	UnknownNotApplied uint64 `json:"unknown_not_applied" merge:"sum"`
}

// CountUnread counts a write whose key has not been read back, by its effect alone.
func (o *VerifiedOperation) CountUnread(effect protocol.Effect) {
	switch effect {
	case protocol.NotApplied:
		o.Failed++
	case protocol.Unsure:
		o.Unknown++
	default:
		o.Acknowledged++
		o.NotChecked++
	}
}

// Wrong returns the number of writes with a wrong outcome, without stale ones.
func (o *VerifiedOperation) Wrong() uint64 {
	return o.Lost + o.Duplicated + o.Resurrected + o.Unexpected + o.FailedThere
}

// Unchecked returns the number of acknowledged writes that were not checked.
func (o *VerifiedOperation) Unchecked() uint64 { return o.NeverRead + o.NotChecked }

// Sum returns the sum over all operations.
func (v *Verified) Sum() VerifiedOperation { return sumOf(v.Operations) }

func sumOf(operations []VerifiedOperation) (out VerifiedOperation) {
	for i := range operations {
		o := &operations[i]
		for _, f := range [][2]*uint64{{&out.Acknowledged, &o.Acknowledged}, {&out.OK, &o.OK},
			{&out.Overwritten, &o.Overwritten}, {&out.Lost, &o.Lost}, {&out.Duplicated, &o.Duplicated},
			{&out.Stale, &o.Stale}, {&out.Resurrected, &o.Resurrected}, {&out.Unexpected, &o.Unexpected},
			{&out.NeverRead, &o.NeverRead}, {&out.NotChecked, &o.NotChecked}, {&out.Late, &o.Late},
			{&out.Failed, &o.Failed}, {&out.FailedThere, &o.FailedThere}, {&out.Unknown, &o.Unknown},
			{&out.UnknownApplied, &o.UnknownApplied}, {&out.UnknownNotApplied, &o.UnknownNotApplied}} {
			*f[0] += *f[1]
		}
	}
	return out
}

// VerifiedNode is what an address returned, counted by key.
type VerifiedNode struct {
	Address    string `json:"address" merge:"same"`
	Keys       uint64 `json:"keys" merge:"sum"` // keys that were read
	OK         uint64 `json:"ok" merge:"sum"`
	Missing    uint64 `json:"missing" merge:"sum"`
	Old        uint64 `json:"old" merge:"sum"` // an older value, or one that was deleted or refused
	Unexpected uint64 `json:"unexpected" merge:"sum"`
	Duplicated uint64 `json:"duplicated" merge:"sum"`
	Unread     uint64 `json:"unread" merge:"sum"`
	Error      string `json:"error,omitempty" merge:"first"` // why some weren't read
}

// BadWrite is a write with a wrong outcome.
type BadWrite struct {
	Fate      string `json:"fate"` // "lost", "duplicated", "stale", "resurrected" or "unexpected"
	Operation string `json:"operation"`
	Index     uint64 `json:"index"`
	Key       string `json:"key"`
	Wrote     string `json:"wrote,omitempty"`
	Found     string `json:"found,omitempty"` // "" if nothing exists
	Where     string `json:"where,omitempty"` // the address with the wrong value, unless all have it
	Address   string `json:"address"`         // the address that the write was sent to
	SentNs    int64  `json:"sent_ns"`
	EndNs     int64  `json:"end_ns"` // when it was acknowledged, or failed
	// Fault is the fault that was active at the time, or else the next one; AheadNs is the time from the write to it.
	Fault   string `json:"fault,omitempty"`
	Number  int    `json:"number,omitempty"`
	AheadNs int64  `json:"ahead_ns,omitempty"`
}
