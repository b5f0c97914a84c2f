package k6x

import (
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// Led has a run of k6 be a worker's share of a load that a coordinator leads.
type Led struct {
	Script string         // name of the script, for the record
	Epoch  time.Time      // where the run's clock is 0, with a monotonic reading
	Dir    string         // the bundle
	Worker *record.Worker // of the record
	Sink   measure.Sink   // receives intervals after the bundle
	// Begin is called before setup(). It returns at the instant at which all workers begin, which is start. An error
	// ends the run.
	Begin func() (start time.Time, err error)
	// Stop and Hard end the run as one interrupt does, and two.
	Stop, Hard <-chan struct{}
	// Ended is called at the end with k6's exit code, and returns that of the process. recorded says whether there is
	// a record.
	Ended func(code int, recorded bool) int
}
