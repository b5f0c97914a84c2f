package testserver

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"syscall"
)

// binary returns the path of a program, or fails the test with the command that installs it.
func binary(t TB, name, debianPackage string) string {
	t.Helper()
	SkipQuick(t)
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/sbin"} {
		if p := filepath.Join(dir, name); executable(p) {
			return p
		}
	}
	t.Fatalf("%s isn't installed: run: apt-get install -y %s", name, debianPackage)
	return ""
}

// postgresBinary returns the path of a program of the newest PostgreSQL server. Debian installs them outside PATH.
func postgresBinary(t TB, name string) string {
	t.Helper()
	SkipQuick(t)
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	sort.Slice(found, func(i, j int) bool { return postgresMajor(found[i]) < postgresMajor(found[j]) })
	if n := len(found); n > 0 {
		return found[n-1]
	}
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	t.Fatalf("PostgreSQL's %s isn't installed: run: apt-get install -y postgresql-15", name)
	return ""
}

func postgresMajor(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// unprivileged returns the identity of a system user, for servers that refuse to run as root. It returns nil if the
// process isn't root; the server then runs as the test's user.
func unprivileged(t TB, name, debianPackage string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatalf("the user %s doesn't exist: run: apt-get install -y %s", name, debianPackage)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
