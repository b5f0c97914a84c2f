package process

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"brunt/internal/record"
)

// ends are the addresses of a TCP socket and of its other side. IPv4 addresses in tcp6 are those of IPv4.
type ends struct{ local, remote netip.AddrPort }

func parseEnds(local, remote string) (e ends, ok bool) {
	one, onePort, ok := parseAddress(local)
	other, otherPort, known := parseAddress(remote)
	return ends{netip.AddrPortFrom(one.Unmap(), onePort), netip.AddrPortFrom(other.Unmap(), otherPort)}, ok && known
}

func (e ends) reversed() ends { return ends{e.remote, e.local} }

// stateEstablished is the state of sockets that are connected (include/net/tcp_states.h).
const stateEstablished = "01"

// connected calls each with the ends and the inode of the sockets in /proc/net/tcp or tcp6 that are connected.
func connected(table []byte, each func(e ends, inode string)) {
	for line := range bytes.Lines(table) {
		f := bytes.Fields(line)
		if len(f) < 10 || string(f[3]) != stateEstablished {
			continue
		}
		if e, ok := parseEnds(string(f[1]), string(f[2])); ok {
			each(e, string(f[9]))
		}
	}
}

// peer is who has the other side of a server's connection. Process and address are those of record.UnreadPeer.
type peer struct {
	kind    string
	command string
	pid     int
	address string
}

// mayBeLoad reports whether the peer isn't known to be somebody else.
func (p peer) mayBeLoad() bool { return p.kind == record.PeerGenerator || p.kind == record.PeerUnknown }

// peers finds out who has the other sides of a server's connections.
type peers struct {
	proc   string // /proc
	server int    // the server's process
	self   int
	// remote says that the load also comes from other machines.
	remote bool
	known  map[ends]peer
}

// mostPeers limits the connections whose other sides are looked for: it takes reading the descriptors of all processes.
const mostPeers = 64

// of returns who has the other side of a connection, as the server has it.
func (p *peers) of(connection ends) peer {
	if who, ok := p.known[connection]; ok {
		return who
	}
	if len(p.known) >= mostPeers {
		return peer{kind: record.PeerUnknown}
	}
	if p.known == nil {
		p.known = map[ends]peer{}
	}
	who := p.find(connection)
	p.known[connection] = who
	return who
}

func (p *peers) find(connection ends) peer {
	theirs := map[ends]string{} // inodes of the sockets that the server's and this process's network have
	for _, pid := range []int{p.server, p.self} {
		for _, name := range []string{"tcp", "tcp6"} {
			data, _ := os.ReadFile(filepath.Join(p.proc, strconv.Itoa(pid), "net", name))
			connected(data, func(e ends, inode string) { theirs[e] = inode })
		}
	}
	own := ownSockets(p.proc, p.self)
	if inode, here := theirs[connection.reversed()]; here {
		switch {
		case own[inode]:
			return peer{kind: record.PeerGenerator}
		case inode == "0": // being closed
			return peer{kind: record.PeerUnknown}
		}
		return p.owner(inode, connection)
	}
	// Addresses may be translated on the way, unless those of sessions of this process aren't. Then a peer that isn't
	// here is elsewhere, where nothing of the load is.
	direct := false
	for e, inode := range theirs {
		_, met := theirs[e.reversed()]
		direct = direct || own[inode] && met && e.remote.Port() == connection.local.Port()
	}
	if !direct || p.remote {
		return peer{kind: record.PeerUnknown}
	}
	return peer{kind: record.PeerAddress, address: connection.remote.Addr().String()}
}

// tellReplicas makes members of the clients at other addresses that are replicas by the server's own word.
func tellReplicas(all []record.UnreadPeer, replicas []string) {
	for i := range all {
		u := &all[i]
		host := u.Address
		if at, err := netip.ParseAddrPort(host); err == nil {
			host = at.Addr().String()
		}
		if u.Kind == record.PeerAddress && slices.Contains(replicas, host) {
			u.Kind = record.PeerReplica
		}
	}
}

// owner returns who has a socket of this machine that isn't this process's.
func (p *peers) owner(inode string, connection ends) peer {
	var owners []int
	for _, pid := range processes(p.proc) {
		if slices.Contains(sockets(p.proc, pid), inode) {
			owners = append(owners, pid)
		}
	}
	pid := eldest(p.proc, owners)
	if pid == 0 { // another user's
		return peer{kind: record.PeerAddress, address: connection.remote.String()}
	}
	if isWorker(p.proc, pid, p.self) { // which another process has started
		return peer{kind: record.PeerGenerator}
	}
	who := peer{kind: record.PeerProcess, command: command(p.proc, pid), pid: pid}
	if slices.Contains(forwarders, who.command) {
		return peer{kind: record.PeerUnknown}
	}
	for at := pid; command(p.proc, at) == who.command; {
		if who.command == command(p.proc, p.server) && len(portsOf(p.proc, []int{at})) > 0 {
			return peer{kind: record.PeerMember, command: who.command, pid: at}
		}
		st, ok := readStat(filepath.Join(p.proc, strconv.Itoa(at), "stat"))
		if !ok || st.parent <= 1 {
			break
		}
		at = st.parent
	}
	return who
}

// program returns the path of a process's program; "" if it isn't known.
func program(proc string, pid int) string {
	path, _ := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "exe"))
	return path
}

// isWorker reports whether a process runs the same program as this one.
func isWorker(proc string, pid, self int) bool {
	mine := program(proc, self)
	return mine != "" && program(proc, pid) == mine
}

// ownSockets returns the inodes of the sockets of a process and of its workers. Other descendants, such as the service
// of a campaign, don't send the load.
func ownSockets(proc string, self int) map[string]bool {
	own := map[string]bool{}
	for _, pid := range family(proc, self) {
		if pid != self && !isWorker(proc, pid, self) {
			continue
		}
		for _, inode := range sockets(proc, pid) {
			own[inode] = true
		}
	}
	return own
}
