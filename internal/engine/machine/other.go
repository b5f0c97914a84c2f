//go:build !linux

package machine

import "errors"

// machine is empty: nothing is known of machines with other systems.
type machine struct {
	linux, virtual bool
	cores          []int
}

func thisMachine() *machine { return &machine{} }

// Cores returns nil: the cores that this process may use aren't known on these systems.
func Cores() []int { return nil }

func (m *machine) idleForAll() bool { return false }

func (m *machine) spin() (*spinners, error) { return nil, errors.ErrUnsupported }

func (m *machine) holdLatency() (release func(), ok bool) { return func() {}, false }

func (m *machine) raise(int) (restore func(), err error) { return func() {}, errors.ErrUnsupported }

type spinners struct{}

func (s *spinners) cpuNs() int64 { return 0 }

func (s *spinners) stop() {}
