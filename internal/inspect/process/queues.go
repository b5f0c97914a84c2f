package process

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
)

// queues sums up looks at the sockets of a server's connections with clients.
type queues struct {
	looks       int
	connections int    // summed over the looks
	unread      uint64 // bytes that were sent and not acknowledged, summed over connections and looks
	most        uint64 // at one look
	full        int    // looks at which a connection had more than unreadB
	fullOfLoad  int    // those at which one had that isn't known not to be the load's
	peers       map[peer]*heldBack
}

// heldBack sums up the connections with a peer that had more than unreadB to take.
type heldBack struct {
	looks       int
	bytes, most uint64
}

// unreadB is how many bytes a connection has sent without the client taking them, if the client doesn't keep up.
// Healthy servers of the notes' trials had 6 kB, and one whose client didn't read 3 MB.
const unreadB = 100_000

func (q *queues) add(o *queues) {
	q.looks, q.connections, q.unread = q.looks+o.looks, q.connections+o.connections, q.unread+o.unread
	q.most, q.full, q.fullOfLoad = max(q.most, o.most), q.full+o.full, q.fullOfLoad+o.fullOfLoad
	for who, h := range o.peers {
		q.peer(who).add(h.looks, h.bytes, h.most)
	}
}

// peer returns the sums of a peer.
func (q *queues) peer(who peer) *heldBack {
	h := q.peers[who]
	if h == nil {
		h = &heldBack{}
		if q.peers == nil {
			q.peers = map[peer]*heldBack{}
		}
		q.peers[who] = h
	}
	return h
}

func (h *heldBack) add(looks int, bytes, most uint64) {
	h.looks, h.bytes, h.most = h.looks+looks, h.bytes+bytes, max(h.most, most)
}

// socketTable is a table of the kernel's TCP sockets.
type socketTable struct {
	file procFile
	left int // looks until it is read again
}

// emptyLooks is how many looks leave out a table that had none of the connections, while another one had some. The
// kernel takes milliseconds for a table, however few sockets are in it.
const emptyLooks = 4

// look adds the present state of the connections whose server's side has one of the ports. whose returns who has the
// other side.
func (q *queues) look(tables []socketTable, ports []uint16, buffer *[]byte, whose func(ends) peer) {
	var now tcpQueues
	for i := range tables {
		t := &tables[i]
		if t.left > 0 {
			t.left--
			continue
		}
		before := now.connections
		now.parse(t.file.read(buffer), ports)
		if now.connections == before {
			t.left = emptyLooks
		}
	}
	if now.connections == 0 { // they are looked for everywhere
		for i := range tables {
			tables[i].left = 0
		}
	}
	q.looks++
	q.connections += now.connections
	q.unread += now.unread
	q.most = max(q.most, now.unread)
	if len(now.full) > 0 {
		q.full++
		q.addFull(now.full, whose)
	}
}

// addFull adds the connections of a look that had more than unreadB.
func (q *queues) addFull(full []backlog, whose func(ends) peer) {
	sums := map[peer]uint64{}
	ofLoad := false
	for _, b := range full {
		who := whose(b.ends)
		sums[who] += b.bytes
		ofLoad = ofLoad || who.mayBeLoad()
	}
	for who, bytes := range sums {
		q.peer(who).add(1, bytes, bytes)
	}
	if ofLoad {
		q.fullOfLoad++
	}
}

// tcpQueues are the queues of a server's connections at one look.
type tcpQueues struct {
	connections int
	unread      uint64
	full        []backlog
}

// backlog is a connection that has more than unreadB to take.
type backlog struct {
	ends
	bytes uint64
}

// parse adds the connections in /proc/net/tcp or tcp6 whose local side has one of the ports. The addresses are in the
// second and third column, the state in the fourth (01: established), and the lengths of the queues in the fifth,
// tx_queue:rx_queue, in hexadecimal bytes.
func (q *tcpQueues) parse(data []byte, ports []uint16) {
	for line := range bytes.Lines(data) {
		f := bytes.Fields(line)
		if len(f) < 5 || string(f[3]) != stateEstablished || len(f[1]) < 5 {
			continue
		}
		var port [2]byte
		if _, err := hex.Decode(port[:], f[1][len(f[1])-4:]); err != nil ||
			!slices.Contains(ports, uint16(port[0])<<8|uint16(port[1])) {
			continue
		}
		sent, _, ok := bytes.Cut(f[4], []byte(":"))
		n, err := strconv.ParseUint(string(sent), 16, 64)
		if !ok || err != nil {
			continue
		}
		q.connections++
		q.unread += n
		if n <= unreadB {
			continue
		}
		if e, ok := parseEnds(string(f[1]), string(f[2])); ok {
			q.full = append(q.full, backlog{e, n})
		}
	}
}
