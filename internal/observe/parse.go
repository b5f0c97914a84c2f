package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"brunt/internal/record"
)

// The usual mount points.
const (
	procDir   = "/proc"
	cgroupDir = "/sys/fs/cgroup"
)

const forms = "use host, pid:N, tree:N, url:ADDRESS, node:ADDRESS or cgroup:FOLDER"

// Parse returns the source that a text names: "pid:N" (a process), "tree:N" (a process with its
// descendants), "url:http://HOST/metrics" (a service's own metrics in Prometheus' text format),
// "cgroup:/sys/fs/cgroup/…" (a control group), "host" (this machine) or "node:http://HOST/metrics" (another
// machine through node_exporter). Errors say what to write instead and hold no password.
func Parse(text string) (Source, error) {
	if text == record.WatchedHost {
		return NewHost()
	}
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		return nil, fmt.Errorf("%q is not of the form kind:what; %s", text, forms)
	}
	switch kind {
	case "pid", "tree":
		if runtime.GOOS != "linux" {
			return nil, fmt.Errorf("%s: processes can only be watched on Linux; use url:ADDRESS", text)
		}
		pid, err := strconv.Atoi(rest)
		if err != nil || pid < 1 {
			return nil, fmt.Errorf("%s: %q is not the number of a process", text, rest)
		}
		return newProcess(text, procDir, cgroupDir, pid, kind == "tree")
	case "cgroup":
		if rest != "" && !filepath.IsAbs(rest) {
			return nil, fmt.Errorf("%s: give the whole path of the group's folder, below %s", text, cgroupDir)
		}
		return newCgroup(text, os.DirFS("/"), rest)
	case "url", nodeKind:
		return newScrape(kind, rest)
	}
	return nil, fmt.Errorf("%q can't be watched; %s", kind, forms)
}
