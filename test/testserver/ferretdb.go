package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// FerretDB starts a server of MongoDB's wire protocol: FerretDB with SQLite, which is a Go module of its own. It
// supports neither users nor transactions.
func FerretDB(t TB) *Server {
	t.Helper()
	sp := &spec{name: "FerretDB",
		arguments: func(s *Server) []string { return []string{"-listen", s.Addr, "-data", s.Dir} }}
	sp.prepare = func(*Server) (err error) {
		sp.binary, err = built("ferretdb", ".")
		return err
	}
	return launch(t, sp, &Server{Database: "test"})
}

// built builds a program of one of the modules below this package's folder and returns its path. The binary is kept in
// the user's cache folder, and is only rebuilt if it is out of date.
func built(module, program string) (path string, err error) {
	dir, err := sourceDir()
	if err != nil {
		return "", err
	}
	if path, err = cached(module); err != nil {
		return "", err
	}
	_, err = goTool("build", "-C", filepath.Join(dir, module), "-trimpath", "-o", path, program)
	return path, err
}

// cached returns the path of a file that outlives the tests, in the user's cache folder.
func cached(name string) (path string, err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "brunt-test")
	return filepath.Join(dir, name), os.MkdirAll(dir, 0o755)
}

// sourceDir returns the folder of this package's source.
func sourceDir() (string, error) {
	return goTool("list", "-f", "{{.Dir}}", "brunt/test/testserver")
}

func goTool(args ...string) (string, error) {
	out, err := exec.Command("go", args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, text)
	}
	return text, nil
}
