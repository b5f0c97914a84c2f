package runner

import (
	"brunt/internal/measure"
	"brunt/internal/observe/self"
)

// newHealth starts watching this process. The function returned gives its state since the last
// call; stop ends the watching. idleNs is the processor time of threads that keep cores awake.
func newHealth(idleNs func() int64) (probe func() measure.Health, stop func()) {
	p := self.Start(idleNs)
	return p.Sample, p.Stop
}
