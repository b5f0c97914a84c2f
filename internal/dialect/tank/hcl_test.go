package tank

import (
	"strings"
	"testing"
)

// inHCL uses each block that there is, two blocks of locals, functions and a text of several lines.
const inHCL = `
locals {
  common = { Accept = "a/b" }
  which  = "next"
}
locals {
  both = merge(local.common, { Token = "{{.request.login.postprocessor.token}}" })
}
variable_source "v" "variables" {
  variables = { user = "me", age = 7 }
}
request "login" {
  method  = "POST"
  uri     = "/login"
  headers = local.common
  body    = <<EOF
{"user": "{{.source.v.user}}"}
EOF
  templater { type = "html" }
  preprocessor {
    mapping = { u = "source.v[${local.which}].user" }
  }
  postprocessor "var/jsonpath" {
    mapping = { token = "$.token" }
  }
  postprocessor "assert/response" {
    body        = ["token"]
    status_code = 200
    size {
      val = 4
      op  = ">"
    }
  }
}
request "order" {
  method  = "GET"
  uri     = "/order"
  headers = local.both
}
scenario "s" {
  weight           = 2
  min_waiting_time = 500
  requests         = concat(["login(1, 100)"], ["order(2)"])
}
`

const inYAML = `
variable_sources: [{type: variables, name: v, variables: {user: me, age: "7"}}]
requests:
  - name: login
    method: POST
    uri: /login
    headers: {Accept: a/b}
    body: "{\"user\": \"{{.source.v.user}}\"}\n"
    templater: {type: html}
    preprocessor: {mapping: {u: "source.v[next].user"}}
    postprocessors:
      - {type: var/jsonpath, mapping: {token: $.token}}
      - {type: assert/response, body: [token], status_code: 200, size: {val: 4, op: ">"}}
  - name: order
    method: GET
    uri: /order
    headers: {Accept: a/b, Token: "{{.request.login.postprocessor.token}}"}
scenarios:
  - {name: s, weight: 2, min_waiting_time: 500, requests: ["login(1, 100)", "order(2)"]}
`

// inJSON is written as programs write JSON: with tabs, and escapes of all that isn't ASCII.
const inJSON = `{
	"variable_sources": [{"type": "variables", "name": "v", "variables": {"user": "m\u00e9 \ud83d\ude00", "age": "7"}}],
	"requests": [
		{
			"name": "login", "method": "POST", "uri": "\/login", "headers": {"Accept": "a/b"},
			"body": "{\"user\": \"{{.source.v.user}}\"}\n",
			"templater": {"type": "html"},
			"preprocessor": {"mapping": {"u": "source.v[next].user"}},
			"postprocessors": [
				{"type": "var/jsonpath", "mapping": {"token": "$.token"}},
				{"type": "assert/response", "body": ["token"], "status_code": 200, "size": {"val": 4, "op": ">"}}
			]
		},
		{"name": "order", "method": "GET", "uri": "/order",
			"headers": {"Accept": "a/b", "Token": "{{.request.login.postprocessor.token}}"}}
	],
	"scenarios": [{"name": "s", "weight": 2, "min_waiting_time": 500, "requests": ["login(1, 100)", "order(2)"]}]
}
`

// Scenarios in JSON are those in YAML.
func TestScenariosInJSON(t *testing.T) {
	read := func(text string) *playbook {
		root, err := parseYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r := &reader{file: "s"}
		p, err := r.playbook(root, ".", 0)
		if err != nil || len(r.faults) > 0 {
			t.Fatal(err, r.faults)
		}
		return p
	}
	got, want := read(inJSON), read(strings.ReplaceAll(inYAML, "user: me", "user: mé 😀"))
	if len(got.scenarios) != 1 || asJSON(got.scenarios) != asJSON(want.scenarios) || got.sources != want.sources {
		t.Errorf("JSON\n%s%s\nYAML\n%s%s", asJSON(got.scenarios), got.sources, asJSON(want.scenarios), want.sources)
	}
}

func TestScenariosInHCL(t *testing.T) {
	fromHCL, fromYAML := &reader{file: "s.hcl"}, &reader{file: "s.yaml"}
	root, err := parseYAML([]byte(inYAML))
	if err != nil {
		t.Fatal(err)
	}
	want, err := fromYAML.playbook(root, ".", 0)
	if err != nil || len(fromYAML.faults) > 0 {
		t.Fatal(err, fromYAML.faults)
	}
	node := fromHCL.hcl([]byte(inHCL))
	if node == nil {
		t.Fatal(fromHCL.faults)
	}
	got, err := fromHCL.playbook(node, ".", 0)
	if err != nil || len(fromHCL.faults) > 0 {
		t.Fatal(err, fromHCL.faults)
	}
	if len(got.scenarios) != 1 || asJSON(got.scenarios) != asJSON(want.scenarios) || got.sources != want.sources {
		t.Errorf("HCL\n%s%s\nYAML\n%s%s", asJSON(got.scenarios), got.sources, asJSON(want.scenarios), want.sources)
	}
}

func TestFaultsOfHCL(t *testing.T) {
	for text, want := range map[string]string{
		"request \"a\" {\n  uri =\n}":                                 "f.hcl:2:8: Invalid expression: ",
		"request \"a\" {\n  uri = local.none\n}":                      "f.hcl:2:14: Unsupported attribute: ",
		"request \"a\" {\n  uri = nothing(1)\n}":                      "f.hcl:2:9: Call to unknown function: ",
		"requst \"a\" {}":                                             `f.hcl:1:1: unknown block "requst"; did you mean request?`,
		"request {}":                                                  "f.hcl:1:1: the block request has 0 labels; it takes 1 (name)",
		"request \"a\" {\n  urii = \"/\"\n}":                          `f.hcl:2:3: unknown key "urii" in a request; did you mean uri?`,
		"request \"a\" {\n  uri = \"/\"\n  locals {}\n}":              `f.hcl:3:3: unknown block "locals"; `,
		"scenario \"s\" {\n  requests = [\"b\"]\n}":                   `f.hcl:2:14: there is no request "b"`,
		"request \"a\" {\n  uri = \"/\"\n  body = <<EOF\nabc":         "f.hcl:4:",
		"scenario \"s\" {\n  requests = [\"b\"]\n  weight = \"x\"\n}": `f.hcl:`,
	} {
		r := &reader{file: "f.hcl"}
		if root := r.hcl([]byte(text)); root != nil {
			_, _ = r.playbook(root, ".", 0)
		}
		if len(r.faults) == 0 || !strings.HasPrefix(r.faults[0], want) || strings.Contains(r.faults[0], "\n") {
			t.Errorf("%q: %q, want %s", text, r.faults, want)
		}
	}
}

func FuzzHCL(f *testing.F) {
	f.Add(inHCL)
	f.Add("locals { a = [1, null, true] }\nscenario \"s\" { requests = local.a }")
	f.Fuzz(func(t *testing.T, text string) {
		r := &reader{file: "f"}
		root := r.hcl([]byte(text))
		if root == nil {
			if len(r.faults) == 0 {
				t.Error("neither scenarios nor a fault")
			}
			return
		}
		_, _ = r.playbook(root, ".", 0)
	})
}
