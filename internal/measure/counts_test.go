package measure

import (
	"encoding/json"
	"strings"
	"testing"

	"brunt/internal/protocol"
)

func TestCountsAsJSON(t *testing.T) {
	for text, c := range map[string]Counts{
		`{"done":0,"attempts":0,"retries":0,"late":0}`: {},
		`{"done":5,"errors":{"server":1,"timeout":2},"unsent":{"load-over":3},"unfinished":4,"attempts":6,"retries":1,"late":2,"bytes_in":9,"status":{"2xx":4,"5xx":1}}`: {
			Done: 5, Errors: ByClass{protocol.Server: 1, protocol.Timeout: 2}, Unsent: ByReason{UnsentLoadOver: 3},
			Unfinished: 4,
			Attempts:   6, Retries: 1, Late: 2, BytesIn: 9, Status: ByStatus{2: 4, 5: 1},
		},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := json.Marshal(c)
			if err != nil || string(got) != text {
				t.Errorf("%v: written as %s", err, got)
			}
			back := Counts{Errors: ByClass{protocol.Client: 7}}
			if !strings.Contains(text, "errors") {
				back = Counts{}
			}
			if err := json.Unmarshal([]byte(text), &back); err != nil || back != c {
				t.Errorf("%v: read as %+v", err, back)
			}
		})
	}
}

func TestUnknownNamesOfCountsAreRefused(t *testing.T) {
	for _, text := range []string{`{"errors":{"bad luck":1}}`, `{"unsent":{"bad luck":1}}`, `{"status":{"7xx":1}}`,
		`{"errors":[1]}`} {
		t.Run(text, func(t *testing.T) {
			var c Counts
			if err := json.Unmarshal([]byte(text), &c); err == nil {
				t.Errorf("read as %+v", c)
			}
		})
	}
}
