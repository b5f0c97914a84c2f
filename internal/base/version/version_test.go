package version

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	ours := func(version string) debug.Module { return debug.Module{Path: "brunt", Version: version} }
	released, local := ours("v1.2.3"), ours("")
	for _, c := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"a release", debug.BuildInfo{Main: released}, "v1.2.3"},
		{"a work tree", debug.BuildInfo{Main: ours("(devel)")}, "dev"},
		{"a program that depends on a release", debug.BuildInfo{Main: debug.Module{Path: "shop", Version: "v9.0.0"},
			Deps: []*debug.Module{{Path: "other", Version: "v3.0.0"}, &released}}, "v1.2.3"},
		{"a program that depends on a folder", debug.BuildInfo{Deps: []*debug.Module{&local}}, "dev"},
		{"a program without brunt", debug.BuildInfo{Main: debug.Module{Path: "shop", Version: "v9.0.0"}}, "dev"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := of(&c.info); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
