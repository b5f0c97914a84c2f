package loop

import (
	"sync"

	"brunt/internal/protocol"
)

// letter is what others tell a loop. Letters are rare: a session connected, a stage begins.
type letter struct {
	kind  letterKind
	slot  int                // connected, refused, crowded: the session
	conn  protocol.CodecConn // connected
	fd    int                // connected: the socket of conn, which the loop owns from now on
	stage *part              // start
}

type letterKind uint8

const (
	connected letterKind = iota
	refused              // a connection couldn't be made; another attempt follows
	crowded              // a further session couldn't be connected
	served               // other addresses may serve requests now
	start                // carry out a part of a stage
	stop                 // begin nothing new
	abort                // give up what is in flight
	quit                 // close everything and end
)

// mailbox holds letters until the loop reads them.
type mailbox struct {
	mu      sync.Mutex
	letters []letter
	closed  bool
}

// put adds a letter; false means that nobody will read it.
func (m *mailbox) put(l letter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.letters = append(m.letters, l)
	return true
}

// takeAll empties the box.
func (m *mailbox) takeAll() []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.letters
	m.letters = nil
	return l
}

// close empties the box for good.
func (m *mailbox) close() []letter {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	return m.takeAll()
}
