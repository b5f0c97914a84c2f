package calls

import (
	"io"
	"strings"
	"testing"
	"text/template"
)

func TestTemplatesThatWriteWithoutEndFail(t *testing.T) {
	endless := template.Must(template.New("").Parse("{{range 1000000000}}" + strings.Repeat("x", 1000) + "{{end}}"))
	err := endless.Execute(&Bounded{To: io.Discard}, nil)
	if err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Error(err)
	}
	var b strings.Builder
	few := template.Must(template.New("").Parse("{{range 3}}{{.}}{{end}}"))
	if err := few.Execute(&Bounded{To: &b}, nil); err != nil || b.String() != "012" {
		t.Errorf("%q %v", b.String(), err)
	}
}
