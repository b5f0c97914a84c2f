package socket_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"brunt/internal/protocol/socket"
)

func TestMeter(t *testing.T) {
	var m socket.Meter
	here, there := net.Pipe()
	go func() { there.Write([]byte("twelve bytes")); there.Close() }()
	if b, err := io.ReadAll(m.Conn(here)); string(b) != "twelve bytes" || err != nil || m.Received() != 12 {
		t.Errorf("%q, %v, %d counted", b, err, m.Received())
	}
	if _, err := io.ReadAll(m.Reader(strings.NewReader("four"))); err != nil || m.Received() != 16 {
		t.Errorf("%v, %d counted", err, m.Received())
	}
}
