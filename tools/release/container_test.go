package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// checkContainer runs the image as in a restricted namespace of Kubernetes: as the image's user, without capabilities,
// and with a file system that is read-only except for its working folder.
func checkContainer(t *testing.T, image v1.Image) {
	if _, err := exec.LookPath("crun"); err != nil {
		t.Fatal("there is no crun; install it: apt-get install crun")
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "rootfs")
	for _, sub := range []string{"dev", "proc", "sys"} {
		if err := os.MkdirAll(filepath.Join(root, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := mutate.Extract(image)
	defer files.Close()
	untar := exec.Command("tar", "-xf", "-", "-C", root)
	untar.Stdin = files
	if out, err := untar.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plan := "target: {protocol: noop, addresses: [none]}\nsessions: 2\nqueries: [{name: one, command: [PING], count: 20}]\n"
	if err := os.WriteFile(filepath.Join(root, "plan.yml"), []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"version": {"version"},
		"workers": {"run", "/plan.yml", "--workers", "2", "--quiet", "--output", "csv"},
	} {
		t.Run(name, func(t *testing.T) { runContainer(t, dir, image, args) })
	}
}

// runContainer runs the entrypoint of an image, which is in the folder rootfs of dir, with crun. crun refuses machines
// with both versions of control groups even if it creates none, so they are hidden from it.
func runContainer(t *testing.T, dir string, image v1.Image, args []string) {
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := &file.Config
	user, group, _ := strings.Cut(c.User, ":")
	uid, err1 := strconv.Atoi(user)
	gid, err2 := strconv.Atoi(group)
	if err1 != nil || err2 != nil || uid == 0 {
		t.Fatalf("the image's user is %q: Kubernetes can't see that it isn't root", c.User)
	}
	namespace := []string{"--mount"}
	if os.Getuid() != 0 { // only root can run as another user
		namespace, uid, gid = append(namespace, "--map-root-user"), 0, 0
	}
	type object = map[string]any
	text, err := json.Marshal(object{
		"ociVersion": "1.0.2",
		"process": object{
			"user": object{"uid": uid, "gid": gid}, "args": append(c.Entrypoint, args...), "env": c.Env,
			"cwd": c.WorkingDir, "noNewPrivileges": true, "capabilities": object{},
		},
		"root": object{"path": "rootfs", "readonly": true},
		"mounts": []any{
			object{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755"}},
			object{"destination": "/proc", "type": "proc", "source": "proc"},
			object{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": []string{"mode=1777"}},
			object{"destination": c.WorkingDir, "type": "tmpfs", "source": "tmpfs", "options": []string{"mode=1777"}},
		},
		"linux": object{"namespaces": []any{object{"type": "pid"}, object{"type": "mount"}, object{"type": "ipc"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", append(namespace, "sh", "-c", `if [ -d /sys/fs/cgroup ]; then mount -t tmpfs none /sys/fs/cgroup; fi
		exec crun --cgroup-manager=disabled --root "$1" run "$2"`, "sh", filepath.Join(dir, "state"), filepath.Base(dir)+args[0])...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 98 { // 98: this machine was too busy to measure well
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), map[string]string{"version": "brunt ", "run": "operation"}[args[0]]) {
		t.Errorf("the container says\n%s", out)
	}
}
