package k6x

import (
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// Led holds the settings of a run of k6 that is a worker under a coordinator, and sends a share of the load.
type Led struct {
	Script string         // name of the script in the record
	Epoch  time.Time      // origin of the run's clock, with a monotonic reading
	Dir    string         // folder of the bundle
	Worker *record.Worker // goes into the record
	Sink   measure.Sink   // receives intervals after the bundle does
	// Begin is called before setup(). It returns at the time start, at which all workers begin. An error ends the run.
	Begin func() (start time.Time, err error)
	// Judged receives the thresholds that may end the load, with this process's values, several times a second.
	Judged func([]record.AbortRule)
	// Stop ends the run like one interrupt, Hard like a second one.
	Stop, Hard <-chan struct{}
	// Ended is called at the end with k6's exit code, and returns that of the process. recorded says whether the record
	// was written.
	Ended func(code int, recorded bool) int
}
