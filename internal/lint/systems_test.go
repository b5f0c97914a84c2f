//go:build !race

package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// systems are what else brunt is built for. Its tests need a Unix.
var systems = []struct {
	system, processor string
	tests             bool
}{{"linux", "arm64", true}, {"darwin", "arm64", true}, {"freebsd", "amd64", true}, {"windows", "amd64", false}}

// Checking types from source takes seconds where compiling all dependencies takes minutes. Under the
// race detector it would take minutes too, for nothing.
func TestCompilesOnOtherSystems(t *testing.T) {
	for _, s := range systems {
		t.Run(s.system+"/"+s.processor, func(t *testing.T) {
			c := &packages.Config{
				Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps, Dir: root(t),
				Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+s.system, "GOARCH="+s.processor),
			}
			rooms := []string{"./..."}
			if !s.tests {
				rooms = ours(load(t, c, "./cmd/brunt"))
			}
			c.Mode |= packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax |
				packages.NeedTypes | packages.NeedTypesSizes | packages.NeedModule
			c.Tests = s.tests
			load(t, c, rooms...)
			if s.tests {
				c.Dir = filepath.Join(root(t), "tools")
				load(t, c, "./...")
			}
		})
	}
}

// The tools are a module of their own, which "go build ./..." and "go vet ./..." in the root don't see.
func TestToolsCompile(t *testing.T) {
	vet := exec.Command("go", "vet", "./...")
	vet.Dir = filepath.Join(root(t), "tools")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("go vet in tools: %v\n%s", err, out)
	}
}

// load reads packages and what they import, and fails for what is wrong with them.
func load(t *testing.T, c *packages.Config, patterns ...string) []*packages.Package {
	t.Helper()
	all, err := packages.Load(c, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	packages.Visit(all, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if strings.HasPrefix(p.PkgPath, "brunt/") {
				t.Error(e)
			}
		}
	})
	return all
}

// ours lists the packages of this module among some and all that they import.
func ours(some []*packages.Package) (paths []string) {
	packages.Visit(some, nil, func(p *packages.Package) {
		if strings.HasPrefix(p.PkgPath, "brunt/") {
			paths = append(paths, p.PkgPath)
		}
	})
	return paths
}
