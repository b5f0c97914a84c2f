package ycsb

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"brunt/internal/base/suggest"
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
	"brunt/internal/server/target"
)

// YCSB (Java) and go-ycsb have different properties for where a database is and how it is connected to. A translation
// replaces those of YCSB by go-ycsb's, which databases here understand. It keeps the first error.
type translation struct {
	of    *Database
	set   *properties.Set
	known map[string]bool // the names that it understands
	err   error
}

func (t *translation) fail(name, format string, values ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("%s: property %s: %s", t.set.Where(name), name, fmt.Sprintf(format, values...))
	}
}

// get returns a property of YCSB.
func (t *translation) get(name string) (value string, given bool) {
	t.known[name] = true
	value, given = t.set.Get(name)
	return strings.TrimSpace(value), given
}

// put sets a property by what another one says. Both may be given only if they say the same.
func (t *translation) put(from, to, value string) {
	if have, given := t.set.Get(to); given && strings.TrimSpace(have) != value {
		t.fail(from, "%s (%s) says something else; keep one of them", to, t.set.Where(to))
		return
	}
	t.set.Put(to, value, t.set.Where(from))
}

// rename gives properties other names. pairs are YCSB's name, go-ycsb's name, and so on.
func (t *translation) rename(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if value, given := t.get(pairs[i]); given {
			t.put(pairs[i], pairs[i+1], value)
		}
	}
}

// has reports whether a property is one of the database's own.
func (t *translation) has(name string) bool {
	return slices.ContainsFunc(t.of.Properties, func(p Property) bool { return p.Name == name })
}

// choose replaces a property by another one. Its value must be among values, which maps it to that of the other one, or
// to "" if that stays as it is.
func (t *translation) choose(from, to string, values map[string]string) {
	value, given := t.get(from)
	if !given {
		return
	}
	other, known := values[strings.ToLower(value)]
	switch {
	case !known:
		t.fail(from, "%q isn't understood; give %s", value, strings.Join(slices.Sorted(maps.Keys(values)), " or "))
	case other != "":
		t.put(from, to, other)
	}
}

// without takes properties that concern only the connections that YCSB's client opens: their number, and how long it
// waits for them.
func (t *translation) without(names ...string) {
	for _, name := range names {
		t.known[name] = true
	}
}

// refuse refuses a property, which here means something else or nothing.
func (t *translation) refuse(name, why string) {
	if _, given := t.get(name); given {
		t.fail(name, "%s", why)
	}
}

// addresses makes addresses of a list of hosts and a port.
func (t *translation) addresses(hosts, port, to, standard string) {
	list, hosted := t.get(hosts)
	number, ported := t.get(port)
	if !hosted && !ported {
		return
	}
	from := hosts
	if !hosted {
		list, from = "localhost", port
	}
	if !ported {
		number = standard
	}
	var out []string
	for host := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		if strings.Contains(host, ":") && !strings.Contains(host, "::") {
			out = append(out, host)
			continue
		}
		out = append(out, join(host, number))
	}
	t.put(from, to, strings.Join(out, ","))
}

// jdbcSettings takes or refuses the properties of YCSB's binding for JDBC that don't say where the database is.
func (t *translation) jdbcSettings(drivers ...string) {
	t.without("jdbc.fetchsize", "jdbc.batchupdateapi")
	t.refuse("db.batchsize", "give batch.size instead")
	t.choose("jdbc.autocommit", "", map[string]string{"true": ""})
	class, given := t.get("db.driver")
	if given && !slices.ContainsFunc(drivers, func(d string) bool { return strings.Contains(class, d) }) {
		t.fail("db.driver", "%s isn't a driver of this database; its class has %s in its name", class,
			strings.Join(drivers, " or "))
	}
}

// jdbc reads the properties of YCSB's binding for JDBC, which begin with prefix, into those that begin with own.
// schemes are those of its address; the driver's class has one of drivers in its name.
func (t *translation) jdbc(prefix, own string, schemes []string, drivers ...string) {
	t.jdbcSettings(drivers...)
	t.rename(prefix+".user", own+".user", prefix+".passwd", own+".password")
	address, given := t.get(prefix + ".url")
	if !given {
		return
	}
	p := &plan.Plan{}
	name := prefix + ".url"
	scheme, rest, ok := strings.Cut(strings.TrimPrefix(address, "jdbc:"), "://")
	ok = ok && strings.HasPrefix(address, "jdbc:") && slices.Contains(schemes, scheme)
	if !ok || strings.Contains(rest, ";") { // YCSB takes several addresses and distributes the records itself
		t.fail(name, "give one address, jdbc:%s://host:port/database", schemes[0])
		return
	}
	p.Target.Addresses = []string{"postgresql://" + rest} // the form is the same
	if err := target.Unfold(p); err != nil {
		t.fail(name, "%s", strings.Replace(err.Error(), "postgresql://", "jdbc:"+scheme+"://", 1))
		return
	}
	g := &p.Target
	if g.TLS.CAFile != "" || g.TLS.CertFile != "" || g.TLS.Enabled && !t.has(own+".sslmode") ||
		len(g.Options)+len(p.Operations) > 0 || p.Settings.ConnectTimeout > 0 {
		t.fail(name, "of its parameters, only user, password and sslmode are understood")
		return
	}
	t.put(name, own+".host", strings.Join(g.Addresses, ","))
	t.put(name, own+".db", g.Database)
	for property, value := range map[string]string{own + ".user": g.User, own + ".password": g.Password} {
		if value != "" {
			t.put(name, property, value)
		}
	}
	if g.TLS.Enabled {
		t.put(name, own+".sslmode", map[bool]string{true: "require", false: "verify-full"}[g.TLS.InsecureSkipVerify])
	}
}

// translate replaces YCSB's properties for a database by its own.
func translate(set *properties.Set, d *Database) (known map[string]bool, err error) {
	t := &translation{of: d, set: set, known: map[string]bool{}}
	if d.Translate != nil {
		d.Translate(t)
	}
	return t.known, t.err
}

// connecting returns an error for a property that isn't understood and looks as if it said where the database is or how
// it is connected to: without it, the load would reach another server than the user means.
func connecting(set *properties.Set, key string, d *Database, names []string) error {
	spaces := map[string]bool{}
	for _, p := range d.Properties {
		space, _, _ := strings.Cut(p.Name, ".")
		spaces[space] = true
	}
	first, _, dotted := strings.Cut(key, ".")
	last := strings.ToLower(key[strings.LastIndexByte(key, '.')+1:])
	own := dotted && (spaces[first] || suggest.Nearest(first, slices.Sorted(maps.Keys(spaces))) != "")
	if !own && !slices.ContainsFunc(connectionWords(), func(word string) bool { return strings.HasPrefix(last, word) }) {
		return nil
	}
	hint := fmt.Sprintf("see brunt ycsb databases %s", d.Names[0])
	if best, ok := nearest(key, names); ok {
		hint = fmt.Sprintf("did you mean %s?", best)
	}
	return fmt.Errorf("%s: property %s isn't one of database %s, and seems to say where or how to connect; %s",
		set.Where(key), key, d.Names[0], hint)
}

// connectionWords returns what the last words of properties that concern connections begin with.
func connectionWords() []string {
	return []string{"host", "port", "addr", "endpoint", "url", "uri", "server", "nodes", "cluster", "contactpoint", "user",
		"passw", "credential", "keyspace", "database", "ssl", "tls"}
}

// elsewhereGiven returns an error for a property of another database on the command line, if it is none that files
// share.
func elsewhereGiven(set *properties.Set, key string, d *Database) error {
	if set.Where(key) != "-p" {
		return nil
	}
	return fmt.Errorf("-p: property %s is of another database than %s; remove it, or give that of %s (see brunt ycsb "+
		"databases %s)", key, d.Names[0], d.Names[0], d.Names[0])
}

// mongoURL parses a connection string, which may have several hosts with ports.
func mongoURL(text string) (u *url.URL, hosts string, ok bool) {
	rest, ok := strings.CutPrefix(text, "mongodb://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@') + 1
	u, err := url.Parse("mongodb://" + rest[:at] + "host" + rest[end:])
	return u, rest[at:end], ok && err == nil && at < end
}

// queryOf reads the parameters of a MongoDB connection string into a target. Those that concern only the connections of
// YCSB's client are passed over, all others refused.
func queryOf(u *url.URL, t *plan.Target) error {
	for key, values := range u.Query() {
		value := values[len(values)-1]
		switch strings.ToLower(key) {
		case "w":
			if value != "1" {
				t.Options["w"] = value
			}
		case "tls", "ssl":
			if value != "true" && value != "false" {
				return fmt.Errorf("%s=%s: write true or false", key, value)
			}
			t.TLS.Enabled = t.TLS.Enabled || value == "true"
		case "tlsinsecure", "tlsallowinvalidcertificates":
			t.TLS.InsecureSkipVerify = t.TLS.InsecureSkipVerify || value == "true"
		case "tlscafile":
			t.TLS.CAFile = value
		case "authsource":
			t.Options["auth_source"] = value
		case "replicaset":
			t.Options["replica_set"] = "true"
		case "readpreference":
			if value != "primary" {
				return fmt.Errorf("%s=%s: brunt reads from the primary", key, value)
			}
		case "appname", "connecttimeoutms", "sockettimeoutms", "serverselectiontimeoutms", "maxpoolsize", "minpoolsize",
			"maxidletimems", "waitqueuetimeoutms", "waitqueuemultiple", "directconnection":
		default:
			return fmt.Errorf("%s isn't understood in it; remove it", key)
		}
	}
	return nil
}
