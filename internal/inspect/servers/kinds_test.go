package servers

import (
	"strings"
	"testing"
)

// Each kind is complete, and its example is understood.
func TestKinds(t *testing.T) {
	for _, k := range Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			if len(k.Protocols) == 0 || k.URL.Plain == "" || k.Rights == "" {
				t.Errorf("%+v", k)
			}
			i, err := Parse(k.Name + "=" + k.Example)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(i.Name(), k.Name+" ") {
				t.Errorf("name %q, want one that begins with the kind", i.Name())
			}
			i.Close()
		})
	}
}

func TestMistakesAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"gp=postgres://u:secret@h/d": `there is no kind of server "gp"`,
		"postgres://u:secret@h?a=b":  "write the kind of the server (pg",
		"pg":                         "write pg= and how to connect, such as pg=postgres://host",
		"pg=":                        "write pg= and how to connect",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
