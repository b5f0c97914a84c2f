package campaign

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brunt/internal/render/units"
)

// disks calls f with the name and size of each of this machine's disks. It calls it for none if the system doesn't list
// them.
func disks(f func(name, size string)) {
	found, err := filepath.Glob("/sys/block/*/size")
	if err != nil {
		return
	}
	for _, path := range found {
		dir := filepath.Dir(path)
		if name := filepath.Base(dir); strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") ||
			strings.HasPrefix(name, "zram") {
			continue
		}
		text, err := os.ReadFile(path)
		const sector = 512
		if n, perr := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && perr == nil && n > 0 {
			model, _ := os.ReadFile(filepath.Join(dir, "device", "model"))
			f(strings.TrimSpace(filepath.Base(dir)+" "+strings.TrimSpace(string(model))), units.Size(n*sector))
		}
	}
}

// loopback reports whether an address belongs to this machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
