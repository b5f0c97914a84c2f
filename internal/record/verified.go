package record

import "brunt/internal/message"

// Verified is what reading the run's writes back found. Times are on the run's clock.
type Verified struct {
	// Reason says why not all was read back; zero if all was.
	Reason     message.Message     `json:"reason,omitzero" merge:"first"`
	Operations []VerifiedOperation `json:"operations,omitempty" merge:"by Name"`
	Nodes      []VerifiedNode      `json:"nodes,omitempty" merge:"by Address"`
	Bad        []BadWrite          `json:"bad,omitempty" merge:"distinct"` // the first MaxBadWrites, by time
	BadMore    uint64              `json:"bad_omitted,omitempty" merge:"sum"`
	Unrecorded uint64              `json:"unrecorded,omitempty" merge:"sum"` // writes of which nothing is known: the disk was full
	// SentEnd is the number from which on operations were not sent; only with Unrecorded ones.
	SentEnd    uint64 `json:"sent_end,omitempty" merge:"most"`
	DurationNs int64  `json:"duration_ns" merge:"most"`
	// LateNs is how long after the load it took until what was stale at first was read as written.
	LateNs int64 `json:"late_ns,omitempty" merge:"most"`
	// AfterFaults is what was found after each fault, while the load went on; only of plans that ask for it.
	AfterFaults []VerifiedFault `json:"after_faults,omitempty" merge:"by Fault Number"`
	// LostMeanwhile are writes that were lost when they were read back after a fault, and of which the last reading
	// doesn't say so: they have been overwritten since, or could not be read.
	LostMeanwhile uint64 `json:"lost_meanwhile,omitempty" merge:"sum"`
}

// VerifiedFault is what reading back after a fault found, while the load went on: of the writes that had been
// acknowledged by then.
type VerifiedFault struct {
	Fault  string `json:"fault" merge:"same"`
	Number int    `json:"number" merge:"same"` // of those of its name, from 1
	// OverNs is when the fault had been healed, or done if there is nothing to heal. Writes acknowledged by UntilNs were
	// read back.
	OverNs     int64 `json:"over_ns" merge:"latest"`
	UntilNs    int64 `json:"until_ns" merge:"latest"`
	DurationNs int64 `json:"duration_ns" merge:"most"`
	// Reason says why not all was read back; zero if all was.
	Reason     message.Message     `json:"reason,omitzero" merge:"first"`
	Operations []VerifiedOperation `json:"operations,omitempty" merge:"by Name"`
	Nodes      []VerifiedNode      `json:"nodes,omitempty" merge:"by Address"`
	// NewLost are the lost writes that no earlier reading had found lost. A later one found Returned of them there, so
	// that they were stale.
	NewLost    uint64     `json:"new_lost" merge:"sum"`
	Returned   uint64     `json:"returned,omitempty" merge:"sum"`
	Bad        []BadWrite `json:"bad,omitempty" merge:"distinct"` // new ones; the first MaxBadWrites
	BadMore    uint64     `json:"bad_omitted,omitempty" merge:"sum"`
	Unrecorded uint64     `json:"unrecorded,omitempty" merge:"sum"` // writes that weren't on disk, of which nothing is known
}

// Lost reports whether writes were lost, which no later reading found there.
func (v *VerifiedFault) Lost() bool { return v.NewLost > v.Returned }

// Sum is what became of the writes of all operations.
func (v *VerifiedFault) Sum() VerifiedOperation { return sumOf(v.Operations) }

// MaxBadWrites is how many writes a record names.
const MaxBadWrites = 1000

// VerifiedOperation is what became of the writes of an operation.
type VerifiedOperation struct {
	Name string `json:"name" merge:"same"`
	// Acknowledged is the sum of OK to NotChecked.
	Acknowledged uint64 `json:"acknowledged" merge:"sum"`
	OK           uint64 `json:"ok" merge:"sum"`
	Overwritten  uint64 `json:"overwritten" merge:"sum"` // by a write that came later, or at the same time
	Lost         uint64 `json:"lost" merge:"sum"`
	Duplicated   uint64 `json:"duplicated" merge:"sum"`
	Stale        uint64 `json:"stale" merge:"sum"`       // an address still has something older
	Resurrected  uint64 `json:"resurrected" merge:"sum"` // what was deleted is there
	Unexpected   uint64 `json:"unexpected" merge:"sum"`  // a value is there that nobody wrote
	NeverRead    uint64 `json:"never_read" merge:"sum"`  // no address could be asked
	NotChecked   uint64 `json:"not_checked" merge:"sum"` // nobody asked: time was over, for example
	Late         uint64 `json:"late" merge:"sum"`        // of OK and Overwritten, those that were stale at first
	// Failed are writes that failed for certain, of which FailedThere are there nevertheless.
	Failed      uint64 `json:"failed" merge:"sum"`
	FailedThere uint64 `json:"failed_there" merge:"sum"`
	// Unknown are writes without an answer: Applied, NotApplied, and others of which neither can be told.
	Unknown           uint64 `json:"unknown" merge:"sum"`
	UnknownApplied    uint64 `json:"unknown_applied" merge:"sum"`
	UnknownNotApplied uint64 `json:"unknown_not_applied" merge:"sum"`
}

// Wrong is how many writes are not as they should be, stale ones left out.
func (o *VerifiedOperation) Wrong() uint64 {
	return o.Lost + o.Duplicated + o.Resurrected + o.Unexpected + o.FailedThere
}

// Unchecked is how many acknowledged writes nobody looked at.
func (o *VerifiedOperation) Unchecked() uint64 { return o.NeverRead + o.NotChecked }

// Sum is what became of the writes of all operations.
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

// VerifiedNode is what an address answered, by key.
type VerifiedNode struct {
	Address    string `json:"address" merge:"same"`
	Keys       uint64 `json:"keys" merge:"sum"` // that it was asked for
	OK         uint64 `json:"ok" merge:"sum"`
	Missing    uint64 `json:"missing" merge:"sum"`
	Old        uint64 `json:"old" merge:"sum"` // an older value, or one that was deleted or refused
	Unexpected uint64 `json:"unexpected" merge:"sum"`
	Duplicated uint64 `json:"duplicated" merge:"sum"`
	Unread     uint64 `json:"unread" merge:"sum"`
	Error      string `json:"error,omitempty" merge:"first"` // why some weren't read
}

// BadWrite is a write that is not there as it should be.
type BadWrite struct {
	Fate      string `json:"fate"` // "lost", "duplicated", "stale", "resurrected" or "unexpected"
	Operation string `json:"operation"`
	Index     uint64 `json:"index"`
	Key       string `json:"key"`
	Wrote     string `json:"wrote,omitempty"`
	Found     string `json:"found,omitempty"` // "" if nothing is there
	Where     string `json:"where,omitempty"` // the address that has something else, if not all do
	Address   string `json:"address"`         // that it was sent to
	SentNs    int64  `json:"sent_ns"`
	EndNs     int64  `json:"end_ns"` // when it was acknowledged, or failed
	// Fault is what was done to servers at the time, or else soon after, and AheadNs how long after the write that was.
	Fault   string `json:"fault,omitempty"`
	Number  int    `json:"number,omitempty"`
	AheadNs int64  `json:"ahead_ns,omitempty"`
}
