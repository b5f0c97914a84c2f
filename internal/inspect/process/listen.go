package process

import (
	"bufio"
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Target is a process to observe.
type Target struct {
	Source string   // the address of the server, or as given by the user
	PID    int      // with all its descendants
	Ports  []uint16 // at which clients reach it; none if it isn't known
}

// mostTargets limits the number of processes that are observed.
const mostTargets = 8

// forwarders are programs that only pass connections on to a server in a container, which can't be found by its port.
var forwarders = []string{"docker-proxy", "rootlessport", "slirp4netns", "conmon"}

// Named returns the process of a text of the form pid:N or tree:N. Other texts name none.
func Named(text string) (t Target, ok bool) {
	kind, number, _ := strings.Cut(text, ":")
	pid, err := strconv.Atoi(number)
	if kind != "pid" && kind != "tree" || err != nil || pid < 1 {
		return t, false
	}
	return Target{Source: text, PID: pid}, true
}

// Find returns the processes on this machine that listen at the given addresses (host:port, or the path of a Unix
// socket or of its folder). Addresses of other machines, and processes that can't be seen, are left out.
func Find(addresses []string) []Target { return find(procFolder, addresses, ownAddresses()) }

func find(proc string, addresses []string, own []netip.Addr) (out []Target) {
	tcp := listeners(proc)
	unix := unixListeners(proc)
	wanted := map[string]int{} // index of an address by inode
	ports := make([]uint16, len(addresses))
	for i, a := range addresses {
		if strings.HasPrefix(a, "/") || strings.HasPrefix(a, "@") {
			for path, inode := range unix {
				if path == a || filepath.Dir(path) == filepath.Clean(a) {
					wanted[inode] = i
				}
			}
			continue
		}
		host, text, err := net.SplitHostPort(a)
		port, bad := strconv.ParseUint(text, 10, 16)
		if err != nil || bad != nil || !isOwn(host, own) {
			continue
		}
		ports[i] = uint16(port)
		for _, l := range tcp {
			if l.port == ports[i] && l.serves(host) {
				wanted[l.inode] = i
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	owners := make([][]int, len(addresses))
	for _, pid := range processes(proc) {
		for _, inode := range sockets(proc, pid) {
			if i, ok := wanted[inode]; ok && !slices.Contains(owners[i], pid) {
				owners[i] = append(owners[i], pid)
			}
		}
	}
	for i, pids := range owners {
		pid := eldest(proc, pids)
		if pid == 0 || pid == os.Getpid() || slices.Contains(forwarders, command(proc, pid)) {
			continue
		}
		if k := slices.IndexFunc(out, func(t Target) bool { return t.PID == pid }); k >= 0 {
			out[k].Ports = append(out[k].Ports, ports[i])
			continue
		}
		t := Target{Source: addresses[i], PID: pid}
		if ports[i] > 0 {
			t.Ports = []uint16{ports[i]}
		}
		if len(out) < mostTargets {
			out = append(out, t)
		}
	}
	return out
}

// eldest returns the process whose parent isn't among the given ones, or 0 if there are none.
func eldest(proc string, pids []int) int {
	for _, pid := range pids {
		if st, ok := readStat(filepath.Join(proc, strconv.Itoa(pid), "stat")); ok && !slices.Contains(pids, st.parent) {
			return pid
		}
	}
	return 0
}

// listener is a TCP socket that accepts connections.
type listener struct {
	addr  netip.Addr
	port  uint16
	inode string
}

// serves reports whether connections to a host reach the listener.
func (l *listener) serves(host string) bool {
	a, err := netip.ParseAddr(host)
	if err != nil { // a name of this machine
		return true
	}
	return l.addr.IsUnspecified() || l.addr.Unmap() == a.Unmap()
}

// listeners returns the listening TCP sockets of this network namespace.
func listeners(proc string) (out []listener) {
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(proc, "net", name))
		if err != nil {
			continue
		}
		out = append(out, parseListeners(f)...)
		_ = f.Close()
	}
	return out
}

// stateListen is the state of listening sockets (include/net/tcp_states.h).
const stateListen = "0A"

// parseListeners parses /proc/net/tcp or tcp6. The local address is in the second column, the state in the fourth, the
// inode in the tenth.
func parseListeners(r io.Reader) (out []listener) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != stateListen {
			continue
		}
		if addr, port, ok := parseAddress(f[1]); ok {
			out = append(out, listener{addr, port, f[9]})
		}
	}
	return out
}

// parseAddress parses an address of /proc/net/tcp: words of 32 bits in the machine's byte order, here little-endian, in
// hexadecimal.
func parseAddress(text string) (netip.Addr, uint16, bool) {
	host, p, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	port, bad := strconv.ParseUint(p, 16, 16)
	if !ok || err != nil || bad != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.Addr{}, 0, false
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	addr, ok := netip.AddrFromSlice(raw)
	return addr, uint16(port), ok
}

// unixListeners returns the inodes of the listening Unix sockets by path.
func unixListeners(proc string) map[string]string {
	f, err := os.Open(filepath.Join(proc, "net", "unix"))
	if err != nil {
		return nil
	}
	defer f.Close()
	return parseUnix(f)
}

// unixAccepts is the flag of sockets that accept connections (SO_ACCEPTCON).
const unixAccepts = 1 << 16

// parseUnix parses /proc/net/unix: Num RefCount Protocol Flags Type St Inode Path.
func parseUnix(r io.Reader) map[string]string {
	out := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 8 {
			continue
		}
		if flags, err := strconv.ParseUint(f[3], 16, 32); err == nil && flags&unixAccepts > 0 {
			out[f[7]] = f[6]
		}
	}
	return out
}

// sockets returns the inodes of the sockets that a process has open.
func sockets(proc string, pid int) (inodes []string) {
	folder := filepath.Join(proc, strconv.Itoa(pid), "fd")
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(folder, e.Name()))
		if inode, ok := strings.CutPrefix(target, "socket:["); ok && err == nil {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}

// ownAddresses returns the addresses of this machine.
func ownAddresses() (out []netip.Addr) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// isOwn reports whether a host is this machine.
func isOwn(host string, own []netip.Addr) bool {
	if host == "localhost" || host == "" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a.IsLoopback() || slices.Contains(own, a.Unmap()))
}
