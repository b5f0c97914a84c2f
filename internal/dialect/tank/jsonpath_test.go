package tank

import (
	"encoding/json"
	"strings"
	"testing"
)

// pathsOf is what the paths are asked of.
const pathsOf = `{"items":[{"id":1,"n":"a","ok":true,"s":"x y"},{"id":2,"n":"b","ok":false},
	{"id":3,"n":"a","tags":["p","q"]}],"want":2,"m":{"a":1,"b":2},"a b":{"id":"x"},"list":[10,20,30,40],
	"big":12345678,"nul":null}`

// The values are those of github.com/PaesslerAG/jsonpath 0.1.1, which Pandora uses, except for negative elements and
// texts in single quotes, which it doesn't take.
func TestJSONPaths(t *testing.T) {
	v, err := decodeJSON([]byte(pathsOf))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"$.items[0].id": "1", "$.items[9].id": "there is no element 9", "$.none": "there is no member none",
		"$.items[*].id": "[1,2,3]", "$.items[?(@.id==2)].n": `["b"]`, "$.items[?(@.id == $.want)].n": `["b"]`,
		`$.items[?@.n=="a"].id`: "[1,3]", `$.items[?(@.n=='a')].id`: "[1,3]", "$.items[?(@.n==`a`)].id": "[1,3]",
		"$.items[?(@.ok)].id": "[1]", `$.items[?(@.n!="a")].id`: "[2]", "$.items[?(@.tags)].id": "[]",
		"$.items[0,2].id": "[1,3]", "$.list[1:3]": "[20,30]", "$.list[:2]": "[10,20]", "$.list[2:]": "[30,40]",
		"$.list[-2:]": "[30,40]", "$.list[::2]": "[10,30]", "$.list[::-1]": "[40,30,20,10]", "$.list[:]": "[10,20,30,40]",
		"$.m.*": "[1,2]", `$.m["a","b"]`: "[1,2]", "$..[0]": `[{"id":1,"n":"a","ok":true,"s":"x y"},"p",10]`,
		"$.list[0,1]": "[10,20]", `$["a b"].id`: `"x"`, "$.nul": "null", "$.items.length": "length is no number",
		"$.items[$.want].id": "3", "$.items[?(@.id==1)][0]": "[]", `$.items[?(@.n=="a")].tags[0]`: `["p"]`,
		"$.m[*]": "[1,2]", "$.items[?(@.ok==true)].id": "[1]", "$.items[?(@.id==1.0)].id": "[1]",
		"$..items[0].id": "[1]", "$.items..tags[1]": `["q"]`, "$..[?(@.id==3)].n": `["a"]`, "$ .want": "2",
		"$.items [1] . id": "2", "$.items[?(2==@.id)].n": `["b"]`, `$.items[?(@.tags[0]=="p")].id`: "[3]",
		"$.items[?(-1 == -1)].id": "[1,2,3]", "$.items[1:2].n": `["b"]`, `$.items["0"].id`: "1", `$.m["a"]`: "1",
		"$.list[3:1]": "[]", "$.items[?(@.id)].id": "[1,2,3]", `$.items[?(@.s=="x y")].id`: "[1]",
		`$.items[?(@.n=="a" )]["id","n"]`: `[1,"a",3,"a"]`, "$..id[0]": "[]", "$.m[?(@==2)]": "[2]",
		"$.list[?(@!=20)]": "[10,30,40]", "$.list[0][0]": "of what is neither an object nor a list",
		"$.m.a.b": "of what is neither an object nor a list", "$.items[?(@.id == 2) == true].id": "[2]",
		"$['a b'].id": `"x"`, "$.items[-1].id": "3", "$.items[?(@.n=='ab')].id": "[]", "$..tags": `[["p","q"]]`,
	} {
		t.Run(path, func(t *testing.T) {
			p, err := parseJSONPath(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := p.get(v)
			text, _ := json.Marshal(found)
			if err != nil {
				text = []byte(err.Error())
			}
			if got := string(text); got != want && (err == nil || !strings.Contains(got, want)) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	for path, want := range map[string]string{
		"$.items[?(@.id<3)].n": `"<3)].n" isn't expected; Pandora compares by == and != only`,
		`$.a[?(@.n=~"^a")]`:    "Pandora compares by == and != only",
		"$.a[?(!@.ok)]":        `"!@.ok)]" isn't expected; write a number, a path, true, false or a text in quotes`,
		"$.a[?(@.id in [1])]":  "Pandora compares by == and != only", "$.": "it ends in the middle",
		"$[": "it ends in the middle", "$.a[?(@.b": "it ends in the middle",
		`$.a["b`: "it ends in the middle", "$.a[1:2:3:4]": "at most three numbers",
		"$.a[?(@.n==\"a\")].id x": `"x" isn't expected`, "$..[1:2]": "at any depth", "a.b": "doesn't begin with $",
		"$.a[]": `"]" isn't expected`, "$.a[b]": `"b]" isn't expected`, "$..": "it ends in the middle", "$.a..": "middle",
		"$.[0]": "a name is empty", "$.a[0 1]": `"1]" isn't expected`,
		"$[" + strings.Repeat("(", 60): "nested too deep",
	} {
		if _, err := parseJSONPath(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// Numbers of answers and of files in JSON are floating, as Pandora's, and those of variables whole if they are.
func TestNumbersOfSources(t *testing.T) {
	file, err := decodeJSON([]byte(`[12345678, 0.5, 7]`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := encodeSources(map[string]any{"f": file, "v": map[string]any{"n": 12345678, "x": 1e300}})
	if err != nil {
		t.Fatal(err)
	}
	sources, err := decodeSources(text)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{vars: map[string]any{"source": sources}, own: map[*compiled]executor{}}
	const written = `{{index .source.f 0}} {{index .source.f 1}} {{index .source.f 2}} {{printf "%.0f" (index .source.f 0)}} ` +
		`{{.source.v.n}} {{range $i, $e := .source.f}}{{if eq $e 7.0}}{{$i}}{{else}}-{{end}}{{end}} {{.source.v.x}}`
	c, err := parseTemplate("t", written, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.execute(c); err != nil || got != "1.2345678e+07 0.5 7 12345678 12345678 --2 1e+300" {
		t.Errorf("%q, %v", got, err)
	}
}
