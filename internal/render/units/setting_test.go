package units

import "testing"

func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		"16384 × 8kB": "128 MiB", "128MB": "128 MiB", "4096 × kB": "4.00 MiB", "300 × s": "5 m", "0 × ms": "0 × ms",
		"on":  "on",
		"100": "100", "5min": "5min", "−1": "−1", "md5": "md5", "": "", "10 × ": "10 × ",
	} {
		if got := Setting(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
