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
}

// unreadB is how many bytes a connection has sent without the client taking them, if the client doesn't keep up.
// Healthy servers of the notes' trials had 6 kB, and one whose client didn't read 3 MB.
const unreadB = 100_000

func (q *queues) add(o *queues) {
	q.looks, q.connections, q.unread = q.looks+o.looks, q.connections+o.connections, q.unread+o.unread
	q.most, q.full = max(q.most, o.most), q.full+o.full
}

// socketTable is a table of the kernel's TCP sockets.
type socketTable struct {
	file procFile
	left int // looks until it is read again
}

// emptyLooks is how many looks leave out a table that had none of the connections, while another one had some. The
// kernel takes milliseconds for a table, however few sockets are in it.
const emptyLooks = 4

// look adds the present state of the connections whose server's side has one of the ports.
func (q *queues) look(tables []socketTable, ports []uint16, buffer *[]byte) {
	var sum, widest uint64
	n := 0
	for i := range tables {
		t := &tables[i]
		if t.left > 0 {
			t.left--
			continue
		}
		connections, bytes, most := parseQueues(t.file.read(buffer), ports)
		n, sum, widest = n+connections, sum+bytes, max(widest, most)
		if connections == 0 {
			t.left = emptyLooks
		}
	}
	if n == 0 { // they are looked for everywhere
		for i := range tables {
			tables[i].left = 0
		}
	}
	q.looks++
	q.connections += n
	q.unread += sum
	q.most = max(q.most, sum)
	if widest > unreadB {
		q.full++
	}
}

// parseQueues parses /proc/net/tcp. The local address is in the second column, the state in the fourth (01:
// established), and the lengths of the queues in the fifth, tx_queue:rx_queue, in hexadecimal bytes.
func parseQueues(data []byte, ports []uint16) (connections int, sum, most uint64) {
	for line := range bytes.Lines(data) {
		f := bytes.Fields(line)
		if len(f) < 5 || string(f[3]) != "01" || len(f[1]) < 5 {
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
		connections++
		sum, most = sum+n, max(most, n)
	}
	return connections, sum, most
}
