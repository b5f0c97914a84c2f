package driver

// Placer is implemented by protocols whose requests may name the address that they go to.
type Placer interface {
	// Place returns which of a run's targets, from 0, a request goes to whichever session sends it, or
	// −1 if it goes to the session's own.
	Place(r *Request, targets []Target) int
}
