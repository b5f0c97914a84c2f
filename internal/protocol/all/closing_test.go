package all

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
)

// TestAddressesThatCloseConnections connects to what accepts connections and closes them, as a proxy whose server is
// down: the failure says what may be the cause. Libraries that try again until the timeout say that nobody answered.
func TestAddressesThatCloseConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	for _, d := range own() {
		if d.Port == "" { // inside brunt
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			to := protocol.Target{Address: l.Addr().String(), ConnectTimeout: 5 * time.Second}
			driver := d.Open()
			_, err := driver.Describe(context.Background(), to)
			if e := protocol.AsError(err); e != nil && e.Class == protocol.Client {
				to.User, to.Password = "u", "p" // which some need and others don't have
				_, err = driver.Describe(context.Background(), to)
			}
			if err == nil {
				_, err = driver.Dial(context.Background(), to, &protocol.Program{})
			}
			if err == nil { // nothing is sent before the first request
				return
			}
			if text := err.Error(); !strings.Contains(text, "closes connections at once; is the server running behind it?") &&
				!strings.Contains(text, "no answer in time; is the server up and reachable?") {
				t.Error(text)
			}
		})
	}
}
