// Package cgroup finds the control groups that a process is in (see the kernel's documentation of cgroup-v1 and
// cgroup-v2).
package cgroup

import (
	"path"
	"slices"
	"strings"
)

// Root is where the hierarchies are mounted, relative to the machine's root directory.
const Root = "sys/fs/cgroup"

// Folders parses a text of /proc/PID/cgroup and returns the folders, relative to Root, of the groups that may have
// the given controller: those of the unified hierarchy (0::/path) and of the controller's own hierarchy in version
// 1. Each group is followed by its ancestors. Not all folders exist, since hierarchies can be mounted in several
// ways. In a container the path may be that of the host; then the root, which is always included, is the visible
// group.
func Folders(text, controller string) (folders []string) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || strings.Contains(parts[1], "/") {
			continue
		}
		var mounts []string
		switch {
		case parts[0] == "0" && parts[1] == "":
			mounts = []string{"", "unified"}
		case slices.Contains(strings.Split(parts[1], ","), controller):
			mounts = slices.Compact([]string{parts[1], controller})
		}
		for _, mount := range mounts {
			for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
				folders = append(folders, strings.TrimPrefix(path.Join(mount, group), "/"))
				if group == "/" {
					break
				}
			}
		}
	}
	return folders
}
