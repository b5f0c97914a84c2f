package tank

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
)

// phantomWith is a configuration of phantom with a list, and pandoraWith one of Pandora with a gun and requests.
func phantomWith(kind string) string {
	return "phantom:\n  enabled: true\n  address: 127.0.0.1:1\n  ammofile: list\n  ammo_type: " + kind +
		"\n  load_profile: {load_type: rps, schedule: \"const(1,1s)\"}\n"
}

func pandoraWith(gun, ammo, file string) string {
	return "pandora:\n  enabled: true\n  config_content:\n    pools:\n      - gun: {type: " + gun +
		", target: \"127.0.0.1:1\"}\n        ammo: {type: " + ammo + ", file: " + file +
		"}\n        rps: {type: const, ops: 5, duration: 2s}\n        startup: {type: once, times: 1}\n"
}

// played is a configuration of Pandora with a file of scenarios.
func played(file string) string { return pandoraWith("http/scenario", "http/scenario", file) }

// scheduled is a configuration of phantom with a load profile.
func scheduled(kind, schedule string) string {
	return "phantom:\n  enabled: true\n  address: 127.0.0.1:1\n  uris: [/]\n  load_profile: {load_type: " + kind +
		",\n    schedule: \"" + schedule + "\"}\n"
}

// pooled is a configuration of Pandora with a schedule of requests and one of instances.
func pooled(rps, startup string) string {
	return "pandora:\n  enabled: true\n  config_content:\n    pools:\n      - gun: {type: http, target: \"127.0.0.1:1\"}\n" +
		"        ammo: {type: uri, uris: [/]}\n        rps: " + rps + "\n        startup: " + startup + "\n"
}

// stopped is a configuration with a criterion.
func stopped(criterion string) string {
	return scheduled("rps", "const(1,1s)") + "autostop:\n  autostop: [\"" + criterion + "\"]\n"
}

// packed returns a text packed by gzip.
func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

const garbage = "\x7fELF\x02\x01\x01\x00\xff\xfe\x00\n\x80\x81 \x00"

// badInputs are configurations with what load.yaml and the files list and play must not be, and the fault.
var badInputs = map[string]struct{ load, list, play, want string }{
	"uri ends in the middle": {phantomWith("uri"), "/a\n[Host", "",
		`list:2:1: "[Host" is no header field; write [Name: value]`},
	"uripost ends in the middle": {phantomWith("uripost"), "3 /a\nabc\n10 /b\nabc", "",
		"list:3:1: the list ends in the middle: 3 bytes follow instead of 10"},
	"phantom ends in the middle": {phantomWith("phantom"), "6 t\nGET /a\n100 t\nGET", "",
		"list:3:1: the list ends in the middle: 3 bytes follow instead of 100"},
	"uri is empty": {phantomWith("uri"), "", "",
		"list: no request in this list (ammo_type: uri)"},
	"uri is garbage": {phantomWith("uri"), garbage, "",
		`list:1:1: "\x7fELF\x02\x01\x01\x00\xff\xfe\x00" is no URI`},
	"uripost is empty": {phantomWith("uripost"), "", "",
		"list: no request in this list (ammo_type: uripost)"},
	"uripost is garbage": {phantomWith("uripost"), garbage, "",
		`list:1:1: "\x7fELF\x02\x01\x01\x00\xff\xfe\x00" isn't size, URI and tag`},
	"phantom is empty": {phantomWith("phantom"), "", "",
		"list: no request in this list (ammo_type: phantom)"},
	"phantom is garbage": {phantomWith("phantom"), garbage, "",
		`list:1:1: "\x7fELF\x02\x01\x01\x00\xff\xfe\x00" is no URI`},
	"access is empty": {phantomWith("access"), "", "",
		"list: no request in this list (ammo_type: access)"},
	"access is garbage": {phantomWith("access"), garbage, "",
		"list: no request in this list (ammo_type: access)"},
	"uripost of a negative size": {phantomWith("uripost"), "-5 /a\nabc", "",
		`list:1:1: "-5" isn't the size of a body in bytes`},
	"uripost of a word": {phantomWith("uripost"), "five /a\nabc", "",
		`list:1:1: "five" isn't the size of a body in bytes`},
	"uripost too large": {phantomWith("uripost"), "99999999999999999999 /a\nabc", "",
		`list:1:1: "99999999999999999999" isn't the size of a body in bytes`},
	"uripost size too small": {phantomWith("uripost"), "2 /a\nabcdef\n", "",
		`list:2:1: "cdef" isn't size, URI and tag`},
	"phantom of a negative size": {phantomWith("phantom"), "6\nGET /a\n-6\nGET /b", "",
		`list:3:1: "-6" isn't the size of a request in bytes`},
	"phantom too large": {phantomWith("phantom"), "6\nGET /a\n4294967296 t\nx", "",
		`list:3:1: "4294967296" isn't the size of a request in bytes`},
	"phantom of another list": {phantomWith("phantom"), "/a tag\n[x", "",
		`list:2:1: "[x" is no header field; write [Name: value]`},
	"phantom of spaces": {phantomWith("phantom"), "6\nGET /a\n  \n", "",
		`list:3:1: "  " isn't size and tag`},
	"unknown ammo_type": {phantomWith("caseline"), "/a", "",
		`load.yaml:5:14: ammo_type "caseline": use phantom, uri, uripost, access`},
	"packed, ends in the middle": {phantomWith("uri"), packed(strings.Repeat("/abc/def ghi\n", 99))[:40], "",
		"load.yaml:4:13: can't read list: unexpected EOF"},
	"packed, nothing but a head": {phantomWith("uri"), "\x1f\x8b", "",
		"load.yaml:4:13: can't read list: unexpected EOF"},
	"packed garbage": {phantomWith("uripost"), packed(garbage), "",
		`list:1:1: "\x7fELF\x02\x01\x01\x00\xff\xfe\x00" isn't size, URI and tag`},
	"no list": {strings.Replace(phantomWith("uri"), "list", "none", 1), "", "",
		"load.yaml:4:13: can't open none: no such file or directory"},
	"a folder": {strings.Replace(phantomWith("uri"), "list", ".", 1), "", "",
		"load.yaml:4:13: can't read .: it is a folder"},
	"Pandora uri ends in the middle": {pandoraWith("http", "uri", "list"), "/a\n[Host", "",
		`list:2:1: "[Host" is no header field; write [Name: value]`},
	"Pandora uri is empty": {pandoraWith("http", "uri", "list"), "", "",
		"list: no request in this list"},
	"Pandora uri is garbage": {pandoraWith("http", "uri", "list"), garbage, "",
		`list:1:1: "\x7fELF\x02\x01\x01\x00\xff\xfe\x00" is no URI`},
	"Pandora uripost ends in the middle": {pandoraWith("http", "uripost", "list"), "10 /b\nabc", "",
		"list:1:1: the list ends in the middle: 3 bytes follow instead of 10"},
	"Pandora uripost is empty": {pandoraWith("http", "uripost", "list"), "", "",
		"list: no request in this list"},
	"Pandora uripost is garbage": {pandoraWith("http", "uripost", "list"), garbage, "",
		`list:1:1: "\x7fELF\x02\x01\x01\x00\xff\xfe\x00" isn't size, URI and tag`},
	"Pandora raw ends in the middle": {pandoraWith("http", "raw", "list"), "100 t\nGET / HTTP/1.1\r\n", "",
		"list:1:1: the list ends in the middle: 16 bytes follow instead of 100"},
	"Pandora raw is empty": {pandoraWith("http", "raw", "list"), "", "",
		"list: no request in this list"},
	"Pandora raw is garbage": {pandoraWith("http", "raw", "list"), garbage, "",
		`list:1:1: "\x7fELF\x02\x01\x01\x00\xff\xfe\x00" isn't the size of a request in bytes`},
	"Pandora http/json ends in the middle": {pandoraWith("http", "http/json", "list"), "{\"uri\": \"/a\"}\n{\"u", "",
		"list:2:1: isn't a request in JSON: the list ends in the middle"},
	"Pandora http/json is empty": {pandoraWith("http", "http/json", "list"), "", "",
		"list: no request in this list"},
	"Pandora http/json is garbage": {pandoraWith("http", "http/json", "list"), garbage, "",
		`list:1:1: isn't a request in JSON: invalid character '\x7f' looking for beginning of value`},
	"Pandora raw of a negative size": {pandoraWith("http", "raw", "list"), "-1 t\nGET / HTTP/1.1\r\n\r\n", "",
		`list:1:1: "-1" isn't the size of a request in bytes`},
	"Pandora raw of a size too small": {pandoraWith("http", "raw", "list"), "10 t\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "",
		`list:1:1: these 10 bytes are no request: malformed HTTP version "HTTP"`},
	"Pandora json of another type": {pandoraWith("http", "http/json", "list"), "{\"uri\": 5}", "",
		"list:1:1: isn't a request in JSON: json: cannot unmarshal number into Go struct field entity.uri of"},
	"Pandora json of no path": {pandoraWith("http", "http/json", "list"), "{\"uri\": \"/a\"}\n\n{\"uri\": \"b\"}", "",
		`list:3:1: request 2: "b" is no path`},
	"Pandora json list of no path": {pandoraWith("http", "http/json", "list"), "[{\"uri\": \"/a\"},\n{\"uri\": \"b\"}]", "",
		`list:2:1: request 2: "b" is no path`},
	"Pandora uripost of a negative size": {pandoraWith("http", "uripost", "list"), "\n-1 /a\nx", "",
		`list:2:1: "-1" isn't the size of a body in bytes`},
	"calls end in the middle": {pandoraWith("grpc", "grpc/json", "list"), "{\"call\": \"a.B.C\"}\n{\"call\": \"a.B", "",
		"list:2:1: the call ends in the middle"},
	"calls are empty": {pandoraWith("grpc", "grpc/json", "list"), "", "",
		"list: no call in this list"},
	"calls are garbage": {pandoraWith("grpc", "grpc/json", "list"), garbage, "",
		`list:1:1: isn't a call in JSON: invalid character '\x7f' looking for beginning of value`},
	"yaml scenarios end in the middle": {played("play.yaml"), "", "requests:\n  - {name: a, uri: /",
		"play.yaml:2:1: isn't YAML: did not find expected ',' or '}'"},
	"yaml scenarios are empty": {played("play.yaml"), "", "",
		"play.yaml: is empty"},
	"yaml scenarios are garbage": {played("play.yaml"), "", garbage,
		"play.yaml:1:1: isn't YAML: control characters are not allowed (value: 2)"},
	"json scenarios end in the middle": {played("play.json"), "", "{\"requests\": [{\"name\": \"a\",",
		"play.json:1:1: isn't YAML: did not find expected node content"},
	"json scenarios are empty": {played("play.json"), "", "",
		"play.json: is empty"},
	"json scenarios are garbage": {played("play.json"), "", garbage,
		"play.json:1:1: isn't YAML: control characters are not allowed (value: 2)"},
	"hcl scenarios end in the middle": {played("play.hcl"), "", "request \"a\" {\n  uri = \"/\"\n",
		"play.hcl:1:13: Unclosed configuration block: There is no closing brace for this block before the"},
	"hcl scenarios are empty": {played("play.hcl"), "", "",
		"play.hcl: no scenarios"},
	"hcl scenarios are garbage": {played("play.hcl"), "", garbage,
		"play.hcl:1:1: Invalid character: This character is not used within the language"},
	"scenario of an unknown request": {played("play.yaml"), "", "requests: [{name: a, uri: /}]\nscenarios: [{name: s, requests: [b]}]",
		`play.yaml:2:34: there is no request "b"`},
	"scenario of a wrong count": {played("play.yaml"), "", "requests: [{name: a, uri: /}]\nscenarios: [{name: s, requests: [\"a(-1)\"]}]",
		`play.yaml:2:34: "a(-1)": write name(times, pause in ms)`},
	"a template that ends in the middle": {played("play.yaml"), "", "requests: [{name: a, uri: \"/{{.x\"}]\nscenarios: [{name: s, requests: [a]}]",
		"play.yaml:1:12: request a: uri:1: unclosed action"},
	"an unknown function": {played("play.yaml"), "", "requests: [{name: a, uri: \"/{{randFloat}}\"}]\nscenarios: [{name: s, requests: [a]}]",
		`play.yaml:1:12: request a: uri:1: function "randFloat" not defined`},
	"a wrong path": {played("play.yaml"), "", "requests:\n  - {name: a, uri: /, postprocessors: [{type: var/jsonpath, mapping: {x: \"$.a[?(@.b<1)]\"}}]}\nscenarios: [{name: s, requests: [a]}]",
		`play.yaml:2:40: postprocessor var/jsonpath: the path "$.a[?(@.b<1)]": "<1)]" isn't expected;`},
	"a source without a file": {played("play.yaml"), "", "variable_sources: [{name: u, type: file/csv, file: none.csv}]\nrequests: [{name: a, uri: /}]\nscenarios: [{name: s, requests: [a]}]",
		"play.yaml:1:52: can't open none.csv: no such file or directory"},
	"a negative weight": {played("play.yaml"), "", "requests: [{name: a, uri: /}]\nscenarios: [{name: s, weight: -3, requests: [a]}]",
		"play.yaml:2:31: weight must be above 0, not -3"},
	"an unknown key of a request": {played("play.yaml"), "", "requests: [{name: a, uri: /, timeout: 5}]\nscenarios: [{name: s, requests: [a]}]",
		`play.yaml:1:30: unknown key "timeout" in a request; remove it`},
	"schedule line(1,10": {scheduled("rps", "line(1,10"), "", "",
		"load.yaml:6:15: line(1,10): write line(from, to, duration)"},
	"schedule const(10)": {scheduled("rps", "const(10)"), "", "",
		"load.yaml:6:15: const(10): write const(rps, duration)"},
	"schedule step(1,2,0,10s)": {scheduled("rps", "step(1,2,0,10s)"), "", "",
		"load.yaml:6:15: step(1,2,0,10s): the increment is 0"},
	"schedule ": {scheduled("rps", ""), "", "",
		"load.yaml:5:17: load_profile has no schedule; add for example schedule: line(1, 10, 5m)"},
	"schedule line(1,10,10s) junk": {scheduled("rps", "line(1,10,10s) junk"), "", "",
		`load.yaml:6:15: "junk" is no step; write for example line(1, 10, 5m) const(10, 1h)`},
	"schedule line(-1,10,10s)": {scheduled("rps", "line(-1,10,10s)"), "", "",
		`load.yaml:6:15: line(-1,10,10s): "-1" is no number from 0 to 1e+09`},
	"schedule const(10,0s)": {scheduled("rps", "const(10,0s)"), "", "",
		`load.yaml:6:15: const(10,0s): "0s" is no time above zero`},
	"schedule const(10,-5s)": {scheduled("rps", "const(10,-5s)"), "", "",
		`load.yaml:6:15: const(10,-5s): "-5s" is no duration; write for example 90s, 5m or 1h30m`},
	"schedule const(1e99,1s)": {scheduled("rps", "const(1e99,1s)"), "", "",
		`load.yaml:6:15: const(1e99,1s): "1e99" is no number from 0 to 1e+09`},
	"schedule linear(1,2,3s)": {scheduled("rps", "linear(1,2,3s)"), "", "",
		`load.yaml:6:15: linear(1,2,3s): unknown step "linear"; use line, const or step`},
	"schedule const(10,5x)": {scheduled("rps", "const(10,5x)"), "", "",
		`load.yaml:6:15: const(10,5x): "5x" is no duration; write for example 90s, 5m or 1h30m`},
	"schedule step(1,1000000,1,1s)": {scheduled("rps", "step(1,1000000,1,1s)"), "", "",
		"load.yaml:6:15: step(1,1000000,1,1s): more than 10000 steps"},
	"schedule const(0,10s)": {scheduled("rps", "const(0,10s)"), "", "",
		"load.yaml:6:15: the schedule has no request: it is too short for its rates"},
	"schedule const(NaN,1s)": {scheduled("rps", "const(NaN,1s)"), "", "",
		`load.yaml:6:15: const(NaN,1s): "NaN" is no number from 0 to 1e+09`},
	"schedule ramp(5,10s)": {scheduled("rps", "ramp(5,10s)"), "", "",
		`load.yaml:6:15: ramp(5,10s): unknown step "ramp"; use line, const or step`},
	"schedule const(,1s)": {scheduled("rps", "const(,1s)"), "", "",
		`load.yaml:6:15: const(,1s): "" is no number from 0 to 1e+09`},
	"schedule const(10,99999d)": {scheduled("rps", "const(10,99999d)"), "", "",
		`load.yaml:6:15: const(10,99999d): "99999d" is no duration; write for example 90s, 5m or 1h30m`},
	"instances line(1,10": {scheduled("instances", "line(1,10"), "", "",
		"load.yaml:6:15: line(1,10): write line(from, to, duration)"},
	"instances const(0,1s)": {scheduled("instances", "const(0,1s)"), "", "",
		"load.yaml:6:15: the schedule starts no instance"},
	"instances ramp(1,10s)": {scheduled("instances", "ramp(1,10s)"), "", "",
		"load.yaml:6:15: ramp(1,10s): a ramp needs at least two instances"},
	"instances step(1,2,0,10s)": {scheduled("instances", "step(1,2,0,10s)"), "", "",
		"load.yaml:6:15: step(1,2,0,10s): the increment is 0"},
	"instances start(-1)": {scheduled("instances", "start(-1)"), "", "",
		"load.yaml:6:15: start(-1): instances can't be stopped"},
	"instances start(x)": {scheduled("instances", "start(x)"), "", "",
		"load.yaml:6:15: start(x): write start(instances)"},
	"instances line(10,1,5s)": {scheduled("instances", "line(10,1,5s)"), "", "",
		"load.yaml:6:15: line(10,1,5s): a ramp needs at least two instances"},
	"instances const(1.5,1s)": {scheduled("instances", "const(1.5,1s)"), "", "",
		`load.yaml:6:15: const(1.5,1s): "1.5" is no number of instances from 0 to 1000000`},
	"instances const(99999999,1s)": {scheduled("instances", "const(99999999,1s)"), "", "",
		`load.yaml:6:15: const(99999999,1s): "99999999" is no number of instances from 0 to 1000000`},
	"instances wait(5s)": {scheduled("instances", "wait(5s)"), "", "",
		"load.yaml:6:15: the schedule starts no instance"},
	"load_type": {scheduled("closed", "const(1,1s)"), "", "",
		`load.yaml:5:29: load_type "closed": use rps, instances or stpd_file`},
	"autostop time(1s,10s": {stopped("time(1s,10s"), "", "",
		`load.yaml:8:14: autostop: "time(1s,10s" is no criterion; write for example time(1s, 10s)`},
	"autostop time": {stopped("time"), "", "",
		`load.yaml:8:14: autostop: "time" is no criterion; write for example time(1s, 10s)`},
	"autostop time()": {stopped("time()"), "", "",
		"load.yaml:8:14: autostop: time(): write time(1500ms, 10s)"},
	"autostop time(1s)": {stopped("time(1s)"), "", "",
		"load.yaml:8:14: autostop: time(1s): write time(1500ms, 10s)"},
	"autostop time(abc,1s)": {stopped("time(abc,1s)"), "", "",
		`load.yaml:8:14: autostop: time(abc,1s): "abc" is no time`},
	"autostop quantile(42,1s,1s)": {stopped("quantile(42,1s,1s)"), "", "",
		"load.yaml:8:14: autostop: quantile(42,1s,1s): quantile 42 isn't computed; use one of [50 75 80 85"},
	"autostop quantile(x,1s,1s)": {stopped("quantile(x,1s,1s)"), "", "",
		"load.yaml:8:14: autostop: quantile(x,1s,1s): quantile x isn't computed; use one of [50 75 80 85 90"},
	"autostop http(5xx,abc,1s)": {stopped("http(5xx,abc,1s)"), "", "",
		`load.yaml:8:14: autostop: http(5xx,abc,1s): "abc" is no level; write a number or a share such as 10%`},
	"autostop http(5[,1%,1s)": {stopped("http(5[,1%,1s)"), "", "",
		`load.yaml:8:14: autostop: http(5[,1%,1s): "5[" is no mask of codes; write for example 5xx or 110`},
	"autostop http(5xx,-1,1s)": {stopped("http(5xx,-1,1s)"), "", "",
		`load.yaml:8:14: autostop: http(5xx,-1,1s): "-1" is no level; write a number or a share such as 10%`},
	"autostop net(xx,1)": {stopped("net(xx,1)"), "", "",
		"load.yaml:8:14: autostop: net(xx,1): write net(xx, 25, 10s)"},
	"autostop instances(x,1s)": {stopped("instances(x,1s)"), "", "",
		`load.yaml:8:14: autostop: instances(x,1s): "x" is no level; write a number or a share such as 10%`},
	"autostop limit()": {stopped("limit()"), "", "",
		`load.yaml:8:14: autostop: limit(): "" is no time`},
	"autostop limit(abc)": {stopped("limit(abc)"), "", "",
		`load.yaml:8:14: autostop: limit(abc): "abc" is no time`},
	"autostop total_time(1s,5,3s)": {stopped("total_time(1s,5,3s)"), "", "",
		`load.yaml:8:14: autostop: total_time(1s,5,3s): "5" is no share; write for example 70%`},
	"autostop total_http(5xx,10%)": {stopped("total_http(5xx,10%)"), "", "",
		"load.yaml:8:14: autostop: total_http(5xx,10%): write total_http(5xx, 10%, 5s)"},
	"autostop http_trend(2xx)": {stopped("http_trend(2xx)"), "", "",
		"load.yaml:8:14: autostop: http_trend(2xx): write http_trend(2xx, 10s)"},
	"autostop negative_http(2xx,1%,1x)": {stopped("negative_http(2xx,1%,1x)"), "", "",
		`load.yaml:8:14: autostop: negative_http(2xx,1%,1x): "1x" is no time; use ms, s, m, h, d or w`},
	"autostop steady_cumulative(5s)": {stopped("steady_cumulative(5s)"), "", "",
		`load.yaml:8:14: autostop: criterion "steady_cumulative" isn't available; use http, http_trend,`},
	"autostop metric_higher(a,b,1,2)": {stopped("metric_higher(a,b,1,2)"), "", "",
		`load.yaml:8:14: autostop: criterion "metric_higher" isn't available; use http, http_trend,`},
	"autostop nonsense(1)": {stopped("nonsense(1)"), "", "",
		`load.yaml:8:14: autostop: criterion "nonsense" isn't available; use http, http_trend, instances,`},
	"pool {type: const, ops: -5, duration: 2s} {type: once, times: 1}": {pooled("{type: const, ops: -5, duration: 2s}", "{type: once, times: 1}"), "", "",
		`load.yaml:7:33: ops must be a number from 0 to 1e+09, not "-5"`},
	"pool {type: const, ops: 5} {type: once, times: 1}": {pooled("{type: const, ops: 5}", "{type: once, times: 1}"), "", "",
		"load.yaml:7:14: const has no duration of at least 1ms"},
	"pool {type: line, from: 1, to: x, duration: 2s} {type: once, times: 1}": {pooled("{type: line, from: 1, to: x, duration: 2s}", "{type: once, times: 1}"), "", "",
		`load.yaml:7:40: to must be a number from 0 to 1e+09, not "x"`},
	"pool {type: step, from: 1, to: 2, step: 0, duration: 2s} {type: once, times: 1}": {pooled("{type: step, from: 1, to: 2, step: 0, duration: 2s}", "{type: once, times: 1}"), "", "",
		"load.yaml:7:14: step(1 2 0 2s): the increment is 0"},
	"pool {type: step, from: 5, to: 2, step: 1, duration: 2s} {type: once, times: 1}": {pooled("{type: step, from: 5, to: 2, step: 1, duration: 2s}", "{type: once, times: 1}"), "", "",
		"load.yaml:7:14: step: to is below from"},
	"pool {type: once, times: 0} {type: once, times: 1}": {pooled("{type: once, times: 0}", "{type: once, times: 1}"), "", "",
		"load.yaml:7:14: once has no times above 0"},
	"pool {type: sometimes} {type: once, times: 1}": {pooled("{type: sometimes}", "{type: once, times: 1}"), "", "",
		`load.yaml:7:14: the schedule "sometimes" isn't available; use const, line, step, once or unlimited`},
	"pool {} {type: once, times: 1}": {pooled("{}", "{type: once, times: 1}"), "", "",
		`load.yaml:7:14: the schedule "" isn't available; use const, line, step, once or unlimited`},
	"pool 5 {type: once, times: 1}": {pooled("5", "{type: once, times: 1}"), "", "",
		"load.yaml:7:14: rps must be a mapping of keys to values"},
	"pool [] {type: once, times: 1}": {pooled("[]", "{type: once, times: 1}"), "", "",
		"load.yaml:5:9: the pool has no rps; add for example rps: {type: line, from: 1, to: 5, duration: 60s}"},
	"pool [{type: unlimited, duration: 1s}, {type: const, ops: 5, duration: 2s}] {type: once, times: 1}": {pooled("[{type: unlimited, duration: 1s}, {type: const, ops: 5, duration: 2s}]", "{type: once, times: 1}"), "", "",
		"load.yaml:7:15: unlimited among other steps isn't available"},
	"pool {type: const, ops: 5, duration: 2s} {type: once, times: -1}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: once, times: -1}"), "", "",
		"load.yaml:8:18: startup: instances can't be stopped"},
	"pool {type: const, ops: 5, duration: 2s} {type: once, times: 0}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: once, times: 0}"), "", "",
		"load.yaml:8:18: startup starts no instance"},
	"pool {type: const, ops: 5, duration: 2s} []": {pooled("{type: const, ops: 5, duration: 2s}", "[]"), "", "",
		"load.yaml:8:18: the pool has no startup; add for example startup: {type: once, times: 10}"},
	"pool {type: const, ops: 5, duration: 2s} {type: unlimited, duration: 5s}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: unlimited, duration: 5s}"), "", "",
		`load.yaml:8:18: the startup "unlimited" isn't available; use once, const, line, step or`},
	"pool {type: const, ops: 5, duration: 2s} {type: line, from: 0, to: 1000000000, duration: 5s}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: line, from: 0, to: 1000000000, duration: 5s}"), "", "",
		"load.yaml:8:18: startup: more than 1000000 instances"},
	"pool {type: const, ops: 5, duration: 2s} {type: const, ops: 0, duration: 1s}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: const, ops: 0, duration: 1s}"), "", "",
		"load.yaml:8:18: startup starts no instance"},
	"pool {type: const, ops: 5, duration: 2s} {type: instance_step, from: 1, to: 5, step: 0, stepduration: 1s}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: instance_step, from: 1, to: 5, step: 0, stepduration: 1s}"), "", "",
		"load.yaml:8:18: instance_step has no step above 0"},
	"pool {type: const, ops: 5, duration: 2s} {type: composite, nested: [{type: x}]}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: composite, nested: [{type: x}]}"), "", "",
		`load.yaml:8:45: the startup "x" isn't available; use once, const, line, step or instance_step`},
	"pool {type: const, ops: 5, duration: 2s} {type: composite, nest: []}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: composite, nest: []}"), "", "",
		`load.yaml:8:36: unknown key "nest" in composite; did you mean nested?`},
	"pool {type: const, ops: 5, duration: 2s} {type: line, from: 1, to: 5}": {pooled("{type: const, ops: 5, duration: 2s}", "{type: line, from: 1, to: 5}"), "", "",
		"load.yaml:8:18: line has no duration of at least 1ms"},
	"load.yaml is empty": {"", "", "",
		"load.yaml: is empty"},
	"load.yaml is garbage": {garbage, "", "",
		"load.yaml:1:1: isn't YAML: control characters are not allowed (value: 2)"},
	"load.yaml is a list": {"- phantom", "", "",
		"load.yaml:1:1: must be a mapping of sections, such as phantom"},
	"load.yaml ends in the middle": {"phantom: {enabled: true, ", "", "",
		"load.yaml:1:1: isn't YAML: did not find expected node content"},
	"load.yaml has a tab": {"phantom:\n\tenabled: true\n", "", "",
		"load.yaml:2:1: isn't YAML: found character that cannot start any token"},
	"no generator": {"phantom: {enabled: false}", "", "",
		"load.yaml:1:1: no generator is enabled; add phantom, pandora or bfg with enabled: true"},
	"an unknown section": {scheduled("rps", "const(1,1s)") + "fantom: {}\n", "", "",
		`load.yaml:7:1: unknown key "fantom" in the configuration; did you mean phantom?`},
	"an unknown key": {scheduled("rps", "const(1,1s)") + "  instanses: 5\n", "", "",
		`load.yaml:7:3: unknown key "instanses" in phantom; did you mean instances?`},
	"a section that is a text": {"phantom: yes", "", "",
		"load.yaml:1:10: phantom must be a mapping of keys to values"},
	"negative instances": {scheduled("rps", "const(1,1s)") + "  instances: -5\n", "", "",
		"load.yaml:7:14: instances: give a number from 1 to 1000000"},
	"loop is a word": {scheduled("rps", "const(1,1s)") + "  loop: x\n", "", "",
		`load.yaml:7:9: loop must be a whole number, not "x"`},
	"ssl is a word": {scheduled("rps", "const(1,1s)") + "  ssl: perhaps\n", "", "",
		"load.yaml:7:8: ssl must be true or false"},
	"timeout": {scheduled("rps", "const(1,1s)") + "  timeout: -5s\n", "", "",
		`load.yaml:7:12: timeout: "-5s" is no duration; write for example 90s, 5m or 1h30m`},
	"header_http": {scheduled("rps", "const(1,1s)") + "  header_http: '3'\n", "", "",
		`load.yaml:7:16: header_http "3": use 1.0 or 1.1`},
	"headers": {scheduled("rps", "const(1,1s)") + "  headers: [Host]\n", "", "",
		`load.yaml:7:12: "Host" is no header field; write [Name: value]`},
	"an unknown gun": {pandoraWith("websocket", "uri", "list"), "/a", "",
		`load.yaml:5:21: the gun "websocket" isn't available; use http, http2, connect, http/scenario, grpc,`},
	"an unknown provider": {pandoraWith("http", "kafka", "list"), "/a", "",
		`load.yaml:6:22: ammo "kafka" isn't available; use http/json, jsonline, raw, uri, uripost or`},
	"a provider of another gun": {pandoraWith("grpc", "uri", "list"), "/a", "",
		`load.yaml:6:22: ammo "uri" doesn't fit the gun "grpc"; use grpc/json`},
	"an unknown key of a gun": {pandoraWith("http, targt: x", "uri", "list"), "/a", "",
		`load.yaml:5:27: unknown key "targt" in gun; did you mean target?`},
	"an unknown generator": {"bfg:\n  enabled: true\n  gun_type: sql\n", "", "",
		`load.yaml:3:13: gun_type "sql" isn't available: it is a program in Python; only http is sent`},
	"a plugin of a program": {"jmeter: {enabled: true}", "", "",
		"load.yaml:1:1: jmeter isn't available: use brunt jmeter for its plan"},
	"tabs in an address": {"phantom: {enabled: true, address: 'a b', uris: [/], load_profile: {load_type: rps, schedule: 'const(1,1s)'}}", "", "",
		`load.yaml:1:35: address "a b" is no host:port`},
	"no address": {"phantom: {enabled: true, uris: [/], load_profile: {load_type: rps, schedule: 'const(1,1s)'}}", "", "",
		"load.yaml:1:10: phantom has no address; add address: host:port"},
	"no load profile": {"phantom: {enabled: true, address: 'a:1', uris: [/]}", "", "",
		"load.yaml: load_profile must be a mapping of keys to values"},
}

// faultForm is a place in a file: file:line:column, or what the command line has.
var faultForm = regexp.MustCompile(`^(load\.yaml|list|play\.(yaml|json|hcl))(:\d+:\d+)?: \S`)

// Each fault is a line with its place, and is found before the load.
func TestBadInput(t *testing.T) {
	for name, c := range badInputs {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for file, text := range map[string]string{"load.yaml": c.load, "list": c.list, "play.yaml": c.play,
				"play.json": c.play, "play.hcl": c.play} {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cfg, err := Load(&Options{Configs: []string{"load.yaml"}})
			if err == nil {
				_, err = cfg.Plan()
			}
			if err == nil {
				err = errors.New("no fault")
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			if !strings.HasPrefix(first, c.want) || c.want == "" {
				t.Errorf("%s\nwant %s", err, c.want)
			}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !faultForm.MatchString(line) {
					t.Errorf("%q has no place", line)
				}
			}
		})
	}
}
