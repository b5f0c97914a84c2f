package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/test/testserver"
)

// TestOptionsAboutAddresses: hosts, blockHostnames, blacklistIPs and localIPs decide where brunt's modules and plans
// connect, as they do for k6's own modules.
func TestOptionsAboutAddresses(t *testing.T) {
	t.Parallel()
	server := servers.Get(t, "redis", func(tb testserver.TB) *testserver.Server { return testserver.Redis(tb) })
	lua := servers.Get(t, "one", func(tb testserver.TB) *testserver.Server {
		return testserver.Tarantool(tb, testserver.Lua("function one() return 1 end"))
	})
	pg := servers.Postgres(t)
	pgPort := pg.Addr[strings.LastIndexByte(pg.Addr, ':')+1:]
	opened := `import brunt from "k6/x/brunt"; const db = brunt.open("pg://` + pg.User + ":" + pg.Password + `@%s/` +
		pg.Database + `");
		export default function () { db.query("SELECT 1"); }`
	tarantool := `import tarantool from "k6/x/tarantool";
		const db = tarantool.connect("%s", {user: "` + lua.User + `", pass: "` + lua.Password + `"});
		export default function () { tarantool.call(db, "one", []); }`
	const embedded = `import brunt from "k6/x/brunt"; const db = brunt.open("sqlite::memory:");
		export default function () { db.query("SELECT 1"); }`
	const native = `export default function () {}`
	const scenario = `scenarios: {a: {executor: "brunt-native", plan: "target: {protocol: redis, addresses: ['%s']}\n` +
		`queries: [{name: ping, command: [PING]}]\nload: [{constant: {rate: 10, duration: 1s}}]\n"}}`
	for _, c := range []struct {
		name, options, script, say string
		sent                       bool
	}{
		{"hosts", `hosts: {"db.example:1": "` + pg.Addr + `"}`, fmt.Sprintf(opened, "db.example:1"), "", true},
		{"hosts without a port", `hosts: {"db.example": "127.0.0.1"}`, fmt.Sprintf(opened, "db.example:"+pgPort), "", true},
		{"hosts, Tarantool", `hosts: {"db.example:1": "` + lua.Addr + `"}`, fmt.Sprintf(tarantool, "db.example:1"), "", true},
		{"hosts of others", `hosts: {"other.example": "192.0.2.1"}`, fmt.Sprintf(opened, pg.Addr), "", true},
		{"blocked", `blockHostnames: ["localhost"]`, fmt.Sprintf(opened, "localhost:"+pgPort),
			"blocked by blockHostnames", false},
		{"blacklisted", `blacklistIPs: ["127.0.0.0/8"]`, fmt.Sprintf(opened, pg.Addr), "in blacklistIPs", false},
		{"blacklisted by name", `blacklistIPs: ["127.0.0.0/8", "::1/128"]`, fmt.Sprintf(opened, "localhost:"+pgPort),
			"in blacklistIPs", false},
		{"hosts without a port, of a URL", `hosts: {"db.example": "127.0.0.1"}`, strings.Replace(fmt.Sprintf(opened,
			"db.example:"+pgPort), "pg://", "postgres://", 1), "", true},
		{"blocked, without a port", `blockHostnames: ["localhost"]`, fmt.Sprintf(opened, "localhost"),
			"blocked by blockHostnames", false},
		{"plan, blacklisted by a URL", strings.Replace(fmt.Sprintf(scenario, "redis://"+server.Addr), "protocol: redis, ", "",
			1) + `, blacklistIPs: ["127.0.0.0/8"]`, native, "in blacklistIPs", false},
		{"embedded", `blacklistIPs: ["127.0.0.0/8"]`, embedded, "", true},
		{"plan", fmt.Sprintf(scenario, "db.example:1") + `, hosts: {"db.example:1": "` + server.Addr + `"}`, native, "",
			true},
		{"plan, blacklisted", fmt.Sprintf(scenario, server.Addr) + `, blacklistIPs: ["127.0.0.0/8"]`, native,
			"in blacklistIPs", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := c.options
			if !strings.Contains(options, "scenarios") {
				options += ", iterations: 3"
			}
			path := filepath.Join(t.TempDir(), "script.js")
			if err := os.WriteFile(path, []byte("export const options = {"+options+"};\n"+c.script), 0o600); err != nil {
				t.Fatal(err)
			}
			o := run(t, path)
			if ok := o.run != nil && o.run.Total.OK > 0; ok != c.sent || !strings.Contains(o.text, c.say) {
				t.Errorf("exit %d, sent: %v, want %v, and %q\n%s", o.code, ok, c.sent, c.say, o.text)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "local.js")
	if err := os.WriteFile(path, fmt.Appendf(nil, "export const options = {iterations: 1};\n"+opened, pg.Addr),
		0o600); err != nil {
		t.Fatal(err)
	}
	if o := run(t, "--local-ips", "127.0.0.2", path); o.run != nil && o.run.Total.OK > 0 ||
		!strings.Contains(o.text, "addresses of localIPs") {
		t.Errorf("localIPs: exit %d\n%s", o.code, o.text)
	}
}
