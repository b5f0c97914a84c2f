package processes_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/test/shell"
	"brunt/test/testserver"
)

// A proxy that is dead, or asks for a user, is named as the cause, not the server behind it; its password isn't.
func TestFailuresOfAProxyNameIt(t *testing.T) {
	t.Parallel()
	asking := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	t.Cleanup(asking.Close)
	dir := t.TempDir()
	for _, command := range [][]string{
		{"brunt", "http", "URL", "--rate", "10", "--duration", "500ms"},
		{"brunt", "cook", "-qps", "10", "-interval", "1s", "-totalRequests", "5", "URL"},
		{"brunt", "k6", "run", "SCRIPT", "--iterations", "3"},
	} {
		for _, scheme := range []string{"http", "https"} {
			script := filepath.Join(dir, scheme+".js")
			text := "import http from 'k6/http';\nexport default function () { http.get('" + scheme + "://target.invalid/x'); }\n"
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for kind, proxy := range map[string]string{
				"dead": testserver.Address(t), "asking": strings.TrimPrefix(asking.URL, "http://"),
			} {
				t.Run(command[1]+"/"+scheme+"/"+kind, func(t *testing.T) {
					t.Parallel()
					set := "http://user:geheim@" + proxy
					var line []string
					for _, word := range command {
						line = append(line, strings.NewReplacer("URL", scheme+"://target.invalid/x", "SCRIPT",
							script).Replace(word))
					}
					cmd, output := shell.Start(t, []string{"HTTP_PROXY=" + set, "HTTPS_PROXY=" + set, "http_proxy=" + set,
						"https_proxy=" + set, "NO_PROXY=", "no_proxy="}, line...)
					_ = cmd.Wait()
					out, _ := os.ReadFile(output)
					said := string(out)
					records, _ := filepath.Glob(filepath.Join(cmd.Dir, "results", "*", "*.ndjson"))
					for _, path := range records {
						more, _ := os.ReadFile(path)
						said += string(more)
					}
					passed := cmd.ProcessState.ExitCode() == 0 && command[1] != "k6" // k6 ends with 0 without thresholds
					if text := said; !strings.Contains(text, "the proxy "+proxy) || strings.Contains(text, "geheim") || passed {
						t.Errorf("exit %d: the proxy %s isn't named\n%s", cmd.ProcessState.ExitCode(), proxy, text)
					}
				})
			}
		}
	}
}
