package protocol

// Facts are what the answers of an operation say besides its result. They are all that a new counter of answers adds
// to: the session collects them, and the recorder counts them.
type Facts struct {
	BytesIn     int64   // size of all answers
	Status      int     // HTTP: status of the last answer that had one
	Parts       Parts   // of the last answer
	Stream      *Stream // of the last answer that was a stream; nil if none was
	Pacing      *Pacing // of the last request whose messages were due at times of their own; nil if there was none
	Missing     bool    // a request found, changed or inserted nothing
	Missed      Kind    // if Missing, the kind of the last request of that sort
	BadHash     bool    // the hash of an answer was wrong
	Misdirected bool    // a request went to a node that doesn't have its key
	Unmapped    bool    // the node with the bucket of the operation's key wasn't known
}

// ScriptCounters is the greatest number of counters of an operation that is a script.
const ScriptCounters = 8

// Absorb adds what the reply to a request of a kind says.
func (f *Facts) Absorb(r *Reply, kind Kind) {
	f.AbsorbRefusal(r)
	if r.Status != 0 {
		f.Status = r.Status
	}
	f.Parts = r.Parts
	if r.Stream != nil {
		f.Stream = r.Stream
	}
	if r.Pacing != nil {
		f.Pacing = r.Pacing
	}
	if r.Missing {
		f.Missing, f.Missed = true, kind
	}
	f.BadHash = f.BadHash || r.BadHash
}

// AbsorbRefusal adds what a reply says after which the request is sent again at once.
func (f *Facts) AbsorbRefusal(r *Reply) {
	f.BytesIn += r.BytesIn
	f.Misdirected = f.Misdirected || r.Misdirected
}

// Ordinary reports whether nothing was found that is rare.
func (f *Facts) Ordinary() bool { return !f.Missing && !f.BadHash && !f.Misdirected && !f.Unmapped }
