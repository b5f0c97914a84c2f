package observe

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// The usual mount points.
const (
	procDir   = "/proc"
	cgroupDir = "/sys/fs/cgroup"
)

// Parse returns the source that a text names: "pid:N" (a process), "tree:N" (a process with its
// descendants), "url:http://HOST/metrics" (a service's own metrics in Prometheus' text format) or
// "cgroup:/sys/fs/cgroup/…" (a control group). Errors say what to write instead and
// hold no password.
func Parse(text string) (Source, error) {
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		return nil, fmt.Errorf("%q is not of the form kind:what; use pid:N, tree:N, url:ADDRESS or cgroup:FOLDER", text)
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
	case "url":
		u, err := url.Parse(rest)
		if err != nil {
			return nil, errors.New("the address after url: is malformed; give one such as url:http://127.0.0.1:9090/metrics")
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("url:%s: give an http or https address, such as url:http://127.0.0.1:9090/metrics", u.Redacted())
		}
		return newScrape(u, &http.Client{Timeout: sampleTimeout}), nil
	}
	return nil, fmt.Errorf("%q can't be watched; use pid:N, tree:N, url:ADDRESS or cgroup:FOLDER", kind)
}
