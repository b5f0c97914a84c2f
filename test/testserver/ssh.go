package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// SSH starts n sshd with their own host keys. It returns them and a configuration file with which the ssh client, run
// by the user of the test, logs in to each without prompting. Sessions have the server's folder as their home, so that
// the start-up files of the user's shell don't run.
func SSH(t TB, n int) (servers []*Server, config string) {
	t.Helper()
	SkipQuick(t)
	dir, err := os.MkdirTemp("", "brunt-test-")
	if err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := filepath.Join(dir, "key")
	if err := newKey(key); err != nil {
		t.Fatalf("%v", err)
	}
	var known strings.Builder
	for range n {
		s := launch(t, &spec{
			name:    "sshd",
			binary:  binary(t, "/usr/sbin/sshd", "openssh-server"),
			prepare: func(s *Server) error { return newKey(filepath.Join(s.Dir, "host_key")) },
			configure: func(s *Server) (file, content string) {
				return "sshd_config", fmt.Sprintf("Port %d\nListenAddress %s\nHostKey %s/host_key\nPidFile none\nUsePAM no\n"+
					"StrictModes no\nAuthorizedKeysFile %s.pub\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"+
					"PermitRootLogin yes\nSetEnv HOME=%s XDG_CACHE_HOME=%s/cache\n", s.Port, s.Host, s.Dir, key, s.Dir, s.Dir)
			},
			arguments: func(s *Server) []string {
				return []string{"-D", "-e", "-f", filepath.Join(s.Dir, "sshd_config")}
			},
		}, &Server{})
		t.Cleanup(func() { EndAll(t, "XDG_CACHE_HOME="+s.Dir+"/cache") }) // its sessions outlive sshd
		public, err := os.ReadFile(filepath.Join(s.Dir, "host_key.pub"))
		if err != nil {
			t.Fatalf("%v", err)
		}
		fmt.Fprintf(&known, "[%s]:%d %s", s.Host, s.Port, public)
		servers = append(servers, s)
	}
	config = filepath.Join(dir, "config")
	text := fmt.Sprintf("IdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s/known_hosts\n"+
		"GlobalKnownHostsFile none\n", key, dir)
	for name, content := range map[string]string{"config": text, "known_hosts": known.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return servers, config
}

// newKey creates a key pair and, for root, the privilege separation folder of sshd.
func newKey(path string) error {
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return err
		}
	}
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ssh-keygen: %w: %s", err, out)
	}
	return nil
}
