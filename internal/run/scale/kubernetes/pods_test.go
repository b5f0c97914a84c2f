package kubernetes

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; see go test -update:\n%s", path, got)
	}
}

func examplePods() Pods {
	return Pods{Image: "registry.example/brunt:1.0", PullSecret: "pull", CPU: "2", Memory: "1Gi",
		Upload: "s3://bench/runs", EnvSecret: "s3", Deadline: 2 * time.Hour}
}

func TestJobIsAsBefore(t *testing.T) {
	p := examplePods()
	text, err := yaml.Dump(job("brunt-cars-01234567", "load", 4, 1, &p))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "job.yaml", text)
}

func TestManifestIsAsBefore(t *testing.T) {
	var b bytes.Buffer
	err := Manifest(&b, &Deployment{Name: "brunt-cars", Namespace: "load", Workers: 4, Pods: examplePods(),
		Plan: []byte("target: {protocol: noop}\n"), Flags: []string{"--on-lost", "abort"},
		Secrets: []string{"BRUNT_PASSWORD"}})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "manifest.yaml", b.Bytes())
}

func podOf(t *testing.T, text string) *pod {
	t.Helper()
	p := &pod{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProblemsOfPods(t *testing.T) {
	waits := func(reason, message string) string {
		return `{"status":{"phase":"Pending","containerStatuses":[{"image":"x/brunt:1","state":{"waiting":{"reason":"` + reason +
			`","message":"` + message + `"}}}]}}`
	}
	for name, row := range map[string]struct {
		text, want string
		final      bool
	}{
		"is created": {waits("ContainerCreating", ""), "", false},
		"node too small": {`{"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
			"reason":"Unschedulable","message":"0/3 nodes are available: 3 Insufficient cpu."}]}}`,
			"no node takes its pod (Unschedulable): 0/3 nodes are available: 3 Insufficient cpu.", false},
		"first pull":   {waits("ErrImagePull", "not found"), "the image x/brunt:1 can't be pulled (ErrImagePull): not found", false},
		"backing off":  {waits("ImagePullBackOff", "Back-off"), "the image x/brunt:1 can't be pulled (ImagePullBackOff)", true},
		"name":         {waits("InvalidImageName", "no"), "can't be pulled (InvalidImageName): no", true},
		"as root":      {waits("CreateContainerConfigError", "runs as root"), "its container can't be started", true},
		"no entry":     {waits("RunContainerError", "exec: no such file"), "its container can't be started", true},
		"runs":         {`{"status":{"phase":"Running"}}`, "", false},
		"just created": {`{}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := podOf(t, row.text).problem()
			if !strings.Contains(got.text, row.want) || (got.text == "") != (row.want == "") {
				t.Errorf("got %q, want %q", got.text, row.want)
			}
			if got.final != row.final {
				t.Errorf("final %v", got.final)
			}
		})
	}
}

func TestEndsOfPods(t *testing.T) {
	ended := func(phase, state string) string {
		return `{"metadata":{"name":"p"},"status":{"phase":"` + phase + `","reason":"Evicted","message":"The node was low on memory",
			"containerStatuses":[{"state":` + state + `}]}}`
	}
	for name, row := range map[string]struct{ text, want string }{
		"killed":     {ended("Failed", `{"terminated":{"exitCode":137,"reason":"OOMKilled"}}`), "pod p ended with exit code 137 (OOMKilled)"},
		"says why":   {ended("Failed", `{"terminated":{"exitCode":108,"reason":"Error","message":"a\nbrunt: no way\n"}}`), "pod p ended with exit code 108: no way"},
		"succeeded":  {ended("Succeeded", `{"terminated":{"exitCode":0,"reason":"Completed"}}`), "pod p ended with exit code 0"},
		"evicted":    {ended("Failed", `{}`), "pod p ended: Evicted The node was low on memory"},
		"still runs": {ended("Running", `{}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if how, _ := podOf(t, row.text).end(); how != row.want {
				t.Errorf("got %q, want %q", how, row.want)
			}
		})
	}
}

func TestNewestPods(t *testing.T) {
	of := func(index, at string) pod {
		return *podOf(t, `{"metadata":{"name":"`+index+at+`","creationTimestamp":"2026-01-01T00:00:`+at+
			`Z","labels":{"`+indexLabel+`":"`+index+`"}}}`)
	}
	found := newest([]pod{of("0", "05"), of("1", "09"), of("0", "07"), of("0", "06")})
	if len(found) != 2 || found[0].Metadata.Name != "007" || found[1].Metadata.Name != "109" {
		t.Errorf("found %v", found)
	}
}

func TestNumbers(t *testing.T) {
	var many []int
	for k := range 20 {
		many = append(many, k)
	}
	for want, list := range map[string][]int{
		"1": {0}, "1, 3": {0, 2}, "1, 2, 3, 4, 5, 6, 7, 8 and 12 more": many, "1, 2, 3, 4, 5, 6, 7, 8, 9": many[:9],
	} {
		t.Run(want, func(t *testing.T) {
			if got := numbers(list); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestMessagesLoseNamesOfPods(t *testing.T) {
	got := withoutPod(`Error creating: pods "brunt-x-0-abcde" is forbidden: exceeded quota: q`, "brunt-x")
	if want := "exceeded quota: q"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
