package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/base/suggest"
	"brunt/internal/inspect"
	"brunt/internal/inspect/etcd"
	"brunt/internal/inspect/mysql"
	"brunt/internal/inspect/picodata"
	"brunt/internal/inspect/postgres"
	"brunt/internal/inspect/redis"
	"brunt/internal/inspect/tarantool"
	"brunt/internal/server/connection"
)

// Kind is a kind of server that can be inspected. To add one, write a folder of internal/inspect with an
// inspect.Inspector, and add a line to Kinds.
type Kind struct {
	Name string // in --inspect NAME=URL
	// Protocols and Products say which targets of loads are of this kind: those of one of the protocols that call
	// themselves one of the products. Letter case doesn't matter. Without Products, all of them are.
	Protocols []string
	Products  []string
	URL       connection.Form // how URLs are written that auto makes from a load's target
	// Cluster says that one inspector asks several servers, which the URL lists as host:port,host:port.
	Cluster bool
	Example string // of how to connect
	Rights  string // what the user needs at least, for people
	// New returns the inspector for the text behind NAME=. Its errors are one line for the user, without secrets.
	New func(url string) (inspect.Inspector, error)
	// Open returns the database for advice about indexes; nil for kinds without. build permits building indexes in order
	// to try them, if there is no other way. Its errors are like New's, or say why the server can't be reached.
	Open func(ctx context.Context, url string, build bool) (inspect.Database, error)
	// Settings opens the settings of the server, to change them for experiments; nil for kinds without. Its errors are
	// like Open's.
	Settings func(ctx context.Context, url string) (inspect.Settings, error)
}

// Kinds returns all kinds of servers that can be inspected.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "pg", Protocols: []string{"pg"}, Products: []string{"PostgreSQL"},
			URL:     connection.Form{Plain: "postgres", Port: "5432"},
			Example: "postgres://host:5432/database?user=name", Rights: "pg_monitor", New: kind(postgres.New), Open: openPostgres,
			Settings: postgres.Settings,
		},
		{
			Name: "mysql", Protocols: []string{"mysql"}, Products: []string{"MySQL", "MariaDB"}, URL: mysql.Form(),
			Example: "mysql://user@host:3306/database", Rights: "PROCESS, and SELECT on performance_schema",
			New: kind(mysql.New), Open: database(mysql.Open), Settings: mysql.Settings,
		},
		{
			Name: "tarantool", Protocols: []string{"iproto"}, Products: []string{"Tarantool"}, URL: tarantool.Form(),
			Example: "tarantool://user@host:3301", Rights: "execute on box.stat and the like", New: kind(tarantool.New),
			Open: database(tarantool.Open), Settings: tarantool.Settings,
		},
		{
			Name: "picodata", Protocols: []string{"iproto"}, Products: []string{"Picodata"}, URL: picodata.Form(),
			Cluster: true, Example: "picodata://user@host:3301?metrics=host:8081",
			Rights: "what the load's statements need", New: kind(picodata.New), Open: database(picodata.Open),
		},
		{
			Name: "redis", Protocols: []string{"redis"}, URL: redis.Form(), Cluster: true,
			Example: "redis://user:password@host:6379",
			Rights:  "+info +slowlog|get +latency|latest +client|list +config|get", New: kind(redis.New),
			Settings: redis.Settings,
		},
		{
			Name: "etcd", Protocols: []string{"etcd"}, URL: etcd.Form(), Cluster: true,
			Example: "http://host:2379", Rights: "a client certificate, where clients need one", New: kind(etcd.New),
		},
	}
}

// kind adapts the constructor of an inspector.
func kind[I inspect.Inspector](open func(string) (I, error)) func(string) (inspect.Inspector, error) {
	return func(url string) (inspect.Inspector, error) {
		i, err := open(url)
		if err != nil {
			return nil, err
		}
		return i, nil
	}
}

// database adapts the opening of a database.
func database[D inspect.Database](open func(context.Context, string, bool) (D, error)) func(context.Context, string,
	bool) (inspect.Database, error) {
	return func(ctx context.Context, url string, build bool) (inspect.Database, error) {
		d, err := open(ctx, url, build)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

func openPostgres(ctx context.Context, url string, build bool) (inspect.Database, error) {
	d, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	d.Build = build
	return d, nil
}

// Names returns the names of all kinds.
func Names() (all []string) {
	for _, k := range Kinds() {
		all = append(all, k.Name)
	}
	return all
}

// find returns the kind with a name.
func find(name string) (Kind, bool) {
	all := Kinds()
	if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return all[i], true
	}
	return Kind{}, false
}

// Of returns the kind of the server that a load of the protocol goes to, where product is what the server calls
// itself; "" if that isn't known.
func Of(protocol, product string) (Kind, bool) {
	for _, k := range Kinds() {
		if !slices.Contains(k.Protocols, protocol) {
			continue
		}
		if product == "" || len(k.Products) == 0 ||
			slices.ContainsFunc(k.Products, func(p string) bool { return strings.EqualFold(p, product) }) {
			return k, true
		}
	}
	return Kind{}, false
}

// split splits a text of the form KIND=URL.
func split(text string) (k Kind, url string, err error) {
	name, url, cut := strings.Cut(text, "=")
	if strings.Contains(name, "://") { // a URL without a kind, which may have = in it
		name, url, cut = "", "", false
	}
	k, known := find(name)
	switch {
	case cut && known && url != "":
		return k, url, nil
	case known:
		return k, "", fmt.Errorf("write %s= and how to connect, such as %s=%s", name, name, k.Example)
	case cut:
		return k, "", fmt.Errorf("there is no kind of server %q: %s, as in pg=%s", secret.Text(name),
			suggest.DidYouMean(name, Names()), Kinds()[0].Example)
	}
	return k, "", fmt.Errorf("write the kind of the server (%s), = and how to connect, such as pg=%s",
		strings.Join(Names(), ", "), Kinds()[0].Example)
}
