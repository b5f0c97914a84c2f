package endpoints

import (
	"testing"

	"brunt/internal/plan"
)

func TestSettingsOfTLSCountWhereHTTPSIsReached(t *testing.T) {
	insecure := plan.TLS{Enabled: true, InsecureSkipVerify: true}
	both := insecure
	both.CertFile = "c"
	for name, c := range map[string]struct {
		enabled, insecure, redirects bool
		cert                         string
		want                         plan.TLS
		plain                        string
	}{
		"https":                        {true, true, false, "c", both, ""},
		"http":                         {false, true, false, "c", plan.TLS{}, ""},
		"http that may lead to https":  {false, true, true, "", insecure, "a:80,b:80"},
		"http with nothing to be said": {false, false, true, "", plan.TLS{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			target := plan.Target{Addresses: []string{"a:80", "b:80"}}
			target.TLS.Enabled = c.enabled
			Secure(&target, c.insecure, "", c.cert, "", c.redirects)
			if target.TLS != c.want || target.Options["plain"] != c.plain {
				t.Errorf("%+v, plain %q; want %+v, %q", target.TLS, target.Options["plain"], c.want, c.plain)
			}
		})
	}
}
