package target

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/plan"
)

// Connection strings have the meaning that they have for libpq and clients of Redis, also if a flag's list was split at
// its commas.
func TestUnfold(t *testing.T) {
	for _, c := range []struct {
		name, protocol string
		addresses      []string
		want           plan.Target
	}{
		{"host and port", "pg", []string{"db:5432", "other"},
			plan.Target{Protocol: "pg", Addresses: []string{"db:5432", "other"}}},
		{"URL", "", []string{"postgres://u:p%40ss@db:6543/shop"},
			plan.Target{Protocol: "pg", Addresses: []string{"db:6543"}, User: "u", Password: "p@ss", Database: "shop"}},
		{"several hosts", "pgwire", []string{"postgresql://u@db1:1", "db2", "[::1]:3/shop?sslmode=require"},
			plan.Target{Protocol: "pgwire", Addresses: []string{"db1:1", "db2", "[::1]:3"}, User: "u", Database: "shop",
				TLS: plan.TLS{Enabled: true, InsecureSkipVerify: true}}},
		{"socket", "pg", []string{"postgres:///shop?host=/var/run/postgresql"},
			plan.Target{Protocol: "pg", Addresses: []string{"/var/run/postgresql"}, Database: "shop"}},
		{"keywords", "",
			[]string{`host=a`, `b port=1 user = u password='it\'s me' dbname=shop sslmode=verify-full sslrootcert=ca.pem`},
			plan.Target{Protocol: "pg", Addresses: []string{"a:1", "b:1"}, User: "u", Password: "it's me", Database: "shop",
				TLS: plan.TLS{Enabled: true, CAFile: "ca.pem"}}},
		{"mysql, a client's certificate", "", []string{
			"mysql://u:secret@db:3307/shop?ssl-mode=VERIFY_IDENTITY&ssl-ca=ca.pem&ssl-cert=c.pem&ssl-key=k.pem"},
			plan.Target{Protocol: "mysql", Addresses: []string{"db:3307"}, User: "u", Password: "secret", Database: "shop",
				TLS: plan.TLS{Enabled: true, CAFile: "ca.pem", CertFile: "c.pem", KeyFile: "k.pem"}}},
		{"mariadb, a certificate without a mode", "", []string{"mariadb://db/?ssl-cert=c.pem&ssl-key=k.pem"},
			plan.Target{Protocol: "mysql", Addresses: []string{"db"},
				TLS: plan.TLS{Enabled: true, InsecureSkipVerify: true, CertFile: "c.pem", KeyFile: "k.pem"}}},
		{"redis", "", []string{"redis://u:secret@cache:6380/2"},
			plan.Target{Protocol: "redis", Addresses: []string{"cache:6380"}, User: "u", Password: "secret", Database: "2"}},
		{"redis, password alone, TLS", "redis", []string{"rediss://:secret@cache"},
			plan.Target{Protocol: "redis", Addresses: []string{"cache"}, Password: "secret", TLS: plan.TLS{Enabled: true}}},
		{"two of redis", "", []string{"redis://one/1", "redis://two/1"},
			plan.Target{Protocol: "redis", Addresses: []string{"one", "two"}, Database: "1"}},
		{"another protocol's URL", "http", []string{"http://a:80", "b:80"},
			plan.Target{Protocol: "http", Addresses: []string{"http://a:80", "b:80"}}},
		{"a file", "sqlite", []string{"file:x?mode=memory"},
			plan.Target{Protocol: "sqlite", Addresses: []string{"file:x?mode=memory"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &plan.Plan{Target: plan.Target{Protocol: c.protocol, Addresses: c.addresses}}
			if err := Unfold(p); err != nil || !reflect.DeepEqual(p.Target, c.want) {
				t.Errorf("%+v (%v), want %+v", p.Target, err, c.want)
			}
		})
	}
	p := &plan.Plan{Target: plan.Target{Addresses: []string{"host=db connect_timeout=7 application_name=x"}}}
	err := Unfold(p)
	if err != nil || p.Settings.ConnectTimeout != 7*time.Second || p.Target.Options["application_name"] != "x" {
		t.Errorf("%v: %+v", err, p)
	}
}

// target_session_attrs applies to operations that set no role.
func TestTargetSessionAttributes(t *testing.T) {
	for _, c := range []struct{ value, route, says string }{
		{"any", "", ""}, {"read-write", "primary", ""}, {"primary", "primary", ""}, {"read-only", "replica", ""},
		{"standby", "replica", ""}, {"prefer-standby", "", "prefer-standby isn't taken"},
	} {
		t.Run(c.value, func(t *testing.T) {
			p := &plan.Plan{Operations: []plan.Operation{{}, {Route: "any"}}, Target: plan.Target{
				Addresses: []string{"postgres://a", "b/shop?target_session_attrs=" + c.value}}}
			err := Unfold(p)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %q", err, c.says)
			}
			if p.Operations[0].Route != c.route || p.Operations[1].Route != "any" {
				t.Errorf("%+v", p.Operations)
			}
		})
	}
}

// Contradictory connection strings are refused, and the message does not contain the password.
func TestUnfoldRefuses(t *testing.T) {
	for _, c := range []struct{ protocol, address, want string }{
		{"mysql", "postgres://u:T0psecret@db/x", "it is one of pg, and the protocol is mysql"},
		{"pg", "postgres://u:T0p%secret@db/x", "can't be read"},
		{"pg", "host=db password='T0psecret", "isn't of the form"},
		{"pg", "host=db password=T0psecret gssencmode=require", "gssencmode isn't taken"},
		{"pg", "host=db password=T0psecret sslmode=always", "sslmode=always: write"},
		{"pg", "host=db connect_timeout=soon", "write whole seconds"},
		{"redis", "redis://a:T0psecret@one/1,redis://a:other@two/1", "its password differs"},
	} {
		t.Run(c.address, func(t *testing.T) {
			p := &plan.Plan{Target: plan.Target{Protocol: c.protocol, Addresses: strings.Split(c.address, ",")}}
			err := Unfold(p)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "T0p") {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// libpq's variables set what is missing, only for its own protocol.
func TestFill(t *testing.T) {
	variables := map[string]string{
		"PGHOST": "db", "PGPORT": "6543", "PGUSER": "u", "PGPASSWORD": "secret", "PGDATABASE": "shop",
	}
	for _, c := range []struct {
		name        string
		given, want plan.Target
	}{
		{"nothing", plan.Target{Protocol: "postgres"},
			plan.Target{Protocol: "postgres", Addresses: []string{"db:6543"}, User: "u", Password: "secret", Database: "shop"}},
		{"hidden", plan.Target{Protocol: "pg", Password: "***"},
			plan.Target{Protocol: "pg", Addresses: []string{"db:6543"}, User: "u", Password: "secret", Database: "shop"}},
		{"all", plan.Target{Protocol: "pg", Addresses: []string{"h:1", "k"}, User: "v", Password: "p", Database: "d"},
			plan.Target{Protocol: "pg", Addresses: []string{"h:1", "k:6543"}, User: "v", Password: "p", Database: "d"}},
		{"another protocol", plan.Target{Protocol: "redis"}, plan.Target{Protocol: "redis"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Fill(&c.given, false, func(name string) string { return variables[name] }, nil)
			if err != nil || !reflect.DeepEqual(c.given, c.want) {
				t.Errorf("%+v, want %+v", c.given, c.want)
			}
		})
	}
}

// Settings of a service and a password of a file set what is missing, too.
func TestFillFromFiles(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(".pg_service.conf", "[shop]\nhost=db\nport=6543\nuser=u\ndbname=shop\napplication_name=mine\n", 0o644)
	write(".pgpass", "db:6543:shop:u:secret\nother:*:*:*:T0p\n", 0o600)
	getenv := func(name string) string {
		return map[string]string{"HOME": home, "PGSERVICE": "shop", "PGUSER": "nobody"}[name]
	}
	for _, c := range []struct {
		given     plan.Target
		addresses []string
		password  string
	}{
		{plan.Target{Protocol: "pg"}, []string{"db:6543"}, "secret"},
		{plan.Target{Protocol: "pg", Addresses: []string{"third:1", "other:2"}}, []string{"third:1", "other:2"}, "T0p"},
		{plan.Target{Protocol: "pg", Password: "given"}, []string{"db:6543"}, "given"},
		{plan.Target{Protocol: "pg", User: "v"}, []string{"db:6543"}, ""},
	} {
		to := c.given
		if err := Fill(&to, false, getenv, nil); err != nil || !slices.Equal(to.Addresses, c.addresses) ||
			to.Password != c.password || to.User != cmp.Or(c.given.User, "u") || to.Options["application_name"] != "mine" {
			t.Errorf("%+v became %+v: %v", c.given, to, err)
		}
	}
	write("open", "*:*:*:*:secret\n", 0o644)
	said, to := "", plan.Target{Protocol: "pg", User: "u", Database: "d"}
	err := Fill(&to, false, func(name string) string {
		return map[string]string{"PGPASSFILE": filepath.Join(home, "open")}[name]
	}, func(line string) { said = line })
	if err != nil || to.Password != "" || !strings.Contains(said, "has group or world access") {
		t.Errorf("a file that everybody may read: password %q, %q, %v", to.Password, said, err)
	}
}

// libpq's variables for sessions set options that the target hasn't, and leave the target's own map alone.
func TestFillSetsOptions(t *testing.T) {
	of := map[string]string{"timezone": "UTC"}
	to := plan.Target{Protocol: "pg", Options: of}
	err := Fill(&to, false, func(name string) string {
		return map[string]string{"PGTZ": "Asia/Tokyo", "PGAPPNAME": "mine"}[name]
	}, nil)
	want := map[string]string{"timezone": "UTC", "application_name": "mine"}
	if err != nil || !maps.Equal(to.Options, want) || len(of) != 1 {
		t.Errorf("%v, want %v; the plan's: %v; %v", to.Options, want, of, err)
	}
}

// libpq's variables that decide how to connect are understood, or named: none is passed over.
func TestFillPassesNothingOver(t *testing.T) {
	for _, c := range []struct {
		name, protocol, value string
		secured               bool
		tls                   plan.TLS
		fault                 string
	}{
		{"PGSSLMODE", "pg", "require", false, plan.TLS{Enabled: true, InsecureSkipVerify: true}, ""},
		{"PGSSLMODE", "pg", "verify-full", false, plan.TLS{Enabled: true}, ""},
		{"PGSSLMODE", "pg", "disable", false, plan.TLS{}, ""},
		{"PGSSLMODE", "pg", "require", true, plan.TLS{}, ""},
		{"PGSSLMODE", "redis", "require", false, plan.TLS{}, ""},
		{"PGSSLMODE", "pg", "sometimes", false, plan.TLS{}, "PGSSLMODE: sslmode=sometimes"},
		{"PGSERVICE", "pg", "shop", false, plan.TLS{}, `definition of service "shop" not found`},
		{"PGREQUIREAUTH", "pg", "x", false, plan.TLS{}, "PGREQUIREAUTH is set"},
		{"PGOPTIONS", "pg", "-c x=y", false, plan.TLS{}, "PGOPTIONS is set"},
		{"PGOPTIONS", "redis", "-c x=y", false, plan.TLS{}, ""},
		{"PGSSLMINPROTOCOLVERSION", "pg", "TLSv1.3", false, plan.TLS{}, "PGSSLMINPROTOCOLVERSION is set"},
		{"PGSSLMINPROTOCOLVERSION", "pg", "TLSv1.2", false, plan.TLS{}, ""},
		{"PGCLIENTENCODING", "pg", "utf-8", false, plan.TLS{}, ""},
		{"PGCLIENTENCODING", "pg", "LATIN1", false, plan.TLS{}, "PGCLIENTENCODING is set"},
		{"PGGSSENCMODE", "pg", "disable", false, plan.TLS{}, ""},
		{"PGDATESTYLE", "pg", "German", false, plan.TLS{}, "PGDATESTYLE is set"},
	} {
		t.Run(c.name+" "+c.value+" "+c.protocol, func(t *testing.T) {
			to := plan.Target{Protocol: c.protocol}
			err := Fill(&to, c.secured, func(name string) string {
				if name == c.name {
					return c.value
				}
				return ""
			}, nil)
			if fmt.Sprint(err) == "<nil>" != (c.fault == "") || c.fault != "" && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%v, want %q", err, c.fault)
			}
			if c.fault == "" && to.TLS != c.tls {
				t.Errorf("TLS is %+v, want %+v", to.TLS, c.tls)
			}
		})
	}
}
