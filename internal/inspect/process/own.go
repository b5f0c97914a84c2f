package process

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Own tells which clients of a server are sessions of this process or of its workers on this machine, by their
// addresses. It knows none where there is no /proc.
type Own struct {
	proc  string
	self  int
	port  uint16          // of the server
	known map[string]bool // by the client's address, as the server writes it: those of the latest question
	next  time.Time       // sockets aren't looked for before
}

// ownBound is how much longer than looking for this process's sockets the time without looking is.
const ownBound = 100

// NewOwn returns an Own for a server's address, host:port.
func NewOwn(server string) *Own {
	o := &Own{proc: procFolder, self: os.Getpid()}
	if _, port, err := net.SplitHostPort(server); err == nil {
		n, _ := strconv.ParseUint(port, 10, 16)
		o.port = uint16(n)
	}
	return o
}

// Among reports which of the clients are own ones. They are all that the server has now, as host:port. A client that
// has just come isn't known to be one if looking would take more than a hundredth of the time.
func (o *Own) Among(clients []string) []bool {
	out := make([]bool, len(clients))
	now := make(map[string]bool, len(clients))
	fresh := false
	for k, c := range clients {
		own, ok := o.known[c]
		if out[k] = own; ok {
			now[c] = own
		}
		fresh = fresh || !ok
	}
	o.known = now
	began := time.Now()
	if !fresh || began.Before(o.next) {
		return out
	}
	is := o.look()
	for k, c := range clients {
		if _, ok := now[c]; !ok {
			out[k] = is(c)
			now[c] = out[k]
		}
	}
	end := time.Now()
	o.next = end.Add(ownBound * end.Sub(began))
	return out
}

// look finds the sockets that this process and its workers have with the server's port, and returns a function that
// tells whether one of them has a client's address. A host that the server has made a name of is any host.
func (o *Own) look() (is func(client string) bool) {
	own := ownSockets(o.proc, o.self)
	at, ports := map[netip.AddrPort]bool{}, map[uint16]bool{}
	for _, name := range []string{"tcp", "tcp6"} {
		data, _ := os.ReadFile(filepath.Join(o.proc, strconv.Itoa(o.self), "net", name))
		connected(data, func(e ends, inode string) {
			if own[inode] && e.remote.Port() == o.port {
				at[e.local], ports[e.local.Port()] = true, true
			}
		})
	}
	return func(client string) bool {
		end := strings.LastIndexByte(client, ':') // an IPv6 address may have no brackets
		port, err := strconv.ParseUint(client[end+1:], 10, 16)
		if end < 0 || err != nil {
			return false
		}
		a, err := netip.ParseAddr(strings.Trim(client[:end], "[]"))
		if err != nil {
			return ports[uint16(port)]
		}
		return at[netip.AddrPortFrom(a.Unmap(), uint16(port))]
	}
}
