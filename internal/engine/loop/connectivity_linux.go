package loop

import (
	"slices"

	"brunt/internal/engine"
)

// connectivity counts the connections of a loop's sessions to each address.
type connectivity struct {
	up        []int  // sessions that are connected, by address
	all       int    // of all addresses
	refusing  []bool // addresses that refused the last attempt to connect, or have no session here
	downSince int64  // since when no session is connected
	uptime    engine.Uptime
}

func newConnectivity(addresses int) connectivity {
	return connectivity{up: make([]int, addresses), refusing: slices.Repeat([]bool{true}, addresses)}
}

// connected records that a session has connected to an address.
func (c *connectivity) connected(address int, now int64) {
	c.uptime.Add(1, now)
	c.refusing[address] = false
	c.up[address]++
	c.all++
}

// closed records that the connection of a session has ended.
func (c *connectivity) closed(address int, now int64) {
	c.uptime.Add(-1, now)
	c.up[address]--
	if c.all--; c.all == 0 {
		c.downSince = now
	}
}

// refused reports whether nothing is connected and every address refused the last attempt to connect.
func (c *connectivity) refused() bool { return c.all == 0 && !slices.Contains(c.refusing, false) }

// sessionsAt sets whether each address has a session here. An address without one counts as refusing.
func (c *connectivity) sessionsAt(here []bool) {
	for address := range here {
		c.refusing[address] = c.refusing[address] || !here[address]
	}
}
