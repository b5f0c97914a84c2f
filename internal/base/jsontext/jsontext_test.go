package jsontext

import "testing"

func TestForYAML(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "\ud83d\uDE00 \u00e9 \\ud83d \"\\"}`: `{"a": "😀 \u00e9 \\ud83d \"\\"}`,
		`["\ud83dx", "\ude00\ud83d"]`:               `["�x", "��"]`,
		`{"a": 1}`:                                  `{"a": 1}`,
		`a: "\ud83d\ude00"`:                         `a: "\ud83d\ude00"`,
		"":                                          "",
	} {
		if got := string(ForYAML([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
