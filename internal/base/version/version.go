// Package version tells which version of brunt a program contains.
package version

import "runtime/debug"

// module is the path of brunt's module.
const module = "brunt"

// unknown is the version of a program that was built from a folder of sources.
const unknown = "dev"

// Linked returns the version of brunt that the go command has put into the program's build information: that of the
// main module, or of the one that the program depends on. It is "dev" if there is none.
func Linked() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	return of(info)
}

func of(info *debug.BuildInfo) string {
	found := ""
	if info.Main.Path == module {
		found = info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path == module {
			found = d.Version
		}
	}
	if found == "" || found == "(devel)" {
		return unknown
	}
	return found
}
