//go:build !race

package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
	files := &syntaxes{root: root(t) + string(filepath.Separator), fset: token.NewFileSet(), of: map[string]*syntax{}}
	for _, s := range systems {
		t.Run(s.system+"/"+s.processor, func(t *testing.T) {
			c := &packages.Config{
				Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps, Dir: root(t),
				Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+s.system, "GOARCH="+s.processor),
				Fset: files.fset, ParseFile: files.parse,
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

// syntaxes holds the syntax of files, which is the same on all systems. It is safe for concurrent use.
type syntaxes struct {
	root string // the folder whose functions are checked, too
	fset *token.FileSet
	mu   sync.Mutex
	of   map[string]*syntax
}

type syntax struct {
	once sync.Once
	file *ast.File
	err  error
}

// parse implements packages.Config.ParseFile. It leaves out comments and the bodies of functions of other modules: only
// their declarations matter here. The errors that this causes are in packages whose errors aren't reported. Files that
// go writes for tests are in its cache, without the suffix ".go".
func (s *syntaxes) parse(_ *token.FileSet, path string, text []byte) (*ast.File, error) {
	s.mu.Lock()
	x := s.of[path]
	if x == nil {
		x = &syntax{}
		s.of[path] = x
	}
	s.mu.Unlock()
	x.once.Do(func() {
		x.file, x.err = parser.ParseFile(s.fset, path, text, parser.AllErrors|parser.SkipObjectResolution)
		if x.file == nil || strings.HasPrefix(path, s.root) || filepath.Ext(path) != ".go" {
			return
		}
		for _, d := range x.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
	})
	return x.file, x.err
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
