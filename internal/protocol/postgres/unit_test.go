package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func TestClassOf(t *testing.T) {
	cases := []struct {
		code, message string
		want          protocol.Class
	}{
		{"40001", "", protocol.Retryable}, {"40P01", "", protocol.Retryable}, {"55P03", "", protocol.Retryable},
		{"40003", "", protocol.UnknownOutcome},
		{"57014", "canceling statement due to statement timeout", protocol.Timeout},
		{"57014", "canceling statement due to user request", protocol.Retryable},
		{"57P01", "", protocol.Connect}, {"57P03", "", protocol.Connect}, {"53300", "", protocol.Connect},
		{"08006", "", protocol.Connect},
		{"23505", "", protocol.Server}, {"42601", "", protocol.Server}, {"XX000", "corrupted page", protocol.Server},
		{"42601", "raft", protocol.Server},
		{"XX000", "box error: this instance is Not Leader", protocol.Retryable},
		{"XX000", "raft: proposal dropped", protocol.Retryable},
		{"XX000", "Timeout exceeded", protocol.Retryable},
		{"XX000", "no router found for tier 'storage'", protocol.Retryable},
		{"XX000", "Can't modify data on a read-only instance - box.cfg.read_only is true", protocol.Retryable},
	}
	for _, c := range cases {
		if got := classOf(c.code, c.message); got != c.want {
			t.Errorf("%s %q: %v, want %v", c.code, c.message, got, c.want)
		}
	}
	for text, want := range map[string]string{
		`table "a" already exists`: "XX000/table-already-exists", "no such tier": "XX000/no-such-tier", "": "XX000",
	} {
		if e := serverError("ERROR", "XX000", text, ""); e.Code != want {
			t.Errorf("%s: %s, want %s", text, e.Code, want)
		}
	}
	if e := serverError("ERROR", "08P01", "bind message supplies 1", ""); e.Fatal || e.Class != protocol.Server {
		t.Errorf("a protocol violation that the session survives is %+v", e)
	}
	if e := serverError("FATAL", "08P01", "query_wait_timeout", ""); !e.Fatal || e.Class != protocol.Connect {
		t.Errorf("a protocol violation that ends the session is %+v", e)
	}
	if e := serverError("FATAL", "XX000", "a\n b secret-word", "secret-word"); !e.Fatal || e.Text != "a b …" {
		t.Errorf("got %+v", e)
	}
	if e := libraryError(context.Background(), nil, errors.New("boom secret-word"), true,
		"secret-word"); e.Class != protocol.UnknownOutcome || !e.Fatal || strings.Contains(e.Text, "secret-word") {
		t.Errorf("got %+v", e)
	}
}

func TestIdentify(t *testing.T) {
	cases := []struct{ version, parameter, product, number string }{
		{"PostgreSQL 15.20 (Debian 15.20-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc 12.2.0", "15.20", "PostgreSQL",
			"15.20"},
		{"PostgreSQL 18beta1 on x86_64", "", "PostgreSQL", "18beta1"},
		{"CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27)", "13.0.0", "CockroachDB", "23.1.11"},
		{"PostgreSQL 11.2-YB-2.18.0.0-b0 on x86_64", "", "YugabyteDB", "2.18.0.0-b0"},
		{"PostgreSQL 9.4.26 (Greenplum Database 6.20.3 build commit)", "", "Greenplum", "6.20.3"},
		{"", "15.0 (Picodata 25.3.2)", "Picodata", "25.3.2"}, {"Picodata 26.1.1-7-gabc", "", "Picodata", "26.1.1-7-gabc"},
		{"25.3.1-0-g123", "", "", "25.3.1-0-g123"}, {"", "9.5", "", "9.5"}, {"", "", "", ""},
	}
	for _, c := range cases {
		if got := identify(c.version, c.parameter); got.Product != c.product || got.Version != c.number {
			t.Errorf("%q %q: got %q %q, want %q %q", c.version, c.parameter, got.Product, got.Version, c.product, c.number)
		}
	}
}

func TestRuntimeParams(t *testing.T) {
	got, err := runtimeParams(map[string]string{"sql_motion_row_max": "9", "read_preference": "any", "search_path": "x"})
	want := map[string]string{"application_name": "brunt", "search_path": "x",
		"options": "read_preference=any,sql_motion_row_max=9"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v %v, want %v", got, err, want)
	}
}

func TestSplitAddress(t *testing.T) {
	for address, want := range map[string]string{
		"h:1": "h 1", "h": "h 5432", "::1": "::1 5432", "[::1]:7": "::1 7", "[::1]": "::1 5432",
		"/run/pg:6000": "/run/pg 6000", "/run/pg": "/run/pg 5432",
		"h:0": "error", "h:99999": "error", ":5432": "error", "h:": "error",
	} {
		host, port, err := splitAddress(address)
		got := fmt.Sprintf("%s %d", host, port)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", address, got, want)
		}
	}
}

func TestNewLiteral(t *testing.T) {
	args := []gen.Value{integer(-1), text(`a'\`)}
	for query, want := range map[string]string{
		"$1": "(-1)", "$2": ` E'a''\\'`, "5-$1": "5-(-1)", "'$1' \"$1\" -- $1\n$1": "'$1' \"$1\" -- $1\n(-1)", "a$1": "a$1",
		"$$ $1 $$ $1": "$$ $1 $$ (-1)", "$t$ $1 $$ $t$$1": "$t$ $1 $$ $t$(-1)",
		"/* /* $1 */ $1 */$1": "/* /* $1 */ $1 */(-1)",
		`E'\'$1'$1`:           `E'\'$1'(-1)`, `'\'$1`: `'\'(-1)`, "'it''s $1'": "'it''s $1'",
		"$0 $ $x $1$2": "$0 $ $x (-1) E'a''\\\\'",
		"'open $1":     "'open $1",
		"/* open $1":   "/* open $1", "$q$ open $1": "$q$ open $1",
	} {
		l, why := newLiteral(query, 2)
		if why != "" {
			t.Errorf("%q: %s", query, why)
			continue
		}
		if got, err := l.append(nil, args); err != nil || string(got) != want {
			t.Errorf("%q: %q %v, want %q", query, got, err, want)
		}
	}
	l, _ := newLiteral("$1", 1)
	if _, err := l.append(nil, []gen.Value{text("a\x00")}); err == nil || err.Class != protocol.Client {
		t.Errorf("a zero byte: %v", err)
	}
}

func TestBeginText(t *testing.T) {
	for modes, want := range map[string]string{
		"": "BEGIN", "serializable": "BEGIN ISOLATION LEVEL SERIALIZABLE",
		"Repeatable-Read": "BEGIN ISOLATION LEVEL REPEATABLE READ",
		"read only":       "BEGIN READ ONLY",
		"isolation level read committed, read only": "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY",
	} {
		if got, why := beginText(modes); got != want || why != "" {
			t.Errorf("%q: %q %s", modes, got, why)
		}
	}
}

func TestAffected(t *testing.T) {
	for tag, want := range map[string]int64{"INSERT 0 12": 12, "UPDATE 3": 3, "DELETE 0": 0, "SELECT 7": 0, "FETCH 2": 0,
		"MOVE 2": 0, "MERGE 4": 4,
		"COPY 99": 99, "BEGIN": 0, "": 0, "5": 0, "INSERT 0 99999999999999999999": 0} {
		if got := affected(tag); got != want || affected([]byte(tag)) != want {
			t.Errorf("%q: %d, want %d", tag, got, want)
		}
	}
}
