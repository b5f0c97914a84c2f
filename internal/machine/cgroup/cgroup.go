// Package cgroup says which control groups a process is in, as folders (the kernel's documentation:
// cgroup-v1 and cgroup-v2).
package cgroup

import (
	"path"
	"slices"
	"strings"
)

// Root is where the hierarchies are mounted, from the machine's root.
const Root = "sys/fs/cgroup"

// Folders lists the folders, below Root, of the groups in a text of /proc/PID/cgroup that may have
// controller, each followed by those above it: of the unified hierarchy (0::/path) and of the older one of
// that controller. Not all of them exist: hierarchies are mounted in more than one way, and in a container
// the path may be the host's; the root then stands for what is visible.
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
