package loop

import (
	"sync"

	"brunt/internal/protocol"
)

// loopMessage is a message from another thread to a loop. Messages are rare: a session is connected, a stage begins.
type loopMessage struct {
	kind  messageKind
	slot  int                // connected, refused, crowded: the session
	conn  protocol.CodecConn // connected
	fd    int                // connected: the socket of conn, which the loop owns from now on
	stage *stagePart         // start
}

type messageKind uint8

const (
	connected messageKind = iota
	refused               // an attempt to connect failed; another one follows
	crowded               // a further session couldn't be connected
	unwanted              // a connection that was being made is no longer needed at its address
	served                // the addresses that serve requests may have changed
	moved                 // nodes have joined or left
	start                 // execute a part of a stage
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

// put adds a message. It returns false if the mailbox is closed.
func (m *mailbox) put(l loopMessage) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.messages = append(m.messages, l)
	return true
}

// takeAll returns all messages and empties the mailbox.
func (m *mailbox) takeAll() []loopMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.messages
	m.messages = nil
	return l
}

// close empties the mailbox and refuses further messages.
func (m *mailbox) close() []loopMessage {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	return m.takeAll()
}
