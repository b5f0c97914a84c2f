package connection

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"brunt/internal/plan"
)

func TestLimitsOfTLS(t *testing.T) {
	for _, c := range []struct {
		least, most string
		from, to    uint16
	}{
		{"", "", tls.VersionTLS12, 0}, {"", "1.1", tls.VersionTLS11, tls.VersionTLS11}, {"1.3", "", tls.VersionTLS13, 0},
		{"1.0", "1.2", tls.VersionTLS10, tls.VersionTLS12}, {"", "1.3", tls.VersionTLS12, tls.VersionTLS13},
	} {
		got, err := TLS(&plan.TLS{Enabled: true, MinVersion: c.least, MaxVersion: c.most, Resume: c.most == ""})
		if err != nil || got.MinVersion != c.from || got.MaxVersion != c.to ||
			(got.ClientSessionCache != nil) != (c.most == "") {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	if _, err := TLS(&plan.TLS{Enabled: true, Ciphers: "nonsense"}); err == nil ||
		!strings.Contains(err.Error(), `no cipher suite "nonsense"`) {
		t.Error(err)
	}
}

func TestCiphers(t *testing.T) {
	for names, want := range map[string][]uint16{
		"": nil,
		"ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305": {tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256},
		"AES256-SHA,DES-CBC3-SHA ECDHE-ECDSA-AES128-SHA256": {tls.TLS_RSA_WITH_AES_256_CBC_SHA,
			tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256},
		"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": {tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
		"AES128-GCM-SHA256":                     {tls.TLS_RSA_WITH_AES_128_GCM_SHA256},
	} {
		if got, err := Ciphers(names); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", names, got, err)
		}
	}
	for _, names := range []string{"TLS_AES_128_GCM_SHA256", "HIGH", ":", "AES128-SHA:x"} {
		if got, err := Ciphers(names); err == nil {
			t.Errorf("%s: %v", names, got)
		}
	}
}
