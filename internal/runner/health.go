package runner

import (
	"brunt/internal/measure"
	"brunt/internal/observe/self"
)

// newHealth starts watching this process. The function returned gives its state since the last
// call; stop ends the watching.
func newHealth() (probe func() measure.Health, stop func()) {
	p := self.Start(nil)
	return p.Sample, p.Stop
}
