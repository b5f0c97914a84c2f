package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/test/testserver"
	"brunt/test/testserver/grpcserver"
)

// command is a command of a console block and the lines that the documentation shows after it.
type command struct {
	line  int
	text  string
	shown []string
}

// consoleBlocks reads the ```console blocks of a page: lines that begin with "$ " are commands,
// "> " continues one, all others are what they print; "…" stands for lines left out.
func consoleBlocks(page string) (blocks [][]command) {
	inside := false
	var block []command
	for n, line := range strings.Split(page, "\n") {
		switch {
		case !inside && strings.TrimSpace(line) == "```console":
			inside, block = true, nil
		case !inside:
		case strings.TrimSpace(line) == "```":
			inside = false
			if len(block) > 0 {
				blocks = append(blocks, block)
			}
		case strings.HasPrefix(line, "$ "):
			block = append(block, command{line: n + 1, text: line[2:]})
		case strings.HasPrefix(line, "> ") && len(block) > 0:
			block[len(block)-1].text += "\n" + line[2:]
		case len(block) > 0:
			last := &block[len(block)-1]
			last.shown = append(last.shown, line)
		}
	}
	return blocks
}

// placeholder matches the addresses in the documentation that are replaced by those of servers.
var placeholder = regexp.MustCompile(`(127\.0\.0\.1|localhost):(\d+)`)

// placeholders of JMeter's properties
var properties = regexp.MustCompile(`host=127\.0\.0\.1 -Jport=(\d+)`)

// The configuration of the documentation's nginx and Tarantool.
const (
	shop   = "location / { error_page 405 =200 /index.html; try_files $uri /index.html; }\nlocation /orders { return 201; }"
	stress = `box.schema.user.create('stress', {if_not_exists = true})
box.schema.user.passwd('stress', 'T0psecret')
box.schema.user.grant('stress', 'super', nil, nil, {if_not_exists = true})`
)

// addressOf returns the address of the test's server for a port in the documentation, or "" if the port stands for no
// server.
func addressOf(t *testing.T, port string) string {
	t.Helper()
	get := func(key string, start func(tb testserver.TB) *testserver.Server) string {
		return servers.Get(t, "docs "+key, start).Addr
	}
	switch port {
	case "5432", "5433":
		return get(port, func(tb testserver.TB) *testserver.Server {
			s := testserver.Postgres(tb, testserver.Settings("shared_preload_libraries = 'pg_stat_statements'"))
			for _, text := range []string{"CREATE EXTENSION pg_stat_statements", "CREATE ROLE stress SUPERUSER LOGIN",
				"CREATE ROLE postgres SUPERUSER LOGIN",
				"CREATE ROLE root SUPERUSER LOGIN", "CREATE DATABASE stress TEMPLATE postgres", "CREATE DATABASE test",
				"CREATE DATABASE shop"} {
				s.Psql(tb, text)
			}
			return s
		})
	case "3306":
		return get(port, func(tb testserver.TB) *testserver.Server {
			return testserver.MariaDB(tb, testserver.Settings("performance-schema=ON",
				"performance-schema-consumer-events-statements-current=ON"), testserver.Start(
				"CREATE DATABASE IF NOT EXISTS stress", "CREATE USER IF NOT EXISTS stress IDENTIFIED BY 'T0psecret'", "GRANT ALL ON *.* TO stress"))
		})
	case "3301", "3302":
		return get(port, func(tb testserver.TB) *testserver.Server {
			return testserver.Tarantool(tb,
				testserver.Lua(stress+"\nbox.schema.user.grant('guest', 'super', nil, nil, {if_not_exists = true})"))
		})
	case "3311", "3312", "3313":
		return get(port, func(tb testserver.TB) *testserver.Server {
			return testserver.VshardStorage(tb, int(port[3]-'1'), 3, 3000,
				testserver.Lua("box.schema.user.grant('guest', 'super', nil, nil, {if_not_exists = true})"))
		})
	case "3391", "3392":
		return carsRouter(t, get, port)
	case "6379":
		return servers.Redis(t).Addr
	case "2379":
		return servers.Etcd(t).Addr
	case "8080", "80":
		return get("web", func(tb testserver.TB) *testserver.Server {
			return testserver.Nginx(tb,
				testserver.Locations(shop))
		})
	case "8443", "443":
		return get("8443", func(tb testserver.TB) *testserver.Server { return testserver.Nginx(tb, testserver.TLS()) })
	case "50051":
		return get(port, func(tb testserver.TB) *testserver.Server {
			return &testserver.Server{Addr: grpcserver.Start(tb).Addr}
		})
	case "8090":
		return get(port, func(tb testserver.TB) *testserver.Server { return testserver.JVM(tb) })
	case "8081":
		return get(port, func(tb testserver.TB) *testserver.Server { return testserver.Nginx(tb) })
	}
	return ""
}

// carsRouter starts a router of the application in examples/cars, which has two routers and two storages.
func carsRouter(t *testing.T, get func(key string, start func(tb testserver.TB) *testserver.Server) string,
	key string) string {
	t.Helper()
	program, err := os.ReadFile("../../../examples/cars/cars.lua")
	if err != nil {
		t.Fatal(err)
	}
	start := func(call string) func(tb testserver.TB) *testserver.Server {
		return func(tb testserver.TB) *testserver.Server {
			return testserver.Tarantool(tb, testserver.Lua(string(program)+"\n"+call))
		}
	}
	storages := fmt.Sprintf("{'%s', '%s'}", get("storage1", start("cars_storage()")),
		get("storage2", start("cars_storage()")))
	return get(key, start("cars_router("+storages+")"))
}

// toTestServers replaces the documentation's addresses.
func toTestServers(t *testing.T, text string) string {
	t.Helper()
	text = properties.ReplaceAllStringFunc(text, func(found string) string {
		return strings.ReplaceAll("host="+addressOf(t, properties.FindStringSubmatch(found)[1]), ":", " -Jport=")
	})
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		if addr := addressOf(t, placeholder.FindStringSubmatch(found)[2]); addr != "" {
			return addr
		}
		return found
	})
}

// writeMissing creates a file that a block shows with cat, if it doesn't exist.
func writeMissing(t *testing.T, path, content string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shortened replaces the lengths of loads in the documentation, so that the test need not wait for them.
var shortened = []struct {
	long *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`(--duration[ =])\S+`), "${1}1s"},
	{regexp.MustCompile(`(--(?:rise|hold|fall)[ =])\S+`), "${1}300ms"},
	{regexp.MustCompile(`(duration|hold|rise|fall|every|pause|after): *[0-9.]+(s|m|h)\b`), "${1}: 0.3s"},
}

func shorten(text string) string {
	for _, s := range shortened {
		text = s.long.ReplaceAllString(text, s.text)
	}
	return text
}

// onTables matches commands on databases that several pages use.
var onTables = regexp.MustCompile(`127\.0\.0\.1:(54|33)\d\d`)

// Every command in the documentation works as shown. Pages are tested in parallel, except those that create tables in
// the same databases.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	beside := map[string]map[string][][]command{}
	for _, page := range append(pages, "../../../README.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks, name := consoleBlocks(string(b)), filepath.Base(page)
		lane := name
		for _, block := range blocks {
			commands += len(block)
			if onTables.MatchString(textOf(block)) {
				lane = "on tables"
			}
		}
		if beside[lane] == nil {
			beside[lane] = map[string][][]command{}
		}
		beside[lane][name] = blocks
	}
	if commands < 10 {
		t.Errorf("the documentation shows %d commands", commands)
	}
	for lane, pages := range beside {
		t.Run(lane, func(t *testing.T) {
			t.Parallel()
			for name, blocks := range pages {
				for _, block := range blocks {
					t.Run(fmt.Sprintf("%s:%d", name, block[0].line), func(t *testing.T) { tryBlock(t, block) })
				}
			}
		})
	}
}

func textOf(block []command) string {
	var b strings.Builder
	for _, c := range block {
		b.WriteString(c.text + "\n")
	}
	return b.String()
}

// tryBlock runs a block's commands one after another in one shell.
func tryBlock(t *testing.T, block []command) {
	dir := workFolder(t)
	var script strings.Builder
	for i, c := range block {
		text := toTestServers(t, shorten(c.text))
		if name, ok := strings.CutPrefix(text, "cat "); ok && len(c.shown) > 0 {
			writeMissing(t, filepath.Join(dir, name), toTestServers(t, strings.Join(c.shown, "\n")+"\n"))
		}
		fmt.Fprintf(&script, "(exit ${code-0})\n%s\ncode=$?; echo; echo \"@@ %d $code\"; echo; echo \"@@ %d $code\" >&2\n",
			text, i, i)
	}
	replacePlaceholders(t, dir)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script.String())
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Join(dir, ".bin")+":"+os.Getenv("PATH"), roleVariable+"=brunt",
		"COLUMNS=100")
	var out, errs bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &errs
	if err := shell.Run(); err != nil && ctx.Err() != nil {
		t.Fatalf("it didn't end:\n%s%s", out.String(), errs.String())
	}
	for i, c := range block {
		stdout, code := part(t, out.String(), i)
		stderr, _ := part(t, errs.String(), i)
		t.Logf("$ %s\nexit %d\n%s", c.text, code, stderr)
		next := ""
		if i+1 < len(block) {
			next = block[i+1].text
		}
		// The examples' own thresholds are for calmer machines, and so is the rate of a load that has none.
		slow := code == 99 && nothingFailed.MatchString(stdout) && (strings.Contains(c.text, "examples/") ||
			strings.Contains(stdout, "of the rate asked for was sent in time"))
		if !judged(code) && !slow && next != "echo $?" {
			t.Errorf("line %d: %s: exit %d\n%s%s", c.line, c.text, code, stdout, stderr)
		}
		checkShown(t, c, stdout+"\n"+stderr)
		if m := aboutTables.FindString(stdout + stderr); m != "" {
			t.Errorf("line %d: %s: the first thing that a reader sees is a warning about tables: %s", c.line, c.text, m)
		}
	}
}

// aboutTables matches warnings that a load's tables aren't those of its plan.
var aboutTables = regexp.MustCompile(`used\s+as\s+it\s+is|brunt\s+didn't\s+fill\s+table|operations\s+found\s+no\s+row|` +
	`references\s+may\s+ask\s+for\s+rows`)

// nothingFailed matches the row of a report that says that nothing failed, for any width of the labels.
var nothingFailed = regexp.MustCompile(`failed +none`)

// part returns the output of a command between its marks, and its exit code.
func part(t *testing.T, text string, i int) (string, int) {
	t.Helper()
	begin := 0
	if i > 0 {
		at := strings.Index(text, fmt.Sprintf("@@ %d ", i-1))
		if at < 0 {
			t.Fatalf("the block ended early:\n%s", text)
		}
		begin = at + strings.IndexByte(text[at:], '\n') + 1
	}
	end := strings.Index(text, fmt.Sprintf("@@ %d ", i))
	if end < 0 {
		t.Fatalf("the block ended early:\n%s", text)
	}
	code := 0
	fmt.Sscanf(text[end:], "@@ %d %d", &i, &code)
	return text[begin:end], code
}

// notWords matches what differs between runs: numbers and their units, bars, rules and tree lines.
var notWords = regexp.MustCompile(`[0-9][0-9.,:TZ]*|\b(ns|us|ms|s|m|min|h|B|KiB|MiB|GiB|KB|MB)\b|µs|[^\pL ]+`)

// shape returns a line without everything that differs between runs.
func shape(line string) string {
	return strings.Join(strings.Fields(notWords.ReplaceAllString(line, " ")), " ")
}

// checkShown fails the test if a line in the documentation has no counterpart of its shape in the output. The line may
// be only the beginning, and "…" ends the comparison.
func checkShown(t *testing.T, c command, printed string) {
	t.Helper()
	var shapes []string
	for _, line := range strings.Split(printed, "\n") {
		shapes = append(shapes, shape(line))
	}
	for _, line := range c.shown {
		before, _, _ := strings.Cut(line, "…")
		if title := "LATENCY  response:"; strings.HasPrefix(line, title) {
			before = title // the rest says whether each arrival had an answer, which a busy machine may prevent
		}
		want := shape(before)
		if want == "" {
			continue
		}
		found := false
		for _, s := range shapes {
			found = found || s == want || strings.HasPrefix(s, want+" ")
		}
		if !found {
			t.Errorf("line %d: %s\ndoesn't print a line like\n%s\nbut\n%s", c.line, c.text, line, printed)
			return
		}
	}
}

// workFolder returns a folder like a reader's: it contains the examples, and brunt and the tools that brunt imitates
// are in PATH.
func workFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"brunt", "picostress", "go-ycsb", "slow_cooker", "k6", "pgbench"} {
		if err := os.Symlink(self, filepath.Join(dir, ".bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../../examples")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// replacePlaceholders shortens the examples' loads and sends them to the test's servers.
func replacePlaceholders(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "examples"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(toTestServers(t, shorten(string(b)))), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Two outputs have the same shape if they differ only in figures, and a different one if words differ.
func TestShapes(t *testing.T) {
	for a, b := range map[string]string{
		"├─ rate    28,213/s  succeeded":                      "├─ rate    7/s  succeeded",
		"cars_q    created, 100 rows, 3,211 rows/s, checksum": "cars_q  created, 7 rows, 11 rows/s, checksum",
		"       2 µs –    5 µs     2.82 %     2.82 %  ██▍":    "  1 ms – 2 ms  0 % 100 %",
	} {
		if shape(a) != shape(b) {
			t.Errorf("%q and %q differ in shape: %q, %q", a, b, shape(a), shape(b))
		}
	}
	if shape("failed none") == shape("failed 3") {
		t.Error("words don't count")
	}
	blocks := consoleBlocks("text\n```console\n$ brunt a \\\n> --b\nout\n$ c\n```\n```sh\n$ no\n```\n")
	if len(blocks) != 1 || len(blocks[0]) != 2 || blocks[0][0].text != "brunt a \\\n--b" || len(blocks[0][0].shown) != 1 {
		t.Errorf("blocks: %+v", blocks)
	}
}
