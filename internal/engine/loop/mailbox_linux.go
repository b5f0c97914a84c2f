package loop

import (
	"sync"

	"brunt/internal/protocol"
)

// loopMessage is what others tell a loop. Letters are rare: a session connected, a stage begins.
type loopMessage struct {
	kind  messageKind
	slot  int                // connected, refused, crowded: the session
	conn  protocol.CodecConn // connected
	fd    int                // connected: the socket of conn, which the loop owns from now on
	stage *share             // start
}

type messageKind uint8

const (
	connected messageKind = iota
	refused               // a connection couldn't be made; another attempt follows
	crowded               // a further session couldn't be connected
	unwanted              // a connection that was being made isn't wanted at its address any more
	served                // other addresses may serve requests now
	moved                 // nodes have joined or left
	start                 // carry out a part of a stage
	stop                  // begin nothing new
	abort                 // give up what is in flight
	quit                  // close everything and end
)

// mailbox holds messages until the loop reads them.
type mailbox struct {
	mu       sync.Mutex
	messages []loopMessage
	closed   bool
}

// put adds a message; false means that nobody will read it.
func (m *mailbox) put(l loopMessage) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.messages = append(m.messages, l)
	return true
}

// takeAll empties the box.
func (m *mailbox) takeAll() []loopMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.messages
	m.messages = nil
	return l
}

// close empties the box for good.
func (m *mailbox) close() []loopMessage {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	return m.takeAll()
}
