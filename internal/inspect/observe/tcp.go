package observe

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tcpStates are the names of the states in /proc/net/tcp; the first is state 1 (include/net/tcp_states.h).
var tcpStates = []string{
	"established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2", "time_wait", "close",
	"close_wait", "last_ack", "listen", "closing",
}

// tcpStates maps the inodes of the TCP sockets in a process's network namespace to the names of their states.
func (p *process) tcpStates(pid int) map[string]string {
	states := map[string]string{}
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(p.path(pid), "net", name))
		if err != nil {
			continue
		}
		parseTCP(f, states)
		_ = f.Close()
	}
	return states
}

// parseTCP parses /proc/net/tcp and adds to states. The state is in the fourth column, the inode in the tenth.
func parseTCP(r io.Reader, states map[string]string) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[9] == "0" {
			continue
		}
		n, err := strconv.ParseUint(f[3], 16, 8)
		if err != nil || n < 1 || int(n) > len(tcpStates) {
			continue
		}
		states[f[9]] = tcpStates[n-1]
	}
}
