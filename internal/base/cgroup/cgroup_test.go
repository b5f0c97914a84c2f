package cgroup

import (
	"slices"
	"strings"
	"testing"
)

func TestFolders(t *testing.T) {
	const text = "12:cpu,cpuacct:/docker/ab\n11:cpuset:/x\n9:name=systemd:/y\n4:memory:/m\n0::/\nnonsense\n3:cpu/../x:/z\n"
	for _, c := range []struct {
		controller string
		want       []string
	}{
		{"cpu", []string{"cpu,cpuacct/docker/ab", "cpu,cpuacct/docker", "cpu,cpuacct", "cpu/docker/ab", "cpu/docker", "cpu",
			"", "unified"}},
		{"memory", []string{"memory/m", "memory", "", "unified"}},
	} {
		if got := Folders(text, c.controller); !slices.Equal(got, c.want) {
			t.Errorf("%s: got  %q\nwant %q", c.controller, got, c.want)
		}
	}
	if got := Folders("0::/user.slice/x.scope\n", "cpu"); !slices.Equal(got, []string{"user.slice/x.scope", "user.slice",
		"", "unified/user.slice/x.scope", "unified/user.slice", "unified"}) {
		t.Errorf("%q", got)
	}
}

func FuzzFolders(f *testing.F) {
	f.Add("12:cpu,cpuacct:/docker/ab\n0::/../..\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		for _, folder := range Folders(text, "cpu") {
			if slices.Contains(strings.Split(folder, "/"), "..") {
				t.Errorf("%q leaves the hierarchy", folder)
			}
		}
	})
}
