package acceptance_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/protocol"
	_ "brunt/internal/protocol/all"
	"brunt/internal/protocol/protocols"
	"brunt/test/testserver"
)

// The credentials of the article's commands.
const (
	articleUser = "stress"
	secret      = "T0psecret"
)

// stand is a server with its flags for the command line.
type stand struct {
	proto, addr, user, password, database string
}

// flags returns the stand's flags. The password is passed with -p.
func (s stand) flags() []string {
	f := []string{"--proto", s.proto, "-a", s.addr}
	if s.user != "" {
		f = append(f, "-u", s.user)
	}
	if s.password != "" {
		f = append(f, "-p", s.password)
	}
	if s.database != "" {
		f = append(f, "--database", s.database)
	}
	return f
}

// with appends the stand's flags to a command.
func (s stand) with(args ...string) []string { return append(args, s.flags()...) }

// of returns the stand of a server that a test has started itself.
func of(proto string, s *testserver.Server) stand {
	return stand{proto: proto, addr: s.Addr, user: s.User, password: s.Password, database: s.Database}
}

// databases is the number of databases of the shared PostgreSQL that are in use by tests.
var databases atomic.Int64

// postgres returns a separate database on the shared PostgreSQL. It requires a password and has the article's user.
func postgres(t *testing.T) stand {
	t.Helper()
	s := articlesPostgres(t)
	name := fmt.Sprint("test", databases.Add(1))
	if err := s.exec("CREATE DATABASE " + name + " OWNER " + articleUser); err != nil {
		t.Fatal(err)
	}
	s.database = name
	return s
}

// articlesPostgres returns the shared PostgreSQL with the database that the article's commands use.
func articlesPostgres(t *testing.T) stand {
	t.Helper()
	s := servers.Get(t, "postgres with password", func(tb testserver.TB) *testserver.Server {
		s := testserver.Postgres(tb, testserver.Password(secret))
		root := of("pg", s)
		for _, text := range []string{
			"CREATE ROLE stress LOGIN SUPERUSER PASSWORD '" + secret + "'", "CREATE DATABASE stress OWNER stress",
		} {
			if err := root.exec(text); err != nil {
				tb.Fatalf("%s: %v", text, err)
			}
		}
		return s
	})
	return stand{proto: "pg", addr: s.Addr, user: articleUser, password: secret, database: "stress"}
}

const stressInTarantool = `box.schema.user.create('stress', {if_not_exists = true})
box.schema.user.passwd('stress', '` + secret + `')
box.schema.user.grant('stress', 'super', nil, nil, {if_not_exists = true})`

// tarantool returns a separate Tarantool with the article's user. It is not shared because prepared statements expire
// when any table changes.
func tarantool(t *testing.T) stand {
	t.Helper()
	s := testserver.Tarantool(t, testserver.Lua(stressInTarantool))
	return stand{proto: "iproto", addr: s.Addr, user: articleUser, password: secret}
}

// sqlite returns a database in a separate file.
func sqlite(t *testing.T) stand {
	return stand{proto: "sqlite", addr: t.TempDir() + "/test.db"}
}

func (s stand) admin(ctx context.Context) (protocol.Admin, error) {
	d, err := protocols.Find(s.proto)
	if err != nil {
		return nil, err
	}
	a, ok := d.Open().(protocol.AdminDriver)
	if !ok {
		return nil, fmt.Errorf("%s has no set-up sessions", s.proto)
	}
	return a.Admin(ctx, protocol.Target{
		Address: s.addr, User: s.user, Password: s.password, Database: s.database,
		ConnectTimeout: 10 * time.Second,
	})
}

// exec runs a statement on the server without brunt.
func (s stand) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := s.admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	_, err = a.Exec(ctx, statement)
	return err
}

// rows returns the rows of a query, with values joined by " | ".
func (s stand) rows(t *testing.T, query string) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := s.admin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	err = a.Query(ctx, query, func(values []*string) error {
		texts := make([]string, len(values))
		for i, v := range values {
			if texts[i] = "null"; v != nil {
				texts[i] = *v
			}
		}
		all = append(all, strings.Join(texts, " | "))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %s: %v", s.proto, query, err)
	}
	return all
}
