package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// native is the Linux target of this machine. All kinds of files are built for it.
const native = "linux/" + runtime.GOARCH

// clone copies the last commit into a folder.
func clone(t *testing.T, dir string) string {
	t.Helper()
	// git reads only folders of the same user, unless safe.directory is set.
	do(t, "git", "-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", "../..", dir)
	return dir
}

func do(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// only returns the one file that matches a pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v", pattern, found)
	}
	return found[0]
}

// Two builds of one commit in different folders are identical byte by byte, and the files can be used.
func TestRelease(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "the second")
	for _, out := range []string{first, second} {
		if err := run(clone(t, filepath.Join(dir, "source of "+filepath.Base(out))), out, native); err != nil {
			t.Fatal(err)
		}
	}
	sums := string(read(t, filepath.Join(first, "SHA256SUMS")))
	if other := string(read(t, filepath.Join(second, "SHA256SUMS"))); sums != other || strings.Count(sums, "\n") != 5 {
		t.Fatalf("the first build has\n%sthe second\n%s", sums, other)
	}
	check := exec.Command("sha256sum", "-c", "--quiet", "SHA256SUMS")
	check.Dir = first
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	binary := only(t, filepath.Join(first, "brunt-*-linux-"+runtime.GOARCH))
	t.Run("binary", func(t *testing.T) { checkBinary(t, binary) })
	t.Run("deb", func(t *testing.T) { checkDebian(t, only(t, filepath.Join(first, "*.deb")), binary) })
	t.Run("rpm", func(t *testing.T) { checkRPM(t, only(t, filepath.Join(first, "*.rpm"))) })
	t.Run("image", func(t *testing.T) { checkImage(t, only(t, filepath.Join(first, "*-oci.tar")), binary) })
	t.Run("contents", func(t *testing.T) { checkContents(t, binary) })
}

func checkBinary(t *testing.T, binary string) {
	var c struct{ Version, Commit string }
	if err := json.Unmarshal([]byte(do(t, binary, "version", "--output", "json")), &c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(filepath.Base(binary), "-"+c.Version+"-") || len(c.Commit) != 40 {
		t.Errorf("%s says %+v", binary, c)
	}
	if out := do(t, "file", "-b", binary); !strings.Contains(out, "statically linked") {
		t.Error(out)
	}
}

// checkDebian installs and removes the package with dpkg in a temporary root folder.
func checkDebian(t *testing.T, deb, binary string) {
	root := filepath.Join(t.TempDir(), "root")
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) string {
		t.Helper()
		return do(t, "dpkg", append([]string{"--root=" + root, "--force-not-root", "--force-bad-path",
			"--force-script-chrootless", "--log=/dev/null"}, args...)...)
	}
	dpkg("-i", deb)
	if !bytes.Equal(read(t, filepath.Join(root, "usr/bin/brunt")), read(t, binary)) {
		t.Error("the package holds another binary")
	}
	if out := do(t, filepath.Join(root, "usr/bin/brunt"), "version"); !strings.HasPrefix(out, "brunt ") {
		t.Error(out)
	}
	for path, text := range map[string]string{
		"usr/share/man/man1/brunt-rate.1.gz": "NAME\n", "usr/share/man/man1/brunt.1.gz": "brunt-schema(1)",
		"usr/share/bash-completion/completions/brunt": "bash completion", "usr/share/doc/brunt/copyright": "AFFERO",
		"usr/share/doc/brunt/plan.md": "plan", "usr/share/doc/brunt/plan.schema.json": "brunt plan",
		"usr/share/doc/brunt/examples/cars.yml": "queries",
	} {
		path = filepath.Join(root, path)
		got := string(read(t, path))
		if strings.HasSuffix(path, ".gz") {
			got = do(t, "zcat", path)
		}
		if !strings.Contains(got, text) {
			t.Errorf("%s doesn't say %q", path, text)
		}
	}
	if listed := dpkg("-L", "brunt"); !strings.Contains(listed, "/usr/bin/brunt\n") {
		t.Error(listed)
	}
	dpkg("-P", "brunt")
	filepath.WalkDir(filepath.Join(root, "usr"), func(path string, d os.DirEntry, err error) error {
		if err == nil {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

func checkRPM(t *testing.T, rpm string) {
	do(t, "rpm", "--dbpath", t.TempDir(), "-K", rpm)
	listed := do(t, "rpm", "--dbpath", t.TempDir(), "-qp", "--qf", "%{name} %{license} %{buildhost}\n[%{filenames}\n]",
		rpm)
	for _, text := range []string{"brunt AGPL-3.0-only localhost\n", "/usr/bin/brunt\n",
		"/usr/share/man/man1/brunt-rate.1.gz\n"} {
		if !strings.Contains(listed, text) {
			t.Errorf("it doesn't hold %q:\n%s", text, listed)
		}
	}
}

// checkImage reads the image and checks that it is complete and contains the binary.
func checkImage(t *testing.T, archive, binary string) {
	dir := t.TempDir()
	do(t, "tar", "-xf", archive, "-C", dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	named, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), "brunt-"), "-oci.tar")
	for _, key := range []string{"org.opencontainers.image.ref.name", "io.containerd.image.name"} {
		if got := named.Manifests[0].Annotations[key]; got != "localhost/brunt:"+version {
			t.Errorf("%s is %q, want localhost/brunt:%s", key, got, version)
		}
	}
	platforms, err := index.ImageIndex(named.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := platforms.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Platform.String() != native {
		t.Fatalf("%+v, %v", manifest, err)
	}
	image, err := platforms.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(image)
	defer files.Close()
	r := tar.NewReader(files)
	for {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("no brunt in the image: %v", err)
		}
		if h.Name == "brunt" {
			break
		}
	}
	if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, read(t, binary)) {
		t.Errorf("the image holds another binary: %v", err)
	}
	if h, err := r.Next(); err != nil || h.Name != "usr/bin/k6" || h.Linkname != "/brunt" {
		t.Errorf("no link to brunt in the place of k6: %+v, %v", h, err)
	}
	checkContainer(t, image)
}

// checkContents compares the list of contents with the build information in the binary.
func checkContents(t *testing.T, binary string) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(read(t, binary+".cdx.json")),
		cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, c := range *bom.Components {
		listed[c.Name] = c.Version
	}
	for _, d := range info.Deps {
		if listed[d.Path] != d.Version {
			t.Errorf("%s %s is listed as %q", d.Path, d.Version, listed[d.Path])
		}
	}
	if len(listed) != len(info.Deps)+1 || len(info.Deps) < 20 || "go"+listed["std"] != info.GoVersion {
		t.Errorf("%d parts for %d modules and the standard library, %s", len(listed), len(info.Deps), listed["std"])
	}
}

func TestPackageVersions(t *testing.T) {
	for described, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v0.3.0-14-gabcdef0": "0.3.0+14.gabcdef0", "v1.0.0-dirty": "1.0.0",
		"69fe441": "0+20261122.69fe441", "1234567": "0+20261122.1234567", "69fe441-dirty": "0+20261122.69fe441",
	} {
		if got := packageVersion(described, "20261122"); got != want {
			t.Errorf("%s: %s, want %s", described, got, want)
		}
	}
}

func TestOnlyKnownSystems(t *testing.T) {
	if _, err := choose([]string{"linux/amd64", "plan9/arm"}); err == nil ||
		!strings.Contains(err.Error(), "freebsd/amd64") {
		t.Error(err)
	}
}

// make release builds for the systems in ONLY, or for all.
func TestMakeOnly(t *testing.T) {
	for variable, want := range map[string]bool{"ONLY=linux/amd64": true, "ONLY=": false} {
		t.Run(variable, func(t *testing.T) {
			out := do(t, "make", "-C", "../..", "-n", "release", variable)
			if got := strings.Contains(out, "./bin/release -only linux/amd64"); got != want {
				t.Errorf("make release %s does\n%s", variable, out)
			}
		})
	}
}
