// Command single prints the packages whose tests are run without the race detector, which takes a tenth of the time:
// neither the package nor its tests start a goroutine, and they use nothing that runs loads or servers.
//
// A goroutine starts with a go statement, a call of a method Go (sync.WaitGroup, errgroup.Group) or time.AfterFunc.
// Packages below may start goroutines of their own; their own tests run under the race detector.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is the prefix of brunt's own packages.
const module = "brunt/"

// listed is what go list says of one package.
type listed struct {
	ImportPath                         string
	Dir                                string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

// files are the names of all files that are compiled for a package's tests.
func (p *listed) files(tests bool) []string {
	if !tests {
		return p.GoFiles
	}
	return append(append(append([]string{}, p.GoFiles...), p.TestGoFiles...), p.XTestGoFiles...)
}

func main() {
	patterns := os.Args[1:]
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	all, err := list(patterns)
	if err != nil {
		fmt.Fprintln(os.Stderr, "single:", err)
		os.Exit(1)
	}
	names, err := single(all)
	if err != nil {
		fmt.Fprintln(os.Stderr, "single:", err)
		os.Exit(1)
	}
	for _, name := range names {
		fmt.Println(name)
	}
}

// list asks the go command about packages.
func list(patterns []string) (all []*listed, err error) {
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports," +
		"TestImports,XTestImports"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(listed)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list printed: %w", err)
		}
		all = append(all, p)
	}
}

// running are the packages that run loads or servers, and so many goroutines at a time. A name stands for the package
// and all below it.
var running = []string{"internal/engine/loop", "internal/engine/pool", "test/testserver"}

// single returns the packages that have tests, start no goroutine, and reach none of the packages that run something.
func single(all []*listed) (names []string, err error) {
	imports := map[string][]string{}
	for _, p := range all {
		imports[p.ImportPath] = p.Imports
	}
	for _, p := range all {
		starts, err := concurrent(p.Dir, p.files(true))
		if err != nil {
			return nil, err
		}
		used := append(append(append([]string{}, p.Imports...), p.TestImports...), p.XTestImports...)
		if len(p.files(true)) > len(p.GoFiles) && !starts && !reaches(used, imports, map[string]bool{}) {
			names = append(names, p.ImportPath)
		}
	}
	return names, nil
}

// reaches reports whether any of the packages runs loads or servers, or imports one that does.
func reaches(paths []string, imports map[string][]string, seen map[string]bool) bool {
	for _, path := range paths {
		name, ours := strings.CutPrefix(path, module)
		if !ours || seen[path] {
			continue
		}
		seen[path] = true
		for _, r := range running {
			if name == r || strings.HasPrefix(name, r+"/") {
				return true
			}
		}
		if reaches(imports[path], imports, seen) {
			return true
		}
	}
	return false
}

// concurrent reports whether any of the files starts a goroutine.
func concurrent(dir string, files []string) (found bool, err error) {
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			found = found || startsGoroutine(n)
			return !found
		})
	}
	return found, nil
}

// startsGoroutine reports whether a statement or a call starts a goroutine.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		return ok && (f.Sel.Name == "Go" || f.Sel.Name == "AfterFunc")
	}
	return false
}
