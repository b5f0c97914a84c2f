package ycsb

import (
	"cmp"
	"slices"

	"brunt/internal/base/password"
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/target"
)

// connect returns the database's address and options by the properties and, for what these don't say, by the
// environment: BRUNT_PASSWORD and the variables of the protocol, such as libpq's. getenv may be nil.
func (d *Database) connect(set *properties.Set, getenv func(string) string) (plan.Target, error) {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	given := func(keyword string) bool {
		name := d.Keywords[keyword]
		_, ok := set.Get(name)
		return name != "" && ok
	}
	if notation := protocols.Of(d.Protocol).Notation; notation != nil && given("host") != given("port") {
		for _, keyword := range []string{"host", "port"} { // one of both is a property: the other one may be a variable
			name := notation.Variables[keyword]
			if value := getenv(name); value != "" && !given(keyword) {
				set.Put(d.Keywords[keyword], value, name)
			}
		}
	}
	t, err := d.target(set)
	if err != nil {
		return t, err
	}
	t.Password = cmp.Or(t.Password, getenv(password.Variable))
	if d.Keywords == nil {
		return t, nil
	}
	standard := t
	if !given("user") {
		t.User = ""
	}
	if !given("dbname") {
		t.Database = ""
	}
	if !given("host") && !given("port") {
		t.Addresses = nil
	}
	if err := target.Fill(&t, given("sslmode"), getenv, nil); err != nil {
		return t, err
	}
	t.User, t.Database = cmp.Or(t.User, standard.User), cmp.Or(t.Database, standard.Database)
	if len(t.Addresses) == 0 {
		t.Addresses = slices.Clone(standard.Addresses)
	}
	return t, nil
}
