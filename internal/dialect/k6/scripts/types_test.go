package scripts_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared returns the members of an interface in the type declarations.
func declared(t *testing.T, text, module, name string) (members []string) {
	t.Helper()
	_, text, ok := strings.Cut(text, "declare module \""+module+"\" {\n")
	if ok {
		text, _, _ = strings.Cut(text, "\n}\n")
		_, text, ok = strings.Cut(text, "interface "+name+" {\n")
	}
	if !ok {
		t.Fatalf("%s declares no %s", module, name)
	}
	text, _, _ = strings.Cut(text, "\n  }\n")
	for _, m := range regexp.MustCompile(`(?m)^    (?:readonly )?"?([a-zA-Z0-9]+)"?\??[(:]`).FindAllStringSubmatch(text,
		-1) {
		members = append(members, m[1])
	}
	slices.Sort(members)
	return members
}

// The type declarations have the same members as the modules.
func TestTypeDeclarations(t *testing.T) {
	t.Parallel()
	types := text(t, root+"/examples/k6/modules.d.ts")
	o := run(t, script(t, `
		import tarantool from "k6/x/tarantool";
		import datagen from "k6/x/datagen";
		import picostress from "k6/x/picostress";
		import brunt from "k6/x/brunt";
		const db = brunt.open("sqlite::memory:types");
		export default function () {
			const all = {
				"k6/x/tarantool Module": tarantool, "k6/x/datagen Module": datagen, "k6/x/datagen Source<T>": datagen.generator("UUID"),
				"k6/x/picostress Module": picostress, "k6/x/picostress Instance": picostress.new(),
				"k6/x/brunt Module": brunt, "k6/x/brunt Database": db, "k6/x/brunt Statement": db.prepare("select 1"), "k6/x/brunt Change": db.exec("select 1"),
			};
			for (const [name, object] of Object.entries(all)) console.log("[" + name + "=" + Object.getOwnPropertyNames(object).sort().join(",") + "]");
		}`))
	found := regexp.MustCompile(`\[(k6/x/\w+) ([\w<>]+)=([^\]]*)\]`).FindAllStringSubmatch(o.text, -1)
	if len(found) != 9 {
		t.Fatalf("exit %d, %d objects", o.code, len(found))
	}
	for _, f := range found {
		if want := declared(t, types, f[1], f[2]); !slices.Equal(want, strings.Split(f[3], ",")) {
			t.Errorf("%s %s has %s, declared are %s", f[1], f[2], f[3], strings.Join(want, ","))
		}
	}
}

// Members of modules can be imported by name.
func TestNamedImports(t *testing.T) {
	t.Parallel()
	o := run(t, script(t, `
		import { getData, generator } from "k6/x/datagen";
		import * as tarantool from "k6/x/tarantool";
		export default function () { console.log(getData().car_id.length + " " + typeof generator + " " + typeof tarantool.connect) }`))
	if o.code != 0 || !o.says("5 function function") {
		t.Errorf("exit %d", o.code)
	}
}
