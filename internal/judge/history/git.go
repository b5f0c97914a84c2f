package history

import (
	"fmt"
	"os/exec"
	"strings"
)

// HeadCommit returns the abbreviated current commit of the git repository that contains a folder, or "" if there is
// none.
func HeadCommit(dir string) string {
	out, err := exec.Command("git", "-C", dir, "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Commit commits all changes in the store's folder to the git repository that contains it.
func (s Store) Commit(message string) error {
	for _, args := range [][]string{{"add", "--", "."}, {"commit", "--quiet", "--message", message, "--", "."}} {
		cmd := exec.Command("git", append([]string{"-C", s.Dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("the history was written to %s but not committed: %s; commit it by hand", s.Dir, first)
		}
	}
	return nil
}
