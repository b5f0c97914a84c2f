package machine

import (
	"context"
	"net"
	"strings"
	"testing"
)

func TestOffDoesNothing(t *testing.T) {
	k := Start(context.Background(), Options{Mode: Off, Scheduled: true})
	defer k.Stop()
	if s := k.State(); s.Mode != Off || s.Threads != 0 || s.DMALatency || s.Nice != 0 || s.ThreadsReason == "" ||
		s.NiceReason == "" {
		t.Errorf("%+v", s)
	}
}

// A CPU quota is never spent on this, for any setting.
func TestAQuotaIsNeverSpentOnIt(t *testing.T) {
	for _, mode := range []string{"", Auto, On} {
		k := Start(context.Background(), Options{Mode: mode, Quota: "1.5"})
		s := k.State()
		k.Stop()
		if s.Threads != 0 || s.CPUNs != 0 || !strings.Contains(s.ThreadsReason, "quota of 1.5 cores") &&
			!strings.Contains(s.ThreadsReason, "only Linux") {
			t.Errorf("%q: %+v", mode, s)
		}
	}
}

func TestWhatIsUnknownIsLeftAlone(t *testing.T) {
	m := &machine{}
	if why := m.objection(context.Background(), &Options{Mode: On}); !strings.Contains(why, "only Linux") {
		t.Errorf("%q", why)
	}
	if why := m.niceObjection(&Options{Mode: On, Scheduled: true}); !strings.Contains(why, "only done on Linux") {
		t.Errorf("%q", why)
	}
}

func TestOwnAddressesAreTold(t *testing.T) {
	own := []string{"127.0.0.1:5432", "[::1]:5432", "http://127.0.0.1:80/x", "http://localhost/",
		"/var/run/postgresql/.s.PGSQL.5432", "no.such.host.invalid:1", "nonsense"}
	if addrs, err := net.InterfaceAddrs(); err == nil {
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
				own = append(own, net.JoinHostPort(n.IP.String(), "5432"))
			}
		}
	}
	for _, a := range own {
		if !local(context.Background(), []string{a}) {
			t.Errorf("%s isn't taken for this machine's own", a)
		}
	}
	if local(context.Background(), nil) {
		t.Error("no address is this machine's own")
	}
	const elsewhere = "192.0.2.1:5432" // in a network for documentation (RFC 5737)
	if c, err := net.Dial("udp", elsewhere); err == nil {
		c.Close()
		if local(context.Background(), []string{elsewhere}) {
			t.Errorf("%s is taken for this machine's own", elsewhere)
		}
	}
}
