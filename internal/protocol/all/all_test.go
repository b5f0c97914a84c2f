package all

import (
	"testing"

	"brunt/internal/protocol/protocols"
)

// Lists of brunt's own protocols aren't checked when the program starts.
func TestOwnProtocolsAreDeclaredWell(t *testing.T) {
	var l protocols.List
	for _, d := range own() {
		t.Run(d.Name(), func(t *testing.T) {
			if err := l.Add(d); err != nil {
				t.Error(err)
			}
			if d.SharesFile && !d.Embedded {
				t.Error("it shares a file and isn't embedded")
			}
		})
	}
}
