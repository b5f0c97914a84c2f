package scripts_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"brunt/test/testserver"
)

// peerLua defines the functions that the script of the comparison calls.
const peerLua = `
	local s = box.schema.space.create('peer', {id = 600})
	s:create_index('pk')
	function peer_echo(...) return ... end
	function peer_nothing() end
	function peer_fails() error('by the function', 0) end`

// Calls of k6/x/tarantool return and throw the same as those of xk6-tarantool. testdata/xk6-tarantool.txt is the output
// of testdata/xk6-tarantool.js under k6 1.8.1 with github.com/tarantool/xk6-tarantool of 17 May 2024 (677fe4f), which
// no module proxy has. If XK6_TARANTOOL names such a k6, it is compared with the file too.
func TestResultsAreThoseOfXk6Tarantool(t *testing.T) {
	t.Parallel()
	const script = "testdata/xk6-tarantool.js"
	data, err := os.ReadFile("testdata/xk6-tarantool.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(data)), "\n")
	fresh := func() []string {
		s := testserver.Tarantool(t, testserver.Lua(peerLua))
		return []string{"-e", "ADDR=" + s.Addr, "-e", "USER=" + s.User, "-e", "PASS=" + s.Password}
	}
	for name, args := range map[string][]string{"one address": nil, "a list": {"-e", "LIST=1"}} {
		t.Run(name, func(t *testing.T) {
			o := run(t, append(append(args, fresh()...), "internal/dialect/k6/scripts/"+script)...)
			sameResults(t, resultsIn(o.text), want)
		})
	}
	if peer := os.Getenv("XK6_TARANTOOL"); peer != "" {
		args := append(append([]string{"run", "--quiet", "--no-color", "-e", "LIST=1"}, fresh()...), script)
		out, err := exec.CommandContext(t.Context(), peer, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", peer, err, out)
		}
		sameResults(t, resultsIn(string(out)), want)
	}
}

func sameResults(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d results of %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("\n got %s\nwant %s", got[i], want[i])
		}
	}
}

// resultsIn returns the lines that the script has logged. Exceptions of brunt begin with a class and a code.
func resultsIn(log string) (lines []string) {
	classes := regexp.MustCompile(`throws server \d+: `)
	for _, m := range regexp.MustCompile(`RESULT (.*)" source=console`).FindAllStringSubmatch(log, -1) {
		line := strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[1])
		lines = append(lines, strings.TrimSpace(classes.ReplaceAllString(line, "throws ")))
	}
	return lines
}
